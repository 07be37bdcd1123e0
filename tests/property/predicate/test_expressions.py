"""Conditions on random expressions over random containers, against rows evaluated one by one in Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import event, given, settings, strategies as st

from parquetry.predicate import NO_NULL, ONLY_NULL, SOME_NULL, Bounds, Filter, Knowledge, Match, match
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.spark_json import from_json
from parquetry.temporal import MICROS_PER_DAY
from parquetry.types import ColumnType, parse_type
from tests.support.effort import examples

EPOCH, MIDNIGHT = date(1970, 1, 1), datetime(1970, 1, 1)
MICRO = timedelta(microseconds=1)
FIRST, LAST = datetime(2008, 1, 1), datetime(2013, 1, 1)
ZONES = ["UTC", "America/Sao_Paulo", "Pacific/Apia", "Europe/Berlin", None]
"""Zones with changes at midnight, by a day, and at three; rows of the one without offsets are in Berlin."""
COLUMNS = {
    "id": "int", "m": "int", "d": "date", "ts": "timestamp", "s": "string", "f": "double", "p": "decimal(6,2)",
}  # fmt: skip
INT, BIGINT, DATE, TIMESTAMP, STRING, DOUBLE, BOOLEAN = (
    "int", "bigint", "date", "timestamp", "string", "double", "boolean"
)  # fmt: skip
Row = dict[str, Any]


class FailedError(Exception):
    """An error that Spark raises for a row."""


@dataclass
class Node:
    """An expression: its tree, its type, and its value for a row."""

    tree: dict[str, Any]
    type: str
    value: Callable[[Row], Any]


def micros(at: datetime) -> int:
    return (at - MIDNIGHT) // MICRO


def naive(value: int) -> datetime:
    return MIDNIGHT + value * MICRO


def day_of(value: int) -> date:
    return EPOCH + timedelta(days=value)


def to_day(value: date) -> int:
    return (value - EPOCH).days


@lru_cache
def offsets(zone: str | None) -> list[list[int | None]]:
    """Return the changes of a zone between 2007 and 2014, to the second, as the bridge sends them."""
    if zone is None:
        return []
    info = ZoneInfo(zone)

    def offset(second: int) -> int:
        found = datetime.fromtimestamp(second, UTC).astimezone(info).utcoffset()
        assert found is not None
        return int(found.total_seconds())

    start, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2007, 2014))
    found: list[list[int | None]] = [[None, None], [start, offset(start)]]
    hours = range(start + 3600, end, 3600)
    found += [[hour, offset(hour)] for hour in hours if offset(hour) != offset(hour - 3600)]
    return [*found, [end, None]]


def local(instant: int, zone: str | None) -> datetime:
    return (
        naive(instant).replace(tzinfo=UTC).astimezone(ZoneInfo(zone or "Europe/Berlin")).replace(tzinfo=None)
    )


def instant(at: datetime, zone: str | None, fold: int = 0) -> int:
    aware = at.replace(tzinfo=ZoneInfo(zone or "Europe/Berlin"), fold=fold)
    return micros(aware.astimezone(UTC).replace(tzinfo=None))


def call(
    name: str, type: str, function: Callable[..., Any], *args: Node, strict: bool = True, **more: Any
) -> Node:
    """Return a call; a strict function is NULL where an argument is NULL."""

    def value(row: Row) -> Any:
        values = [arg.value(row) for arg in args]
        return None if strict and None in values else function(*values)

    return Node({"fn": name, "args": [arg.tree for arg in args], "type": type, **more}, type, value)


def lit(value: Any, type: str) -> Node:
    return Node({"lit": None if value is None else str(value), "type": type}, type, lambda _: value)


def column(name: str) -> Node:
    return Node({"col": [name]}, COLUMNS[name], lambda row: row[name])


def whole(value: int, bits: int = 32) -> int:
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise FailedError
    return value


def java_remainder(one: int, other: int) -> int:
    return int(math.copysign(1, one)) * (abs(one) % abs(other))


def months_later(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = (date(year + (month + 1) // 12, (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))


def truncated(at: Any, unit: str) -> Any:
    if unit == "WEEK":
        at, unit = at - timedelta(days=at.weekday()), "DAY"
    month = {"YEAR": 1, "QUARTER": (at.month - 1) // 3 * 3 + 1}.get(unit, at.month)
    kept = at.replace(month=month, day=at.day if unit in ("DAY", "HOUR") else 1)
    if isinstance(kept, datetime):
        kept = kept.replace(hour=at.hour if unit == "HOUR" else 0, minute=0, second=0, microsecond=0)
    return kept


small = st.integers(-9, 9)
numbers = st.one_of(small, st.integers(-200, 200), st.sampled_from([-(1 << 31), (1 << 31) - 1]))
dates = st.dates(FIRST.date(), LAST.date()).map(to_day)
near_changes = [
    datetime(2011, 12, 30, 10),
    datetime(2009, 2, 15, 2),
    datetime(2010, 10, 17, 3),
    datetime(2010, 3, 28, 1),
]
instants = st.one_of(
    st.datetimes(FIRST, LAST).map(micros),
    st.builds(lambda at, minutes: micros(at) + minutes * 60_000_000, st.sampled_from(near_changes), st.integers(-3000, 3000)),
)  # fmt: skip
strings = st.text("abAZ0%_-é\U0001f600", max_size=4)
doubles = st.one_of(
    st.floats(-100, 100), st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 0.5])
)
decimals = st.decimals(-9999, 9999, places=2)
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    INT: small, BIGINT: small, DATE: dates, TIMESTAMP: instants, STRING: strings, DOUBLE: st.floats(-100, 100),
    "decimal(6,2)": decimals, "decimal(7,2)": decimals,
}  # fmt: skip


@st.composite
def int_nodes(draw: st.DrawFn, depth: int, zone: str | None) -> Node:
    if depth == 0:
        return draw(st.one_of(st.sampled_from([column("id"), column("m")]), small.map(lambda v: lit(v, INT))))
    one, constant = draw(int_nodes(depth - 1, zone)), draw(small.filter(bool))
    other = draw(int_nodes(depth - 1, zone))
    day, at = draw(date_nodes(depth - 1, zone)), draw(time_nodes(depth - 1, zone))
    text = draw(text_nodes(depth - 1, zone))
    more = {"offsets": offsets(zone)}
    makers: list[Callable[[], Node]] = [
        lambda: call("+", INT, lambda a, b: whole(a + b), one, other),
        lambda: call("-", INT, lambda a, b: whole(a - b), one, other),
        lambda: call("*", INT, lambda a, b: whole(a * b), one, draw(st.sampled_from([other, lit(constant, INT)]))),
        lambda: call("UNARYMINUS", INT, lambda a: whole(-a), one),
        lambda: call("ABS", INT, lambda a: whole(abs(a)), one),
        lambda: call("%", INT, java_remainder, one, lit(constant, INT)),
        lambda: call("PMOD", INT, lambda a, b: a % b, one, lit(abs(constant), INT)),
        lambda: call("COALESCE", INT, lambda *a: next((v for v in a if v is not None), None), one, other, strict=False),
        lambda: call("GREATEST", INT, lambda *a: max((v for v in a if v is not None), default=None), one, other, strict=False),
        lambda: call("LEAST", INT, lambda *a: min((v for v in a if v is not None), default=None), one, other, strict=False),
        lambda: call("IF", INT, lambda c, a, b: a if c else b, draw(conditions(depth - 1, zone)), one, other, strict=False),
        lambda: call("YEAR", INT, lambda v: day_of(v).year, day),
        lambda: call("MONTH", INT, lambda v: day_of(v).month, day),
        lambda: call("DAYOFMONTH", INT, lambda v: day_of(v).day, day),
        lambda: call("DAYOFYEAR", INT, lambda v: day_of(v).timetuple().tm_yday, day),
        lambda: call("WEEKOFYEAR", INT, lambda v: day_of(v).isocalendar()[1], day),
        lambda: call("DAYOFWEEK", INT, lambda v: day_of(v).isoweekday() % 7 + 1, day),
        lambda: call("HOUR", INT, lambda v: local(v, zone).hour, at, **more),
        lambda: call("MINUTE", INT, lambda v: local(v, zone).minute, at, **more),
        lambda: call("DATEDIFF", INT, lambda a, b: a - b, day, draw(date_nodes(depth - 1, zone))),
        lambda: call("LENGTH", INT, len, text),
    ]  # fmt: skip
    return draw(st.sampled_from(makers))()


@st.composite
def date_nodes(draw: st.DrawFn, depth: int, zone: str | None) -> Node:
    if depth == 0:
        return draw(st.one_of(st.just(column("d")), dates.map(lambda v: lit(v, DATE))))
    day, number = draw(date_nodes(depth - 1, zone)), draw(st.integers(-50, 50))
    unit = draw(st.sampled_from(["YEAR", "QUARTER", "MONTH", "WEEK"]))
    at = draw(time_nodes(depth - 1, zone))
    makers: list[Callable[[], Node]] = [
        lambda: call("CAST", DATE, lambda v: to_day(local(v, zone).date()), at, offsets=offsets(zone)),
        lambda: call("DATE_ADD", DATE, lambda v, n: v + n, day, lit(number, INT)),
        lambda: call("DATE_SUB", DATE, lambda v, n: v - n, day, lit(number, INT)),
        lambda: call("TRUNC", DATE, lambda v, _: to_day(truncated(day_of(v), unit)), day, lit(unit, STRING)),
        lambda: call("LAST_DAY", DATE, lambda v: to_day(months_later(day_of(v).replace(day=1), 1)) - 1, day),
        lambda: call("ADD_MONTHS", DATE, lambda v, n: to_day(months_later(day_of(v), n)), day, lit(number, INT)),
        lambda: call("COALESCE", DATE, lambda a, b: b if a is None else a, day, draw(date_nodes(0, zone)), strict=False),
    ]  # fmt: skip
    return draw(st.sampled_from(makers))()


@st.composite
def time_nodes(draw: st.DrawFn, depth: int, zone: str | None) -> Node:
    if depth == 0:
        return draw(st.one_of(st.just(column("ts")), instants.map(lambda v: lit(v, TIMESTAMP))))
    at, fold = draw(time_nodes(depth - 1, zone)), draw(st.sampled_from([0, 1]))
    unit = draw(st.sampled_from(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR"]))
    interval = draw(st.one_of(small.map(lambda n: n * MICROS_PER_DAY), st.integers(-(10**12), 10**12)))
    months = draw(small)
    more = {"offsets": offsets(zone)}

    def later(value: int, by: int) -> int:
        days = int(by / MICROS_PER_DAY)
        moved = instant(local(value, zone) + timedelta(days=days), zone, fold) if days else value
        return moved + by - days * MICROS_PER_DAY

    def months_after(value: int, by: int) -> int:
        here = local(value, zone)
        return instant(datetime.combine(months_later(here.date(), by), here.time()), zone, fold)

    makers: list[Callable[[], Node]] = [
        lambda: call("DATE_TRUNC", TIMESTAMP, lambda _, v: instant(truncated(local(v, zone), unit), zone, fold), lit(unit, STRING), at, **more),
        lambda: call("TIMESTAMPADDINTERVAL", TIMESTAMP, later, at, lit(interval, "interval day to second"), **more),
        lambda: call("TIMESTAMPADDYMINTERVAL", TIMESTAMP, months_after, at, lit(months, "interval year to month"), **more),
        lambda: call("CAST", TIMESTAMP, lambda v: instant(datetime.combine(day_of(v), datetime.min.time()), zone, fold), draw(date_nodes(depth - 1, zone)), **more),
    ]  # fmt: skip
    return draw(st.sampled_from(makers))()


def upper(text: str) -> str:
    return text.upper()


@st.composite
def text_nodes(draw: st.DrawFn, depth: int, zone: str | None) -> Node:
    if depth == 0:
        return draw(st.one_of(st.just(column("s")), strings.map(lambda v: lit(v, STRING))))
    text, start, length = draw(text_nodes(depth - 1, zone)), draw(st.integers(0, 3)), draw(st.integers(0, 4))
    pattern = draw(st.sampled_from(["yyyy-MM-dd", "yyyyMM", "yyyy-MM-dd HH:mm"]))
    python = {"yyyy-MM-dd": "%Y-%m-%d", "yyyyMM": "%Y%m", "yyyy-MM-dd HH:mm": "%Y-%m-%d %H:%M"}[pattern]
    at = draw(time_nodes(depth - 1, zone))
    begin = max(start, 1) - 1
    makers: list[Callable[[], Node]] = [
        lambda: call("SUBSTRING", STRING, lambda v, *_: v[begin : begin + length], text, lit(start, INT), lit(length, INT)),
        lambda: call("UPPER", STRING, upper, text),
        lambda: call("LOWER", STRING, lambda v: v.lower(), text),
        lambda: call("CONCAT", STRING, lambda *v: "".join(v), *draw(st.permutations([text, lit(draw(strings), STRING)]))),
        lambda: call("CONCAT", STRING, lambda *v: "".join(v), text, draw(text_nodes(0, zone))),
        lambda: call("DATEFORMATCLASS", STRING, lambda v, _: local(v, zone).strftime(python), at, lit(pattern, STRING), offsets=offsets(zone)),
        lambda: call("COALESCE", STRING, lambda a, b: b if a is None else a, text, draw(text_nodes(0, zone)), strict=False),
    ]  # fmt: skip
    return draw(st.sampled_from(makers))()


@st.composite
def double_nodes(draw: st.DrawFn, depth: int, zone: str | None) -> Node:
    if depth == 0:
        return draw(st.one_of(st.just(column("f")), st.floats(-100, 100).map(lambda v: lit(v, DOUBLE))))
    one, other = draw(double_nodes(depth - 1, zone)), draw(double_nodes(depth - 1, zone))
    constant = draw(st.sampled_from([2.0, -0.5, 10.0]))
    makers: list[Callable[[], Node]] = [
        lambda: call("+", DOUBLE, lambda a, b: a + b, one, other),
        lambda: call("-", DOUBLE, lambda a, b: a - b, one, other),
        lambda: call("*", DOUBLE, lambda a, b: a * b, one, other),
        lambda: call("/", DOUBLE, lambda a, b: a / b, one, lit(constant, DOUBLE)),
        lambda: call("ABS", DOUBLE, abs, one),
        lambda: call("UNARYMINUS", DOUBLE, lambda a: -a, one),
        lambda: call("CAST", DOUBLE, float, draw(int_nodes(depth - 1, zone))),
        lambda: call("COALESCE", DOUBLE, lambda a, b: b if a is None else a, one, other, strict=False),
    ]  # fmt: skip
    return draw(st.sampled_from(makers))()


@st.composite
def decimal_nodes(draw: st.DrawFn, depth: int, _: str | None) -> Node:
    one = column("p")
    if depth == 0:
        return one
    makers: list[Callable[[], Node]] = [
        lambda: call("+", "decimal(7,2)", lambda a, b: a + b, one, lit(draw(decimals), "decimal(6,2)")),
        lambda: call("FLOOR", "decimal(5,0)", lambda a: a.to_integral_value(rounding=ROUND_FLOOR), one),
        lambda: call("CAST", INT, int, one),
        lambda: call("ROUND", "decimal(6,1)", lambda a, _: a.quantize(Decimal("0.1"), rounding="ROUND_HALF_UP"), one, lit(1, INT)),
    ]  # fmt: skip
    return draw(st.sampled_from(makers))()


def key(value: Any) -> Any:
    return (1, 0) if value != value else (0, value)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: key(a) == key(b),
    "!=": lambda a, b: key(a) != key(b),
    "<": lambda a, b: key(a) < key(b),
    "<=": lambda a, b: key(a) <= key(b),
    ">": lambda a, b: key(a) > key(b),
    ">=": lambda a, b: key(a) >= key(b),
}
NODES = [int_nodes, date_nodes, time_nodes, text_nodes, double_nodes, decimal_nodes]


def conjunction(one: Any, other: Any) -> Any:
    return False if one is False or other is False else None if None in (one, other) else True


def disjunction(one: Any, other: Any) -> Any:
    return True if one is True or other is True else None if None in (one, other) else False


@st.composite
def conditions(draw: st.DrawFn, depth: int, zone: str | None) -> Node:
    left = draw(draw(st.sampled_from(NODES))(max(depth, 0), zone))
    choices: list[Any] = LITERALS.get(left.type, LITERALS["decimal(6,2)"]), left.type

    def constant() -> Node:
        return lit(draw(choices[0]), choices[1])

    def contained(value: Any, listed: Sequence[Any]) -> Any:
        if value is None:
            return None
        return True if any(key(value) == key(each) for each in listed) else None if None in listed else False

    def within() -> Node:
        listed = [draw(choices[0]) for _ in range(draw(st.integers(1, 3)))] + draw(
            st.sampled_from([[], [None]])
        )
        nodes = [lit(each, left.type) for each in listed]
        return call("IN", BOOLEAN, lambda value, *_: contained(value, listed), left, *nodes, strict=False)

    op = draw(st.sampled_from(list(COMPARE)))
    makers: list[Callable[[], Node]] = [
        lambda: call(op, BOOLEAN, COMPARE[op], left, constant()),
        lambda: call(op, BOOLEAN, COMPARE[op], constant(), left),
        within,
        lambda: call("IS_NULL", BOOLEAN, lambda v: v is None, left, strict=False),
        lambda: call("<=>", BOOLEAN, lambda a, b: (a is None) == (b is None) and (a is None or key(a) == key(b)), left, constant(), strict=False),
    ]  # fmt: skip
    if depth > 0:
        one, other = draw(conditions(depth - 1, zone)), draw(conditions(depth - 1, zone))
        makers += [
            lambda: call("AND", BOOLEAN, conjunction, one, other, strict=False),
            lambda: call("OR", BOOLEAN, disjunction, one, other, strict=False),
            lambda: call("NOT", BOOLEAN, lambda v: not v, one),
            lambda: call("=", BOOLEAN, COMPARE["="], call("COALESCE", BOOLEAN, lambda a, b: b if a is None else a, one, other, strict=False), other),
        ]  # fmt: skip
    return draw(st.sampled_from(makers))()


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": numbers, "m": small, "d": dates, "ts": instants, "s": strings, "f": doubles, "p": decimals,
}  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> list[Row]:
    """Rows whose values are near each other, as sorted files have them; some are NULL."""
    rows = draw(st.integers(1, 4))
    columns: dict[str, list[Any]] = {}
    for name, values in VALUES.items():
        first = draw(values)
        steps = draw(st.lists(st.one_of(st.integers(0, 3), st.none()), min_size=rows, max_size=rows))
        unit = {"ts": 1_800_000_000, "p": Decimal("0.25"), "f": 0.75}.get(name, 1)
        if name == "s":
            columns[name] = [None if step is None else first + "ab0"[:step] for step in steps]
        elif first != first or abs(first) in (math.inf, 1 << 31, (1 << 31) - 1):
            columns[name] = [None if step is None else first for step in steps]
        else:
            columns[name] = [None if step is None else first + step * unit for step in steps]
    return [{name: columns[name][i] for name in VALUES} for i in range(rows)]


class Statistics(Knowledge):
    """The bounds of files, exact or shortened; a few columns have none."""

    def __init__(self, files: Sequence[Sequence[Row]], hidden: set[str], cut: bool) -> None:
        self.count = len(files)
        self._files, self._hidden, self._cut = files, hidden, cut

    def bounds(self, column: str) -> Bounds | None:
        if column in self._hidden:
            return None
        found = [self._in_file(rows, column) for rows in self._files]
        lows, highs, nulls = ([each[i] for each in found] for i in range(3))
        return Bounds.from_statistics(parse_type(COLUMNS[column]), lows, highs, nulls)

    def _in_file(self, rows: Sequence[Row], column: str) -> tuple[Any, Any, int]:
        values = [row[column] for row in rows if row[column] is not None]
        plain = [value for value in values if value == value]
        if not values:
            return None, None, ONLY_NULL
        nulls = SOME_NULL if len(values) < len(rows) else NO_NULL
        low, high = (min(plain), max(plain)) if plain else (None, None)
        if self._cut and isinstance(low, str) and isinstance(high, str):
            low, high = low[:1], high[:1] + "\U0010ffff"
        return low, high, nulls


def truths(condition: Node, rows: Sequence[Row]) -> list[Any]:
    """Return what a condition is for each row: a truth value, or an error."""
    found: list[Any] = []
    for row in rows:
        try:
            found.append(condition.value(row))
        except (FailedError, OverflowError):
            found.append("error")
    return found


class TestExpressions:
    """No container with a row of the answer, or with an error, is left out."""

    @given(st.data())
    @settings(max_examples=examples(3000), deadline=None)
    def test_rows(self, data: st.DataObject) -> None:
        """CANNOT has no row that is TRUE or an error, MUST has only rows that are TRUE."""
        zone = data.draw(st.sampled_from(ZONES))
        condition = data.draw(conditions(data.draw(st.integers(0, 2)), zone))
        several = data.draw(st.lists(files(), min_size=1, max_size=4))
        hidden = data.draw(st.sets(st.sampled_from(list(COLUMNS)), max_size=4))
        types: dict[str, ColumnType] = {name: parse_type(type) for name, type in COLUMNS.items()}
        filter = Filter(normalise(from_json(condition.tree, types)))
        answers = match(filter, Statistics(several, hidden, data.draw(st.booleans())))
        for answer, rows in zip(answers.tolist(), several, strict=True):
            event(Match(answer).name)
            found = truths(condition, rows)
            if answer == Match.CANNOT:
                assert set(found) <= {False, None}, (found, rows)
            if answer == Match.MUST:
                assert set(found) == {True}, (found, rows)
