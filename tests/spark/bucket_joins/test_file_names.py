"""The name of the file that is being read, below a join that reads tables in their buckets."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.tables.bucketed_tables import settings


@pytest.mark.parametrize("adaptive", [True, False])
def test_rows_in_no_buckets_have_the_name_of_their_file(spark: SparkSession, db: str, adaptive: bool) -> None:
    """A join with `input_file_name` has the name of each row's own file, also of rows that it shuffles."""
    mixed, whole = f"{db}.mixed", f"{db}.whole"
    columns, rows = "(k BIGINT, n INT, p INT)", "SELECT id % 29, id, {p} FROM range({count})"
    spark.sql(
        f"CREATE TABLE {mixed} {columns} PARTITIONED BY (p) CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS"
    )
    spark.sql(f"INSERT INTO {mixed} {rows.format(p='id % 2', count=90)}")
    spark.sql(f"ALTER TABLE {mixed} NOT CLUSTERED")
    spark.sql(f"INSERT INTO {mixed} {rows.format(p=2, count=30)}")
    spark.sql(f"CREATE TABLE {whole} {columns} CLUSTERED BY (k) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {whole} {rows.format(p=0, count=90)}")
    named = f"(SELECT *, input_file_name() AS f, _metadata.file_path AS path FROM {mixed}) l"
    with settings(
        spark, {"spark.sql.autoBroadcastJoinThreshold": -1, "spark.sql.adaptive.enabled": adaptive}
    ):
        for join in (f"{named} LEFT JOIN {whole} r ON l.k = r.k", f"{whole} r JOIN {named} ON r.k = l.k"):
            names = spark.sql(f"SELECT l.f, l.path FROM {join}").collect()
            assert len(names) > 120
            assert all(f == path for f, path in names), join
