"""Derive a range of a column from a condition on a monotone function of it.

`year(d) = 2026` is TRUE only for the days of one year, `substr(s, 1, 7) >= '2026-10'` only for texts from
`2026-10` on. So each implies a range of the column, which prunes partitions by their keys and files by their
bounds. The range may be wider than the condition, never narrower: Spark still evaluates the condition itself.

Functions are resolved from the outside to the inside: the range of a function's results becomes a range of
its argument, until the argument is the column. Time zones are ignored. No zone is a day or more from UTC, so
a cast between dates and timestamps widens the range by a day on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from parquetry.predicate import bind, like
from parquetry.predicate.nodes import And, Like, Or, Predicate, all_of, any_of
from parquetry.predicate.reading import char_padding
from parquetry.temporal import MICROS_PER_DAY, days_from_civil
from parquetry.types import STRING, ColumnType, Value, parse_type

_MAX_RANGES = 20
"""Ranges that an IN becomes at most; a longer IN becomes one range from its least to its greatest value."""
_MAX_EXACT_IN_DOUBLE = 1 << 53
_INSTANT_TYPES = ("timestamp", "timestamp_ntz")
_MAX_UNIT_DAYS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), 366),
    "QUARTER": 92,
    **dict.fromkeys(("MONTH", "MM", "MON"), 31),
    "WEEK": 7,
    **dict.fromkeys(("DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"), 1),
}
"""The longest duration, in days, of each unit that times can be truncated to."""

Tree = Mapping[str, Any]


class Span(NamedTuple):
    """Values from `low` to `high`, both included; None is unbounded. Times are days or microseconds."""

    low: int | Decimal | None
    high: int | Decimal | None

    def moved(self, low: int, high: int) -> Span:
        """Return the span with each of its ends moved."""
        return Span(
            None if self.low is None else self.low + low, None if self.high is None else self.high + high
        )


def implied(
    op: str, tree: Tree, value: Value, literal: ColumnType, columns: Mapping[str, ColumnType]
) -> Predicate | None:
    """Return the condition that `function(column) op literal` implies on the column, or None if unknown.

    Args:
        op: the comparison.
        tree: the function, in the form of `spark_json`.
        value: the literal.
        literal: its type.
        columns: the table's columns by name.

    >>> year = {'fn': 'YEAR', 'args': [{'col': ['d']}]}
    >>> str(implied('=', year, 2026, ColumnType('int'), {'d': ColumnType('date')}))
    "d >= DATE '2026-01-01' AND d <= DATE '2026-12-31'"
    """
    if value is None or op == "!=":
        return None
    if isinstance(value, str):
        return _text_implication(op, tree, value, columns)
    number = _number(value)
    if number is None:
        return None
    whole = isinstance(value, int) and (literal.integral or literal.name in ("date", *_INSTANT_TYPES))
    step = 1 if whole and op in ("<", ">") else 0
    span = {
        "=": Span(number, number),
        "<=>": Span(number, number),
        "<": Span(None, number - step),
        "<=": Span(None, number),
        ">": Span(number + step, None),
        ">=": Span(number, None),
    }[op]
    return _span_implication(tree, span, columns)


def implied_by_any(
    tree: Tree, literals: Sequence[tuple[Value, ColumnType]], columns: Mapping[str, ColumnType]
) -> Predicate | None:
    """Return the condition that `function(column) IN (literals)` implies on the column, or None if unknown.

    Args:
        tree: the function.
        literals: values and their types; NULL is not among them.
        columns: the table's columns by name.
    """
    if len(literals) > _MAX_RANGES:
        ordered = sorted(literals, key=lambda literal: literal[0])  # type: ignore[arg-type,return-value]
        ends = (implied(">=", tree, *ordered[0], columns), implied("<=", tree, *ordered[-1], columns))
        known = [end for end in ends if end is not None]
        return all_of(known) if known else None
    parts = [implied("=", tree, value, type, columns) for value, type in literals]
    known = [part for part in parts if part is not None]
    return any_of(known) if known and len(known) == len(parts) else None


def _number(value: Value) -> int | Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, float):
        return Decimal(repr(value)) if abs(value) < _MAX_EXACT_IN_DOUBLE else None
    return value


# Functions of text: prefixes of one length sort in the order of the texts.


def _text_implication(op: str, tree: Tree, text: str, columns: Mapping[str, ColumnType]) -> Predicate | None:
    if op in ("=", "<=>") and (found := char_padding.begins_like(tree, text, columns)) is not None:
        return found
    length = _first_characters(tree)
    if length is None or "col" not in tree["args"][0]:
        return None
    name, type = bind.resolve(tree["args"][0]["col"][0], columns)
    if len(tree["args"][0]["col"]) != 1 or type.name not in ("string", "varchar"):
        return None
    found = like.starts_with(name, text[:length])
    begins = Like(found.column, found.pattern, found.escape, type)
    if op in ("=", "<=>"):
        return begins
    if op in (">", ">="):
        return bind.comparison(">=", name, type, text, STRING)
    return Or((bind.comparison("<", name, type, text, STRING), begins))


def _first_characters(tree: Tree) -> int | None:
    """Return the length of the prefix that a function takes of a text, or None for another function."""
    match str(tree["fn"]).upper(), tree["args"]:
        case (("SUBSTRING" | "SUBSTR"), [_, {"lit": "0" | "1"}, {"lit": str(length)}]):
            return max(int(length), 0)
        case "LEFT", [_, {"lit": str(length)}]:
            return max(int(length), 0)
    return None


# Functions of numbers and times.


def _span_implication(tree: Tree, span: Span, columns: Mapping[str, ColumnType]) -> Predicate | None:
    """Return the condition on a column that a span of an expression implies, or None if none is known."""
    while "fn" in tree:
        argument, rule = _argument(tree), _SPAN_RULES.get(str(tree["fn"]).upper())
        type = None if argument is None else _type(argument, columns)
        inner = None if rule is None or type is None else rule(tree, span, type)
        if argument is None or inner is None:
            return None
        tree, span = argument, inner
    if "col" not in tree or len(tree["col"]) != 1:
        return None
    name, type = bind.resolve(tree["col"][0], columns)
    ends = [_end(op, name, type, end) for op, end in ((">=", span.low), ("<=", span.high)) if end is not None]
    return And(tuple(ends)) if len(ends) > 1 else ends[0] if ends else None


def _end(op: str, name: str, type: ColumnType, end: int | Decimal) -> Predicate:
    if type.name == "date" or type.name in _INSTANT_TYPES:
        most = (1 << (31 if type.name == "date" else 63)) - 1
        return bind.comparison(op, name, type, min(max(int(end), -most - 1), most), type)
    return bind.comparison(op, name, type, Decimal(end), bind.NUMBER_TYPE)


def _argument(tree: Tree) -> Tree | None:
    """Return the only argument of a function that is not a literal, or None if there are more or fewer."""
    arguments = [argument for argument in tree["args"] if "lit" not in argument]
    return arguments[0] if len(arguments) == 1 else None


def _type(tree: Tree, columns: Mapping[str, ColumnType]) -> ColumnType | None:
    """Return the type of an expression, or None if it is not known."""
    if "col" in tree:
        return bind.resolve(tree["col"][0], columns)[1] if len(tree["col"]) == 1 else None
    match str(tree["fn"]).upper():
        case "CAST":
            return parse_type(tree["type"])
        case "DATE_TRUNC":
            return ColumnType("timestamp")
        case "TRUNC":
            return ColumnType("date")
        case "YEAR":
            return ColumnType("int")
    return None


_SpanRule = Callable[[Tree, Span, ColumnType], Span | None]


# Each rule takes the span of a function's results, and returns the span of its argument, which has the given
# type.


def _year_span(_: Tree, span: Span, type: ColumnType) -> Span | None:
    low = None if span.low is None else days_from_civil(int(span.low), 1, 1)
    high = None if span.high is None else days_from_civil(int(span.high) + 1, 1, 1) - 1
    days = Span(low, high)
    return days if type.name == "date" else _instants(days) if type.name in _INSTANT_TYPES else None


def _cast_span(tree: Tree, span: Span, type: ColumnType) -> Span | None:
    to = parse_type(tree["type"])
    if to.name == type.name == "date" or (to.name in _INSTANT_TYPES and type.name == to.name):
        return span
    if type.name in _INSTANT_TYPES:
        if to.name == "date":
            return _instants(span)
        return span.moved(-MICROS_PER_DAY, MICROS_PER_DAY) if to.name in _INSTANT_TYPES else None
    if type.name == "date":
        return _days(span) if to.name in _INSTANT_TYPES else None
    return span if _is_wider(to, type) else None


def _is_wider(to: ColumnType, type: ColumnType) -> bool:
    """Return whether a numeric type can represent all values of another type, in the same order."""
    if type.integral:
        if to.name == "double":
            return type.name != "bigint"
        digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
        if to.name == "decimal":
            return to.precision - to.scale >= digits[type.name]
        return to.integral and digits[to.name] >= digits[type.name]
    if type.name == "decimal":
        return to.name == "decimal" and (
            to.scale >= type.scale and to.precision - to.scale >= type.precision - type.scale
        )
    return type.name == "float" and to.name == "double"


def _truncation_span(tree: Tree, span: Span, type: ColumnType) -> Span | None:
    """Return the argument's span: truncation to a unit makes a time earlier, by less than the unit."""
    unit = next(str(other["lit"]).upper() for other in tree["args"] if "lit" in other)
    days = _MAX_UNIT_DAYS.get(unit)
    if days is None:
        return None
    if type.name == "date":
        return span.moved(0, days)
    # with daylight saving time a day may have 25 hours, and a month an hour more
    return span.moved(0, (days + 1) * MICROS_PER_DAY) if type.name in _INSTANT_TYPES else None


def _instants(days: Span) -> Span:
    """Return the microseconds of a span of days, wide enough for each time zone."""
    return Span(
        None if days.low is None else (days.low - 1) * MICROS_PER_DAY,
        None if days.high is None else (days.high + 2) * MICROS_PER_DAY,
    )


def _days(instants: Span) -> Span:
    """Return the days that begin within a span of microseconds, wide enough for each time zone."""
    return Span(
        None if instants.low is None else int(instants.low) // MICROS_PER_DAY - 1,
        None if instants.high is None else int(instants.high) // MICROS_PER_DAY + 1,
    )


_SPAN_RULES: dict[str, _SpanRule] = {
    "YEAR": _year_span,
    "CAST": _cast_span,
    "DATE_TRUNC": _truncation_span,
    "TRUNC": _truncation_span,
}
