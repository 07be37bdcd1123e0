"""Intervals: their text, their keys, and conditions on partitions of them.

`tests/spark/partitions` shows that Spark writes the same.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from parquetry.errors import ValueTypeError
from parquetry.intervals import INTERVAL_BITS, interval_from_text, interval_text
from parquetry.key_schema import KeySchema
from parquetry.predicate.nodes import Compare
from parquetry.types import parse_type, sql_literal, to_python, value_from_text

TYPES = st.sampled_from(sorted(INTERVAL_BITS))
SMALLEST = {
    "year": 12,
    "month": 1,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1,
}


def whole(type: str, number: int) -> int:
    """Return an interval of the units that a type has."""
    unit = SMALLEST[type.split()[-1]]
    value = number - number % unit if number >= 0 else -(-number - -number % unit)
    return value if -(1 << INTERVAL_BITS[type] - 1) <= value else 0


@given(st.data(), TYPES)
def test_what_is_written_is_read(data: st.DataObject, type: str) -> None:
    """An interval's text is that interval's, with SQL's words around it and without."""
    limit = 1 << (INTERVAL_BITS[type] - 1)
    value = whole(type, data.draw(st.integers(-limit, limit - 1)))
    text = interval_text(type, value)
    assert interval_from_text(type, text) == value
    assert interval_from_text(type, text.split("'")[1]) == value
    assert interval_from_text(type, text.lower().replace("interval ", "interval  + ")) == value
    assert value == -limit or interval_from_text(type, text.replace("INTERVAL ", "INTERVAL -")) == -value


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=2), st.booleans())
def test_keys_sort_as_intervals_do(values: list[int], descending: bool) -> None:
    """Shorter before longer, what goes back before nothing."""
    schema = KeySchema.from_columns([("i", parse_type("INTERVAL DAY TO SECOND"))], [descending])
    keys = [schema.encode((value,)) for value in values]
    assert [schema.decode(key)[0] for key in sorted(keys)] == sorted(values, reverse=descending)
    assert schema.decode_all(keys) == [(value,) for value in values]


@pytest.mark.parametrize(
    ("type", "text", "why"),
    [
        ("interval year", "1-2", "write it as INTERVAL '1' YEAR"),
        ("interval year to month", "1-12", "there are no 12 months beside years"),
        ("interval day to hour", "1 24", "there are no 24 hours"),
        ("interval day to hour", "INTERVAL '1' DAY", "write it as INTERVAL '1 01' DAY TO HOUR"),
        ("interval day", "", "write it as"),
        ("interval month", str(1 << 31), "longer than"),
        ("interval second", "99999999999999", "longer than"),
    ],
)
def test_what_is_none(type: str, text: str, why: str) -> None:
    """The message says what an interval of the type looks like."""
    with pytest.raises(ValueTypeError, match=why):
        value_from_text(parse_type(type), text)


def test_values_as_python_and_sql_have_them() -> None:
    """Python knows of days and seconds; months and years come as text."""
    assert to_python(parse_type("interval hour"), 7_200_000_000) == timedelta(hours=2)
    assert to_python(parse_type("interval year"), 24) == "INTERVAL '2' YEAR"
    assert sql_literal(parse_type("interval month"), -3) == "INTERVAL '-3' MONTH"
    assert not parse_type("interval month").primitive
    assert parse_type("interval month").keyed
    assert Compare("=", "i", 14, parse_type("interval year to month")).value == 14
