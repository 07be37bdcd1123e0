"""Types and values in text, SQL and Python."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from parquetry import temporal
from parquetry.errors import ValueTypeError
from parquetry.types import (
    ColumnType,
    Value,
    order_key,
    parse_type,
    sql_literal,
    text_from_value,
    to_python,
    type_from_json,
    value_from_text,
)

DAY = 19_782  # 2024-02-29
NOON = DAY * temporal.MICROS_PER_DAY + 45_296_500_000  # 2024-02-29 12:34:56.5


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("INTEGER", "int"),
        ("Long", "bigint"),
        ("byte", "tinyint"),
        ("short", "smallint"),
        ("real", "float"),
        ("numeric(10, 2)", "decimal(10,2)"),
        ("dec", "decimal(10,0)"),
        ("DECIMAL(38)", "decimal(38,0)"),
        ("varchar( 7 )", "varchar(7)"),
        ("CHARACTER(3)", "char(3)"),
        ("timestamp_ltz", "timestamp"),
        ("double precision", "double"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("Boolean", "boolean"),
    ],
)
def test_types_are_read_by_every_name_they_have(text: str, name: str) -> None:
    """Aliases and cases give one name, which can be read again."""
    assert str(parse_type(text)) == name
    assert parse_type(name) == parse_type(text)
    assert parse_type(text).primitive


@pytest.mark.parametrize(
    "text", ["struct<a:int,b:string>", "array<int>", "string collate UTF8_LCASE", "variant"]
)
def test_other_types_keep_their_text_and_are_not_primitive(text: str) -> None:
    """A type that cannot be compared keeps its text, and is not refused."""
    assert str(parse_type(text)) == text
    assert not parse_type(text).primitive
    with pytest.raises(ValueTypeError, match="cannot be read from text"):
        value_from_text(parse_type(text), "x")


@pytest.mark.parametrize(
    "text", ["decimal(39,1)", "decimal(3,4)", "decimal(0)", "char", "varchar(0)", "int(3)", "char(1,2)"]
)
def test_parameters_that_do_not_fit_are_refused(text: str) -> None:
    """With the type's text in the message."""
    with pytest.raises(ValueTypeError, match=text.split("(")[0]):
        parse_type(text)


