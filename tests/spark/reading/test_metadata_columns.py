"""`_metadata`, the hidden struct of Spark's own file sources, beside what those say of the same files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]

_FIELDS = [
    "file_path",
    "file_name",
    "file_size",
    "file_block_start",
    "file_block_length",
    "file_modification_time",
]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_as_sparks_own_sources(spark: SparkSession, db: str, rows: Rows, tmp_path: Path, format: str) -> None:
    """Every field has the value that Spark's own source has for the same files.

    This is true for both readers, beside pruned structs, with filters, and in groups.
    """
    spark.range(40).selectExpr(
        "cast(id AS INT) AS a", "named_struct('x', id, 'y', id) AS s", "cast(id % 3 AS INT) AS `p q`"
    ).coalesce(1).write.partitionBy("p q").format(format).save(f"{tmp_path}/t")
    spark.sql(f"CREATE TABLE {db}.t USING {format} LOCATION '{tmp_path}/t'")
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    stock = f"{format}.`{tmp_path}/t`"
    questions = [
        f"SELECT a, s.x, {', '.join(f'_metadata.{field}' for field in _FIELDS)}, `p q` FROM {{}}",
        "SELECT a, _metadata.file_name FROM {} WHERE _metadata.file_size > 0 AND a % 7 = 0 AND `p q` = 1",
        "SELECT count(*), count(DISTINCT _metadata.file_path), min(_METADATA.FILE_SIZE) FROM {} WHERE _metadata.file_path LIKE '%q=2%'",
        "SELECT `p q`, max(_metadata.file_modification_time) FROM {} GROUP BY `p q`",
        "SELECT u.a, v.s.y FROM {0} u JOIN {0} v ON u._metadata.file_name = v._metadata.file_name AND u.a = v.a WHERE u.a < 5",
        "SELECT count(*) FROM {} WHERE input_file_name() LIKE '%q=1%'",
    ]
    reader = f"spark.sql.{format}.enableVectorizedReader"
    try:
        for vectorized in ("true", "false"):
            spark.conf.set(reader, vectorized)
            for question in questions if vectorized == "true" else questions[:2]:
                ours, theirs = (
                    sorted(rows(question.format(f"{db}.t"))),
                    sorted(rows(question.format(stock))),
                )
                assert ours == theirs, question
                assert ours
    finally:
        spark.conf.unset(reader)
    whole = spark.table(f"{db}.t").select("_metadata").schema.fields[0].dataType.fieldNames()  # type: ignore[attr-defined]
    assert sorted(whole) == sorted([*_FIELDS, *(["row_index"] if format == "parquet" else [])])
    theirs = spark.table(stock).select("_metadata").schema.fields[0].dataType.fieldNames()  # type: ignore[attr-defined]
    assert whole == theirs
    assert spark.table(f"{db}.t").columns == ["a", "s", "p q"]


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_the_place_of_a_row_in_its_file(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, vectorized: str
) -> None:
    """Row indexes equal the values of Spark's own source: in split files, after pruned row groups and pages,
    with other columns and alone.
    """
    spark.range(6000).selectExpr(
        "id AS a", "named_struct('x', id, 'y', -id) AS s", "cast(id % 2 AS INT) AS p"
    ).coalesce(1).write.partitionBy("p").option("parquet.block.size", 4096).option(
        "parquet.page.size", 512
    ).parquet(f"{tmp_path}/t")
    spark.sql(f"CREATE TABLE {db}.t USING parquet LOCATION '{tmp_path}/t'")
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    stock = f"parquet.`{tmp_path}/t`"
    settings = {
        "spark.sql.parquet.enableVectorizedReader": vectorized,
        "spark.sql.files.maxPartitionBytes": "10000",
        "spark.sql.files.openCostInBytes": "0",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        assert rows(f"SELECT count(DISTINCT _metadata.file_block_start) > 2 FROM {db}.t") == [(True,)]
        for question in (
            "SELECT p, a, _metadata.row_index FROM {}",
            "SELECT a, s.y, _metadata.row_index, p, _metadata.file_name FROM {} WHERE a BETWEEN 2500 AND 2600",
            "SELECT a, _metadata.row_index, _metadata.file_path FROM {} WHERE a IN (3, 1500, 5999) AND p = 1",
            "SELECT _metadata.row_index FROM {} WHERE p = 0",
            "SELECT count(*), sum(_metadata.row_index), max(_metadata.ROW_INDEX) FROM {} WHERE _metadata.row_index % 7 = 3",
            "SELECT _metadata, a FROM {} WHERE a > 5990",
            "SELECT u.a, v.s.x FROM {0} u JOIN {0} v ON u._metadata.row_index = v._metadata.row_index AND u.a = v.a - 1 WHERE u.a < 20",
        ):
            ours, theirs = (rows(question.format(table)) for table in (f"{db}.t", stock))
            assert sorted(ours) == sorted(theirs), question
            assert ours
    finally:
        for name in settings:
            spark.conf.unset(name)
    spark.sql(f"DELETE FROM {db}.t WHERE a < 100")
    assert rows(f"SELECT min(a - 2 * _metadata.row_index), max(_metadata.row_index) FROM {db}.t") == [
        (100, 2949)
    ]
    spark.sql(f"CREATE TABLE {db}.o (a INT) USING orc")
    with pytest.raises(Exception, match="row_index"):
        rows(f"SELECT _metadata.row_index FROM {db}.o")


def test_input_files(spark: SparkSession, db: str, stock: str, tmp_path: Path) -> None:
    """`df.inputFiles()` returns the files that Spark's own table returns; for conditions on other columns, it
    returns the files that are read.
    """
    spark.range(8).selectExpr("id", "id % 2 AS p", "concat('a b', id % 3) AS q").repartition(
        1, "p"
    ).write.partitionBy("p", "q").parquet(f"{tmp_path}/t")
    for schema in (db, stock):
        spark.sql(
            f"CREATE TABLE {schema}.t (id BIGINT, p INT, q STRING) USING parquet PARTITIONED BY (p, q) LOCATION '{tmp_path}/t'"
        )
        spark.sql(f"MSCK REPAIR TABLE {schema}.t")
    for question in (
        "SELECT * FROM {0}",
        "SELECT id FROM {0} WHERE p = 1",
        "SELECT sum(id), q FROM {0} WHERE q LIKE '%2' GROUP BY q ORDER BY q LIMIT 3",
        "SELECT u.id FROM {0} u JOIN {0} v ON u.id = v.id WHERE u.p = 0 AND v.q = 'a b1'",
        "SELECT id FROM {0} WHERE p = 1 UNION ALL SELECT id FROM {0} WHERE p = 0 AND q = 'a b0'",
        "SELECT id FROM {0} WHERE p = 7",
    ):
        ours, theirs = (spark.sql(question.format(table)) for table in (f"{db}.t", f"{stock}.t"))
        assert sorted(ours.inputFiles()) == sorted(theirs.inputFiles()), question
        assert sorted(ours.collect()) == sorted(theirs.collect())
    some = spark.table(f"{db}.t").where("id > 6").inputFiles()
    assert [Path(path).parent.parent.name for path in some] == ["p=1"]
    assert spark.sql("SELECT 1").inputFiles() == []


def test_pieces_of_a_file(spark: SparkSession, db: str, rows: Rows) -> None:
    """A file that several tasks read says of each row which piece it is of."""
    spark.sql(f"CREATE TABLE {db}.t (a BIGINT) USING parquet TBLPROPERTIES ('parquet.block.size' = '4096')")
    spark.sql(f"INSERT INTO {db}.t SELECT /*+ COALESCE(1) */ id FROM range(20000)")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    try:
        pieces = rows(
            "SELECT _metadata.file_block_start, _metadata.file_block_length, first(_metadata.file_size), count(*) "
            f"FROM {db}.t GROUP BY 1, 2 ORDER BY 1"
        )
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert len(pieces) > 1
    assert all(start % 20000 == 0 and length <= 20000 < size for start, length, size, _ in pieces)
    assert sum(count for *_, count in pieces) == 20000


def test_beside_other_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """A data column called `_metadata` has precedence; buckets are joined beside the struct; and DELETE uses
    `_file` instead.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, _metadata INT) USING parquet CLUSTERED BY (id) INTO 3 BUCKETS")
    spark.sql(f"INSERT INTO {table} SELECT id, id * 2 FROM range(10)")
    assert rows(
        f"SELECT u.id, u._metadata, u._file = u.__metadata.file_path, v.__metadata.file_name = u.__metadata.file_name "
        f"FROM {table} u JOIN {table} v ON u.id = v.id WHERE u.id = 4"
    ) == [(4, 8, True, True)]
    (found,) = rows(f"SELECT __metadata.file_path FROM {table} WHERE id = 4")
    for statement in (
        f"DELETE FROM {table} WHERE __metadata.file_size > 1 AND id <> 4",
        f"UPDATE {table} AS t SET id = 7 WHERE t.__metadata.file_size > 1",
        f"MERGE INTO {table} t USING (SELECT 1 AS n) ON __METADATA.file_size = n WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(
            Exception, match="__metadata cannot be named in a statement that changes rows: _file is"
        ):
            spark.sql(statement)
    spark.sql(f"DELETE FROM {table} WHERE _file = '{found[0]}' AND id <> 4")
    left = [row[0] for row in rows(f"SELECT id FROM {table} ORDER BY id")]
    assert 4 in left
    assert len(left) < 10
    assert rows(f"SELECT _metadata FROM {table} WHERE id = 4") == [(8,)]
