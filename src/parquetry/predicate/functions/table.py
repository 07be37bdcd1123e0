"""The table of functions whose results are known from the ranges of their arguments.

A function has the name of Spark's Catalyst class, and its V2 name, in capitals. To add one, add a row. A
function that is not here may have any result.

By this table, an expression is evaluated over the rows of containers, to ranges of its values.

    id        from 10 to 20                   in one container
    id * 2    from 20 to 40
    coalesce(id * 2, -1)                      20 to 40, and -1

Rows that take their values from different arguments have ranges of their own. If these become many, they are
joined into one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from parquetry.predicate.expression import ColumnReference, Constant, ConstantList, Expression
from parquetry.predicate.functions import (
    bits,
    buckets_of_values,
    casts,
    comparisons,
    made_dates,
    numbers,
    time_differences,
    times,
    transcendental,
)
from parquetry.predicate.functions.comparisons import may_be
from parquetry.predicate.functions.monotone import Monotone, Rule
from parquetry.predicate.functions.text import order as texts, parts as text_parts, replaced as replaced_texts
from parquetry.predicate.functions.values import NO_NULL, ONLY_NULL, UNKNOWN, Range, hull
from parquetry.types import BOOLEAN, STRING, ColumnType

TypeRule: TypeAlias = Callable[[Sequence[ColumnType | None]], ColumnType | None]
"""The type of results by the types of the arguments, for trees without it; None if it is not known."""


class Function(NamedTuple):
    """A function.

    Attributes:
        rule: the range of its results by the ranges of its arguments.
        type: the type of its results.
        partly: whether some calls with constants may have any result here, as with formats and patterns.
    """

    rule: Rule
    type: TypeRule
    partly: bool = False


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
_DOUBLE = ColumnType("double")
_DATE, _TIMESTAMP = ColumnType("date"), ColumnType("timestamp")


def _rows(rule: Rule, type: TypeRule, *names: str, partly: bool = False) -> dict[str, Function]:
    return dict.fromkeys(names, Function(rule, type, partly))


def _parts() -> dict[str, Function]:
    """Return the functions that take a part of a time."""
    return {
        **_rows(times.YEAR, _always(_INT), "YEAR"),
        **_rows(times.QUARTER, _always(_INT), "QUARTER"),
        **_rows(times.MONTH, _always(_INT), "MONTH"),
        **_rows(times.DAY, _always(_INT), "DAY", "DAYOFMONTH"),
        **_rows(times.DAY_OF_YEAR, _always(_INT), "DAYOFYEAR", "DAY_OF_YEAR"),
        **_rows(times.WEEK_OF_YEAR, _always(_INT), "WEEKOFYEAR", "WEEK"),
        **_rows(times.DAY_OF_WEEK, _always(_INT), "DAYOFWEEK"),
        **_rows(times.WEEKDAY, _always(_INT), "WEEKDAY"),
        **_rows(times.HOUR, _always(_INT), "HOUR"),
        **_rows(times.MINUTE, _always(_INT), "MINUTE"),
        **_rows(times.SECOND, _always(_INT), "SECOND"),
    }


def _doubles() -> dict[str, Function]:
    """Return the exponentials, logarithms, roots and powers of doubles."""
    rules: dict[str, Rule] = {
        "EXP": transcendental.EXP,
        "EXPM1": transcendental.EXPM1,
        "CBRT": transcendental.CUBE_ROOT,
        "TODEGREES": transcendental.DEGREES,
        "TORADIANS": transcendental.RADIANS,
        "LOG": transcendental.LN,
        "LOG10": transcendental.LOG10,
        "LOG2": transcendental.LOG2,
        "LOG1P": transcendental.LOG1P,
    }
    found = {name: Function(rule, _always(_DOUBLE)) for name, rule in rules.items()}
    return {**found, **_rows(transcendental.POWER, _always(_DOUBLE), "POW", "POWER", partly=True)}


FUNCTIONS: dict[str, Function] = {
    # numbers
    **_rows(numbers.PLUS, _same_number, "+", "ADD"),
    **_rows(numbers.MINUS, _same_number, "-", "SUBTRACT"),
    **_rows(numbers.TIMES, _same_number, "*", "MULTIPLY"),
    **_rows(numbers.DIVIDED, _same_number, "/", "DIVIDE"),
    **_rows(numbers.WHOLE_QUOTIENT, _always(_BIGINT), "DIV", "INTEGRALDIVIDE"),
    **_rows(numbers.REMAINDER, _same_number, "%", "REMAINDER", "PMOD", partly=True),
    **_rows(numbers.NEGATIVE, _type_of(0), "UNARYMINUS", "NEGATIVE"),
    **_rows(numbers.PLUS, _type_of(0), "UNARYPOSITIVE", "POSITIVE"),
    **_rows(numbers.ABSOLUTE, _type_of(0), "ABS"),
    **_rows(numbers.FLOOR, _always(_BIGINT), "FLOOR", "ROUNDFLOOR"),
    **_rows(numbers.CEILING, _always(_BIGINT), "CEIL", "CEILING", "ROUNDCEIL"),
    **_rows(numbers.ROUND, _same_number, "ROUND", partly=True),
    **_rows(numbers.ROUND_EVEN, _same_number, "BROUND", partly=True),
    **_rows(buckets_of_values.WIDTH_BUCKET, _always(_BIGINT), "WIDTHBUCKET", partly=True),
    **_rows(numbers.SIGN, _always(_DOUBLE), "SIGNUM", "SIGN"),
    **_rows(numbers.ROOT, _always(_DOUBLE), "SQRT"),
    **_rows(casts.cast, _always(None), "CAST", partly=True),
    **_doubles(),
    **_rows(bits.SHIFT_LEFT, _type_of(0), "SHIFTLEFT", "<<", partly=True),
    **_rows(bits.SHIFT_RIGHT, _type_of(0), "SHIFTRIGHT", ">>", partly=True),
    **_rows(bits.AND_BITS, _type_of(0), "&", partly=True),
    **_rows(bits.OR_BITS, _type_of(0), "|", partly=True),
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
    **_rows(time_differences.UNITS_BETWEEN, _always(_BIGINT), "TIMESTAMPDIFF"),
    **_rows(time_differences.MONTHS_BETWEEN, _always(_DOUBLE), "MONTHSBETWEEN", partly=True),
    **_rows(time_differences.FROM_UTC, _always(_TIMESTAMP), "FROMUTCTIMESTAMP", partly=True),
    **_rows(time_differences.TO_UTC, _always(_TIMESTAMP), "TOUTCTIMESTAMP", partly=True),
    **_rows(times.DAYS_BETWEEN, _always(_INT), "DATE_DIFF", "DATEDIFF"),
    **_rows(times.DAYS_BETWEEN, _always(None), "SUBTRACTDATES"),
    **_rows(times.TIME_BETWEEN, _always(None), "SUBTRACTTIMESTAMPS"),
    **_rows(times.UNIX_TIMESTAMP, _always(_BIGINT), "UNIX_TIMESTAMP", "UNIXTIMESTAMP", "TOUNIXTIMESTAMP"),
    **_rows(times.UNIX_SECONDS, _always(_BIGINT), "UNIXSECONDS"),
    **_rows(times.UNIX_MILLIS, _always(_BIGINT), "UNIXMILLIS"),
    **_rows(times.UNIX_MICROS, _always(_BIGINT), "UNIXMICROS"),
    **_rows(times.UNIX_DAYS, _always(_INT), "UNIXDATE"),
    **_rows(times.UNIX_DAYS, _always(_DATE), "DATEFROMUNIXDATE"),
    **_rows(times.AS_THEY_ARE, _always(None), "PRECISETIMESTAMPCONVERSION"),
    **_rows(times.FROM_SECONDS, _always(_TIMESTAMP), "SECONDSTOTIMESTAMP"),
    **_rows(times.FROM_MILLIS, _always(_TIMESTAMP), "MILLISTOTIMESTAMP"),
    **_rows(times.FROM_MICROS, _always(_TIMESTAMP), "MICROSTOTIMESTAMP"),
    **_rows(made_dates.MAKE_DATE, _always(_DATE), "MAKEDATE", partly=True),
    **_rows(times.DATE_FORMAT, _always(STRING), "DATEFORMATCLASS", "DATE_FORMAT", partly=True),
    **_rows(times.SECONDS_FORMAT, _always(STRING), "FROMUNIXTIME", "FROM_UNIXTIME", partly=True),
    # texts
    **_rows(texts.SUBSTRING, _always(STRING), "SUBSTRING", "SUBSTR", partly=True),
    **_rows(texts.FIRST_CHARACTERS, _always(STRING), "LEFT"),
    **_rows(texts.UPPER, _always(STRING), "UPPER", partly=True),
    **_rows(texts.LOWER, _always(STRING), "LOWER", partly=True),
    **_rows(texts.CONCAT, _always(STRING), "CONCAT", "||"),
    **_rows(texts.LENGTH, _always(_INT), "LENGTH", "CHAR_LENGTH"),
    **_rows(texts.LIKE, _always(BOOLEAN), "LIKE"),
    **_rows(texts.MATCHES, _always(BOOLEAN), "RLIKE", partly=True),
    **_rows(texts.STARTS_WITH, _always(BOOLEAN), "STARTSWITH", "STARTS_WITH"),
    # parts of texts
    **_rows(text_parts.TRIM, _always(STRING), "TRIM", "STRINGTRIM", partly=True),
    **_rows(text_parts.LTRIM, _always(STRING), "LTRIM", "STRINGTRIMLEFT", partly=True),
    **_rows(text_parts.RTRIM, _always(STRING), "RTRIM", "STRINGTRIMRIGHT", partly=True),
    **_rows(text_parts.SUBSTRING_INDEX, _always(STRING), "SUBSTRINGINDEX", partly=True),
    **_rows(text_parts.SPLIT_PART, _always(STRING), "SPLITITEM", partly=True),
    **_rows(text_parts.INSTR, _always(_INT), "STRINGINSTR", partly=True),
    **_rows(text_parts.LOCATE, _always(_INT), "STRINGLOCATE", partly=True),
    **_rows(text_parts.EXTRACT_GROUP, _always(STRING), "REGEXPEXTRACT", partly=True),
    **_rows(text_parts.FIND_IN_SET, _always(_INT), "FINDINSET", partly=True),
    # texts with other characters
    **_rows(replaced_texts.REPLACE, _always(STRING), "STRINGREPLACE", partly=True),
    **_rows(replaced_texts.TRANSLATE, _always(STRING), "STRINGTRANSLATE", "TRANSLATE", partly=True),
    **_rows(replaced_texts.REPLACE_EXPRESSION, _always(STRING), "REGEXPREPLACE", partly=True),
    **_rows(replaced_texts.PAD_LEFT, _always(STRING), "STRINGLPAD", partly=True),
    **_rows(replaced_texts.PAD_RIGHT, _always(STRING), "STRINGRPAD", partly=True),
    **_rows(replaced_texts.CONCAT_WITH, _always(STRING), "CONCATWS", partly=True),
    # choices
    **_rows(comparisons.COALESCE, _common, "COALESCE"),
    **_rows(comparisons.NANVL, _type_of(0), "NANVL"),
    **_rows(comparisons.GREATEST, _common, "GREATEST"),
    **_rows(comparisons.LEAST, _common, "LEAST"),
    **_rows(comparisons.CASE, lambda types: _common(types[1::2]), "CASEWHEN", "CASE_WHEN", "IF"),
    # conditions
    **{name: Function(rule, _always(BOOLEAN)) for name, rule in comparisons.COMPARISONS.items()},
    **{name: Function(rule, _always(BOOLEAN)) for name, rule in comparisons.STRUCT_COMPARISONS.items()},
    **_rows(comparisons.COMPARISONS["!="], _always(BOOLEAN), "<>"),
    **_rows(comparisons.IN, _always(BOOLEAN), "IN", "INSET"),
    **_rows(comparisons.IS_NULL, _always(BOOLEAN), "IS_NULL", "ISNULL"),
    **_rows(comparisons.IS_NOT_NULL, _always(BOOLEAN), "IS_NOT_NULL", "ISNOTNULL"),
    **_rows(comparisons.IS_NAN, _always(BOOLEAN), "ISNAN"),
    **_rows(comparisons.NOT, _always(BOOLEAN), "NOT"),
    **_rows(comparisons.AND, _always(BOOLEAN), "AND"),
    **_rows(comparisons.OR, _always(BOOLEAN), "OR"),
}
"""The functions by their names."""


def settled_functions() -> list[str]:
    """Return the names of the functions whose results are known for any constants among their arguments."""
    return sorted(name for name, function in FUNCTIONS.items() if not function.partly)


def directions(name: str) -> tuple[int, ...] | None:
    """Return the directions of a monotone function, or None for all others.

    >>> directions("DATE_SUB"), directions("ABS")
    ((1, -1), None)
    """
    rule = FUNCTIONS[name].rule if name in FUNCTIONS else None
    return rule.directions if isinstance(rule, Monotone) else None


MAX_PARTS = 16
"""Combinations of the parts of a call's arguments; if there are more, each argument becomes one range."""

