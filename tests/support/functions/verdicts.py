"""Compare the planner's claims about expressions with Spark's values: ranges, implied conditions, verdicts.

Containers are single rows, and runs of rows that are neighbours by a column of the expression, as in sorted
files. Spark's values decide each condition here, so thousands of conditions need no query.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from parquetry.predicate import NO_NULL, ONLY_NULL, SOME_NULL, Bounds, Filter, Knowledge, Match, Range, match
from parquetry.predicate.evaluate import compare, evaluate
from parquetry.predicate.expression import FunctionCall, columns_in
from parquetry.predicate.functions.preimage import direction_in
from parquetry.predicate.functions.table import constant_range, ranges
from parquetry.predicate.nodes import Opaque, Predicate
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.spark_json import expression_from_json, from_json
from parquetry.types import ColumnType, order_key, parse_type
from tests.support.functions.spark_values import ERROR, Evaluated

OPERATORS = {"=": "=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
RUNS = (2, 2, 3, 8, 30)
"""Rows of a run, by turns."""


class Rows:
    """Rows of columns, with Spark's values.

    Args:
        columns: for each column its type, as the table has it, and its values; texts are bytes.
    """

    def __init__(self, columns: Mapping[str, tuple[ColumnType, list[Any]]]) -> None:
        self.types = {name: type for name, (type, _) in columns.items()}
        self.values = {
            name: [_text(each) for each in values] if type.textual else values
            for name, (type, values) in columns.items()
        }
        self.count = len(next(iter(self.values.values())))


def _text(value: Any) -> Any:
    """Return a text, or the bytes of a text in another encoding."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def key(value: Any) -> Any:
    """Return a key in Spark's order of values of one type; texts sort by their bytes."""
    return order_key(value.encode() if isinstance(value, str) else value)


type_of = type


class Container(NamedTuple):
    """Some rows, and what statistics say of their columns."""

    rows: list[int]
    ranges: dict[str, Range]


def _summary(type: ColumnType, values: Sequence[Any]) -> Range:
    """Return what a footer says of a column: NaN is left out, and a text that is none is not known."""
    there = [each for each in values if each is not None]
    nulls = ONLY_NULL if not there else SOME_NULL if len(there) < len(values) else NO_NULL
    numbers = sorted((each for each in there if each == each), key=key)
    nan = type.floating
    if numbers and type.textual and bytes in (type_of(numbers[0]), type_of(numbers[-1])):
        return Range(nulls=nulls)
    if not numbers:
        return Range(nulls=nulls, nan=nan and bool(there))
    return Range(numbers[0], numbers[-1], nulls, nan)


class Statistics(Knowledge):
    """The bounds of containers of several rows."""

    def __init__(self, types: Mapping[str, ColumnType], containers: Sequence[Container]) -> None:
        self.count, self._types, self._containers = len(containers), types, containers

    def bounds(self, column: str) -> Bounds:
        several = [each.ranges[column] for each in self._containers]
        lows, highs = ([getattr(each, end) for each in several] for end in ("low", "high"))
        return Bounds.from_statistics(self._types[column], lows, highs, [each.nulls for each in several])


class Values(Knowledge):
    """The values of single rows, as partitions have them."""

    def __init__(self, values: Mapping[str, Sequence[Any]]) -> None:
        self.count, self._values = len(next(iter(values.values()))), values

    def bounds(self, column: str) -> Bounds | None:
        values = self._values[column]
        return None if any(isinstance(each, bytes) for each in values) else Bounds.from_values(values)


