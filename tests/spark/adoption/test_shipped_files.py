"""Records and tables of the data files that other projects ship, beside what Spark reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from parquetry.data_files import FileRecord
from parquetry.spark.engine import SparkEngine
from tests.support.effort import sampled
from tests.support.files_beside import ArrowReads, BesideSpark, recorded
from tests.support.shipped_files import shipped_files

BROKEN = {"orc_corrupt_zlib.orc", "multilevel-parquetWithBadFormat-1996-Q1-badFormat.parquet"}
"""Files that are damaged on purpose, and that Spark refuses, too."""
UNREADABLE = {"acid5k.orc"}
"""Files of Hive's transactional rows: stock Spark's reader fails at single columns of them."""
BESIDE_SPARK = ("spark-", "parquet-hadoop", "orc-", "parquet")
"""How the folders begin whose files are tables, too: files of Spark, Parquet, ORC and PyArrow."""


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str]]:
    return shipped_files(tmp_path_factory.mktemp("shipped"))


def test_records_agree_with_the_values(spark: SparkSession, shipped: list[tuple[Path, str]]) -> None:
    """PyArrow reads the recorded rows, NULLs and bounds. No whole file is called broken."""
    engine, broken = SparkEngine(), set()
    with ArrowReads() as arrow:
        for path, file_format in shipped:
            record = recorded(engine, path, file_format)
            if isinstance(record, FileRecord):
                assert arrow.differences(path, file_format, record) == [], path.name
            else:
                broken.add(path.name)
    assert len(shipped) > 200
    assert broken == BROKEN


def test_tables_answer_as_stock_does(
    spark: SparkSession, db: str, tmp_path: Path, shipped: list[tuple[Path, str]]
) -> None:
    """`IS NULL`, `=`, ranges, `min`, `max`, `count` and DELETE, with the ends of two columns of each file."""
    beside = BesideSpark(spark, db, tmp_path, columns=2, deletes=1)
    chosen = [
        each
        for each in shipped
        if each[0].parent.name.startswith(BESIDE_SPARK) and each[0].name not in UNREADABLE | BROKEN
    ]
    assert len(chosen) > 50
    for path, file_format in sampled(chosen):
        assert beside.differences(path, file_format) == [], path.name
