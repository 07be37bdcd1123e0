"""Find the range of a column where a comparison of a monotone expression can be TRUE.

`year(d) = 2026` is TRUE only for the days of one year. So it implies a range of the column, which prunes
partitions by their keys, and files by their bounds in one comparison of arrays. The range may be wider than
the condition, never narrower: Spark still evaluates the condition itself.

No function has an inverse of its own. A binary search among the column's values finds the first and the last
one that can satisfy the condition: of 2^64 timestamps it looks at 64. Values with an unknown result, such as
`id + 1` of the greatest integer, are part of the range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from parquetry.predicate import bind, like
from parquetry.predicate.evaluate import compare
from parquetry.predicate.expression import ColumnReference, Constant, Expression, FunctionCall
from parquetry.predicate.functions.comparisons import kind
from parquetry.predicate.functions.monotone import CONSTANT
from parquetry.predicate.functions.table import directions, ranges
from parquetry.predicate.functions.text.numbers import number_of_text
from parquetry.predicate.functions.text.order import after_all
from parquetry.predicate.functions.text.parts import keeps_bytes, kept_beginning, listed_items
from parquetry.predicate.functions.values import NO_NULL, Range, extremes
from parquetry.predicate.nodes import Like, Or, Predicate, all_of, any_of, equal
from parquetry.predicate.regular_expression import beginnings
from parquetry.types import STRING, ColumnType, Value, decimal_from_unscaled, order_key

MAX_RANGES = 20
"""Ranges that an IN becomes at most; a longer IN becomes one range from its least to its greatest value."""
_CACHED_CONDITIONS = 1024


@lru_cache(maxsize=_CACHED_CONDITIONS)
def implied(op: str, expression: Expression, value: Value, literal: ColumnType) -> Predicate | None:
    """Return the condition that `expression op literal` implies on a column, or None if unknown.

    Args:
        op: the comparison.
        expression: of one column.
        value: the literal.
        literal: its type.

    >>> year = FunctionCall("YEAR", (ColumnReference("d", ColumnType("date")),), ColumnType("int"))
    >>> str(implied("=", year, 2026, ColumnType("int")))
    "d >= DATE '2026-01-01' AND d <= DATE '2026-12-31'"
    """
    if value is None or op == "!=" or value != value or kind(expression.type) is None:
        return None
    if kind(expression.type) != kind(literal):
        return None
    if op in ("=", "<=>") and (argument := _only_argument(expression, value)) is not None:
        return argument
    if isinstance(value, str) and (begins := _beginning(op, expression, value)) is not None:
        return begins
    if isinstance(expression, FunctionCall) and expression.function == "FINDINSET":
        return _listed(op, expression, value)
    return _within(op, expression, value)


def implied_by_any(
    expression: Expression, literals: Sequence[tuple[Value, ColumnType]], most: int = MAX_RANGES
) -> Predicate | None:
    """Return the condition that `expression IN (literals)` implies on a column, or None if unknown.

    Args:
        expression: of one column.
        literals: values and their types; NULL is not among them.
        most: ranges that become conditions. Of more literals, one range has all.
    """
    if len(literals) > most:
        ordered = sorted(literals, key=lambda each: order_key(each[0]))
        ends = (implied(">=", expression, *ordered[0]), implied("<=", expression, *ordered[-1]))
        finite = [end for end in ends if end is not None]
        return all_of(finite) if finite else None
    parts = [implied("=", expression, value, type) for value, type in literals]
    preimages = [part for part in parts if part is not None]
    if not preimages or len(preimages) < len(parts):
        return None
    # values with an unknown result are part of each
    flat = (each for part in preimages for each in (part.children if isinstance(part, Or) else (part,)))
    return any_of(dict.fromkeys(flat))


def direction_in(expression: Expression) -> tuple[ColumnReference, int] | None:
    """Return the only column of a monotone expression, and 1 if it grows with it or -1 if it falls.

    The expression is NULL where the column is NULL. None means that this is not known.

    >>> id = ColumnReference("id", ColumnType("int"))
    >>> direction_in(FunctionCall("-", (Constant(5, ColumnType("int")), id), ColumnType("int")))[1]
    -1
    """
    direction = 1
    while isinstance(expression, FunctionCall):
        others = [position for position, each in enumerate(expression.args) if not isinstance(each, Constant)]
        if len(others) != 1 or any(
            isinstance(each, Constant) and each.value is None for each in expression.args
        ):
            return None
        sign = _direction(expression, others[0])
        if sign == CONSTANT:
            return None
        direction *= sign
        expression = expression.args[others[0]]
    return (expression, direction) if isinstance(expression, ColumnReference) else None


def _keeps_order(source: ColumnType | None, target: ColumnType | None) -> bool:
    """Return whether a cast keeps the order. Texts of numbers have another one: '10' is before '9'."""
    if source is None or source.textual or source.floating:
        return False
    return target is None or not target.textual or not source.numeric


def _direction(call: FunctionCall, position: int) -> int:
    known = directions(call.function)
    if known is not None:
        return known[position] if position < len(known) else CONSTANT
    if call.function in ("*", "/", "DIV", "MULTIPLY", "DIVIDE", "INTEGRALDIVIDE"):
        other = call.constant(1 - position)
        if not isinstance(other, int | float | Decimal) or other == 0:
            return CONSTANT
        return CONSTANT if position and call.function not in ("*", "MULTIPLY") else 1 if other > 0 else -1
    if call.function in ("-", "SUBTRACT"):
        return -1 if position or len(call.args) == 1 else 1
    if call.function == "CAST":
        return 1 if _keeps_order(call.args[0].type, call.type) else CONSTANT
    return (
        1
        if call.function in ("+", "ADD", "FLOOR", "CEIL", "CEILING", "ROUNDFLOOR", "ROUNDCEIL")
        else CONSTANT
    )


# Binary search.


class _Domain(NamedTuple):
    """The values of a column by whole numbers, and the numbers between which an expression is known."""

    value: Callable[[int], Value]
    least: int
    greatest: int
    first: int
    last: int


def _within(op: str, expression: Expression, value: Value) -> Predicate | None:
    found = direction_in(expression)
    if found is None:
        return None
    (name, type), direction = (found[0].name, found[0].type), found[1]
    domain = _domain(expression, type)
    if domain is None:
        return None

    def below(number: int) -> bool:
        """Return whether all results up to here, in the order of results, are below the literal."""
        high = _at(expression, name, domain.value(number)).high
        return bool(high <= value if op == ">" else high < value)

    def above(number: int) -> bool:
        low = _at(expression, name, domain.value(number)).low
        return bool(low >= value if op == "<" else low > value)

    first, last = domain.first, domain.last
    start = below if op not in ("<", "<=") else None
    stop = above if op not in (">", ">=") else None
    if direction < 0:
        start, stop = stop, start
    low = first if start is None else _boundary(start, first, last)
    high = last if stop is None else _last_before(stop, first, last)
    parts: list[Predicate] = []
    if low <= high:
        parts.append(_between(name, type, domain, low, high))
    if first > domain.least:
        parts.append(bind.comparison("<", name, type, domain.value(first), type))
    if last < domain.greatest:
        parts.append(bind.comparison(">", name, type, domain.value(last), type))
    return any_of(parts) if parts else bind.never(name)


def _between(name: str, type: ColumnType, domain: _Domain, low: int, high: int) -> Predicate:
    if low == high:
        return equal(name, domain.value(low), type)
    ends = []
    if low > domain.least:
        ends.append(bind.comparison(">=", name, type, domain.value(low), type))
    if high < domain.greatest:
        ends.append(bind.comparison("<=", name, type, domain.value(high), type))
    return all_of(ends)


@lru_cache(maxsize=_CACHED_CONDITIONS)
def _domain(expression: Expression, type: ColumnType) -> _Domain | None:
    """Return the numbers with a known result, or None if a few small numbers have none."""
    if type.facts.value is int:
        value: Callable[[int], Value] = int
        least, greatest = extremes(type)
    elif type.name == "decimal":
        unit = type.scale
        value, greatest = lambda number: decimal_from_unscaled(number, unit), 10**type.precision - 1
        least = -greatest
    else:
        return None
    direction = direction_in(expression)
    if direction is None:
        return None
    name = direction[0].name
    inside = next((each for each in (0, 1, 19_000) if _is_known(expression, name, value, each)), None)
    if inside is None or not least <= inside <= greatest:
        return None
    first = _boundary(lambda number: not _is_known(expression, name, value, number), least, inside)
    last = _last_before(lambda number: not _is_known(expression, name, value, number), inside, greatest)
    return _Domain(value, least, greatest, first, last)


def _is_known(expression: Expression, name: str, value: Callable[[int], Value], number: int) -> bool:
    found = _at(expression, name, value(number))
    return not found.fails and not found.nan and found.low is not None and found.high is not None


def _at(expression: Expression, name: str, value: Value) -> Range:
    return ranges(expression, {name: Range(value, value, NO_NULL)})[0]


def _boundary(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number in a range that fails a test, or `high + 1`; all before it pass."""
    while low <= high:
        middle = (low + high) // 2
        if holds(middle):
            low = middle + 1
        else:
            high = middle - 1
    return low


