"""The README's four lines of SQL do what the README says of the designs."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from tests.support.pages.readme import BLOCKS, QUICK_START, typed

(DESIGNS,) = (block.statements for block in BLOCKS if block.language == "sql")
QUERIES = """
def ask(statement):
    frame = spark.sql(statement)
    frame.collect()
    print(parquetry.report(frame))

key, values, buckets, directories = DESIGNS
ask(key)
ask(values)
spark.sql(buckets)
spark.sql("INSERT INTO lake.shop.orders SELECT id, DATE '2026-01-01' FROM range(1000)")
ask("SELECT /*+ MERGE(b) */ count(*) FROM lake.shop.orders a JOIN lake.shop.orders b ON a.id = b.id")
spark.sql(directories)
spark.sql("INSERT INTO lake.shop.visits SELECT IF(id % 2 = 0, 7, id), 1, DATE '2026-01-01' FROM range(1000)")
ask("SELECT sum(ms) FROM lake.shop.visits WHERE page = 7")
"""


@pytest.fixture(scope="module")
def printed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run the README's lines after the quick start in an empty warehouse, and return the reports."""
    program = f"{QUICK_START}\nDESIGNS = {DESIGNS!r}\n{QUERIES}"
    return typed(program, "readme", tmp_path_factory.mktemp("readme"))


@pytest.mark.every_case
@pytest.mark.parametrize(
    "report",
    [
        r"lake\.shop\.sales: partitions 1 of 90 \(day = DATE '2026-03-01'\)",
        r"lake\.shop\.sales: .* files 2 of 90 \(run-time values id IN \(471, 59100\)\)",
        r"lake\.shop\.orders INNER JOIN lake\.shop\.orders ON id = id: no shuffle(, \d sorts?)? \(16 buckets by id\)",
        r"lake\.shop\.visits: .* directories 1 of 2 \(page = 7\)",
    ],
    ids=["a key for each partition", "runtime filters", "buckets", "list bucketing"],
)
def test_a_line_shows_its_design(printed: str, report: str) -> None:
    """Each printed line leads to a report where its design has left something out."""
    assert len(DESIGNS) == 4
    assert re.search(f"^{report}", printed, re.MULTILINE), printed


def test_the_quick_start_is_quick() -> None:
    """It has few lines, and its report is of the run that `show()` made."""
    assert len([line for line in QUICK_START.splitlines() if line.strip()]) <= 26
    assert QUICK_START.rstrip().endswith("query.show()\nprint(parquetry.report(query))")
