"""Choose the conditions that Spark's readers may use to skip row groups of Parquet and stripes of ORC.

The readers compare a condition with a row group's statistics and dictionaries, under the names that its file
uses. A condition that would lose rows there is withheld from them. Spark evaluates each condition on the rows
in any case.

A condition comes as the tree that the bridge sends (see `predicate.reading.spark_json`). Its leaves are the
conditions below its ANDs, ORs and NOTs, numbered from the left. The answer names leaves by their numbers, so
that no literal is sent back. If `f` is a double:

    a > 1 AND (f = 0.0 OR b = 2) AND NOT c = 3        leaves: 0 a > 1, 1 f = 0.0, 2 b = 2, 3 c = 3

    {"fn": "AND", "args": [{"leaf": 0}, {"fn": "NOT", "args": [{"leaf": 3}]}]}        the answer
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from parquetry.data_files import TableColumn
from parquetry.types import Family, facts_of

_COMPARISONS = ("=", "<=>", "<", "<=", ">", ">=", "STARTS_WITH", "ENDS_WITH", "CONTAINS")
_NULL_TESTS = ("IS_NULL", "IS_NOT_NULL")
_FLOAT_FUNCTIONS = ("=", "<", "<=", "IN", *_NULL_TESTS)
_NO_TEXT = "string that is no text"
"""The type of literals that are no UTF-8, in trees: readers would compare with U+FFFD in their place."""
_FIRST_GREGORIAN_DAY = -141_426
"""The first day on that both calendars agree, in all time zones: 1582-10-16, two days after the gap."""


class Usable(msgspec.Struct, frozen=True):
    """A condition that readers may use, implied by the query's: one of its leaves, or several joined.

    Attributes:
        leaf: the number of the leaf, or None if `args` are joined.
        fn: how `args` are joined; NOT has one.
        args: the parts.
    """

    leaf: int | None = None
    fn: Literal["AND", "OR", "NOT"] | None = None
    args: tuple[Usable, ...] = ()


def usable(
    tree: Mapping[str, Any], columns: Sequence[TableColumn], partition_by: Collection[str], file_format: str
) -> Usable | None:
    """Return the part of a condition that the readers may use on row groups, or None if they may use nothing.

    Args:
        tree: the parsed JSON of one predicate.
        columns: the table's columns.
        partition_by: names of the partition columns.
        file_format: `parquet` or `orc`.

    >>> columns = [TableColumn("a", "integer"), TableColumn("f", "double")]
    >>> a = {"fn": ">", "args": [{"col": ["a"]}, {"lit": "1", "type": "int"}]}
    >>> f = {"fn": ">", "args": [{"col": ["f"]}, {"lit": "1.0", "type": "double"}]}
    >>> usable({"fn": "AND", "args": [f, a]}, columns, (), "parquet")
    Usable(leaf=1, fn=None, args=())
    >>> usable({"fn": "OR", "args": [f, a]}, columns, (), "parquet") is None
    True
    """
    try:
        return _ReaderFilterChoice(columns, partition_by, file_format).part(tree, whole=False)
    except RecursionError:  # deeper than readers would go
        return None


class _ReaderFilterChoice:
    def __init__(
        self, columns: Sequence[TableColumn], partition_by: Collection[str], file_format: str
    ) -> None:
        self._fields = [{"name": column.name, "type": column.type} for column in columns]
        self._partition_by = {name.lower() for name in partition_by}
        self._orc = file_format == "orc"
        self._numbers = itertools.count()

    def part(self, tree: Mapping[str, Any], *, whole: bool) -> Usable | None:
        """Return the usable part of a condition; under a NOT, which reverses implications, all or None."""
        match tree:
            case {"fn": "AND", "args": arguments}:
                parts = [self.part(argument, whole=whole) for argument in arguments]
                kept = tuple(part for part in parts if part is not None)
                if not kept or (whole and len(kept) < len(parts)):
                    return None
                return kept[0] if len(kept) == 1 else Usable(fn="AND", args=kept)
            case {"fn": "OR", "args": arguments}:
                parts = [self.part(argument, whole=whole) for argument in arguments]
                kept = tuple(part for part in parts if part is not None)
                return Usable(fn="OR", args=kept) if len(kept) == len(parts) else None
            case {"fn": "NOT", "args": [argument]}:
                negated = self.part(argument, whole=True)
                if negated is None or self._touches_float(tree) or self._loses_nulls(tree):
                    return None
                return Usable(fn="NOT", args=(negated,))
        number = next(self._numbers)
        return Usable(leaf=number) if self._sound(tree) else None

    def _sound(self, leaf: Mapping[str, Any]) -> bool:
        if "fn" not in leaf:  # TRUE or FALSE
            return leaf.get("type") == "boolean" and leaf["lit"] is not None
        function, literals = leaf["fn"], _literals(leaf)
        if literals is None or not _is_read(function, *literals) or self._on_partitions(leaf):
            return False
        if _NO_TEXT in literals[1] or (function == "IS_NULL" and self._loses_nulls(leaf)):
            return False
        if self._orc and (_has_old_time(*literals) or not all(map(same_order_in_orc, literals[0]))):
            return False
        return not self._touches_float(leaf) or (
            # Row group statistics and dictionaries distinguish -0.0 from 0.0 and omit NaN; in SQL the zeros
            # are equal and NaN is the greatest value. (Spark 4.3.0 loses rows on `f = 0.0`.)
            function in _FLOAT_FUNCTIONS
            and all(map(_is_float, literals[1]))
            and all(map(_is_ordinary, literals[0]))
        )

    def _on_partitions(self, leaf: Mapping[str, Any]) -> bool:
        """Return whether a leaf is about a partition column.

        Files may contain that column with other values, and readers without it in their schema take it for
        NULLs.
        """
        return any(path[0].lower() in self._partition_by for path in _paths(leaf))

    def _loses_nulls(self, tree: Mapping[str, Any]) -> bool:
        """Return whether ORC's statistics omit NULLs that a condition is about.

        For a field within a struct they do not count the rows whose struct is NULL. (Spark 4.3.0 loses rows.)
        """
        return self._orc and any(len(path) > 1 for path in _paths(tree))

    def _touches_float(self, tree: Mapping[str, Any]) -> bool:
        return any(
            _is_float(each["type"]) for each in _nodes(tree) if "lit" in each or "values" in each
        ) or any(self._may_be_float(path) for path in _paths(tree))

    def _may_be_float(self, path: Sequence[str]) -> bool:
        """Return whether a column, or a field within one, is a float, or is not known."""
        type_: Any = {"type": "struct", "fields": self._fields}
        for name in path:
            fields = type_.get("fields", ()) if isinstance(type_, Mapping) else ()
            type_ = next((field["type"] for field in fields if field["name"].lower() == name.lower()), None)
        return type_ is None or (isinstance(type_, str) and _is_float(type_))


def _literals(leaf: Mapping[str, Any]) -> tuple[Sequence[str | None], set[str]] | None:
    """Return the literals that a leaf compares a column with, and their types, or None for any other form.

    The column must be on the left: on the right, `<` would mean `>`.
    """
    if "values" in leaf:
        return leaf["values"], {leaf["type"]}
    column, *literals = leaf.get("args") or [{}]
    if "col" not in column or any("lit" not in each for each in literals):
        return None
    return [each["lit"] for each in literals], {each["type"] for each in literals}


def _is_read(function: str, texts: Sequence[str | None], types: set[str]) -> bool:
    """Return whether the readers support a form; Spark's reader of ORC fails on NULL."""
    if None in texts:
        return False
    if function == "IN":
        return len(types) <= 1
    return len(texts) == (1 if function in _COMPARISONS else 0 if function in _NULL_TESTS else -1)


