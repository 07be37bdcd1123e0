"""Skewed values of clauses are typed by their columns and checked in Hive's order.

The clause can be written again from the record.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from parquetry.data_files.records import PHYSICAL_NAME, TableColumn
from parquetry.ddl.skewed_by import SkewedBy, parse_skewed_by, parse_skewed_locations
from parquetry.definition.skew_clause import set_cell_locations, skew_map
from parquetry.errors import (
    ClauseError,
    DuplicateSkewedColumnError,
    InvalidSkewedColumnError,
    NoSkewedColumnsError,
    NoSkewedLocationsError,
    NoSkewedValuesError,
    SkewedLocationError,
    SkewedLocationPairError,
    SkewedValueError,
    SkewedWidthError,
    SkewError,
)
from parquetry.layout.cells import AutoSkew
from parquetry.layout.skew_map import SkewMap
from parquetry.sqltext.literals import constants

COLUMNS = (
    TableColumn("i", "integer"),
    TableColumn("Name", "string", metadata={PHYSICAL_NAME: "was"}),
    TableColumn("n", "decimal(9,2)"),
    TableColumn("f", "double"),
    TableColumn("b", "boolean"),
    TableColumn("d", "date"),
    TableColumn("t", "timestamp"),
    TableColumn("raw", "binary"),
    TableColumn("c", "char(3)"),
    TableColumn("l", {"type": "array", "elementType": "integer", "containsNull": True}),
)
AUTO = AutoSkew(0.05, 16)


def cells(column: str, values: str, zone: str = "UTC") -> list[Any]:
    """Return the recorded values of one column."""
    clause = parse_skewed_by(f"({column}) ON ({values})")
    return [cell[0] for cell in skew_map(clause, COLUMNS, AUTO, lambda: zone).cells]


@pytest.mark.parametrize(
    ("column", "values", "recorded"),
    [
        ("I", "1, -2, '3', +4, 1e3, 5.0, 6L, NULL", [1, -2, 3, 4, 1000, 5, 6, None]),
        ("name", "'UP', \"it's\", 'it''s!', 'a' 'b', '\\u00e9\\\\', 7, '', NULL", ["UP", "it's", "it's!", "ab", "é\\", "7", "", None]),
        ("name", "TRUE, DATE '2026-01-01', r'\\n'", ["true", "2026-01-01", "\\n"]),
        ("n", "1, 1.5, '-.25', 1e2", ["1", "1.5", "-0.25", "100"]),
        ("f", "1, -2.5e3, 'NaN', '-Infinity'", [1.0, -2500.0, float("nan"), float("-inf")]),
        ("b", "TRUE, 'false', NULL", [True, False, None]),
        ("d", "DATE '1970-01-02', '1970-01-03'", [1, 2]),
        ("t", "TIMESTAMP '1970-01-01 00:00:01', '1970-01-01 00:00:02 UTC'", [1_000_000, 2_000_000]),
        ("raw", "X'00ff', 'a'", [b"\x00\xff", b"a"]),
        ("c", "'a', 'bcd'", ["a  ", "bcd"]),
    ],
)  # fmt: skip
def test_values_are_of_their_columns_type(column: str, values: str, recorded: list[Any]) -> None:
    """However a value is written, it is recorded as its column's."""
    assert repr(cells(column, values)) == repr(recorded)


