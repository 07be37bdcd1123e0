"""Numbers of distinct values are never more than rows or possible values, and exact where files prove it."""

from __future__ import annotations

import random

import pytest

from parquetry.cardinality.distinct_values import ValuesInFile, estimate_distinct, scale_distinct
from parquetry.metastore import CountedColumn
from parquetry.types import parse_type

INT, STRING, FLOAT = parse_type("int"), parse_type("string"), parse_type("double")


@pytest.mark.parametrize("seed", range(20))
def test_an_estimate_of_integers_is_an_upper_bound(seed: int) -> None:
    """Integers in files have at most as many values as estimated, exactly as many if each file has one."""
    draw = random.Random(seed)
    several, single = [], []
    for _ in range(draw.randint(1, 8)):
        start = draw.randint(0, 300)
        several.append([draw.randint(start, start + draw.randint(0, 60)) for _ in range(draw.randint(1, 80))])
        single.append([draw.randint(0, 9)] * 3)
    files = [ValuesInFile(len(each), min(each), max(each), True) for each in several]
    assert len({value for each in several for value in each}) <= estimate_distinct(INT, files)
    assert estimate_distinct(INT, files) <= sum(len(each) for each in several)
    files = [ValuesInFile(3, each[0], each[0], True) for each in single]
    assert estimate_distinct(INT, files) == len({each[0] for each in single})


def test_heavy_values_in_files_of_their_own_count_once() -> None:
    """Files of one text each, as of heavy values, count its values; other files count by bytes."""
    heavy = [ValuesInFile(1000, name, name, True, 20) for name in ("a", "b", "a")]
    assert estimate_distinct(STRING, heavy) == 2
    rest = ValuesInFile(800, "c", "z", True, 300)  # three bits for each row
    assert estimate_distinct(STRING, [*heavy, rest]) == 2 + 8


def test_equal_bounds_of_floats_prove_no_single_value() -> None:
    """Bounds of floats leave out NaN, so equal ones do not say that there is one value."""
    assert estimate_distinct(FLOAT, [ValuesInFile(100, 1.0, 1.0, True, 13)]) > 1


def test_unknown_bounds_leave_bytes() -> None:
    """Without bounds, rows or bytes limit the number; without bytes, rows."""
    assert estimate_distinct(STRING, [ValuesInFile(100, None, None, False, 25)]) == 4
    assert estimate_distinct(STRING, [ValuesInFile(100, "a", None, False)]) == 100
    assert estimate_distinct(STRING, []) == 0


def test_counts_are_scaled_and_bounded() -> None:
    """A count of the whole table is scaled to the rows that are left, and limited by what the files prove."""
    counted = CountedColumn("c", 1000, 100_000)
    assert scale_distinct(counted, 100_000) == 1000
    assert scale_distinct(counted, 100) < 100
    assert estimate_distinct(INT, [ValuesInFile(50_000, 1, 7, True)], counted) == 7
    assert estimate_distinct(STRING, [ValuesInFile(50_000, "a", "z", True, 9)], counted) == 1000
    assert estimate_distinct(INT, [], counted) == 0


def test_a_count_decides_how_many_values_files_share() -> None:
    """Dictionaries bound the counted number by their sum, as each file may have values of its own."""
    files = [ValuesInFile(1_000, "a", "z", True, 10**6, 100)] * 4
    assert estimate_distinct(STRING, files, CountedColumn("c", 400, 4_000)) == 400
    assert estimate_distinct(STRING, files[:1], CountedColumn("c", 400, 4_000)) == 100


def test_dictionaries_of_several_files() -> None:
    """Files have the same values if each has many rows, else as many as ranges and numbers allow."""
    few = [ValuesInFile(36_000, 1, 30_000, True, None, 30)] * 8
    many = [ValuesInFile(36_000, 1, 30_000, True, None, 3_000)] * 8
    assert (estimate_distinct(INT, few), estimate_distinct(INT, many)) == (30, 30_000)
    assert estimate_distinct(STRING, [ValuesInFile(36_000, "a", "z", True, 10**6, 50)] * 8) == 50
    assert (
        estimate_distinct(
            STRING, [ValuesInFile(9, "a", "b", True, 50, 5), ValuesInFile(9, "c", "d", True, 50, 4)]
        )
        == 9
    )
