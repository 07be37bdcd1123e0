"""Conditions on functions of columns keep the files whose bounds allow a match: counts of 24 sorted files."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parquetry.predicate import NO_NULL, SOME_NULL, Bounds, Filter, Knowledge, match
from parquetry.predicate.functions.preimage import direction_in
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.join_values import read_key
from parquetry.predicate.reading.operand_trees import ExpressionReader
from parquetry.predicate.reading.spark_json import from_json, read_literal
from parquetry.predicate.zones import UTC, Zone
from parquetry.temporal import MICROS_PER_DAY, days_from_civil
from parquetry.types import parse_type

TYPES = {
    "id": "int", "gap": "int", "day": "date", "ts": "timestamp", "code": "string", "price": "decimal(9,2)",
    "f": "double",
}  # fmt: skip
COLUMNS = {name: parse_type(type) for name, type in TYPES.items()}
FIRST = days_from_civil(2026, 1, 1)
MINUTES = 60_000_000


class Files(Knowledge):
    """The bounds of 24 files, each with 100 rows of following numbers, times and codes; `gap` has NULLs."""

    count = 24

    def bounds(self, column: str) -> Bounds:
        ends = [(file * 100, file * 100 + 99) for file in range(self.count)]
        values: dict[str, Any] = {
            "id": int,
            "gap": int,
            "day": lambda row: FIRST + row * 25 // 1440,
            "ts": lambda row: FIRST * MICROS_PER_DAY + row * 25 * MINUTES,
            "code": lambda row: f"{row:08d}",
            "price": lambda row: Decimal(row) / 4,
            "f": lambda row: row / 8,
        }
        low, high = ([values[column](row) for row in rows] for rows in zip(*ends, strict=True))
        nulls = SOME_NULL if column == "gap" else NO_NULL
        return Bounds.from_statistics(COLUMNS[column], low, high, [nulls] * self.count)


def fn(name: str, *args: Any, **more: Any) -> dict[str, Any]:
    """Return a tree; names are columns, other values literals."""
    trees = [_tree(each) for each in args]
    return {"fn": name, "args": trees, **more}


def _tree(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if value in TYPES:
        return {"col": [value]}
    type = {int: "int", float: "double", str: "string", Decimal: "decimal(9,2)"}[value.__class__]
    return {"lit": str(value), "type": type}


def date(month: int, day: int) -> dict[str, Any]:
    return {"lit": str(days_from_civil(2026, month, day)), "type": "date"}


def time(month: int, day: int, hour: int = 0) -> dict[str, Any]:
    micros = days_from_civil(2026, month, day) * MICROS_PER_DAY + hour * 60 * MINUTES
    return {"lit": str(micros), "type": "timestamp"}


def interval(days: int) -> dict[str, Any]:
    return {"lit": str(days * MICROS_PER_DAY), "type": "interval day to second"}


ZONE = {"offsets": [[None, 0]]}
DAY_OF_TS = fn("CAST", "ts", type="date", **ZONE)
STRUCTS = (
    fn("STRUCT", "x", "id", "y", "code", **{"class": "CreateNamedStruct"}),
    fn("STRUCT", "x", 777, "y", "00000777", **{"class": "CreateNamedStruct"}),
)
FILES_OF = [
    ("CAST(ts AS DATE) = DATE'2026-01-05'", fn("=", DAY_OF_TS, date(1, 5)), 1),
    ("date(ts) IN (two days)", fn("IN", DAY_OF_TS, date(1, 3), date(1, 9)), 3),
    ("date_format(ts, 'yyyy-MM-dd') = '2026-01-05'", fn("=", fn("DATE_FORMAT", "ts", "yyyy-MM-dd", type="string", **ZONE), "2026-01-05"), 1),
    ("date_trunc('day', ts)", fn("=", fn("DATE_TRUNC", "DAY", "ts", **ZONE), time(1, 5)), 1),
    ("date_trunc('hour', ts)", fn("=", fn("DATE_TRUNC", "HOUR", "ts", **ZONE), time(1, 5, 3)), 1),
    ("unix_timestamp(ts) > 1770000000", fn(">", fn("UNIX_TIMESTAMP", "ts", "yyyy"), {"lit": "1770000000", "type": "bigint"}), 6),
    ("month(ts) = 2", fn("=", fn("MONTH", "ts", **ZONE), 2), 7),
    ("ts + INTERVAL 1 DAY", fn(">", fn("TIMEADD", "ts", interval(1), type="timestamp", **ZONE), time(2, 11)), 1),
    ("datediff(DATE'2026-01-10', ts) = 3", fn("=", fn("DATEDIFF", date(1, 10), DAY_OF_TS), 3), 2),
    ("CAST(code AS INT) = 777 raises errors", fn("=", fn("CAST", "code", type="int", mode="ANSI"), 777), 24),
    ("substr(code, 1, 6)", fn("=", fn("SUBSTRING", "code", 1, 6), "000012"), 1),
    ("substr(code, 5, 2) = '12'", fn("=", fn("SUBSTRING", "code", 5, 2), "12"), 1),
    ("code LIKE '000012_5'", fn("LIKE", "code", "000012_5", detail="\\"), 1),
    ("code RLIKE '^000012.5$'", fn("RLIKE", "code", "^000012.5$"), 1),
    ("code RLIKE '^00001|x'", fn("RLIKE", "code", "^00001|x"), 24),
    ("code < bytes", fn("<", "code", {"lit": "\ufffd", "type": "string that is no text"}), 24),
    ("code || 'x' = bytes", fn("=", fn("CONCAT", "code", "x"), {"lit": "!", "type": "string that is no text"}), 24),
    ("concat(code, '') = …", fn("=", fn("CONCAT", "code", ""), "00000777"), 1),
    ("code || 'x' = …", fn("=", fn("CONCAT", "code", "x"), "00000777x"), 1),
    ("concat('x', code) > …", fn(">", fn("CONCAT", "x", "code"), "x00002250"), 2),
    ("upper(code) = …", fn("=", fn("UPPER", "code"), "00000777"), 1),
    ("id + 1 = 777", fn("=", fn("+", "id", 1), 777), 1),
    ("777 = id + 1", fn("=", 777, fn("+", "id", 1)), 1),
    ("id + 1 IN (…)", fn("IN", fn("+", "id", 1), 5, 1205, 99999), 2),
    ("id * 2 > 4750", fn(">", fn("*", "id", 2), 4750), 1),
    ("id - 5 >= 10", fn(">=", fn("-", "id", 5), 2290), 2),
    ("-id > -10", fn(">", fn("-", "id", **{"class": "UnaryMinus"}), -10), 1),
    ("10 - id > 0", fn(">", fn("-", 10, "id"), 0), 1),
    ("abs(id - 500) < 10", fn("<", fn("ABS", fn("-", "id", 500)), 10), 2),
    ("id / 10 > 235", fn(">", fn("/", fn("CAST", "id", type="double"), 10.0), 235.0), 1),
    ("id DIV 100 = 7", fn("=", fn("DIV", "id", 100), 7), 1),
    ("id % 1000 = 7", fn("=", fn("%", "id", 1000), 7), 3),
    ("pmod(id, 100) = 7", fn("=", fn("PMOD", "id", 100), 7), 24),
    ("CAST(id AS STRING) = '777'", fn("=", fn("CAST", "id", type="string"), "777"), 1),
    ("CAST(id AS STRING) = '0777'", fn("=", fn("CAST", "id", type="string"), "0777"), 0),
    ("CAST(id AS DOUBLE) > 2350.5", fn(">", fn("CAST", "id", type="double"), 2350.5), 1),
    ("coalesce(id, -1) = 777", fn("=", fn("COALESCE", "id", -1), 777), 1),
    ("coalesce(gap, -1) = 777", fn("=", fn("COALESCE", "gap", -1), 777), 1),
    ("coalesce(gap, 777) = 777", fn("=", fn("COALESCE", "gap", 777), 777), 24),
    ("coalesce(gap, id) > 2350", fn(">", fn("COALESCE", "gap", "id"), 2350), 1),
    ("greatest(id, 0) < 9", fn("<", fn("GREATEST", "id", 0), 9), 1),
    ("least(id, 5000) > 2350", fn(">", fn("LEAST", "id", 5000), 2350), 1),
    ("struct(id, code) = struct(…)", fn("=", *STRUCTS), 1),
    ("struct(id, code) > struct(…)", fn(">", *STRUCTS), 17),
    ("dayofyear(day) = 5", fn("=", fn("DAYOFYEAR", "day"), 5), 1),
    ("last_day(day) = …", fn("=", fn("LAST_DAY", "day"), date(1, 31)), 18),
    ("add_months(day, 1) = …", fn("=", fn("ADD_MONTHS", "day", 1), date(2, 5)), 1),
    ("trunc(day, 'MM') = …", fn("=", fn("TRUNC", "day", "MM"), date(2, 1)), 7),
    ("date_add(day, 7) = …", fn("=", fn("DATE_ADD", "day", 7), date(1, 12)), 1),
    ("floor(price) = 17", fn("=", fn("FLOOR", "price", type="decimal(8,0)"), {"lit": "17", "type": "decimal(8,0)"}), 1),
    ("round(f, 1) = 12.5", fn("=", fn("ROUND", "f", 1, type="double"), 12.5), 1),
    ("f * 2 < 10 (NaN is greater)", fn("<", fn("*", "f", 2.0), 10.0), 1),
    ("f * 2 > 590 (NaN is greater)", fn(">", fn("*", "f", 2.0), 590.0), 24),
    ("CASE …", fn("=", fn("CASE_WHEN", fn("<", "id", 100), "a", fn("<", "id", 200), "b", "c"), "b"), 1),
    ("NOT coalesce(id, 0) >= 100", fn("NOT", fn(">=", fn("COALESCE", "id", 0), 100)), 1),
    ("id > gap + 2400", fn(">", "id", fn("+", "gap", 2400)), 0),
    ("id + 1 <=> 777", fn("<=>", fn("+", "id", 1), 777), 1),
    ("(id + 1) IS NULL", fn("IS_NULL", fn("+", "id", 1)), 0),
    ("id + 2147483647 may leave its type", fn("=", fn("+", "id", 2147483647), 0), 24),
    ("1 / id may be an error", fn("=", fn("DIV", 1, "id"), 5), 1),
    ("length(code) = 8", fn("=", fn("LENGTH", "code"), 8), 24),
    ("length(code) < 3", fn("<", fn("LENGTH", "code"), 3), 0),
    ("CAST(id AS STRING) LIKE '77%'", fn("LIKE", fn("CAST", "id", type="string"), "77%", detail="\\"), 2),
    ("CAST(id AS STRING) < '2'", fn("<", fn("CAST", "id", type="string"), "2"), 12),
    ("CAST(id AS STRING) BETWEEN '95' AND '96'", fn("AND", fn(">=", fn("CAST", "id", type="string"), "95"), fn("<=", fn("CAST", "id", type="string"), "96")), 2),
    ("make_date(2026, 1, day(day))", fn("=", fn("MAKEDATE", 2026, 1, fn("DAY", "day"), type="date"), date(1, 5)), 2),
    ("make_date(2026, 2, id) may be an error", fn("=", fn("MAKEDATE", 2026, 2, "id", type="date"), date(2, 5)), 24),
    ("width_bucket(id, 0, 2400, 24)", fn("=", fn("WIDTHBUCKET", fn("CAST", "id", type="double"), 0.0, 2400.0, 24, type="bigint"), 8), 1),
    ("width_bucket(id, 2400, 0, 24)", fn("=", fn("WIDTHBUCKET", fn("CAST", "id", type="double"), 2400.0, 0.0, 24, type="bigint"), 8), 2),
    ("replace(code, '000', 'x')", fn("=", fn("REPLACE", "code", "000", "x", **{"class": "StringReplace"}), "x00777"), 3),
    ("regexp_replace(code, '^0000', '')", fn("=", fn("F", "code", "^0000", "", 1, type="string", **{"class": "RegExpReplace"}), "0777"), 1),
    ("regexp_replace(code, '^1', '')", fn("=", fn("F", "code", "^1", "", 1, type="string", **{"class": "RegExpReplace"}), "00000777"), 1),
    ("date_format(ts, 'yyyy-MM-dd HH:00')", fn("=", fn("DATE_FORMAT", "ts", "yyyy-MM-dd HH:00", type="string", **ZONE), "2026-01-05 03:00"), 1),
    ("date_format(ts, \"yyyy-MM-dd'T'HH\")", fn("=", fn("DATE_FORMAT", "ts", "yyyy-MM-dd'T'HH", type="string", **ZONE), "2026-01-05T03"), 1),
    ("to_date(date_format(ts, 'yyyy-MM-dd'))", fn("=", fn("CAST", fn("DATE_FORMAT", "ts", "yyyy-MM-dd", type="string", **ZONE), type="date", mode="ANSI"), date(1, 5)), 1),
    ("hash(id)", fn("=", fn("HASH", "id"), 5), 24),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tree", "count"), FILES_OF, ids=[each[0] for each in FILES_OF])
def test_files_that_are_kept(name: str, tree: dict[str, Any], count: int) -> None:
    """A condition keeps the files that its expression's range allows, or that may raise an error."""
    filter = Filter(normalise(from_json(tree, COLUMNS)))
    assert (match(filter, Files()) > 0).sum() == count, name


