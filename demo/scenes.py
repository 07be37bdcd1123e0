"""The scenes: questions where plain Spark reads more, and why. Last, queries where Spark prunes as well."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from demo.outcome import Limit, Scene
from parquetry.prune.rules.directories import DirectoryRule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.partitions import PartitionRule

OTHER_DATE = Scene(
    "A date that is not the partition's",
    "What was shipped in January 2000, of sales that are partitioned by the day they were sold?",
    "Spark knows each file's day of sale and nothing of its rows. Parquetry has the first and the last shipping day of every "
    "file in its metastore. The join gives the days of January while the query runs; files without one of them are not opened.",
    """SELECT d_date, count(*) AS orders, sum(cs_ext_ship_cost) AS cost
FROM catalog_sales JOIN date_dim ON cs_ship_date_sk = d_date_sk
WHERE d_year = 2000 AND d_moy = 1
GROUP BY d_date""",
    (
        # the days whose first and last shipping day leave room for a match: all that statistics can show
        Limit(
            "catalog_sales",
            FileRule.name,
            "SELECT count(*) FROM (SELECT cs_sold_date_sk FROM catalog_sales GROUP BY cs_sold_date_sk "
            "HAVING min(cs_ship_date_sk) <= 2451575 AND max(cs_ship_date_sk) >= 2451545)",
        ),
    ),
    reports=True,
)
RARE_ITEM = Scene(
    "A rare item",
    "How much of one article was sold in each year?",
    "Every year has sales of the article, so partitions by year do not help. Within a year the files are sorted by item. "
    "The join finds the item's number, and one file of each year may hold it. Plain Spark opens the same files, all of them.",
    """SELECT year, count(*) AS sales, sum(paid) AS paid
FROM sales JOIN item ON item = i_item_sk
WHERE i_item_id = 'AAAAAAAABAAAAAAA'
GROUP BY year""",
    # an item's rows may begin in one file and end in the next
    (Limit("sales", FileRule.name, "SELECT 2 * count(DISTINCT coalesce(year, 0)) FROM sales"),),
)
SORTED = Scene(
    "A sorted table without directories",
    "What has one customer bought, of a table that is sorted by customer and has no partitions?",
    "The metastore knows the first and the last customer of each file. Plain Spark opens every file to read that in its footer.",
    """SELECT count(*) AS purchases, sum(quantity) AS quantity, sum(paid) AS paid
FROM purchases
WHERE customer = 555""",
    (Limit("purchases", FileRule.name, "SELECT 1"),),
)
TWO_FACTS = Scene(
    "Two facts, one narrows the other",
    "What was sold from October 1999 on, came back in January 2000, and what did it earn?",
    "Order numbers grow with the days. Those of the month's returns are known when the query runs, and leave few days of sales. "
    "Spark takes run-time values for partition columns only, and an order number is none.",
    """SELECT count(*) AS returns, sum(r.refunded) AS refunded, sum(s.cs_net_profit) AS profit
FROM catalog_sales s JOIN refunds r ON s.cs_order_number = r.order_number AND s.cs_item_sk = r.item
WHERE s.cs_sold_date_sk >= 2451453 AND r.month = '2000-01'""",
    (
        Limit(
            "catalog_sales",
            FileRule.name,
            "WITH days AS (SELECT min(cs_order_number) AS least, max(cs_order_number) AS greatest FROM catalog_sales "
            "WHERE cs_sold_date_sk >= 2451453 GROUP BY cs_sold_date_sk) SELECT count(*) FROM days WHERE EXISTS "
            "(SELECT 1 FROM refunds WHERE month = '2000-01' AND order_number BETWEEN least AND greatest)",
        ),
    ),
)


def _visits(name: str, asks: str, why: str, page: int, beside: str) -> Scene:
    """Return a scene of visits that may read one directory of each year.

    Args:
        beside: the condition that holds for the rows that share the page's directory.
    """
    return Scene(
        name,
        asks,
        why,
        f"""SELECT year, count(*) AS visits, sum(paid) AS paid, max(item) AS item
