"""The conditions that readers may apply to row groups.

Each leaf is decided by itself, and a condition that would lose rows is weakened.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, strategies as st

from parquetry.data_files.records import TableColumn
from parquetry.prune.reader_filters import Usable, same_order_in_orc, usable

COLUMNS = [
    TableColumn("a", "integer"),
    TableColumn("B", "string"),
    TableColumn("f", "double"),
    TableColumn("g", "float"),
    TableColumn("day", "date"),
    TableColumn(
        "s",
        {
            "type": "struct",
            "fields": [{"name": "n", "type": "long"}, {"name": "f", "type": "double"}, {"name": "day", "type": "date"}],
        },
    ),
]  # fmt: skip

Tree = dict[str, Any]


def col(*path: str) -> Tree:
    return {"col": list(path)}


def lit(text: str | None, type: str = "int") -> Tree:
    return {"lit": text, "type": type}


def fn(name: str, *arguments: Tree) -> Tree:
    return {"fn": name, "args": list(arguments)}


def listed(column: Tree, type: str, *values: str | None) -> Tree:
    return {"fn": "IN", **column, "type": type, "values": list(values)}


A = fn(">", col("a"), lit("1"))
B = fn("=", col("B"), lit("x", "string"))
F = fn("=", col("f"), lit("0.0", "double"))
DAY = fn("=", col("day"), lit("20000", "date"))


def told(tree: Tree, file_format: str = "parquet") -> Usable | None:
    """Return the part that readers may use."""
    return usable(tree, COLUMNS, ("Day",), file_format)


def joined(function: Literal["AND", "OR", "NOT"], *parts: Usable) -> Usable:
    return Usable(fn=function, args=parts)


def test_the_example_of_the_module() -> None:
    """Leaves are numbered from the left, and unusable leaves have numbers, too."""
    c = fn("=", col("s", "n"), lit("3", "bigint"))
    assert told(fn("AND", A, fn("OR", F, B), fn("NOT", c))) == joined(
        "AND", Usable(leaf=0), joined("NOT", Usable(leaf=3))
    )


@pytest.mark.parametrize(
    "leaf",
    [
        A, B, fn("<=>", col("a"), lit("1")), fn("STARTS_WITH", col("B"), lit("x", "string")),
        fn("IS_NULL", col("a")), fn("IS_NOT_NULL", col("f")), fn("IN", col("a"), lit("1"), lit("2")), fn("IN", col("a")),
        fn("<", col("s", "n"), lit("1", "bigint")), lit("true", "boolean"), listed(col("a"), "int", "1", "2"),
        listed(col("s", "n"), "bigint", "1"), listed(col("f"), "double", "1.5", "2.5"),
        fn("=", col("S", "N"), lit("1", "bigint")), fn("=", col("s", "day"), lit("1", "date")),
    ],
)  # fmt: skip
def test_what_the_readers_may_use(leaf: Tree) -> None:
    """A column, of a struct too, with literals, in forms that the readers know, and constants."""
    assert told(leaf) == Usable(leaf=0)


@pytest.mark.parametrize(
    "leaf",
    [
        fn("=", lit("1"), col("a")),  # the other way round, `<` would mean `>`
        fn("=", col("a"), col("f")),
        fn("=", fn("CAST", col("a")), lit("1")),
        fn("=", col("a"), lit(None)),  # ORC's reader fails on NULL
        fn("IN", col("a"), lit("1"), lit(None)),
        fn("IN", col("a"), lit("1"), lit("1", "bigint")),
        fn("UPPER", col("B"), lit("x", "string")),
        listed(col("a"), "int", "1", None),
        listed(col("f"), "double", "1.5", "-0.0"),
        listed(col("f"), "double", "1.5", "NaN"),
        listed(col("f"), "int", "1"),
        fn("<", col("B"), lit("\ufffd", "string that is no text")),
        listed(col("B"), "string that is no text", "a", "\ufffd"),
        listed(col("day"), "date", "1"),
        col("a"),
        lit(None, "boolean"),
    ],
)  # fmt: skip
def test_forms_that_the_readers_do_not_know(leaf: Tree) -> None:
    """An unknown form gives no condition, and neither does an OR with it; an AND keeps its other side."""
    assert told(leaf) is None
    assert told(fn("OR", leaf, A)) is None
    assert told(fn("AND", leaf, A)) == Usable(leaf=1)


@pytest.mark.parametrize(("type", "first"), [("date", -141_426), ("timestamp", -141_426 * 86_400_000_000)])
def test_times_of_another_calendar(type: str, first: int) -> None:
    """ORC's readers lose rows of before 1582 by Bloom filters and statistics, Parquet's do not."""
    day = col("s", "day")
    for value, used in ((first, True), (first - 1, False)):
        leaves = (
            fn("=", day, lit(str(value), type)),
            fn("<", day, lit(str(value), type)),
            listed(day, type, "5", str(value)),
        )
        for leaf in leaves:
            assert told(leaf, "parquet") == Usable(leaf=0)
            assert (told(leaf, "orc") == Usable(leaf=0)) == used
            assert told(fn("AND", leaf, A), "orc") == (
                joined("AND", Usable(leaf=0), Usable(leaf=1)) if used else Usable(leaf=1)
            )


@pytest.mark.parametrize("leaf", [DAY, fn("IS_NULL", col("DAY")), fn("<", col("day"), lit("1", "date"))])
def test_partition_columns(leaf: Tree) -> None:
    """Readers get no condition on a partition column, in any letter case.

    The files may hold other values of it.
    """
    assert told(leaf) is None
    assert told(fn("AND", leaf, A)) == Usable(leaf=1)
    assert told(fn("NOT", fn("AND", leaf, A))) is None


@pytest.mark.parametrize(("column", "type"), [("f", "double"), ("g", "float")])
@pytest.mark.parametrize(
    ("function", "text", "allowed"),
    [
        ("=", "1.5", True), ("=", "1.0E10", True), ("<", "1.5", True), ("<=", "-1.5", True), ("IN", "1.5", True),
        ("=", "Infinity", True), ("=", "0.0", False), ("=", "-0.0", False), ("<", "0.0", False), ("<=", "NaN", False),
        ("IN", "NaN", False), (">", "1.5", False), (">=", "1.5", False), ("<=>", "1.5", False),
    ],
)  # fmt: skip
def test_floats(column: str, type: str, function: str, text: str, allowed: bool) -> None:
    """Zeros have two signs in statistics, and NaN is in none: only what neither can falsify may be used."""
    leaf = fn(function, col(column), lit(text, type))
    assert told(leaf) == (Usable(leaf=0) if allowed else None)
    assert told(fn("NOT", leaf)) is None
    assert told(fn("NOT", fn("AND", A, leaf))) is None


def test_floats_within_structs_and_unknown_columns() -> None:
    """A field's type is found within its struct; what cannot be found might be a float."""
    for path in (("s", "f"), ("gone",), ("s", "gone"), ("a", "gone")):
        assert told(fn(">", col(*path), lit("1", "int"))) is None
    assert told(fn("=", col("a"), lit("1.5", "double"))) == Usable(leaf=0)
    assert told(fn(">", col("a"), lit("1.5", "double"))) is None


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("straße", True),
        ("\ud7ff", True),
        ("\ue000", False),
        ("Ａ", False),
        ("a😀", False),
        ("❤\ufe0f", False),
    ],
)
@pytest.mark.parametrize("negated", [False, True])
def test_texts_that_orc_would_compare_in_another_order(text: str, used: bool, negated: bool) -> None:
    """A text whose order in UTF-16 is not its order in UTF-8 is withheld from ORC's reader, in each form."""
    for leaf in (
        fn("=", col("B"), lit(text, "string")),
        fn("<", col("B"), lit(text, "string")),
        listed(col("B"), "string", "x", text),
    ):
        tree = fn("NOT", leaf) if negated else leaf
        assert (usable(tree, COLUMNS, (), "orc") is not None) == used
        assert usable(tree, COLUMNS, (), "parquet") is not None