Parts = tuple[Range, ...]


def ranges(expression: Expression, columns: Mapping[str, Range]) -> Parts:
    """Return the ranges of an expression's values in one container; each row is in one of them.

    Args:
        expression: to be evaluated.
        columns: the ranges of its columns.

    >>> from parquetry.predicate.expression import FunctionCall, ColumnReference, Constant
    >>> from parquetry.types import ColumnType
    >>> int_ = ColumnType("int")
    >>> sum = FunctionCall("+", (ColumnReference("id", int_), Constant(1, int_)), int_)
    >>> ranges(sum, {"id": Range(10, 20, 0)})
    (Range(low=11, high=21, nulls=0, nan=False, fails=False),)
    """
    match expression:
        case ColumnReference(name):
            return (columns[name],)
        case Constant(value):
            return (constant_range(value),)
        case ConstantList():
            return (Range(),)
    function = FUNCTIONS.get(expression.function)
    if function is None:
        return (UNKNOWN,)
    parts = [ranges(argument, columns) for argument in expression.args]
    count = 1
    for each in parts:
        count *= len(each)
    if count > MAX_PARTS:
        parts = [(hull(each),) for each in parts]
    if count == 1:
        result = function.rule(expression, [each[0] for each in parts])
        return (result,) if isinstance(result, Range) else result
    found: dict[Range, None] = {}
    for combination in product(*parts):
        result = function.rule(expression, combination)
        found.update(dict.fromkeys((result,) if isinstance(result, Range) else result))
    return tuple(found)


def constant_range(value: object) -> Range:
    """Return the range of a constant."""
    if value is None:
        return Range(nulls=ONLY_NULL)
    if value != value:
        return Range(float("inf"), float("-inf"), NO_NULL, nan=True)
    return Range(value, value, NO_NULL)


def truths(expression: Expression, columns: Mapping[str, Range], codes: Callable[[bool | None], int]) -> int:
    """Return the truth values that a condition may have in a container, as a sum of codes; 0 if not known.

    Args:
        expression: a condition.
        columns: the ranges of its columns.
        codes: the code of a truth value.
    """
    total = 0
    for each in ranges(expression, columns):
        if each.fails:
            return 0
        for value in (True, False, None):
            if may_be(each, value):
                total |= codes(value)
    return total
