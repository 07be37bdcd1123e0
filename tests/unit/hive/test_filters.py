"""Filters as clients of Hive's metastore write them, beside the same conditions in Python."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import time
from collections.abc import Callable

import pytest

from parquetry.data_files import PHYSICAL_NAME, FileRecord, TableColumn
from parquetry.errors import FilterError
from parquetry.hive.filters import read_filter
from parquetry.metastore import (
    TableMetadata,
    TableSnapshot,
    Transaction,
    cheapest_plan,
    commit,
    open_metastore,
)

DAYS = [dt.date(2026, 2, 27) + dt.timedelta(n) for n in range(4)]
TEXTS = ["a", "ab", "a.b", "a%b", "a_b", "axb", "b", "it's", 'say "x"', "a\\b", "ü", "a[b]", "50%", ""]
Row = tuple[dt.date | None, int | None, str | None]
ROWS: list[Row] = [
    (day, hour, text or None) for day in [*DAYS, None] for hour in (1, 12, None) for text in TEXTS
]


@pytest.fixture(scope="module")
def table() -> TableSnapshot:
    """A table with 210 partitions by a day, an hour and a text; `on` is called `day` in the files."""
    columns = (
        TableColumn("v", "long"),
        TableColumn("on", "date", metadata={PHYSICAL_NAME: "day"}),
        TableColumn("hour", "integer"),
        TableColumn("S", "string"),
    )
    metadata = TableMetadata(columns, ("on", "hour", "S"), "parquet", "/lake/t")
    made = open_metastore("/lake", "memory").create_table("default", "t", metadata)
    transaction = Transaction(made, "append")
    for number, (day, hour, text) in enumerate(ROWS):
        transaction.append((_days(day), hour, text), [FileRecord(f"f{number}", 1, 1)])
    return commit(transaction)


def _days(day: dt.date | None) -> int | None:
    return None if day is None else (day - dt.date(1970, 1, 1)).days


def selected(table: TableSnapshot, text: str) -> list[Row]:
    where = read_filter(table, text)
    values = [partition.values for partition in table.partitions(cheapest_plan(table, where))]
    return sorted(values, key=str)


def expected(test: Callable[[Row], bool | None]) -> list[tuple[object, ...]]:
    return sorted(((_days(row[0]), row[1], row[2]) for row in ROWS if test(row)), key=str)


def like(pattern: str) -> Callable[[Row], bool | None]:
    return lambda row: None if row[2] is None else re.fullmatch(pattern, row[2], re.DOTALL) is not None


D = DAYS
# As Spark's clients write them (HiveShim.convertFilters), as people do, and as Hive's own clients do.
EXACT: dict[str, Callable[[Row], bool | None]] = {
    "": lambda r: True,
    'S = "a"': lambda r: r[2] == "a",
    "S = 'a'": lambda r: r[2] == "a",
    '"a" = s': lambda r: r[2] == "a",
    "`s` = 'a'": lambda r: r[2] == "a",
    's = "it\'s"': lambda r: r[2] == "it's",
    "s = 'it''s'": lambda r: r[2] == "it's",
    "s = 'say \"x\"'": lambda r: r[2] == 'say "x"',
    'S = "a\\b"': lambda r: r[2] == "a\\b",
    's = "ü"': lambda r: r[2] == "ü",
    's != "a"': lambda r: r[2] not in ("a", None),
    's <> "a"': lambda r: r[2] not in ("a", None),
    's > "b"': lambda r: r[2] is not None and r[2] > "b",
    's <= "ab"': lambda r: r[2] is not None and r[2] <= "ab",
    '(s = "a" or s = "b")': lambda r: r[2] in ("a", "b"),
    '(s != "a" and s != "b")': lambda r: r[2] not in ("a", "b", None),
    "s in ('a', 'b')": lambda r: r[2] in ("a", "b"),
    "s not in ('a', 'b')": lambda r: r[2] not in ("a", "b", None),
    "s between 'a' and 'ab'": lambda r: r[2] is not None and "a" <= r[2] <= "ab",
    's = "__HIVE_DEFAULT_PARTITION__"': lambda r: r[2] is None,
    's != "__HIVE_DEFAULT_PARTITION__"': lambda r: r[2] is not None,
    "s is null": lambda r: r[2] is None,
    "s is not null": lambda r: r[2] is not None,
    "not s is null": lambda r: r[2] is not None,
    'S like "a.*"': like("a.*"),
    'S like ".*b"': like(".*b"),
    'S like ".*a.*"': like(".*a.*"),
    "s like 'a%'": like("a.*"),
    "s like '%b'": like(".*b"),
    "s like 'a_b'": like("a.b"),
    "s like 'a\\_b'": like("a_b"),
    's like "a.b"': like(r"a\.b"),
    's like "50%.*"': like("50%.*"),
    's like "a_.*"': like("a_.*"),
    's like "a.b.*"': like("a.b.*"),
    's like ".*"': like(".*"),
    "s not like 'a%'": lambda r: r[2] is not None and not r[2].startswith("a"),
    "not (s like 'a.*')": lambda r: r[2] is not None and not r[2].startswith("a"),
    's like "a.*" and s like ".*b"': like("a.*b"),
    "hour = 1": lambda r: r[1] == 1,
    'hour = "1"': lambda r: r[1] == 1,
    "1 = hour": lambda r: r[1] == 1,
    "hour != 1": lambda r: r[1] not in (1, None),
    "hour >= 2": lambda r: r[1] is not None and r[1] >= 2,
    "hour < 12": lambda r: r[1] is not None and r[1] < 12,
    "hour between 2 and 12": lambda r: r[1] == 12,
    "(hour = 1 or hour = 12)": lambda r: r[1] in (1, 12),
    "hour is null": lambda r: r[1] is None,
    'hour = "__HIVE_DEFAULT_PARTITION__"': lambda r: r[1] is None,
    "hour = -1": lambda r: False,
    "day = 2026-02-28": lambda r: r[0] == D[1],
    "day = '2026-02-28'": lambda r: r[0] == D[1],
    'day = "2026-02-28"': lambda r: r[0] == D[1],
    "day = date '2026-02-28'": lambda r: r[0] == D[1],
    "DAY >= 2026-03-01": lambda r: r[0] is not None and r[0] >= D[2],
    "day != 2026-02-28": lambda r: r[0] not in (D[1], None),
    "day between '2026-02-28' and '2026-03-01'": lambda r: r[0] in D[1:3],
    "day in ('2026-02-27', '2026-03-02')": lambda r: r[0] in (D[0], D[3]),
    "(day = 2026-02-27 or day = 2026-03-02) and hour = 1": lambda r: r[0] in (D[0], D[3]) and r[1] == 1,
    "day >= 2026-02-28 and day <= 2026-03-01 and s like 'a%' and hour != 12": lambda r: (
        r[0] in D[1:3] and r[1] == 1 and (r[2] or "").startswith("a")
    ),
    "not (day = 2026-02-28)": lambda r: r[0] not in (D[1], None),
    "not (hour = 1 and s = 'a')": lambda r: (r[1] not in (1, None)) or (r[2] not in ("a", None)),
    "hour = 1 or s = 'b'": lambda r: r[1] == 1 or r[2] == "b",
    "(((hour = 1)))": lambda r: r[1] == 1,
    "day is null and hour is null and s is null": lambda r: r == (None, None, None),
}
MORE: dict[str, Callable[[Row], bool | None]] = {
    's like "a[b].*"': lambda r: (r[2] or "").startswith("a[b]"),
    "not (s like 'a[b].*')": lambda r: not (r[2] or "").startswith("a[b]"),
    's like "a(x|%).*"': lambda r: False,
}
REFUSED = [
    "nothing = 1",
    "v = 1",
    "hour = 'x'",
    "hour ~ 1",
    "s = 'a",
    "day = 20260228",
    "hour = 1 or",
    "upper(s) = 'A'",
]


@pytest.mark.parametrize("text", EXACT)
def test_filters_are_exact(table: TableSnapshot, text: str) -> None:
    """A filter selects the partitions whose values satisfy it, and no other."""
    assert selected(table, text) == expected(EXACT[text])


@pytest.mark.parametrize("text", MORE)
def test_other_regular_expressions_select_no_fewer(table: TableSnapshot, text: str) -> None:
    """A sign of a regular expression may be meant as itself: nothing that it could mean is left out."""
    assert set(selected(table, text)) >= set(expected(MORE[text]))


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_filter_is_refused(table: TableSnapshot, text: str) -> None:
    """A filter that is not understood is an error, and never all partitions or none."""
    with pytest.raises(FilterError):
        read_filter(table, text)


def test_there_are_sixty_filters() -> None:
    """The table above has all kinds of filters of Spark's and Hive's clients."""
    assert len(EXACT) >= 60


HOSTILE = {
    "parentheses": "(" * 50_000 + "hour = 1" + ")" * 50_000,
    "negations": "not " * 50_000 + "hour = 1",
    "levels": "(hour = 1 or (day is null and " * 300 + "hour = 2" + "))" * 300,
    "quotes": "s = '" + "\\" * 50_000,
    "likes": "s like '" + "%a" * 20_000 + "'",
    "length": "hour = 1 or " * 30_000 + "hour = 2",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_filters_end_soon(table: TableSnapshot, name: str) -> None:
    """A long, deep or unfinished filter is read, or refused, without a deep recursion and within seconds."""
    started = time.process_time()
    refused = name in ("levels", "quotes", "length")
    with pytest.raises(FilterError) if refused else contextlib.nullcontext():
        selected(table, HOSTILE[name])
    assert time.process_time() - started < 5