@given(
    st.text(st.characters(max_codepoint=0xD7FF)),
    st.text(st.characters(min_codepoint=0xD000, exclude_categories=("Cs",))),
    st.text(),
)
def test_a_text_that_orc_gets_sorts_alike_beside_any_other(kept: str, high: str, other: str) -> None:
    """Below U+D800, the orders of UTF-16 and of UTF-8 are one."""
    assert same_order_in_orc(kept)
    for text in (high, other):
        in_utf_16 = kept.encode("utf-16-be") < text.encode("utf-16-be")
        assert in_utf_16 == (kept.encode() < text.encode())


def test_nulls_of_structs_in_orc() -> None:
    """ORC counts no NULL of a field if the struct is NULL.

    Its readers therefore get no IS NULL and no negated condition of such a field.
    """
    null, compared = fn("IS_NULL", col("s", "n")), fn("<", col("s", "n"), lit("1", "bigint"))
    for file_format, allowed in (("parquet", True), ("orc", False)):
        assert (told(null, file_format) is not None) is allowed
        assert (told(fn("NOT", compared), file_format) is not None) is allowed
        assert told(compared, file_format) == Usable(leaf=0)
        assert told(fn("NOT", A), file_format) == joined("NOT", Usable(leaf=0))


def test_a_not_has_the_whole_or_nothing() -> None:
    """A part of an AND is weaker than the AND, so its negation would be too strong.

    A NOT is therefore kept whole or not at all.
    """
    known, unknown = A, fn("=", col("a"), col("a"))
    assert told(fn("AND", known, unknown)) == Usable(leaf=0)
    assert told(fn("NOT", fn("AND", known, unknown))) is None
    assert told(fn("NOT", fn("OR", fn("AND", known, unknown), known))) is None
    assert told(fn("NOT", fn("OR", known, B))) == joined("NOT", joined("OR", Usable(leaf=0), Usable(leaf=1)))


def test_conditions_too_deep_for_the_readers() -> None:
    """A condition with thousands of nested levels is only evaluated on rows."""
    tree = A
    for _ in range(5000):
        tree = fn("NOT", tree)
    assert told(tree) is None
    assert told(fn("OR", *[A] * 5000)) == joined("OR", *(Usable(leaf=n) for n in range(5000)))


def test_the_answer_is_small() -> None:
    """The answer names a leaf by its number, for any number of literals."""
    leaf = fn("IN", col("a"), *(lit(str(n)) for n in range(1000)))
    assert msgspec.json.encode(usable(leaf, COLUMNS, (), "parquet")) == b'{"leaf":0,"fn":null,"args":[]}'
    assert usable(leaf, COLUMNS, (), "parquet") == Usable(leaf=0)
