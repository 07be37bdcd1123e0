"""The queries the demo runs, how little of the tables each may read, and what came of each.

Every limit is counted from the raw rows by DuckDB, so it owes nothing to the library that must keep it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from demo.tpcds import PARTITIONED_BY
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import ScanReport
from parquetry.prune.rules.directories import DirectoryRule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.partitions import PartitionRule


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a query may read of one table.

    Attributes:
        table: whose scan is limited.
        step: of that scan's report, by its name.
        count: SQL over the raw tables, whose one number is the limit.
    """

    table: str
    step: str
    count: str


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and the limits on what it may read.

    Attributes:
        name: short, for a table's first column.
        asks: what it asks, in a few words.
        sql: its text, with bare table names.
        limits: on its scans.
        shuffles: the most times that it may shuffle rows by the hash of some columns; None: that is not what it is about.
    """

    name: str
    asks: str
    sql: str
    limits: tuple[Limit, ...]
    shuffles: int | None = None

    @property
    def tables(self) -> frozenset[str]:
        """Return the tables that it is about: those with a limit."""
        return frozenset(limit.table for limit in self.limits)


class Shuffles(NamedTuple):
    """How many times a query shuffled rows by the hash of some columns: through Parquetry, and through plain Spark."""

    ours: int
    plain: int


class PlainRead(NamedTuple):
    """What plain Spark opened of the large tables of a query, and how long the query took.

    Attributes:
        files: that it read.
        bytes: of these.
        seconds: of the query, planning included.
    """

    files: int
    bytes: int
    seconds: float


def _days(table: str, rows: str) -> Limit:
    """Limit a scan to the partitions that hold the given rows."""
    key = PARTITIONED_BY[table]
    return Limit(
        table, PartitionRule.name, f"SELECT count(*) FROM (SELECT DISTINCT {key} FROM {table} WHERE {rows})"
    )


def _dates(dates: str) -> Limit:
    """Limit the scan of store_sales to the partitions of the given days of date_dim."""
    return _days("store_sales", f"ss_sold_date_sk IN (SELECT d_date_sk FROM date_dim WHERE {dates})")


def _visits(name: str, asks: str, table: str, where: str, lies_with: str | None = None) -> Query:
    """Return a query of visits, which may read a directory for each heavy page of each year with such rows.

    Args:
        lies_with: a condition for the rows with which those asked for lie; None: each page has a directory of its own.
    """
    sql = f"""SELECT year, count(*) AS visits, sum(paid) AS paid, max(item) AS item
FROM {table}
WHERE {where}
GROUP BY year"""
    places = "year, page" if lies_with is None else "year"
    rows = f"SELECT DISTINCT {places} FROM {table} WHERE {lies_with or where}"
    return Query(name, asks, sql, (Limit(table, DirectoryRule.name, f"SELECT count(*) FROM ({rows})"),))


def _join(name: str, asks: str, sql: str, tables: tuple[str, ...] = ("sold", "returned")) -> Query:
    """Return a query of bucketed tables, all files of which may be read, and no rows shuffled by a hash."""
    counts = {"sold": 8, "returned": 4}
    limits = tuple(Limit(table, FileRule.name, f"SELECT {counts[table]}") for table in tables)
    return Query(name, asks, sql, limits, shuffles=0)


_TPCDS = {
    3: ("a maker's brands, by November", "d_moy = 11"),
    7: ("averages by item for one kind of customer, 2000", "d_year = 2000"),
    19: ("brands bought away from home, November 1998", "d_moy = 11 AND d_year = 1998"),
    42: ("categories, November 2000", "d_moy = 11 AND d_year = 2000"),
    52: ("brands, November 2000", "d_moy = 11 AND d_year = 2000"),
    55: ("one manager's brands, November 1999", "d_moy = 11 AND d_year = 1999"),
    98: ("items' share of their class, 30 days", "d_date BETWEEN '1999-02-22' AND '1999-03-24'"),
}

_DIRECT = (
    Query(
        "= day",
        "one day's sales",
        """SELECT ss_store_sk, count(*) AS sales, sum(ss_net_paid) AS paid, avg(ss_quantity) AS quantity
FROM store_sales
WHERE ss_sold_date_sk = 2451545
GROUP BY ss_store_sk""",
        (_days("store_sales", "ss_sold_date_sk = 2451545"),),
    ),
    Query(
        "IN days",
        "three days of the catalogue, some items",
        """SELECT cs_sold_date_sk, count(*) AS orders, sum(cs_ext_sales_price) AS price
FROM catalog_sales
WHERE cs_sold_date_sk IN (2450900, 2451545, 2452275) AND cs_item_sk < 1000
GROUP BY cs_sold_date_sk""",
        (_days("catalog_sales", "cs_sold_date_sk IN (2450900, 2451545, 2452275)"),),
    ),
    Query(
        "BETWEEN",
        "web sales of January 2001",
        """SELECT ws_web_site_sk, count(*) AS orders, sum(ws_net_profit) AS profit
FROM web_sales
WHERE ws_sold_date_sk BETWEEN 2451911 AND 2451941
GROUP BY ws_web_site_sk""",
        (_days("web_sales", "ws_sold_date_sk BETWEEN 2451911 AND 2451941"),),
    ),
    Query(
        "IS NULL",
        "sales whose day is unknown",
        """SELECT count(*) AS sales, count(ss_sold_time_sk) AS with_time, sum(ss_net_paid) AS paid
FROM store_sales
WHERE ss_sold_date_sk IS NULL""",
        (_days("store_sales", "ss_sold_date_sk IS NULL"),),
    ),
    Query(
        "OR, AND",
        "two days, and one store's week",
        """SELECT ss_sold_date_sk, ss_store_sk, sum(ss_net_profit) AS profit
