"""Functions of single values have Spark's results, also where Spark rounds in a way of its own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parquetry.predicate.functions.table import constant_range, ranges
from parquetry.predicate.functions.values import NO_NULL, Range, extremes
from parquetry.predicate.reading.spark_json import expression_from_json
from parquetry.temporal import MICROS_PER_DAY, days_from_civil
from parquetry.types import nearest_float32, parse_type, value_from_text

X = {"col": ["x"]}
SECOND, HOUR = 1_000_000, 3_600_000_000
UTC = {"offsets": [[None, 0]]}
NINES = Decimal("0." + "9" * 38)


def results(
    function: str, of_class: str, type: str, column: str, *values: Range, more: Any = ()
) -> list[Range]:
    """Return the ranges of a call over ranges of its only column."""
    tree = {"fn": function, "class": of_class, "type": type, "mode": "ANSI", "args": [*more, X], **UTC}
    expression = expression_from_json(tree, {"x": parse_type(column)})
    assert expression is not None
    return [ranges(expression, {"x": each})[0] for each in values]


def ends(function: str, of_class: str, type: str, column: str, value: Any) -> tuple[Any, Any] | None:
    """Return the least and the greatest result for one value, or None if it is not known."""
    (found,) = results(function, of_class, type, column, constant_range(value))
    return None if found.fails else (found.low, found.high)


@pytest.mark.parametrize("name", ["UnixTimestamp", "ToUnixTimestamp"])
@pytest.mark.parametrize(
    ("micros", "seconds"), [(-1, 0), (-500_000, 0), (-SECOND, -1), (-1_500_000, -1), (1_500_000, 1)]
)
def test_unix_timestamp(name: str, micros: int, seconds: int) -> None:
    """UNIX_TIMESTAMP rounds toward zero, before 1970 up; UNIX_SECONDS always rounds down."""
    assert ends("UNIX_TIMESTAMP", name, "bigint", "timestamp", micros) == (seconds, seconds)
    down = micros // SECOND
    assert ends("UNIX_SECONDS", "UnixSeconds", "bigint", "timestamp", micros) == (down, down)


def test_unix_timestamp_of_a_date_beyond_all_timestamps() -> None:
    """The midnight of a date that no timestamp reaches is an error, so it is not known."""
    assert ends("UNIX_TIMESTAMP", "UnixTimestamp", "bigint", "date", -(1 << 31)) is None
    assert ends("UNIX_TIMESTAMP", "UnixTimestamp", "bigint", "date", 1) == (86_400, 86_400)


@pytest.mark.parametrize(
    ("text", "rounded"),
    [
        ("1.000000059604644775390625000001", 1.0000001192092896),
        ("-1.000000059604644775390625000001", -1.0000001192092896),
        ("1.000000059604644775390625", 1.0),
        ("1.000000059604644775390624999999", 1.0),
        ("1.000000178813934326171875", 1.000000238418579),
        ("1.000000178813934326171874999999", 1.0000001192092896),
        ("16777217.000000000000000000000000000001", 16777218.0),
        ("0.0000000000000000000000000000001", 1e-31),
    ],
)
def test_decimals_become_the_nearest_float(text: str, rounded: float) -> None:
    """A decimal becomes a float in one step: a double between would be a tie that the decimal is not."""
    expected = nearest_float32(Decimal(rounded))
    assert ends("CAST", "Cast", "float", "decimal(38,30)", Decimal(text)) == (expected, expected)
    assert value_from_text(parse_type("float"), text) == expected


def test_decimals_of_38_digits_are_negated_with_34() -> None:
    """Spark negates a decimal in 34 digits: the range has both numbers, and an overflow is not known."""
    value, type = Decimal("-0.50000000000000000000000000000000000001"), "decimal(38,38)"
    both = (-Decimal("-0.5"), value.copy_abs())
    assert ends("ABS", "Abs", type, type, value) == both
    assert ends("-", "UnaryMinus", type, type, value) == both
    assert ends("-", "UnaryMinus", type, type, NINES) is None
    assert ends("ABS", "Abs", type, type, NINES) == (NINES, NINES)
    assert ends("ABS", "Abs", type, type, NINES.copy_negate()) is None
    plain = (Decimal("-1.50"), Decimal("-1.50"))
    assert ends("-", "UnaryMinus", "decimal(9,2)", "decimal(9,2)", Decimal("1.50")) == plain


def test_decimals_become_integers_by_doubles() -> None:
    """Where an overflow is an error, Spark takes the nearest double's whole part; the range has both."""
    assert ends("CAST", "Cast", "int", "decimal(38,38)", NINES) == (0, 1)
    assert ends("CAST", "Cast", "bigint", "decimal(38,38)", NINES) == (0, 0)
    assert ends("CAST", "Cast", "int", "decimal(9,2)", Decimal("-1.99")) == (-1, -1)
    edge = Decimal("-2147483648.999999999999999999")
    assert ends("CAST", "Cast", "int", "decimal(38,18)", edge) is None


def test_least_decimals() -> None:
    """The least decimal has as many nines as the greatest one: a result below it is not known."""
    least, greatest = extremes(parse_type("decimal(38,0)"))
    assert (least, greatest) == (Decimal("-" + "9" * 38), Decimal("9" * 38))
    assert ends("ROUND", "Round", "decimal(38,0)", "decimal(38,0)", least) == (least, least)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), 1e300, 9.3e18])
def test_whole_numbers_beyond_bigint(value: float) -> None:
    """FLOOR of a double that no bigint reaches is an error, or another number, so it is not known."""
    assert ends("FLOOR", "Floor", "bigint", "double", value) is None
    assert ends("CEIL", "Ceil", "bigint", "double", -2.5) == (-2, -2)


@pytest.mark.parametrize("type", ["timestamp", "timestamp_ntz"])
def test_months_after_the_last_days_of_a_month(type: str) -> None:
    """Days that become one day of a shorter month do not keep the order of their hours."""
    month = {"lit": "1", "type": "interval year to month"}
    tree = {"fn": "+", "class": "TimestampAddYMInterval", "type": type, "args": [X, month], **UTC}
    tree["fn"] = "TimestampAddYMInterval"
    expression = expression_from_json(tree, {"x": parse_type(type)})
    assert expression is not None
    january = days_from_civil(2026, 1, 30) * MICROS_PER_DAY
    february = days_from_civil(2026, 2, 28) * MICROS_PER_DAY
    within = Range(january + 23 * HOUR, january + 25 * HOUR, NO_NULL)
    (found,) = ranges(expression, {"x": within})
    assert found.low <= february + HOUR
    assert found.high >= february + 23 * HOUR
    (plain,) = ranges(expression, {"x": constant_range(january - 9 * MICROS_PER_DAY + HOUR)})
    assert plain.low == plain.high == february - 7 * MICROS_PER_DAY + HOUR
