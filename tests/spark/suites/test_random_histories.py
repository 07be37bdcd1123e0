"""Random tables with random histories and queries, compared with rows in memory: see
`tests.support.random_histories`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.random_histories.case import Case

SEEDS = range(3014, 3074)
"""All of them take about ten minutes; `python -m tests.support.random_histories` runs others,
for any time.
"""


@pytest.mark.exhaustive(
    "tests/spark/reading/test_brute_force.py compares random queries with plain Spark's answers"
)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_histories(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """After each statement a table has its model's rows, and queries over tables and versions return the rows
    of plain Spark.
    """
    found = Case(spark, seed, tmp_path).run()
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)