FROM visits
WHERE page = {page}
GROUP BY year""",
        (
            Limit(
                "visits",
                DirectoryRule.name,
                f"SELECT count(*) FROM (SELECT DISTINCT year FROM visits WHERE {beside})",
            ),
        ),
    )


HEAVY = _visits(
    "A heavy value",
    "What was paid on the page that half of all visits are to?",
    "List bucketing keeps the rows of each heavy page in a directory of its own: SKEWED BY (page). Only those are read. Plain "
    "Spark has the same rows partitioned by year, in as many files, and reads all of them.",
    1,
    "page = 1",
)
LIGHT = _visits(
    "A light value",
    "What was paid on a page that is seldom visited?",
    "All pages that are not heavy share one directory in each year, so the heavy pages' rows are not read. A partition for "
    "each page would make a thousand directories a year, nearly all of them tiny.",
    50,
    "page NOT IN (1, 2, 3, 4)",
)
# the hint keeps Spark from sending the smaller table to everybody, as it would at this scale
NO_SHUFFLE = Scene(
    "A join without a shuffle",
    "Which sales were returned, by item and ticket?",
    "The sales are in 8 buckets by item and ticket, the returns in 4. Parquetry tells Spark so, and folds 8 into 4; both "
    "sides are joined bucket by bucket.",
    """SELECT /*+ MERGE(r) */ count(*) AS returns, sum(s.quantity) AS sold, sum(r.quantity) AS returned, sum(r.refunded) AS refunded
FROM sold s JOIN returned r ON s.item = r.item AND s.ticket = r.ticket""",
    (Limit("sold", FileRule.name, "SELECT 8"), Limit("returned", FileRule.name, "SELECT 4")),
    shuffles=0,
)
MILLION = Scene(
    "One partition among a million",
    "Where are the files of one hour in one region, of a table with a million partitions?",
    "The filter becomes the key of the partition, and the metastore reads that key. No directory is listed. Plain Spark did "
    "not run here: without a metastore it would list a million directories.",
    "day = '2016-06-15' AND hour = '07' AND region = 'region-d'",
)
MERGE = Scene(
    "A MERGE into a thousand files",
    "The payments of two customers were wrong: how many files are written anew?",
    "MERGE finds the files with rows to change by their first and last customer, and writes only those anew, in one commit. "
    "Plain Spark cannot change rows of Parquet files: it reads all rows, joins, and writes the table again.",
    """MERGE INTO purchases p USING corrections c
ON p.customer = c.customer AND p.ticket = c.ticket AND p.item = c.item
WHEN MATCHED THEN UPDATE SET paid = c.paid""",
)
YESTERDAY = Scene(
    "Yesterday's version",
    "What had these customers paid before the correction?",
    "The version before the MERGE is still there; it shares all files that the MERGE did not write anew. Plain Spark reads a "
    "copy of the old table, which somebody must have kept.",
    """SELECT customer, count(*) AS purchases, sum(paid) AS paid
FROM purchases {version}
WHERE customer IN (SELECT customer FROM corrections)
GROUP BY customer""",
    (Limit("purchases", FileRule.name, "SELECT 2"),),
)
NO_FILE = Scene(
    "Counts without a file",
    "How many orders came in during 2001, how many of them were shipped, and when first and last?",
    "The metastore has the rows, NULLs, minimum and maximum of each file. So count, min and max of whole partitions need no file.",
    """SELECT count(*) AS orders, count(cs_ship_date_sk) AS shipped, min(cs_ship_date_sk) AS first, max(cs_ship_date_sk) AS last
