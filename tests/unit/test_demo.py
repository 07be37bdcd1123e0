"""The demo must see a wrong answer, and a query that reads too much: otherwise it shows nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from demo import tpcds
from demo.answers import difference
from demo.page import page
from demo.queries import Limit, Outcome, PlainRead, Query, Shuffles, excesses, queries
from demo.summary import bar
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import IneffectiveCondition, ScanReport, Step

DAYS = Limit("store_sales", "partitions", "SELECT 2")
FILES = Limit("store_sales", "files", "SELECT 0")


def report(partitions: int, files: int) -> Report:
    steps = (
        Step("partitions", partitions, 10, ("day IN (1, 2)",)),
        Step("files", files, partitions),
        Step("bytes", 100 * files, 1000 * partitions, ("paid",)),
    )
    return Report((ScanReport("lake.tpcds.store_sales", steps), ScanReport("lake.tpcds.item", ())))


@pytest.mark.parametrize(
    "theirs",
    [
        [(1, "a"), (2, "c")],
        [(1, "a")],
        [(1, "a"), (2, "b"), (2, "b")],
        [(1, "a"), (2, None)],
        [(1, "a"), ("2", "b")],
        [(1, "a"), (2, "b", None)],
    ],
)
def test_an_answer_that_differs_is_seen(theirs: list[tuple[object, ...]]):
    """A value, a row more or less, a NULL, a type, a column more: each is a difference."""
    assert difference([(1, "a"), (2, "b")], theirs) is not None
    assert difference([(2, "b"), (1, "a")], [(1, "a"), (2, "b")]) is None


def test_floating_point_may_differ_by_rounding_only():
    """Sums of doubles depend on their order; a difference in the seventh digit is a wrong answer."""
    assert difference([(float("nan"), 0.1 + 0.2)], [(float("nan"), 0.3)]) is None
    assert difference([(1.000001,)], [(1.0,)]) is not None


def test_a_query_that_reads_too_much_is_seen():
    """More partitions or files than the limit is a fault, and so is a report without the table."""
    assert excesses(report(2, 0), {DAYS: 2, FILES: 0}) == []
    assert excesses(report(3, 1), {DAYS: 2, FILES: 0}) == [
        "store_sales: read 3 partitions where 2 are enough",
        "store_sales: read 1 files where 0 are enough",
    ]
    assert excesses(Report(()), {DAYS: 2}) == ["no scan of store_sales in the report"]


def test_the_page_needs_nothing_beside_itself_and_escapes_all_text():
    """One file: no script, no address, no file of its own; SQL and conditions are text, not markup."""
    query = Query("= day", "what <b>is</b> asked", "SELECT '<script>' FROM store_sales", (DAYS,), 0)
    scan = ScanReport("lake.tpcds.store_sales", (Step("partitions", 1, 4, ("a < 'x' AND b > '&'",)),))
    scan = ScanReport(
        scan.table,
        (*scan.steps, Step("bytes", 10, 20, (), (IneffectiveCondition("c > 1", "<no> statistics"),))),
    )
    html = page(
        [
            Outcome(
                query, Report((scan,)), 1, 0.1, ("it is <wrong>",), Shuffles(1, 2), PlainRead(5, 3000, 0.25)
            )
        ],
        {scan.table: 1000},
        0.1,
    )
    assert not re.search(r"<script|<b>is|<no>|<wrong>|https?:|src=|@import|url\(|<link", html)
    assert "10 B of 1.0 kB" in html or "10 B of 1 kB" in html
    assert "0 of 1" in html
    assert "rows shuffled by a hash once (plain Spark: 2 times)" in html
    assert "width:25.00%" in html
    assert re.search(r"0 files, 20 B, 0.1 s \(plain Spark: 5 files, [0-9.]+ kB, 0.2 s\)", html)


@pytest.mark.parametrize(
    ("part", "drawn"), [(0, "········"), (1, "▏·······"), (500, "████····"), (1000, "████████")]
)
def test_a_bar_shows_something_as_something(part: int, drawn: str):
    """Nothing is drawn as nothing, the least share as a sliver, all as all."""
    assert bar(part, 1000).plain == drawn


def test_the_raw_tables_are_made_once_and_whole(tmp_path: Path):
    """What an interrupted run left is made again; what is whole is kept; limits are counted from the rows."""
    unfinished = tmp_path / "raw.unfinished"
    unfinished.mkdir()
    (unfinished / "half.parquet").write_bytes(b"half")
    raw = tpcds.make(tmp_path / "raw", 0.01)
    assert len(raw.rows) == 28
    assert not unfinished.exists()
    made = raw.file("store_sales").stat().st_mtime_ns
    assert tpcds.make(tmp_path / "raw", 0.01) == raw
    assert raw.file("store_sales").stat().st_mtime_ns == made
    assert raw.count("SELECT count(*) FROM store_sales") == raw.rows["store_sales"]
    asked = queries(tpcds.query_texts())
    assert [query.name for query in asked[:7]] == [f"TPC-DS {n}" for n in (3, 7, 19, 42, 52, 55, 98)]
    for query in asked:
        assert all(raw.count(limit.count) >= 0 for limit in query.limits)
