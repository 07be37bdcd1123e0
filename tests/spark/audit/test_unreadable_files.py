"""A file that the audit cannot read is no wrong claim: queries that need it fail, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import parquetry

pytestmark = pytest.mark.unaudited("its table lacks a file")


@pytest.mark.parametrize("damage", ["missing", "broken"])
def test_a_file_that_no_query_needs(spark: SparkSession, db: str, damage: str) -> None:
    """Reads, answers, UPDATE and DELETE that leave the file out give what they give without an audit."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) PARTITIONED BY (p)")
    for p in range(4):
        spark.sql(f"INSERT INTO {table} SELECT id, {p} FROM range(10)")
    (name,) = spark.sql(f"SELECT DISTINCT _metadata.file_path FROM {table} WHERE p = 1").first()
    path = Path(name.removeprefix("file:"))
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(b"no Parquet, and no Parquet")
    reason = {"missing": "PARQUETRY_FILE_MISSING", "broken": "PARQUETRY_FILE_CORRUPT"}[damage]
    spark.conf.set("parquetry.audit", "on")
    try:
        query = spark.sql(f"SELECT id FROM {table} WHERE p = 2 AND id > 7")
        assert sorted(query.collect()) == [(8,), (9,)]
        assert f"files of {table}: [{reason}]" in str(parquetry.report(query))
        count = spark.sql(f"SELECT count(*) FROM {table}")
        assert count.collect() == [(40,)]
        assert f"answers about {table}: [{reason}]" in str(parquetry.report(count))
        spark.sql(f"UPDATE {table} SET id = 100 WHERE p = 2 AND id = 9")
        spark.sql(f"DELETE FROM {table} WHERE p = 3")
        with pytest.raises(Exception, match=reason):
            spark.sql(f"SELECT id FROM {table} WHERE p = 1").collect()
    finally:
        spark.conf.unset("parquetry.audit")
    assert sorted(spark.sql(f"SELECT id FROM {table} WHERE p >= 2 AND id > 7").collect()) == [(8,), (100,)]
