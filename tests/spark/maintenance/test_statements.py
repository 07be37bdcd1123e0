"""Delta's statements and formats work on our tables if a procedure exists. Statements without one are in
`statements.test`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Two versions of rows, in two files of one partition."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) PARTITIONED BY (p)")
    for number in (1, 2):
        spark.sql(f"INSERT INTO {db}.t VALUES ({number}, 1)")
    return f"{db}.t"


def test_statements_that_procedures_do(spark: SparkSession, table: str, rows: Rows) -> None:
    """OPTIMIZE compacts, RESTORE rolls back, VACUUM deletes, and history and details are shown, with the
    procedures' rows.
    """
    assert rows(f"OPTIMIZE {table} WHERE p = 2") == []
    ((partition, before, after, *_),) = rows(f"OPTIMIZE {table} WHERE p = 1")
    assert (partition, before, after) == ("p=1", 2, 1)
    assert [row[2] for row in rows(f"DESCRIBE HISTORY {table}")] == ["compact", "append", "append", "create"]
    assert rows(f"DESC HISTORY {table} LIMIT 1") == rows(f"CALL lake.system.history('{table}')")[:1]
    assert rows(f"RESTORE TABLE {table} TO VERSION AS OF 1") == [(3, 4)]
    assert rows(f"SELECT id FROM {table}") == [(1,)]
    spark.sql(f"INSERT OVERWRITE {table} VALUES (3, 1)")
    for statement in (
        f"VACUUM {table}",
        f"VACUUM {table} FULL RETAIN 168 HOURS",
        f"VACUUM {table} RETAIN 167 HOURS",
    ):
        ((kind, _, count, held, detail),) = rows(statement)
        assert (kind, count, detail.partition(",")[0]) == ("kept versions", 5, "versions 0 to 4")
        assert held > 0
    assert [row[0] for row in rows(f"VACUUM {table} RETAIN 0 HOURS DRY RUN")].count("data file") >= 2
    call = f"CALL lake.system.vacuum('{table.removeprefix('lake.')}', current_timestamp())"
    for statement in (f"VACUUM {table} RETAIN 0 HOURS", call):
        with pytest.raises(
            PySparkException,
            match=rf"versions 0 to 4.*ALTER TABLE {table} SET TBLPROPERTIES \('vacuum-retention-check' = 'false'\)",
        ):
            spark.sql(statement)
    with pytest.raises(PySparkException, match=r"2036-01-01 .*give a time that is past"):
        spark.sql(call.replace("current_timestamp()", "TIMESTAMP '2036-01-01 00:00:00'"))
    assert rows(f"SELECT count(*) FROM {table} VERSION AS OF 2") == [(2,)]
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('vacuum-retention-check' = 'false')")
    would = rows(f"VACUUM {table} RETAIN 0 HOURS DRY RUN")
    assert rows(f"VACUUM {table} RETAIN 0 HOURS") == would
    detail = spark.sql(f"DESCRIBE DETAIL {table}").first()
    assert (detail.format, detail.numFiles > 0, detail.sizeInBytes > 0) == ("parquet", True, True)
    assert "vacuum-retention-check" in detail.properties
    assert len(rows(f"ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS")) == 1
    spark.sql(f"USE {table.rpartition('.')[0]}")
    try:
        assert len(rows("DESCRIBE HISTORY t LIMIT 1")) == 1
    finally:
        spark.sql("USE spark_catalog.default")


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