FROM catalog_sales
WHERE cs_sold_date_sk BETWEEN 2451911 AND 2452275""",
    (Limit("catalog_sales", FileRule.name, "SELECT 0"),),
)

LARGE_FILES = Scene(
    "Files of 128 MB",
    "What did one sensor measure, which is found by its name, in eight files of 128 MB?",
    "The files of the other scenes are small, as the demo is; these are as large as files should be. The join gives the "
    "sensor's number, and one file has such numbers. Plain Spark learns the number, too, and reads the columns of all files.",
    """SELECT count(*) AS readings, avg(temperature) AS temperature, max(voltage) AS voltage
FROM readings JOIN sensors ON sensor = id
WHERE name = 'sensor-1234'""",
    (Limit("readings", FileRule.name, "SELECT 1"),),
)
"""Its table is on a local disk; see `demo.readings`."""

QUERIES = (OTHER_DATE, RARE_ITEM, SORTED, TWO_FACTS, HEAVY, LIGHT, NO_SHUFFLE)
"""The scenes that are a query of tables as they were loaded."""


def _alike(name: str, asks: str, sql: str, days: str) -> Scene:
    """Return a query whose conditions are about the partition column, with the days that it may read."""
    count = f"SELECT count(*) FROM (SELECT DISTINCT cs_sold_date_sk FROM catalog_sales WHERE {days})"
    return Scene(name, asks, "", sql, (Limit("catalog_sales", PartitionRule.name, count),))


def _of_dates(dates: str) -> str:
    return f"cs_sold_date_sk IN (SELECT d_date_sk FROM date_dim WHERE {dates})"


_TPCDS = {
    15: ("what was sold to some regions in a quarter", "d_qoy = 2 AND d_year = 2001"),
    20: ("items' share of their class, 30 days", "d_date BETWEEN '1999-02-22' AND '1999-03-24'"),
}
_DIRECT = (
    _alike(
        "One day",
        "one day's orders",
        """SELECT cs_warehouse_sk, count(*) AS orders, sum(cs_net_paid) AS paid, avg(cs_quantity) AS quantity
FROM catalog_sales
WHERE cs_sold_date_sk = 2451545
GROUP BY cs_warehouse_sk""",
        "cs_sold_date_sk = 2451545",
    ),
    _alike(
        "A month",
        "the orders of January 2001",
        """SELECT cs_call_center_sk, count(*) AS orders, sum(cs_net_profit) AS profit
FROM catalog_sales
WHERE cs_sold_date_sk BETWEEN 2451911 AND 2451941
GROUP BY cs_call_center_sk""",
        "cs_sold_date_sk BETWEEN 2451911 AND 2451941",
    ),
    _alike(
        "OR and AND",
        "two days, and a week of some items",
        """SELECT cs_sold_date_sk, count(*) AS orders, sum(cs_net_profit) AS profit
FROM catalog_sales
WHERE cs_sold_date_sk = 2451180 OR 2452270 = cs_sold_date_sk
   OR (cs_sold_date_sk >= 2452000 AND cs_sold_date_sk < 2452007 AND cs_item_sk < 1000)
GROUP BY cs_sold_date_sk""",
        "cs_sold_date_sk IN (2451180, 2452270) OR cs_sold_date_sk BETWEEN 2452000 AND 2452006",
    ),
)


def alike(texts: Mapping[int, str]) -> list[Scene]:
    """Return the queries where Spark prunes as well.

    Args:
        texts: of TPC-DS's queries, by number.
    """
    stars = [
        _alike(f"TPC-DS {number}", asks, texts[number].strip().rstrip(";"), _of_dates(dates))
        for number, (asks, dates) in _TPCDS.items()
    ]
    return [*stars, *_DIRECT]


def tables_of(scenes: Sequence[Scene], tables: Iterable[str]) -> list[str]:
    """Return the tables that scenes name, in the given order.

    >>> tables_of([Scene("q", "", "", "SELECT * FROM store_sales, item")], ["item", "store", "store_sales"])
    ['item', 'store_sales']
    """
    words = {word for scene in scenes for word in re.findall(r"\w+", scene.sql)}
    return [table for table in tables if table in words]