def before_gregorian(type_name: str, value: int) -> bool:
    """Return whether a date (days) or timestamp (microseconds) is from before the calendar changed.

    Spark 4.3.0 loses such rows of ORC files. Its readers look up dates in Bloom filters by the other
    calendar. Its statistics of timestamps ignore that the first years AD are BC in the old calendar.
    """
    ticks = facts_of(type_name).ticks_per_day
    return bool(ticks) and value < _FIRST_GREGORIAN_DAY * ticks


def same_order_in_orc(text: str | None) -> bool:
    """Return whether ORC's reader orders a text among others as Spark does.

    The reader compares UTF-16, and Spark bytes of UTF-8. The two differ where one text has a character beyond
    U+FFFF, a surrogate in UTF-16, and the other one a character from U+E000 on. A text with neither is on the
    same side of every other text in both orders.

    >>> same_order_in_orc("straße"), same_order_in_orc("\uff5e"), same_order_in_orc("😀")
    (True, False, False)
    """
    return text is None or max(text, default="") < "\ud800"


def _has_old_time(texts: Sequence[str | None], types: set[str]) -> bool:
    return any(
        before_gregorian(name, int(text or 0))
        for name in types
        if facts_of(name).ticks_per_day
        for text in texts
    )


def _is_float(type_name: str) -> bool:
    return facts_of(type_name).family is Family.FLOAT


def _is_ordinary(text: str | None) -> bool:
    """Return whether a float is neither zero nor NaN."""
    number = float(text or "NaN")
    return number != 0 and not math.isnan(number)


def _nodes(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += each.get("args", ())


def _paths(tree: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    return (each["col"] for each in _nodes(tree) if "col" in each)
