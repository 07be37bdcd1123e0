"""Delta's statements and formats work on our tables if a procedure exists. Statements without one are in
`statements.test`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Two versions of rows, in two files of one partition."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) PARTITIONED BY (p)")
    for number in (1, 2):
        spark.sql(f"INSERT INTO {db}.t VALUES ({number}, 1)")
    return f"{db}.t"


def test_details(spark: SparkSession, table: str) -> None:
    """DESCRIBE DETAIL has Delta's columns, with the table's format, files and properties."""
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('vacuum-retention-check' = 'false')")
    detail = spark.sql(f"DESCRIBE DETAIL {table}").first()
    assert (detail.format, detail.numFiles, detail.sizeInBytes > 0) == ("parquet", 2, True)
    assert "vacuum-retention-check" in detail.properties


def test_formats_of_others(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """`format` of a reader or a writer is answered with what reads and writes a table; saveAsTable needs
    none.
    """
    frame = spark.table(table)
    for name in ("parquetry", "delta", "iceberg"):
        for act in (
            lambda name=name: spark.read.format(name).load(table),
            lambda name=name: spark.read.format(name).schema("id INT").load("/tmp/x"),
            lambda name=name: spark.readStream.format(name).load(table),
            lambda name=name: frame.write.format(name).save(str(tmp_path / "x")),
            lambda name=name: frame.write.format(name).mode("append").save(table),
            lambda name=name: spark.sql(f"CREATE TABLE spark_catalog.default.of_{name} (a INT) USING {name}"),
        ):
            with pytest.raises(AnalysisException, match=r"spark\.table\('lake\.") as raised:
                act()
            assert raised.value.getCondition() == "PARQUETRY_UNSUPPORTED"
    assert not (tmp_path / "x").exists()
    frame.write.format("parquetry").saveAsTable(f"{table}2")
    frame.write.format("parquetry").mode("append").insertInto(f"{table}2")
    frame.writeTo(f"{table}2").using("parquetry").append()
    assert spark.table(f"{table}2").count() == 6
    assert spark.read.format("parquetry").table(f"{table}2").count() == 6
    with pytest.raises(AnalysisException, match="not delta: say USING parquet or USING orc"):
        frame.write.format("delta").saveAsTable(f"{table}3")