def test_timestamps_are_of_the_sessions_zone() -> None:
    """One without a zone of its own is of the session's."""
    assert cells("t", "TIMESTAMP '1970-01-01 01:00:00'", "Europe/Berlin") == [0]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("i", "'one'"), ("i", "2.5"), ("i", "3000000000"), ("i", "TRUE"), ("i", "X'00'"), ("i", "DATE '2026-01-01'"),
        ("n", "1.234"), ("f", "'x'"), ("b", "1"), ("d", "1"), ("d", "'2026-13-01'"), ("d", "TIMESTAMP '2026-01-01 00:00:00'"),
        ("t", "5"), ("raw", "1"), ("c", "'abcd'"), ("l", "1"), ("name", "X'00'"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused(column: str, value: str) -> None:
    """The message names the value or the column, and what would fit."""
    with pytest.raises(SkewedValueError, match=r"column (i|n|f|b|d|t|raw|c|l|Name)\b"):
        cells(column, value)


def test_columns_are_found_in_any_case_and_recorded_as_files_know_them() -> None:
    """A renamed column goes by its physical name."""
    skew = skew_map(
        parse_skewed_by("(NAME, `I`) ON (('a', 1), (NULL, 2)) STORED AS DIRECTORIES"), COLUMNS, AUTO, str
    )
    assert skew == SkewMap(("was", "i"), (("a", 1), (None, 2)), directories=True)
    assert skew.clause(COLUMNS) == "(Name, i) ON (('a', 1), (NULL, 2)) STORED AS DIRECTORIES"


@pytest.mark.parametrize(
    ("clause", "error", "says"),
    [
        ("() ON (1)", NoSkewedColumnsError, "[Error 10200]: No skewed column name. "),
        ("(i, i, x) ON ()", InvalidSkewedColumnError, "[Error 10203]: Invalid skewed column name: x. "),
        ("(i, I) ON ()", DuplicateSkewedColumnError, "[Error 10202]: Duplicate skewed column name: I. "),
        ("(i) ON ()", NoSkewedValuesError, "[Error 10201]: No skewed values. "),
        ("(i) ON (upper('a'))", NoSkewedValuesError, "[Error 10201]: No skewed values. 'upper' is no constant"),
        (
            "(i) ON ((1), (5, 8), (6))", SkewedWidthError,
            "[Error 10206]: The number of skewed column names and the number of skewed column values are different: 1 : 2. ",
        ),
        ("(i, name) ON (1, 2)", SkewedWidthError, "[Error 10206]: "),
        ("(i) ON (1, '1')", SkewedValueError, "SKEWED BY names the value 1 twice"),
        ("(f) ON (0.0, -0.0)", SkewedValueError, "SKEWED BY names the value -0.0 twice"),
        ("(f) ON ('NaN', 'nan')", SkewedValueError, "SKEWED BY names the value 'NaN' twice"),
        (f"(i) ON ({', '.join(map(str, range(1001)))})", SkewedValueError, "SKEWED BY names 1001 values, and at most 1000"),
        (f"(name) ON ('{'é' * 126}') STORED AS DIRECTORIES", SkewedValueError, "a directory whose name has 257 bytes"),
        (f"(name) ON ('{'%' * 84}') STORED AS DIRECTORIES", SkewedValueError, "a directory whose name has 257 bytes"),
        (
            "(name) ON ('HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME') STORED AS DIRECTORIES", SkewedValueError,
            "is the name of the directory of all other rows",
        ),
    ],
)  # fmt: skip
def test_checks_come_in_hives_order_with_hives_texts(clause: str, error: type[SkewError], says: str) -> None:
    """The error is the first check that fails, with Hive's code, and the remedy."""
    columns = (*COLUMNS[:1], TableColumn("name", "string"), *COLUMNS[2:])
    with pytest.raises(error) as raised:
        skew_map(parse_skewed_by(clause), columns, AUTO, str)
    assert says in raised.value.message


@pytest.mark.parametrize(
    "clause",
    ["", "(i", "(i) ON", "(i) ON (1", "(i) ON (1,)", "(i) ON ('1', ('2', '3'))", "(i.x) ON (1)", "(i) ON (1) STORED",
     "(i) ON (1) STORED AS PARQUET", "(i) ON (1); x", "(i,) ON (1)", "('i') ON (1)", "(i) ON 1", "(i) ON (1 2)", "(i) ON ('a"],
)  # fmt: skip
def test_what_is_no_clause_is_marked(clause: str) -> None:
    """The message shows the text, and a mark below the place."""
    with pytest.raises((ClauseError, NoSkewedValuesError)) as raised:
        parse_skewed_by(clause)
    if isinstance(raised.value, ClauseError):
        assert raised.value.message.splitlines()[1:] == [
            f"  {clause}",
            "  " + " " * raised.value.position + "^",
        ]


def test_the_longest_name_of_a_directory_is_taken() -> None:
    """255 bytes are, and long values without directories."""
    name = TableColumn("name", "string")
    for length, clause in ((250, "STORED AS DIRECTORIES"), (900, "")):
        text = f"(name) ON ('{'a' * length}') {clause}"
        assert len(skew_map(parse_skewed_by(text), [name], AUTO, str).cells[0][0]) == length


def test_auto_has_no_cells_yet() -> None:
    """The map of AUTO has no values yet. It has directories unless the clause says NOT, and its text makes
    the same map.
    """
    for clause, directories in (
        ("(i) ON auto", True),
        ("(i) ON AUTO STORED AS DIRECTORIES", True),
        ("(i) ON AUTO NOT STORED AS DIRECTORIES", False),
    ):
        skew = skew_map(parse_skewed_by(clause), COLUMNS, AUTO, str)
        assert skew == SkewMap(("i",), directories=directories, auto=AUTO)
        assert skew_map(parse_skewed_by(skew.clause(COLUMNS)), COLUMNS, AUTO, str) == skew
        assert ("Skewed Values", "AUTO") in skew.describe(COLUMNS)
        assert ("Stored As SubDirectories", "Yes" if directories else "No") in skew.describe(COLUMNS)
    with pytest.raises(ClauseError, match="only STORED AS DIRECTORIES can follow"):
        parse_skewed_by("(i) ON AUTO STORED AS TEXTFILE")


TWO = SkewMap(("was", "i"), (("a", 1), ("b", None)), directories=True)


def test_locations_are_given_cell_by_cell() -> None:
    """Keys are typed as values are; cells that are not named keep what they had."""
    pairs = parse_skewed_locations("(('a', '1') = 'hdfs://h/a')").pairs
    first = set_cell_locations(TWO, pairs, COLUMNS, str)
    assert first.locations == ("hdfs://h/a", None)
    pairs = parse_skewed_locations("(('b', null) = \"file:/b\")").pairs
    both = set_cell_locations(first, pairs, COLUMNS, str)
    assert both.locations == ("hdfs://h/a", "file:/b")
    shown = both.locations_clause(COLUMNS)
    assert shown == "(('a', 1) = 'hdfs://h/a', ('b', NULL) = 'file:/b')"
    assert set_cell_locations(TWO, parse_skewed_locations(shown).pairs, COLUMNS, str) == both
    assert both.describe(COLUMNS)[-1] == (
        "Skewed Value to Truncated Path", "{[a, 1]=hdfs://h/a, [b, NULL]=file:/b}",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("()", NoSkewedLocationsError, "[Error 10197]: Alter table skewed location doesn't have locations. "),
        ("(('a', 1))", SkewedLocationPairError, "[Error 10198]: Alter table skewed location doesn't have location map. "),
        ("(('a', 1) = 5)", SkewedLocationPairError, "[Error 10198]: "),
        ("((a, 1) = 'file:/x')", NoSkewedValuesError, "[Error 10201]: "),
        ("('a' = 'file:/x')", SkewedWidthError, "[Error 10206]: "),
        (
            "(('a', 1) = '/x')", SkewedLocationError,
            "/x is not absolute or has no scheme information. Please specify a complete absolute uri with scheme information.",
        ),
        ("(('a', 1) = 'file:x')", SkewedLocationError, "file:x is not absolute"),
        ("(('a', 1) = '')", SkewedLocationError, " is not absolute"),
        ("(('A', 1) = 'file:/x')", SkewedValueError, "('A', 1) is none of the skewed values, which are ('a', 1), ('b', NULL)."),
        ("(('a', 1) = 'file:/x', ('a', '1') = 'file:/y')", SkewedValueError, "is given two locations"),
        ("('HIVE_DEFAULT_LIST_BUCKETING_KEY' = 'file:/x')", SkewedValueError, "cannot be given a location"),
        ("(('a', 1) = 'file:/x'", ClauseError, "close the parenthesis"),
        ("PARTITION (ds) (('a', 1) = 'file:/x')", ClauseError, "PARTITION takes a value for each column"),
    ],
)  # fmt: skip
def test_locations_that_cannot_be_are_refused(text: str, error: type[Exception], says: str) -> None:
    """The error has Hive's code if Hive has one; for an unknown value it lists the skewed values."""
    with pytest.raises(error) as raised:
        set_cell_locations(TWO, parse_skewed_locations(text).pairs, COLUMNS, str)
    assert says in str(raised.value)