class UnknownFiles(Knowledge):
    """Files without any statistics."""

    count = 24

    def bounds(self, column: str) -> None:
        return None


class FilesWithoutStatistics(Files):
    """Files with records, whose bounds are unknown."""

    def bounds(self, column: str) -> Bounds:
        nothing = [None] * self.count
        return Bounds.from_statistics(COLUMNS[column], nothing, nothing, [SOME_NULL] * self.count)


@pytest.mark.parametrize(
    ("name", "tree"), [each[:2] for each in FILES_OF], ids=[each[0] for each in FILES_OF]
)
def test_files_without_statistics_are_kept(name: str, tree: dict[str, Any]) -> None:
    """Without bounds, each file may have a row, unless no value satisfies the condition."""
    filter = Filter(normalise(from_json(tree, COLUMNS)))
    count = 0 if name == "CAST(id AS STRING) = '0777'" else 24
    for knowledge in (FilesWithoutStatistics(), UnknownFiles()):
        assert (match(filter, knowledge) > 0).sum() == count, name


def test_a_day_in_a_zone_without_offsets() -> None:
    """Without a zone's offsets, a day of instants may begin 18 hours before, and end 18 hours later."""
    tree = fn("=", fn("CAST", "ts", type="date"), date(1, 5))
    assert (match(Filter(normalise(from_json(tree, COLUMNS))), Files()) > 0).sum() == 3