def test_types_are_read_from_sparks_schema_json() -> None:
    """Names as Spark's JSON has them, and objects for nested types."""
    assert str(type_from_json("long")) == "bigint"
    assert str(type_from_json("decimal(10,2)")) == "decimal(10,2)"
    nested = type_from_json({"type": "array", "elementType": "long", "containsNull": True})
    assert not nested.primitive


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("boolean", " TRUE ", True),
        ("boolean", "0", False),
        ("int", "007", 7),
        ("int", "-2147483648", -(2**31)),
        ("tinyint", "+5", 5),
        ("float", "0.1", 0.10000000149011612),
        ("float", "1e39", math.inf),
        ("double", "1.0E10", 1e10),
        ("double", "-Infinity", -math.inf),
        ("double", "1.5d", 1.5),
        ("double", ".5", 0.5),
        ("decimal(10,2)", "1.50", Decimal("1.50")),
        ("decimal(10,2)", "1.5", Decimal("1.50")),
        ("decimal(10,2)", "1.5000", Decimal("1.50")),
        ("decimal(3,0)", "1e2", Decimal(100)),
        ("decimal(38,2)", "-" + "9" * 36 + ".99", Decimal("-" + "9" * 36 + ".99")),
        ("string", " a b ", " a b "),
        ("string", "", ""),
        ("varchar(2)", "ab  ", "ab"),
        ("char(3)", "a", "a  "),
        ("binary", "é", b"\xc3\xa9"),
        ("date", "2024-02-29", DAY),
        ("date", "2024-2-9", DAY - 20),
        ("date", "2024", DAY - 59),
        ("date", "+12345-01-01", 3_789_391),
        ("date", "-0001-01-01", -719_893),
        ("date", "0000-02-29", -719_469),
        ("timestamp", "2024-02-29 12:34:56.5", NOON),
        ("timestamp", "2024-02-29T12:34:56.5Z", NOON),
        ("timestamp", "2024-02-29 13:34:56.500+01:00", NOON),
        ("timestamp", "2024-02-29 13:34:56.5 Europe/Berlin", NOON),
        ("timestamp", "2024-02-29", DAY * temporal.MICROS_PER_DAY),
        ("timestamp_ntz", "2024-02-29 12:34:56.5 +05:00", NOON),
    ],
)
def test_text_becomes_a_value(type: str, text: str, value: Value) -> None:
    """As Spark's casts read it."""
    found = value_from_text(parse_type(type), text)
    assert found == value
    assert found.__class__ is value.__class__


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("int", "abc"),
        ("int", ""),
        ("int", "1.5"),
        ("int", "2147483648"),
        ("int", "1_0"),
        ("int", "٣"),
        ("tinyint", "128"),
        ("double", "1_0.5"),
        ("double", "0x10"),
        ("double", ""),
        ("boolean", "maybe"),
        ("decimal(5,2)", "1000"),
        ("decimal(5,2)", "1.234"),
        ("decimal(5,2)", "NaN"),
        ("varchar(2)", "abc"),
        ("date", "2023-02-29"),
        ("date", "2024-13-01"),
        ("date", "24-01-01"),
        ("date", "9999999-01-01"),
        ("timestamp", "300000-01-01 00:00:00"),
        ("date", "2024-01-01x"),
        ("timestamp", "2024-02-29 25:00:00"),
        ("timestamp", "2024-02-29 12:00:00 Nowhere/City"),
        ("timestamp", "now"),
    ],
)
def test_text_that_does_not_fit_is_refused_with_text_and_type(type: str, text: str) -> None:
    """The message names both."""
    with pytest.raises(ValueTypeError) as caught:
        value_from_text(parse_type(type), text)
    assert repr(text) in str(caught.value)
    assert type in str(caught.value)


def test_nan_is_read() -> None:
    """In any case."""
    value = value_from_text(parse_type("double"), "NaN")
    assert isinstance(value, float)
    assert math.isnan(value)


@pytest.mark.parametrize(
    ("zone", "text", "utc"),
    [
        ("Europe/Berlin", "2024-07-01 00:00:00", "2024-06-30 22:00:00"),
        (
            "Europe/Berlin",
            "2024-03-31 02:30:00",
            "2024-03-31 01:30:00",
        ),  # in the gap: an hour later, as in Java
        ("Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27 00:30:00"),  # twice: the first, as in Java
        ("+05:30", "2024-01-01 00:00:00", "2023-12-31 18:30:00"),
        ("GMT-8", "2024-01-01 00:00:00", "2024-01-01 08:00:00"),
        ("America/New_York", "12345-07-01 00:00:00", "+12345-07-01 04:00:00"),
        ("Europe/Berlin", "-0044-03-15 00:00:00", "-0044-03-14 23:06:32"),
    ],
)
def test_timestamps_are_read_in_their_zone(zone: str, text: str, utc: str) -> None:
    """Summer time, gaps, offsets, and years that Python's datetime does not have."""
    type = parse_type("timestamp")
    assert text_from_value(type, value_from_text(type, text, zone)) == utc


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        ("boolean", True, "true"),
        ("int", -7, "-7"),
        ("decimal(10,2)", Decimal("0.00"), "0.00"),
        ("decimal(38,10)", Decimal("1E-10"), "0.0000000001"),
        ("double", 0.0, "0.0"),
        ("double", -0.0, "-0.0"),
        ("double", 100.0, "100.0"),
        ("double", 0.001, "0.001"),
        ("double", 0.0001, "1.0E-4"),
        ("double", 1e7, "1.0E7"),
        ("double", 9999999.0, "9999999.0"),
        ("double", 123456789.125, "1.23456789125E8"),
        ("double", 1e300, "1.0E300"),
        ("double", math.nan, "NaN"),
        ("double", -math.inf, "-Infinity"),
        ("float", 0.10000000149011612, "0.1"),
        ("float", 3.4028234663852886e38, "3.4028235E38"),
        ("float", 16777216.0, "1.6777216E7"),
        ("date", -719_893, "-0001-01-01"),
        ("date", 3_789_391, "+12345-01-01"),
        ("date", DAY, "2024-02-29"),
        ("timestamp", NOON, "2024-02-29 12:34:56.5"),
        ("timestamp", -1, "1969-12-31 23:59:59.999999"),
        ("binary", b"ab", "ab"),
        ("char(3)", "a  ", "a  "),
    ],
)
def test_values_are_written_as_spark_writes_them_in_paths(type: str, value: Value, text: str) -> None:
    """And can be read again."""
    assert text_from_value(parse_type(type), value) == text
    assert order_key(value_from_text(parse_type(type), text)) == order_key(value)


