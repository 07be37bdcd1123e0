"""Conditions that a function implies on its column, against the function evaluated in Python."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings, strategies as st

from parquetry.predicate.evaluate import compare, evaluate
from parquetry.predicate.nodes import Opaque
from parquetry.predicate.reading.spark_json import from_json
from parquetry.types import ColumnType, Value
from tests.support.effort import examples

ZONES = [
    "UTC",
    "America/New_York",
    "Asia/Kolkata",
    "Pacific/Kiritimati",
    "Pacific/Pago_Pago",
    "Europe/Berlin",
]
EPOCH = date(1970, 1, 1)
MICRO = timedelta(microseconds=1)
INT, DATE, TIMESTAMP, STRING = (ColumnType(name) for name in ("int", "date", "timestamp", "string"))
OPERATORS = ["=", "<", "<=", ">", ">=", "<=>", "<>"]


def day(value: date) -> int:
    return (value - EPOCH).days


def micros(value: datetime) -> int:
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // MICRO


def clock(instant: int, zone: str) -> datetime:
    return (datetime(1970, 1, 1, tzinfo=UTC) + instant * MICRO).astimezone(ZoneInfo(zone))


def cut(value: datetime | date, unit: str) -> Any:
    """Cut a date, or a time on the wall, to a unit."""
    if unit == "WEEK":
        value = value - timedelta(days=value.weekday())
        unit = "DAY"
    first = {"YEAR": 1, "QUARTER": (value.month - 1) // 3 * 3 + 1}.get(unit, value.month)
    kept = value.replace(month=first, day=value.day if unit in ("DAY", "HOUR", "MINUTE") else 1)
    if not isinstance(kept, datetime):
        return kept
    return kept.replace(
        hour=kept.hour if unit in ("HOUR", "MINUTE") else 0,
        minute=kept.minute if unit == "MINUTE" else 0,
        second=0,
        microsecond=0,
    )


UNITS = ["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"]
COLUMN = {"col": ["c"]}
days = st.dates(date(1900, 1, 1), date(2200, 12, 31)).map(day)
instants = st.datetimes(datetime(1900, 1, 2), datetime(2200, 1, 1)).map(
    lambda at: micros(at.replace(tzinfo=UTC))
)
texts = st.text("ab0-é", max_size=5)


def fn(name: str, *arguments: Any, **more: str) -> dict[str, Any]:
    return {"fn": name, "args": list(arguments), **more}


def lit(value: Value, type: ColumnType) -> dict[str, Any]:
    return {"lit": None if value is None else str(value), "type": str(type)}


Function = tuple[
    ColumnType,
    ColumnType,
    dict[str, Any],
    Callable[[Any], Value],
    st.SearchStrategy[Any],
    st.SearchStrategy[Any],
]
"""Types of the column and of the function, the tree, the function, values of the column, literals."""


@st.composite
def functions(draw: st.DrawFn) -> Function:
    zone = ZoneInfo(name := draw(st.sampled_from(ZONES)))
    unit = draw(st.sampled_from(UNITS))
    length = draw(st.integers(0, 4))

    def to_day(instant: int) -> int:
        return day(clock(instant, name).date())

    def to_instant(value: int) -> int:
        at = EPOCH + timedelta(days=value)
        return micros(datetime(at.year, at.month, at.day, tzinfo=zone).astimezone(UTC))

    def date_of(value: int) -> date:
        return EPOCH + timedelta(days=value)

    years = st.integers(1898, 2202)
    choices: list[Function] = [
        (DATE, INT, fn("YEAR", COLUMN), lambda v: date_of(v).year, days, years),
        (
            DATE,
            ColumnType("bigint"),
            fn("CAST", fn("YEAR", COLUMN), type="bigint"),
            lambda v: date_of(v).year,
            days,
            years,
        ),
        (TIMESTAMP, INT, fn("YEAR", COLUMN), lambda v: clock(v, name).year, instants, years),
        (TIMESTAMP, DATE, fn("CAST", COLUMN, type="date"), to_day, instants, days),
        (DATE, TIMESTAMP, fn("CAST", COLUMN, type="timestamp"), to_instant, days, instants),
        (
            TIMESTAMP,
            INT,
            fn("YEAR", fn("CAST", COLUMN, type="date")),
            lambda v: clock(v, name).year,
            instants,
            years,
        ),
        (
            DATE,
            DATE,
            fn("TRUNC", COLUMN, lit(unit, STRING)),
            lambda v: day(cut(date_of(v), unit)),
            days,
            days,
        ),
        (
            TIMESTAMP,
            TIMESTAMP,
            fn("DATE_TRUNC", lit(unit, STRING), COLUMN),
            lambda v: micros(cut(clock(v, name), unit).astimezone(UTC)),
            instants,
            instants,
        ),
        (
            STRING,
            STRING,
            fn("SUBSTRING", COLUMN, lit(1, INT), lit(length, INT)),
            lambda v: v[:length],
            texts,
            texts,
        ),
        (STRING, STRING, fn("LEFT", COLUMN, lit(length, INT)), lambda v: v[:length], texts, texts),
        (
            INT,
            ColumnType("decimal", 12, 1),
            fn("CAST", COLUMN, type="decimal(12,1)"),
            Decimal,
            st.integers(-99, 99),
            st.decimals(-100, 100, places=1),
        ),
        (
            ColumnType("decimal", 6, 2),
            ColumnType("decimal", 9, 3),
            fn("CAST", COLUMN, type="decimal(9,3)"),
            lambda v: v,
            st.decimals(-100, 100, places=2),
            st.decimals(-100, 100, places=3),
        ),
    ]
    return draw(st.sampled_from(choices))


def is_implied(tree: dict[str, Any], type: ColumnType, holds: bool | None, value: Value) -> None:
    """Where the condition is TRUE, so must be what it implies."""
    found = from_json(tree, {"c": type})
    assert isinstance(found, Opaque)
    if holds is True and found.implied is not None:
        assert evaluate(found.implied, {"c": value}) is True


class TestImplied:
    """Every value that satisfies a condition also satisfies what the condition implies."""

    @given(st.data())
    @settings(max_examples=examples(3000), deadline=None)
    def test_comparison(self, data: st.DataObject) -> None:
        """Comparisons of each function, by each operator, with the function on either side."""
        column, result, tree, function, values, literals = data.draw(functions())
        value, op = data.draw(values), data.draw(st.sampled_from(OPERATORS))
        # literals near the function's result matter most
        literal = data.draw(st.one_of(literals, st.just(function(value))))
        held = lit(literal, result)
        plain = {"<>": "!="}.get(op, op)
        holds = compare(plain, function(value), literal)
        is_implied(fn(op, tree, held), column, holds, value)
        flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
        is_implied(fn(flipped, held, tree), column, holds, value)

    @given(st.data(), st.integers(1, 30))
    @settings(max_examples=examples(1000), deadline=None)
    def test_membership(self, data: st.DataObject, count: int) -> None:
        """IN lists, short and long, with NULL among their values."""
        column, result, tree, function, values, literals = data.draw(functions())
        value = data.draw(values)
        listed = [*data.draw(st.lists(literals, min_size=count, max_size=count)), function(value)]
        held = [lit(each, result) for each in [*listed, None]]
        is_implied(fn("IN", tree, *held), column, True, value)

    def test_ranges_are_narrow(self) -> None:
        """A year of dates is its 365 days; a month by text is its prefix; a day of instants is three."""
        year = from_json(fn("=", fn("YEAR", COLUMN), lit(2026, INT)), {"c": DATE})
        assert isinstance(year, Opaque)
        assert str(year.implied) == "c >= DATE '2026-01-01' AND c <= DATE '2026-12-31'"
        after = from_json(fn(">", fn("YEAR", COLUMN), lit(2026, INT)), {"c": DATE})
        assert isinstance(after, Opaque)
        assert str(after.implied) == "c >= DATE '2027-01-01'"
        month = from_json(
            fn("=", fn("SUBSTRING", COLUMN, lit(1, INT), lit(7, INT)), lit("2026-10", STRING)), {"c": STRING}
        )
        assert isinstance(month, Opaque)
        assert str(month.implied) == "c LIKE '2026-10%'"

    def test_what_is_not_known(self) -> None:
        """Functions that turn the order, casts to and from text, structs and two columns imply nothing."""
        unknown = [
            fn("=", fn("MONTH", COLUMN), lit(1, INT)),
            fn("=", fn("CAST", COLUMN, type="binary"), lit("00", ColumnType("binary"))),
            fn("=", fn("YEAR", {"col": ["c", "x"]}), lit(1, INT)),
            fn("=", fn("+", COLUMN, {"col": ["d"]}), lit(1, INT)),
            fn("=", fn("SUBSTRING", COLUMN, lit(2, INT), lit(7, INT)), lit("x", STRING)),
            fn("=", fn("DATE_TRUNC", lit("CENTURY", STRING), COLUMN), lit(1, TIMESTAMP)),
            fn("=", fn("YEAR", COLUMN), lit(None, INT)),
            fn("<>", fn("YEAR", COLUMN), lit(2026, INT)),
        ]
        for tree in unknown:
            found = from_json(tree, {"c": DATE, "d": INT})
            assert isinstance(found, Opaque)
            assert found.implied is None