FROM store_sales
WHERE ss_sold_date_sk = 2451180 OR 2452270 = ss_sold_date_sk
   OR (ss_sold_date_sk >= 2452000 AND ss_sold_date_sk < 2452007 AND ss_store_sk = 1)
GROUP BY ss_sold_date_sk, ss_store_sk""",
        (
            _days(
                "store_sales",
                "ss_sold_date_sk IN (2451180, 2452270) OR ss_sold_date_sk BETWEEN 2452000 AND 2452006",
            ),
        ),
    ),
    Query(
        "data column",
        "what was shipped in January 2000: no partition key",
        """SELECT cs_warehouse_sk, count(*) AS orders, sum(cs_ext_ship_cost) AS cost
FROM catalog_sales
WHERE cs_ship_date_sk BETWEEN 2451545 AND 2451575
GROUP BY cs_warehouse_sk""",
        (
            # the days whose least and greatest ship date leave room for a match: what statistics can tell
            Limit(
                "catalog_sales",
                FileRule.name,
                "SELECT count(*) FROM (SELECT cs_sold_date_sk FROM catalog_sales GROUP BY cs_sold_date_sk "
                "HAVING min(cs_ship_date_sk) <= 2451575 AND max(cs_ship_date_sk) >= 2451545)",
            ),
        ),
    ),
    Query(
        "metastore",
        "count, min and max: no file is opened",
        """SELECT count(*) AS sales, count(ws_ship_date_sk) AS shipped, min(ws_ship_date_sk), max(ws_item_sk)
FROM web_sales
WHERE ws_sold_date_sk > 2452276""",
        (
            _days("web_sales", "ws_sold_date_sk > 2452276"),
            Limit("web_sales", FileRule.name, "SELECT 0"),
        ),
    ),
    _visits(
        "heavy value", "the page that half of the visits are to: a directory of its own", "visits", "page = 1"
    ),
    _visits(
        "light value",
        "a rare page: in the directory of all that are not heavy",
        "visits",
        "page = 50",
        "page NOT IN (1, 2, 3, 4)",
    ),
    _visits("two of the heavy", "of one year, or of any", "visits", "page = 1 AND year = 2000 OR page = 3"),
    _visits(
        "found heavy", "the same page, where what is heavy was found by itself", "visits_auto", "page = 1"
    ),
    # the hint keeps Spark from sending the smaller table to everybody, as it would at this scale
    _join(
        "sales ⋈ returns",
        "by item and ticket: 8 buckets and 4",
        """SELECT /*+ MERGE(r) */ count(*) AS returns, sum(s.quantity) AS sold, sum(r.quantity) AS returned, sum(r.refunded) AS refunded
FROM sold s JOIN returned r ON s.item = r.item AND s.ticket = r.ticket""",
    ),
    _join(
        "never returned",
        "sales LEFT ANTI JOIN returns, on more than the buckets' columns",
        """SELECT /*+ MERGE(r) */ count(*) AS sales, sum(s.paid) AS paid
FROM sold s LEFT ANTI JOIN returned r ON s.customer = r.customer AND r.ticket = s.ticket AND s.item = r.item""",
    ),
    _join(
        "per sale",
        "grouped by the buckets' columns, and one more",
        """SELECT max(paid) AS most, count(*) AS sales
FROM (SELECT item, ticket, customer, sum(paid) AS paid FROM sold GROUP BY item, ticket, customer)""",
        ("sold",),
    ),
)


def queries(texts: Mapping[int, str]) -> list[Query]:
    """Return all queries, given the texts of TPC-DS's queries by number."""
    stars = [
        Query(f"TPC-DS {number}", asks, texts[number].strip().rstrip(";"), (_dates(dates),))
        for number, (asks, dates) in _TPCDS.items()
    ]
    return [*stars, *_DIRECT]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a query.

    Attributes:
        query: which was run.
        report: what Parquetry read for it.
        rows: how many it answered.
        seconds: it took through Parquetry, planning included.
        faults: in what the answer or the reading is wrong; empty if all is well.
        shuffles: of its rows.
        plain: what plain Spark read for it.
    """

    query: Query
    report: Report
    rows: int
    seconds: float
    faults: tuple[str, ...]
    shuffles: Shuffles
    plain: PlainRead

    @property
    def limited(self) -> tuple[ScanReport, ...]:
        """The scans of the tables this query is about: those with a limit."""
        return tuple(scan for scan in self.report.scans if bare_name(scan.table) in self.query.tables)


def tables_of(asked: Sequence[Query], tables: Iterable[str]) -> list[str]:
    """Return those of some tables that queries name, in their order.

    >>> tables_of([Query("q", "", "SELECT * FROM store_sales, item", ())], ["item", "store", "store_sales"])
    ['item', 'store_sales']
    """
    words = {word for query in asked for word in re.findall(r"\w+", query.sql)}
    return [table for table in tables if table in words]


def bare_name(table: str) -> str:
    """Return a table's name without its catalog and database."""
    return table.rpartition(".")[2]


def excesses(report: Report, allowed: Mapping[Limit, int]) -> list[str]:
    """Return in what a query read more than it may, as sentences."""
    found = []
    for limit, most in allowed.items():
        scans = [scan for scan in report.scans if bare_name(scan.table) == limit.table]
        if not scans:
            found.append(f"no scan of {limit.table} in the report")
        for scan in scans:
            step = scan.step(limit.step)
            if step is None:
                found.append(f"{limit.table}: no step {limit.step!r} in the report")
            elif step.kept > most:
                found.append(f"{limit.table}: read {step.kept:,} {limit.step} where {most:,} are enough")
    return found
