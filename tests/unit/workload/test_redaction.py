"""Conditions without their values, and the columns that they name."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, strategies as st

from parquetry.predicate import Compare, Filter, Like, Or
from parquetry.types import ColumnType
from parquetry.workload.redaction import MAX_MARKS, named_columns, without_values

_TEXTS = st.text(string.ascii_letters + string.digits + "'\"\\` ?,()-é\n", min_size=1)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("day = DATE '2026-01-01'", "day = ?"),
        ("day = 2026-01-01", "day = ?"),
        ("t > TIMESTAMP_NTZ '2026-01-01 10:00:00' AND b", "t > ? AND b"),
        ("x BETWEEN -1.5E-10 AND .5D", "x BETWEEN ? AND ?"),
        ("bin = X'AA' OR ok = TRUE", "bin = ? OR ok = ?"),
        ("s IN ('it''s', 'a\\'b', \"c\")", "s IN (?, ?, ?)"),
        ("`a 1`.b2 = 5L AND c3 IS NOT NULL", "`a 1`.b2 = ? AND c3 IS NOT NULL"),
        ("substr(name, 1, 3) = 'abc'", "substr(name, ?, ?) = ?"),
        ("d > INTERVAL '1' DAY", "d > ?"),
        ("name LIKE 'Miller, Jo…", "name LIKE ?"),
        ("a.b[0] = 7", "a.b[?] = ?"),
    ],
)
def test_values_become_question_marks(text: str, bare: str) -> None:
    """Literals of every form go, also one whose end is missing; names and words stay."""
    assert without_values(text) == bare


def test_long_lists_are_short() -> None:
    """A list keeps a few question marks."""
    assert (
        without_values(f"id IN ({', '.join(map(str, range(1000)))})")
        == f"id IN ({', '.join('?' * MAX_MARKS)})"
    )


@given(st.lists(_TEXTS, min_size=1, max_size=3), _TEXTS, st.integers())
def test_no_value_of_a_filter_is_left(texts: list[str], pattern: str, number: int) -> None:
    """Two filters with other values have one bare form."""
    kind = ColumnType("string")

    def bare(values: list[str], like: str, count: int) -> str:
        tests = [Compare("=", "s", value, kind) for value in values]
        parts = Or((*tests, Like("s", like, "", kind), Compare(">", "n", count, ColumnType("bigint"))))
        return without_values(str(Filter(parts)))

    assert bare(texts, pattern, number) == bare(["x"] * len(texts), "y", 1)


def test_columns_of_a_condition() -> None:
    """Columns are found by their names in any case, fields of structs by their path, and none in a text."""
    columns = ["id", "Day", "s", "s.a", "my col", "s.b.c"]
    assert named_columns("upper(DAY) = 'id' AND `my col` > 3", columns) == ("Day", "my col")
    assert named_columns("t.s.b.c = 1 OR s.a IS NULL OR lake.db.t.id = 2", columns) == ("s.b.c", "s.a", "id")