class Judged:
    """An expression beside Spark's values of it.

    Args:
        rows: the rows.
        evaluated: the expression with its values.
        tree: another tree of the expression, instead of Spark's.

    Attributes:
        faults: what the planner claims, and Spark's values refute.
        exact: the rows whose value the planner knows, of a double nearly.
        decided: the containers that conditions left out, or took whole.
    """

    def __init__(self, rows: Rows, evaluated: Evaluated, tree: Any = None) -> None:
        self._rows, self._of = rows, evaluated
        self._tree = evaluated.tree if tree is None else tree
        self._expression = expression_from_json(self._tree, rows.types)
        names = [] if self._expression is None else [each.name for each in columns_in(self._expression)]
        self.columns = list(dict.fromkeys(names))
        self._values = [_text(each) if evaluated.type == "string" else each for each in evaluated.values]
        self.faults: list[str] = []
        self.exact = self.decided = self.conditions = 0

    @property
    def name(self) -> str:
        """The function that is called last, or nothing if the planner does not know it."""
        return self._expression.function if isinstance(self._expression, FunctionCall) else ""

    @property
    def is_known(self) -> bool:
        """Whether the planner can evaluate the expression at all."""
        return self._expression is not None and bool(self.columns)

    def check_rows(self) -> None:
        """Compare the range of each single row with the row's value."""
        expression = self._expression
        assert expression is not None
        for row in range(self._rows.count):
            here = {name: self._rows.values[name][row] for name in self.columns}
            if any(isinstance(each, bytes) and self._rows.types[name].textual for name, each in here.items()):
                continue
            found = ranges(expression, {name: constant_range(each) for name, each in here.items()})
            self.exact += any(map(_is_known, found))
            self._compare(found, [row], here)

    def check_runs(self, containers: Sequence[Container]) -> None:
        """Compare the ranges of containers with the values of their rows."""
        assert self._expression is not None
        for each in containers:
            self._compare(ranges(self._expression, each.ranges), each.rows, each.ranges)

    def _compare(self, found: Sequence[Range], rows: Sequence[int], of: Any) -> None:
        if any(each.fails for each in found):
            return
        for row in rows:
            value = self._values[row]
            if not any(_allows(each, value) for each in found):
                self.faults.append(f"{self._of.sql} over {of}: the planner has {found}, Spark {value!r}")
                return

    def containers(self, dice: random.Random, most: int) -> list[Container]:
        """Return runs of rows that are neighbours by a column of the expression."""
        runs = []
        for name in self.columns:
            values = self._rows.values[name]
            order = sorted(
                range(self._rows.count),
                key=lambda row: (values[row] is not None, values[row] is not None and key(values[row])),
            )
            runs += [order[start : start + dice.choice(RUNS)] for start in range(self._rows.count - 1)]
        return [Container(rows, self._summaries(rows)) for rows in dice.sample(runs, min(len(runs), most))]

    def _summaries(self, rows: Sequence[int]) -> dict[str, Range]:
        return {
            name: _summary(self._rows.types[name], [self._rows.values[name][row] for row in rows])
            for name in self.columns
        }

    def check_conditions(self, containers: Sequence[Container], dice: random.Random, count: int) -> None:
        """Compare the verdicts of conditions on the expression with the truth of their rows."""
        statistics = Statistics(self._rows.types, containers)
        singles = [
            [row] for row in dice.sample(range(self._rows.count), min(self._rows.count, 2 * len(containers)))
        ]
        values = Values({name: [self._rows.values[name][row] for (row,) in singles] for name in self.columns})
        conditions = list(self._conditions(dice))
        for tree, truth in dice.sample(conditions, min(count, len(conditions))):
            self.conditions += 1
            condition = from_json(tree, self._rows.types)
            truths = [ERROR if value is ERROR else truth(value) for value in self._values]
            self._check_implied(condition, truths, tree)
            filter = Filter(normalise(condition))
            for knowledge, several in ((statistics, [each.rows for each in containers]), (values, singles)):
                self._check_verdicts(match(filter, knowledge).tolist(), several, truths, tree)

    def _check_verdicts(
        self, verdicts: Sequence[int], containers: Sequence[Sequence[int]], truths: Sequence[Any], tree: Any
    ) -> None:
        for verdict, rows in zip(verdicts, containers, strict=True):
            self.decided += verdict != Match.MIGHT
            here = [truths[row] for row in rows]
            wrong = (verdict == Match.CANNOT and (True in here or ERROR in here)) or (
                verdict == Match.MUST and any(each is not True for each in here)
            )
            if wrong:
                found = [{name: self._rows.values[name][row] for name in self.columns} for row in rows]
                self.faults.append(
                    f"{self._of.sql}, {tree['fn']} {_literals(tree)} of {self._of.type}: {Match(verdict).name}, Spark {here} for {found}"
                )
                return

    def _check_implied(self, condition: Predicate, truths: Sequence[Any], tree: Any) -> None:
        """Compare the condition that another one implies on a column with the rows of the other one."""
        if not isinstance(condition, Opaque) or condition.implied is None:
            return
        for row, truth in enumerate(truths):
            here = {name: self._rows.values[name][row] for name in self.columns}
            if truth is not True or any(isinstance(each, bytes) for each in here.values()):
                continue
            if evaluate(condition.implied, here) is not True:
                self.faults.append(
                    f"{self._of.sql}, {tree['fn']} {_literals(tree)}: implies {condition.implied}, TRUE for {here}"
                )
                return

    def check_direction(self) -> None:
        """Compare the direction of an expression of one column with the order of the values."""
        assert self._expression is not None
        known = direction_in(self._expression)
        if known is None:
            return
        values = self._rows.values[known[0].name]
        for row, value in enumerate(values):
            if value is None and self._values[row] is not None:
                self.faults.append(f"{self._of.sql}: {self._values[row]!r} of NULL")

    def _conditions(self, dice: random.Random) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
        """Yield conditions, and the truth of each for a value of the expression."""
        type = parse_type(self._of.type)
        if not type.keyed:
            return
        unique = {
            key(each): each
            for each in self._values
            if each is not ERROR and each is not None and not (type.textual and isinstance(each, bytes))
        }
        literals = list(unique.values())
        near = [other for each in literals for other in _near(type, each)]
        literals = [*literals, *dice.sample(near, min(len(near), 10))]
        for each in literals:
            yield from ((self._call(op, each), partial(_compared, op, each)) for op in OPERATORS)
        yield self._call("<=>", None), lambda value: value is None
        for _ in literals:
            some = dice.sample(literals, min(len(literals), dice.choice((1, 2, 3, 25)))) + [
                None
            ] * dice.choice((0, 0, 1))
            yield self._call("IN", *some), partial(_within, some)
            yield self._negated(self._call("IN", *some)), lambda value, some=some: _not(_within(some, value))
            low, high = dice.choice(literals), dice.choice(literals)
            tree = {
                "fn": "AND",
                "class": "And",
                "type": "boolean",
                "args": [self._call(">=", low), self._call("<=", high)],
            }
            yield (
                tree,
                lambda value, low=low, high=high: _both(
                    _compared(">=", low, value), _compared("<=", high, value)
                ),
            )
            yield self._negated(self._call("<", low)), lambda value, low=low: _not(_compared("<", low, value))

    def _negated(self, tree: Any) -> Any:
        return {"fn": "NOT", "class": "Not", "type": "boolean", "args": [tree]}

    def _call(self, function: str, *literals: Any) -> Any:
        trees = [
            {"lit": None if each is None else _literal(each), "type": self._of.type} for each in literals
        ]
        return {
            "fn": function,
            "class": "X" if function != "IN" else "In",
            "type": "boolean",
            "args": [self._tree, *trees],
        }


