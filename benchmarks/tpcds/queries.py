"""The queries of TPC-DS by what is measured of them, and texts that are made of theirs."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

CORE = (3, 7, 13, 19, 25, 29, 42, 52, 53, 55, 63, 68, 73, 79, 89, 98)
"""A fact, or three, with filtered dimensions. One dimension is the date."""
STARS = (
    *CORE,
    *(16, 26, 27, 32, 37, 48, 56, 62, 82, 90, 92, 94, 96, 99),
    *(12, 15, 20, 21, 22, 33, 34, 36, 43, 46, 60, 61),
)
"""All queries whose facts each have filtered dimensions."""
OTHER_DATES = (16, 62, 94, 99)
"""Queries by the date of shipping; the facts are partitioned by the date of the sale."""
RARE_ITEMS = (32, 37, 82, 92)
UNPRUNED = (2, 5, 40, 49, 50, 59, 72, 80)
"""With scans of facts that Spark's own pruning leaves whole."""
ACROSS_FACTS = (25, 29)
"""Three facts, which narrow each other."""
NOTHING_PRUNED = (62, 99, 37, 82)
"""Timed besides: Spark prunes nothing of the sales."""
_FEW_KEYS = """
SELECT count(*), sum(ss_quantity), sum(ss_net_paid) FROM store_sales, item, date_dim
WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND {item}{year}"""
_YEAR = " AND d_year = 2000"


def stars(texts: dict[int, str]) -> dict[int, str]:
    """Return the texts of the stars: 16 and 94 lack EXISTS and NOT EXISTS, which read the same fact whole."""
    found = {number: texts[number] for number in STARS}
    for number in (16, 94):
        head, _, rest = texts[number].partition("AND EXISTS")
        found[number] = head + rest[rest.index("ORDER BY") :]
    return found


def sources(text: str) -> str:
    """Return FROM and WHERE of the part of a star that reads its facts.

    >>> sources("SELECT * FROM (SELECT a, sum(b) FROM store_sales, item WHERE c = d GROUP BY a) LIMIT 1")
    'FROM store_sales, item WHERE c = d '
    """
    fact = re.search(r"\bstore_sales\b", text)
    if fact is None:
        raise ValueError(f"no star of store_sales: {text}")
    start = text.rindex("FROM", 0, fact.start())
    end = re.compile(r"GROUP\s+BY|;|\Z").search(text, fact.end())
    assert end is not None
    return text[start : end.start()]


def few_keys(items: Path) -> dict[str, str]:
    """Return queries for few items: of one manufacturer and category, and of one manufacturer.

    Args:
        items: the file of the items.
    """
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW item AS SELECT * FROM '{str(items).replace(chr(39), chr(39) * 2)}'")
        few = connection.execute(
            "SELECT i_manufact_id, i_category_id FROM item WHERE i_manufact_id IS NOT NULL AND i_category_id IS NOT NULL "
            "GROUP BY ALL ORDER BY abs(count(*) - 5), i_manufact_id, i_category_id LIMIT 1"
        ).fetchone()
        more = connection.execute(
            "SELECT i_manufact_id FROM item WHERE i_manufact_id IS NOT NULL "
            "GROUP BY ALL ORDER BY abs(count(*) - 39), i_manufact_id LIMIT 1"
        ).fetchone()
    assert few is not None
    assert more is not None
    of_five = f"i_manufact_id = {few[0]} AND i_category_id = {few[1]}"
    of_all = f"i_manufact_id = {more[0]}"
    return {
        "5 items in a year": _FEW_KEYS.format(item=of_five, year=_YEAR),
        "39 items in a year": _FEW_KEYS.format(item=of_all, year=_YEAR),
        "39 items": _FEW_KEYS.format(item=of_all, year=""),
    }