def test_offsets_near_a_change() -> None:
    """Two days around a change of the clock, a local time has an earliest and a latest instant."""
    zone = Zone.from_seconds([[None, 0], [10 * 86_400, 3600], [4_000_000_000, None]])
    hour = 3_600_000_000
    assert zone.instant(0, -1) == zone.instant(0, 1) == 0
    near = 10 * MICROS_PER_DAY + 5 * hour
    assert (zone.local(near, -1), zone.local(near, 1)) == (near, near + hour)
    after = 20 * MICROS_PER_DAY
    assert zone.local(after, -1) == zone.local(after, 1) == after + hour
    beyond = 4_000_000_000_000_000 + 3 * MICROS_PER_DAY
    assert (zone.local(beyond, -1), zone.local(beyond, 1)) == (beyond - 18 * hour, beyond + 18 * hour)
    assert UTC.days(-1, 1) == -1


@pytest.mark.parametrize(
    ("tree", "direction"),
    [
        (fn("+", "id", 1), 1),
        (fn("-", 5, fn("*", "id", -2)), 1),
        (fn("-", "id", **{"class": "UnaryMinus"}), -1),
        (fn("DATE_SUB", date(1, 1), "id"), -1),
        (fn("YEAR", DAY_OF_TS), 1),
        (fn("CAST", "id", type="bigint"), 1),
        (fn("CAST", "code", type="int"), None),
        (fn("CAST", "id", type="string"), None),
        (fn("CAST", "ts", type="string", **ZONE), 1),
        (fn("ABS", "id"), None),
        (fn("COALESCE", "id", 0), None),
        (fn("+", "id", "gap"), None),
        (fn("*", "id", 0), None),
    ],
)
def test_directions(tree: dict[str, Any], direction: int | None) -> None:
    """An expression is monotone in its only column if each of its functions is; minus reverses the order."""
    expression = ExpressionReader(COLUMNS, read_literal).read(tree)
    assert expression is not None
    found = direction_in(expression)
    assert (None if found is None else found[1]) == direction


@pytest.mark.parametrize(
    ("tree", "is_known"),
    [
        (fn("+", "id", 1), True),
        (fn("%", "id", 7), True),
        (DAY_OF_TS, True),
        (fn("HASH", "id"), False),
        (fn("CAST", "code", type="int"), False),
        (fn("+", {"col": ["other"]}, 1), False),
    ],
)
def test_computed_keys_of_joins(tree: dict[str, Any], is_known: bool) -> None:
    """A key of a join is known if its functions are, unless the cast of a text may be an error."""
    assert (read_key(tree, COLUMNS) is not None) == is_known