def _literal(value: Any) -> str:
    """Write a value as the bridge does."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        value.hex() if isinstance(value, bytes) else repr(value) if isinstance(value, float) else str(value)
    )


def _literals(tree: Any) -> list[Any]:
    return [
        each.get("lit", _literals(each) if "fn" in each and tree["fn"] in ("AND", "NOT") else "#")
        for each in tree["args"]
    ]


def _near(type: ColumnType, value: Any) -> list[Any]:
    """Return a few values beside another one of its type."""
    if type.name in ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz"):
        limit = {"tinyint": 7, "smallint": 15, "int": 31, "date": 31}.get(type.name, 63)
        return [each for each in (value - 1, value + 1) if -(1 << limit) <= each < 1 << limit]
    if type.textual:
        return [value + "a", value[:1], value[:-1], value.upper()]
    return []


def _is_known(found: Range) -> bool:
    """Return whether a range is a single value, or of doubles a small part of one, or of a month."""
    if found.low is None or found.high is None:
        return False
    if isinstance(found.low, float) and math.isfinite(found.low):
        return bool(
            found.high - found.low <= max(1e-9 * abs(found.low), 0.5 if abs(found.low) > 10 else 1e-9)
        )
    return bool(found.low == found.high)


def _allows(range: Range, value: Any) -> bool:
    """Return whether a range has room for a value of Spark's."""
    if value is ERROR:
        return False
    if value is None:
        return range.nulls in (SOME_NULL, ONLY_NULL)
    if range.void:
        return False
    if value != value:
        return range.nan
    low, high = range.low, range.high
    return (low is None or key(low) <= key(value)) and (high is None or key(value) <= key(high))


def _compared(op: str, literal: Any, value: Any) -> Any:
    if isinstance(literal, str) and value is not None:
        literal, value = key(literal), key(value)
    return compare(OPERATORS[op], value, literal)


def _within(literals: Sequence[Any], value: Any) -> Any:
    if value is None:
        return None
    found = any(each is not None and key(each) == key(value) for each in literals)
    return True if found else None if None in literals else False


def _not(truth: Any) -> Any:
    return None if truth is None else not truth


def _both(one: Any, other: Any) -> Any:
    return False if one is False or other is False else None if None in (one, other) else True
