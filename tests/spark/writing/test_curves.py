"""`sort-by` = `zorder(a, b)`: each file holds a part of a curve, and no file claims an order."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from parquetry import metastore as ms
from parquetry.catalog import Catalog

COUNT = 20_000


def _rows(spark: SparkSession) -> DataFrame:
    """Return rows whose columns are independent, in the order of none, with NULL, NaN and skew."""
    return spark.range(COUNT, numPartitions=4).selectExpr(
        f"IF(id % 97 = 0, NULL, id * 7919 % {COUNT}) AS a",
        f"id * 104729 % {COUNT} AS b",
        f"CAST(concat('k', lpad(id * 7919 % {COUNT}, 6, '0')) AS STRING) AS s",
        f"DATE'2020-01-01' + CAST(id * 104729 % {COUNT} AS INT) AS d",
        f"CAST(id * 7919 % {COUNT} / 8 AS DECIMAL(12, 3)) AS n",
        f"IF(id % 89 = 0, double('NaN'), pow(1.001, id * 104729 % {COUNT})) AS x",
        f"timestamp_micros(id * 7919 % {COUNT} * 1000003) AS ts",
        "id % 2 = 0 AS even",
        f"named_struct('f', id * 104729 % {COUNT}) AS t",
        "id % 2 AS p",
    )


@pytest.mark.parametrize(
    ("columns", "conditions"),
    [
        ("a, b", ("a BETWEEN 4000 AND 4500", "b BETWEEN 9000 AND 9500")),
        ("s, x", ("s BETWEEN 'k004000' AND 'k004500'", "x BETWEEN 1000 AND 1600")),
        ("n, d", ("n BETWEEN 500 AND 560", "d BETWEEN DATE'2040-01-01' AND DATE'2041-06-01'")),
        ("ts, t.f, even", ("ts BETWEEN timestamp_micros(0) AND timestamp_micros(500000000)", "t.f BETWEEN 900 AND 1400")),
    ],
)  # fmt: skip
def test_files_of_a_curve(
    spark: SparkSession, db: str, store: ms.Metastore, columns: str, conditions: tuple[str, str]
) -> None:
    """Rows are the same; conditions on each column leave out files, of writes and of rewrites."""
    rows, name = _rows(spark), db.removeprefix("lake.")
    rows.createOrReplaceTempView("curve_rows")
    properties = f"'sort-by' = 'zorder({columns})', 'target-file-size' = '32kb'"
    spark.sql(f"CREATE TABLE {db}.t USING parquet TBLPROPERTIES ({properties}) AS SELECT * FROM curve_rows")
    everything = rows.selectExpr("count(*)", "sum(hash(*))").first()
    for turn in ("write", "compaction"):
        if turn == "compaction":
            spark.sql(f"ALTER TABLE {db}.t UNSET TBLPROPERTIES ('sort-by')")
            spark.sql(f"INSERT OVERWRITE {db}.t SELECT * FROM curve_rows DISTRIBUTE BY rand(3)")
            spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('sort-by' = 'zorder({columns})')")
            spark.sql(f"CALL lake.system.compact('{name}.t', rewrite_all => true)")
        assert spark.table(f"{db}.t").selectExpr("count(*)", "sum(hash(*))").first() == everything
        files = list(Catalog(store).files(f"{name}.t"))
        assert len(files) >= 8
        for condition in conditions:
            kept = (
                list(Catalog(store).files(f"{name}.t", condition))
                if "timestamp_micros" not in condition
                else []
            )
            assert len(kept) <= 0.7 * len(files), (turn, condition, len(kept), len(files))
            expected = rows.where(condition).count()
            assert spark.table(f"{db}.t").where(condition).count() == expected


def test_a_curve_is_no_order(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """It goes with partitions; a rename follows; sorts and joins are right; no clause names the curve."""
    _rows(spark).createOrReplaceTempView("curve_rows")
    spark.sql(
        f"CREATE TABLE {db}.t USING parquet PARTITIONED BY (p) TBLPROPERTIES ('sort-by' = 'zorder(a, b)', 'target-file-size' = '32kb') "
        "AS SELECT a, b, p FROM curve_rows"
    )
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN a TO c")
    assert store.table(db.removeprefix("lake."), "t").metadata.properties["sort-by"] == "zorder(c, b)"
    assert "CLUSTER BY" not in spark.sql(f"SHOW CREATE TABLE {db}.t").first()[0]
    spark.sql(f"INSERT INTO {db}.t SELECT a, b, p FROM curve_rows")
    query = "SELECT {0}, count(*) OVER () AS n FROM {1} WHERE p = 1 ORDER BY {0} NULLS LAST LIMIT 7"
    twice = "(SELECT a AS c, b, p FROM curve_rows UNION ALL SELECT a AS c, b, p FROM curve_rows)"
    for column in ("c", "b"):
        ours, theirs = (spark.sql(query.format(column, of)).collect() for of in (f"{db}.t", twice))
        assert ours == theirs
    joined = "SELECT count(*), sum(l.b) FROM {0} l JOIN {0} r ON l.c = r.c AND l.p = r.p"
    assert spark.sql(joined.format(f"{db}.t")).first() == spark.sql(joined.format(twice)).first()
