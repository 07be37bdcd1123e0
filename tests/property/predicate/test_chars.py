"""Conditions on chars, as Spark states them, over texts with fewer, all and too many blanks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import given, settings, strategies as st

from parquetry.data_files.bounds import FileBounds, bounds_from_statistics
from parquetry.data_files.records import ColumnStatistics
from parquetry.key_schema import KeySchema
from parquetry.predicate.filter import EVERY_ROW
from parquetry.predicate.nodes import opaque_parts
from parquetry.predicate.pruning.knowledge import KnownValues
from parquetry.predicate.pruning.match import Match, match
from parquetry.predicate.reading.char_padding import SparkColumns
from parquetry.predicate.reading.spark_json import filter_from_json
from parquetry.prune.partition_plans import on_partitions
from parquetry.scan import plan_scan
from parquetry.types import ColumnType, parse_type
from tests.support.effort import examples
from tests.support.planning.keys import read_plan
from tests.support.planning.knowledge import answer

TYPE = parse_type("char(3)")
VALUES = st.text(" ab\t\x00~é", max_size=3)
TOO_LONG = st.text(" ab\t", max_size=5)
LITERALS = st.text(" ab\t\x00~é", max_size=5)
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "STARTS_WITH": str.startswith,
    "CONTAINS": operator.contains,
    "IN": operator.contains,
}
COLUMN = {"col": ["c"]}
Reads = Callable[[str], str]


def literal(text: str) -> dict[str, str]:
    return {"lit": text, "type": "string"}


def padded(tree: Mapping[str, Any], length: int, function: str = "CHAR_PADDED") -> dict[str, Any]:
    blank = [literal(" ")] if function == "RPAD" else []
    return {"fn": function, "args": [tree, {"lit": str(length), "type": "int"}, *blank]}


READ: dict[str, tuple[Mapping[str, Any], Reads]] = {
    "as stored": (COLUMN, lambda text: text),
    "padded": (padded(COLUMN, 3), lambda text: text.ljust(3)),
    "padded by a function": (padded(COLUMN, 3, "RPAD"), lambda text: text.ljust(3)[:3]),
    "padded to more": (padded(padded(COLUMN, 3), 5, "RPAD"), lambda text: text.ljust(5)[:5]),
    "cut": (padded(padded(COLUMN, 3), 2, "RPAD"), lambda text: text[:2].ljust(2)),
}
"""How Spark reads a column, and what it makes of a text."""


@st.composite
def conditions(draw: st.DrawFn) -> tuple[dict[str, Any], Callable[[str], bool]]:
    """A condition, and whether it is TRUE for a text as a file or a partition has it."""
    column, read = READ[draw(st.sampled_from(sorted(READ)))]
    function, texts = (
        draw(st.sampled_from(sorted(COMPARED))),
        draw(st.lists(LITERALS, min_size=1, max_size=3)),
    )
    if function == "IN":
        tree: dict[str, Any] = {"fn": "IN", "args": [column, *map(literal, texts)]}
        if column is COLUMN and draw(st.booleans()):
            tree = {"fn": "IN", "col": ["c"], "type": "string", "values": texts}
        holds: Callable[[str], bool] = lambda text: read(text) in texts  # noqa: E731
    else:
        tree = {"fn": function, "args": [column, literal(texts[0])]}
        holds = lambda text: COMPARED[function](read(text), texts[0])  # noqa: E731
    if draw(st.booleans()):
        return {"fn": "NOT", "args": [tree]}, lambda text: not holds(text)
    return tree, holds


@settings(max_examples=examples(1500), deadline=None)
@given(conditions(), st.lists(VALUES | TOO_LONG, min_size=1, max_size=3))
def test_files_keep_all_that_hold_a_match(
    condition: tuple[dict[str, Any], Callable[[str], bool]], texts: Sequence[str]
) -> None:
    """No file with a match is left out, judged by its least and greatest text.

    No file is said to hold only matches if one of its texts does not match. Texts may end with any blanks,
    and some are too long.
    """
    tree, holds = condition
    node = filter_from_json(tree, SparkColumns({"c": TYPE}, ())).node
    known = bounds_from_statistics(TYPE, ColumnStatistics(9, 0, min(texts), max(texts)), len(texts))
    assert isinstance(known, FileBounds)
    found = answer(node, {"c": TYPE}, {"c": known})
    truths = set(map(holds, texts))
    assert True not in truths or found != Match.CANNOT
    assert False not in truths or found != Match.MUST


@settings(max_examples=examples(1500), deadline=None)
@given(conditions(), st.lists(VALUES.map(lambda text: text.ljust(3)), min_size=1, max_size=5, unique=True))
def test_partitions_are_found_by_their_keys(
    condition: tuple[dict[str, Any], Callable[[str], bool]], texts: Sequence[str]
) -> None:
    """A scan finds the partitions that satisfy an understood condition, and no others.

    For any other condition it finds at least these.
    """
    tree, holds = condition
    filter = filter_from_json(tree, SparkColumns({"c": TYPE}, ("c",)))
    schema = KeySchema.from_columns([("c", TYPE)], (False,))
    keys = sorted(schema.encode((text,)) for text in texts)

    def scan(start: bytes, stop: bytes | None) -> list[bytes]:
        return [key for key in keys if start <= key and (stop is None or key < stop)]

    plan = plan_scan(on_partitions(filter, frozenset("c")) or EVERY_ROW, schema)
    found = {schema.decode(key)[0] for key in read_plan(plan, schema, scan)}
    wanted = {text for text in texts if holds(text)}
    judged = match(filter, KnownValues(("c",), [(text,) for text in texts])).tolist()
    assert wanted <= found
    assert wanted <= {text for text, one in zip(texts, judged, strict=True) if one != Match.CANNOT}
    if not opaque_parts(filter.node):
        assert found == wanted
        assert [one == Match.MUST for one in judged] == [text in wanted for text in texts]


def test_what_is_understood() -> None:
    """Comparisons with texts of the column's length, whole, by their keys."""
    columns = SparkColumns({"c": TYPE, "n": ColumnType("int")}, ("c",))
    for tree, text in (
        ({"fn": "=", "args": [padded(COLUMN, 3), literal("a  ")]}, "c = 'a  '"),
        ({"fn": "<", "args": [literal("b  "), padded(COLUMN, 3, "RPAD")]}, "c > 'b  '"),
        ({"fn": "IN", "args": [padded(COLUMN, 3), literal("a  "), literal("b")]}, "c = 'a  '"),
        ({"fn": "IS_NULL", "args": [padded(COLUMN, 3)]}, "c IS NULL"),
        ({"fn": ">=", "args": [padded(COLUMN, 3), literal("ab")]}, "c >= 'ab'"),
        ({"fn": "F", "args": [padded(COLUMN, 3)]}, "F(c)"),
    ):
        assert str(filter_from_json(tree, columns).node) == text
