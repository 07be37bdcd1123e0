"""A value is skewed if it has enough of a partition's rows, up to a number of values.

Known distributions show which values these are.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from parquetry.layout.cells import AutoSkew
from parquetry.layout.heavy_values import choose, least_count, make_measured_map
from parquetry.layout.skew_map import SkewMap
from parquetry.types import parse_type

INT, STRING, DOUBLE = map(parse_type, ("int", "string", "double"))


def heavy(counts: dict[tuple[object, ...], int], share: float, most: int = 1000) -> list[object]:
    """Return the heavy values of one column of strings or numbers, of all rows counted."""
    kind = STRING if any(isinstance(key[0], str) for key in counts) else DOUBLE
    chosen = choose(counts, sum(counts.values()), AutoSkew(share, most), ["x"], [kind])  # type: ignore[arg-type]
    return [values[0] for values in chosen]


def test_uniform_has_none_or_all() -> None:
    """If 100 values are equally frequent, none has a fiftieth of the rows, and each has a hundredth."""
    counts = {(float(n),): 10 for n in range(100)}
    assert heavy(counts, 0.02) == []
    assert heavy(counts, 0.01) == [float(n) for n in range(100)]
    assert heavy(counts, 0.01, 3) == [0.0, 1.0, 2.0]


def test_zipf() -> None:
    """In Zipf's distribution of 1,000 values, value n is skewed if its share 1 / (n * H) is at least 0.02."""
    whole = sum(1 / n for n in range(1, 1001))
    counts = {(float(n),): round(10_000_000 / n / whole) for n in range(1, 1001)}
    expected = [float(n) for n in range(1, 1001) if 1 / n / whole >= 0.02]
    assert len(expected) == 6
    assert heavy(counts, 0.02) == expected


def test_bounds_are_met() -> None:
    """A value with exactly the share is heavy, one row less is not; floats do not round a count away."""
    assert heavy({("a",): 50, ("b",): 49, ("c",): 901}, 0.05) == ["c", "a"]
    assert heavy({("a",): 7, ("b",): 93}, 0.07) == ["b", "a"]
    assert heavy({("only",): 1}, 1.0) == ["only"]
    assert heavy({}, 0.5) == []


@given(st.integers(1, 1 << 53), st.floats(1e-6, 1.0))
def test_least_count(rows: int, share: float) -> None:
    """It is the least whole number that is no less than the share of the rows, and at least one."""
    least = least_count(rows, share)
    wanted = rows * Fraction(str(share))
    assert least >= wanted
    assert least == 1 or least - 1 < wanted


def test_null_nan_and_empty_text_are_values() -> None:
    """NULL, NaN and '' can be heavy as any other value."""
    assert heavy({(None,): 6, (math.nan,): 4}, 0.4) == [None, pytest.approx(math.nan, nan_ok=True)]
    assert heavy({("",): 6, (None,): 4}, 0.4) == ["", None]


@pytest.mark.parametrize("text", ["y" * 254, "é" * 127, "/" * 85])
def test_a_value_without_a_place_is_not_chosen(text: str) -> None:
    """A value whose directory's name would have more than 255 bytes stays in the rest.

    The next frequent value is chosen instead.
    """
    counts = {(text,): 60, ("b",): 30, (text[:-1],): 10}
    assert heavy(counts, 0.1, 2) == ["b", text[:-1]]


def test_tuples() -> None:
    """Values of several columns are heavy together."""
    pairs = Counter({(1, "a"): 5, (1, "b"): 3, (2, None): 2})
    assert choose(pairs, 10, AutoSkew(0.3, 9), ["x", "y"], [INT, STRING]) == ((1, "a"), (1, "b"))


def test_what_was_found_is_a_map_of_its_own() -> None:
    """The partition's map names the measured values.

    It does not request another measurement, even if no value is skewed.
    """
    asked = SkewMap(("x",), (), directories=True, auto=AutoSkew(0.05, 16))
    assert make_measured_map(asked, [(1,), (None,)]) == SkewMap(("x",), ((1,), (None,)), directories=True)
    assert make_measured_map(asked, ()) == SkewMap(("x",), (), directories=True)