def _last_before(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last number in a range that fails a test, or `low - 1`; all after it pass."""
    return -_boundary(lambda number: holds(-number), -high, -low)


# Texts.


def _only_argument(expression: Expression, value: Value) -> Predicate | None:
    """Return the condition that an expression's only column has the only value that gives a result."""
    if not isinstance(expression, FunctionCall) or not isinstance(value, str):
        return None
    if expression.function in ("CONCAT", "||"):
        return _without_constants(expression, value)
    return number_of_text(expression, value)


def _without_constants(call: FunctionCall, value: str) -> Predicate | None:
    """Return the condition on the only argument of a CONCAT that is no constant."""
    others = [position for position, each in enumerate(call.args) if not isinstance(each, Constant)]
    if len(others) != 1:
        return None
    constants = [call.constant(position) for position in range(len(call.args))]
    texts = [each if isinstance(each, str) else "" for each in constants]
    before, after = "".join(texts[: others[0]]), "".join(texts[others[0] + 1 :])
    inner = call.args[others[0]]
    if len(value) >= len(before) + len(after) and value.startswith(before) and value.endswith(after):
        middle = value[len(before) : len(value) - len(after)]
        if isinstance(inner, ColumnReference) and inner.type is not None and inner.type.textual:
            return bind.comparison("=", inner.name, inner.type, middle, STRING)
        return implied("=", inner, middle, STRING)
    return bind.never(inner.name) if isinstance(inner, ColumnReference) else None


def _beginning(op: str, expression: Expression, text: str) -> Predicate | None:
    """Return the condition on a text that a comparison of its first characters implies."""
    if not isinstance(expression, FunctionCall) or not isinstance(expression.args[0], ColumnReference):
        return None
    name, type, beginning = expression.args[0].name, expression.args[0].type, kept_beginning(expression, text)
    if beginning is None or not type.unpadded:
        return None
    begins = beginning_of(name, type, beginning)
    if op in ("=", "<=>"):
        return begins
    if op in (">", ">="):
        kept = beginning == text[: len(beginning)] and (keeps_bytes(expression) or text.isascii())
        return bind.comparison(">=", name, type, text, STRING) if kept else None
    if expression.function not in ("LEFT", "SUBSTRING", "SUBSTR"):
        return None
    return Or((bind.comparison("<", name, type, text, STRING), begins))


def beginning_of(name: str, type: ColumnType, text: str) -> Predicate:
    """Return the condition that a column's text begins with a text."""
    found = like.starts_with(name, text)
    return Like(found.column, found.pattern, found.escape, type)


def implied_by_expression(name: str, type: ColumnType, pattern: str) -> Predicate | None:
    """Return the condition on a column that a regular expression implies, or None if unknown.

    >>> str(implied_by_expression("c", STRING, "^(ab|cd).*x"))
    "c LIKE 'ab%' OR c LIKE 'cd%'"
    """
    found = beginnings(pattern)
    if found is None or found.ignores_case or not type.unpadded or not type.textual:
        return None
    if len(found.texts) <= MAX_RANGES:
        return any_of(beginning_of(name, type, text) for text in found.texts)
    least, end = found.texts[0], after_all(found.texts[-1])
    parts = [bind.comparison(">=", name, type, least, STRING)]
    return all_of(parts if end is None else [*parts, bind.comparison("<", name, type, end, STRING)])


def _listed(op: str, call: FunctionCall, value: Value) -> Predicate | None:
    """Return the condition that a column is one of the items that a comparison of FIND_IN_SET accepts."""
    column, items = call.args[0], listed_items(call)
    if not isinstance(column, ColumnReference) or items is None or not column.type.unpadded:
        return None
    if compare(op, 0, value):
        return None
    accepted = [item for item in items if compare(op, items.index(item) + 1, value)]
    if not accepted:
        return bind.never(column.name)
    return bind.membership(column.name, column.type, accepted, STRING)