def test_only_directories_have_locations() -> None:
    """A plain skewed table has none."""
    with pytest.raises(SkewedValueError, match="have no directories"):
        set_cell_locations(
            SkewMap(("i",), ((1,),)), parse_skewed_locations("(1 = 'file:/x')").pairs, COLUMNS, str
        )


_INTS = st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1))
_TEXTS = st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8))
_DECIMALS = st.one_of(st.none(), st.decimals(-9999999, 9999999, places=2))
_FLOATS = st.one_of(st.none(), st.floats())


@given(
    st.lists(st.tuples(_INTS, _TEXTS, _DECIMALS, _FLOATS), min_size=1, max_size=5),
    st.booleans(),
)
def test_what_is_recorded_is_said_and_read_again(rows: list[tuple[Any, ...]], directories: bool) -> None:
    """Python's values become a map; the map's clause becomes the same map."""
    distinct = {repr(SkewMap(("i", "was", "n", "f"), (row,)).cells): row for row in map(_plain, rows)}
    clause = SkewedBy(("i", "name", "n", "f"), tuple(map(constants, distinct.values())), directories)
    skew = skew_map(clause, COLUMNS, AUTO, str)
    again = skew_map(parse_skewed_by(skew.clause(COLUMNS)), COLUMNS, AUTO, str)
    assert repr(again) == repr(skew)


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row whose zeros have no sign."""
    return tuple(value + 0 if isinstance(value, float | Decimal) and value == 0 else value for value in row)
