"""The table of functions whose results are known from the ranges of their arguments.

A function has the name of Spark's Catalyst class, and its V2 name, in capitals. To add one, add a row. A
function that is not here may have any result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from parquetry.predicate.functions import casts, choices, comparisons, numbers, texts, time_parts, times
from parquetry.predicate.functions.monotone import Monotone, Rule
from parquetry.types import BOOLEAN, STRING, ColumnType

TypeRule: TypeAlias = Callable[[Sequence[ColumnType | None]], ColumnType | None]
"""The type of results by the types of the arguments, for trees without it; None if it is not known."""


class Function(NamedTuple):
    """A function.

    Attributes:
        rule: the range of its results by the ranges of its arguments.
        type: the type of its results.
    """

    rule: Rule
    type: TypeRule


def _always(type: ColumnType | None) -> TypeRule:
    return lambda _: type


def _type_of(position: int) -> TypeRule:
    return lambda types: types[position] if position < len(types) else None


def _same_number(types: Sequence[ColumnType | None]) -> ColumnType | None:
    """Return the type of two numbers of one type; how many digits a decimal gets only Spark says."""
    first = types[0] if types else None
    return None if first is None or first.name == "decimal" else first


def _common(types: Sequence[ColumnType | None]) -> ColumnType | None:
    return types[0] if types and all(each == types[0] for each in types) else None


_INT, _BIGINT = ColumnType("int"), ColumnType("bigint")
_DATE, _TIMESTAMP = ColumnType("date"), ColumnType("timestamp")


def _rows(rule: Rule, type: TypeRule, *names: str) -> dict[str, Function]:
    return dict.fromkeys(names, Function(rule, type))


def _parts() -> dict[str, Function]:
    """Return the functions that take a part of a time."""
    return {
        **_rows(times.YEAR, _always(_INT), "YEAR"),
        **_rows(time_parts.QUARTER, _always(_INT), "QUARTER"),
        **_rows(time_parts.MONTH, _always(_INT), "MONTH"),
        **_rows(time_parts.DAY, _always(_INT), "DAY", "DAYOFMONTH"),
        **_rows(time_parts.DAY_OF_YEAR, _always(_INT), "DAYOFYEAR", "DAY_OF_YEAR"),
        **_rows(time_parts.WEEK_OF_YEAR, _always(_INT), "WEEKOFYEAR", "WEEK"),
        **_rows(time_parts.DAY_OF_WEEK, _always(_INT), "DAYOFWEEK"),
        **_rows(time_parts.WEEKDAY, _always(_INT), "WEEKDAY"),
        **_rows(time_parts.HOUR, _always(_INT), "HOUR"),
        **_rows(time_parts.MINUTE, _always(_INT), "MINUTE"),
        **_rows(time_parts.SECOND, _always(_INT), "SECOND"),
    }


FUNCTIONS: dict[str, Function] = {
    # numbers
    **_rows(numbers.PLUS, _same_number, "+", "ADD"),
    **_rows(numbers.MINUS, _same_number, "-", "SUBTRACT"),
    **_rows(numbers.TIMES, _same_number, "*", "MULTIPLY"),
    **_rows(numbers.DIVIDED, _same_number, "/", "DIVIDE"),
    **_rows(numbers.WHOLE_QUOTIENT, _always(_BIGINT), "DIV", "INTEGRALDIVIDE"),
    **_rows(numbers.REMAINDER, _same_number, "%", "REMAINDER", "PMOD"),
    **_rows(numbers.NEGATIVE, _type_of(0), "UNARYMINUS", "NEGATIVE"),
    **_rows(numbers.PLUS, _type_of(0), "UNARYPOSITIVE", "POSITIVE"),
    **_rows(numbers.ABSOLUTE, _type_of(0), "ABS"),
    **_rows(numbers.FLOOR, _always(_BIGINT), "FLOOR", "ROUNDFLOOR"),
    **_rows(numbers.CEILING, _always(_BIGINT), "CEIL", "CEILING", "ROUNDCEIL"),
    **_rows(numbers.ROUND, _same_number, "ROUND"),
    **_rows(numbers.ROUND_EVEN, _same_number, "BROUND"),
    **_rows(numbers.SIGN, _always(ColumnType("double")), "SIGNUM", "SIGN"),
    **_rows(numbers.ROOT, _always(ColumnType("double")), "SQRT"),
    **_rows(casts.cast, _always(None), "CAST"),
    # times
    **_parts(),
    **_rows(times.DATE_TRUNC, _type_of(1), "DATE_TRUNC", "TRUNCTIMESTAMP"),
    **_rows(times.TRUNC, _always(_DATE), "TRUNC", "TRUNCDATE"),
    **_rows(times.LAST_DAY, _always(_DATE), "LAST_DAY", "LASTDAY"),
    **_rows(
        times.ADD_MONTHS,
        _type_of(0),
        "ADD_MONTHS",
        "ADDMONTHS",
        "DATEADDYMINTERVAL",
        "TIMESTAMPADDYMINTERVAL",
    ),
    **_rows(times.ADD_DAYS, _always(_DATE), "DATE_ADD", "DATEADD"),
    **_rows(times.SUBTRACT_DAYS, _always(_DATE), "DATE_SUB", "DATESUB"),
    **_rows(times.ADD_INTERVAL, _type_of(0), "TIMEADD", "TIMESTAMPADDINTERVAL"),
    **_rows(times.ADD_UNITS, _type_of(1), "TIMESTAMPADD"),
    **_rows(times.DAYS_BETWEEN, _always(_INT), "DATE_DIFF", "DATEDIFF"),
    **_rows(times.DAYS_BETWEEN, _always(None), "SUBTRACTDATES"),
    **_rows(times.TIME_BETWEEN, _always(None), "SUBTRACTTIMESTAMPS"),
    **_rows(times.UNIX_TIMESTAMP, _always(_BIGINT), "UNIX_TIMESTAMP", "UNIXTIMESTAMP", "TOUNIXTIMESTAMP"),
    **_rows(times.UNIX_SECONDS, _always(_BIGINT), "UNIXSECONDS"),
    **_rows(times.UNIX_MILLIS, _always(_BIGINT), "UNIXMILLIS"),
    **_rows(times.UNIX_MICROS, _always(_BIGINT), "UNIXMICROS"),
    **_rows(times.UNIX_DAYS, _always(_INT), "UNIXDATE"),
    **_rows(times.UNIX_DAYS, _always(_DATE), "DATEFROMUNIXDATE"),
    **_rows(times.FROM_SECONDS, _always(_TIMESTAMP), "SECONDSTOTIMESTAMP"),
    **_rows(times.FROM_MILLIS, _always(_TIMESTAMP), "MILLISTOTIMESTAMP"),
    **_rows(times.FROM_MICROS, _always(_TIMESTAMP), "MICROSTOTIMESTAMP"),
    **_rows(times.DATE_FORMAT, _always(STRING), "DATEFORMATCLASS", "DATE_FORMAT"),
    **_rows(times.SECONDS_FORMAT, _always(STRING), "FROMUNIXTIME", "FROM_UNIXTIME"),
    # texts
    **_rows(texts.SUBSTRING, _always(STRING), "SUBSTRING", "SUBSTR"),
    **_rows(texts.FIRST_CHARACTERS, _always(STRING), "LEFT"),
    **_rows(texts.UPPER, _always(STRING), "UPPER"),
    **_rows(texts.LOWER, _always(STRING), "LOWER"),
    **_rows(texts.CONCAT, _always(STRING), "CONCAT", "||"),
    **_rows(texts.LENGTH, _always(_INT), "LENGTH", "CHAR_LENGTH"),
    **_rows(texts.LIKE, _always(BOOLEAN), "LIKE"),
    **_rows(texts.MATCHES, _always(BOOLEAN), "RLIKE"),
    **_rows(texts.STARTS_WITH, _always(BOOLEAN), "STARTSWITH", "STARTS_WITH"),
    # choices
    **_rows(choices.COALESCE, _common, "COALESCE"),
    **_rows(choices.GREATEST, _common, "GREATEST"),
    **_rows(choices.LEAST, _common, "LEAST"),
    **_rows(choices.CASE, lambda types: _common(types[1::2]), "CASEWHEN", "CASE_WHEN", "IF"),
    # conditions
    **{name: Function(rule, _always(BOOLEAN)) for name, rule in comparisons.COMPARISONS.items()},
    **{name: Function(rule, _always(BOOLEAN)) for name, rule in comparisons.STRUCT_COMPARISONS.items()},
    **_rows(comparisons.COMPARISONS["!="], _always(BOOLEAN), "<>"),
    **_rows(comparisons.IN, _always(BOOLEAN), "IN", "INSET"),
    **_rows(comparisons.IS_NULL, _always(BOOLEAN), "IS_NULL", "ISNULL"),
    **_rows(comparisons.IS_NOT_NULL, _always(BOOLEAN), "IS_NOT_NULL", "ISNOTNULL"),
    **_rows(comparisons.NOT, _always(BOOLEAN), "NOT"),
    **_rows(comparisons.AND, _always(BOOLEAN), "AND"),
    **_rows(comparisons.OR, _always(BOOLEAN), "OR"),
}
"""The functions by their names."""


def directions(name: str) -> tuple[int, ...] | None:
    """Return the directions of a monotone function, or None for all others.

    >>> directions("DATE_SUB"), directions("ABS")
    ((1, -1), None)
    """
    rule = FUNCTIONS[name].rule if name in FUNCTIONS else None
    return rule.directions if isinstance(rule, Monotone) else None