@pytest.mark.parametrize(
    ("value", "text"), [(1.1, "1.1"), (-0.3, "-0.3"), (1e39, "Infinity"), (1e-46, "0.0")]
)
def test_a_float_is_written_with_single_precision(value: float, text: str) -> None:
    """A number that single precision does not hold is written as the nearest that it holds."""
    assert text_from_value(parse_type("float"), value) == text


def test_null_has_no_text() -> None:
    """NULL has no text, because the layout chooses its name in a path."""
    with pytest.raises(ValueTypeError, match="NULL"):
        text_from_value(parse_type("int"), None)


@pytest.mark.parametrize(
    ("type", "value", "python"),
    [
        ("date", DAY, date(2024, 2, 29)),
        ("timestamp", NOON, datetime(2024, 2, 29, 12, 34, 56, 500_000, tzinfo=UTC)),
        ("timestamp_ntz", NOON, datetime(2024, 2, 29, 12, 34, 56, 500_000)),
        ("decimal(5,2)", Decimal("1.50"), Decimal("1.50")),
        ("binary", b"a", b"a"),
        ("string", "a", "a"),
        ("boolean", False, False),
        ("int", None, None),
        ("date", 3_789_391, "+12345-01-01"),
        ("timestamp", 2**62, "+148108-07-06 14:00:27.387904"),
    ],
)
def test_values_go_to_python(type: str, value: Value, python: Any) -> None:
    """Out of Python's range they go as text."""
    assert to_python(parse_type(type), value) == python


def test_sql_literals_are_sparks() -> None:
    """Quotes doubled, backslashes escaped, no bare NaN."""
    cases = [
        ("string", r"it's \ %", r"'it''s \\ %'"),
        ("int", -5, "-5"),
        ("double", math.nan, "'NaN'"),
        ("timestamp", NOON, "TIMESTAMP '2024-02-29 12:34:56.5 UTC'"),
        ("binary", b"\x0a\xff", "X'0AFF'"),
        ("timestamp_ntz", 0, "TIMESTAMP_NTZ '1970-01-01 00:00:00'"),
        ("boolean", True, "true"),
        ("decimal(5,2)", Decimal("1.50"), "1.50"),
        ("date", None, "NULL"),
    ]
    for type, value, text in cases:
        assert sql_literal(parse_type(type), value) == text


def test_civil_days_agree_with_python() -> None:
    """For every year that Python has, and over the leap years of a 400-year cycle beyond it."""
    for ordinal in range(1, date.max.toordinal(), 997):
        day = date.fromordinal(ordinal)
        days = ordinal - date(1970, 1, 1).toordinal()
        assert temporal.civil_from_days(days) == (day.year, day.month, day.day)
        assert temporal.days_from_civil(day.year, day.month, day.day) == days
        assert temporal.civil_from_days(days + 146_097 * 25) == (day.year + 10_000, day.month, day.day)


def test_a_type_is_a_value() -> None:
    """Equal by its parts, and hashable."""
    assert ColumnType("char", length=3) == parse_type("char(3)")
    assert len({parse_type("int"), parse_type("integer")}) == 1
