"""INSERT in all its forms changes a table as Spark's own tables are changed by it, or does nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as sf

import parquetry
from tests.support.effort import sampled

Rows = Callable[[str], list[tuple[Any, ...]]]
FORMATS = ["parquet", "orc"]


def content(spark: SparkSession, table: str) -> list[str]:
    """Return a table's rows in an order of their own."""
    return sorted(str(tuple(row)) for row in spark.table(table).collect())


@pytest.fixture
def own(spark: SparkSession) -> Iterator[str]:
    """The name of a table of Spark's own."""
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.own")
    yield "spark_catalog.default.own"
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.own")


@pytest.fixture
def dynamic(spark: SparkSession) -> Iterator[None]:
    """Dynamic overwrites, for a whole session."""
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    yield
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def table(spark: SparkSession, db: str, fmt: str = "parquet", name: str = "t") -> str:
    """Make a table of six rows in four partitions."""
    name = f"{db}.{name}"
    spark.sql(f"CREATE TABLE {name} (a INT, s STRING, p INT, r STRING) USING {fmt} PARTITIONED BY (p, r)")
    spark.sql(f"INSERT INTO {name} VALUES {START}")
    return name


START = "(1, 'x', 1, 'A'), (2, NULL, 1, 'B'), (3, '', 2, 'A'), (4, 'y', 2, NULL), (5, 'z', 1, 'A'), (6, 'z', 2, '')"
STATEMENTS = [
    "INSERT INTO {t} SELECT 7, 'by position', 1, 'A'",
    "INSERT INTO {t} (r, p, s, a) VALUES ('C', 3, 'by column list', 8)",
    "INSERT INTO {t} (p, a) VALUES (4, 9)",
    "INSERT INTO {t} BY NAME SELECT 'D' AS r, 5 AS p, 10 AS a, 'by name' AS s",
    "INSERT INTO {t} PARTITION (p = 6, r = 'E') SELECT 11, 'static'",
    "INSERT INTO {t} PARTITION (r = 'F', p = 6) VALUES (12, 'static, in another order')",
    "INSERT INTO {t} PARTITION (p = 7, r) SELECT 13, 'half static', concat('G', id) FROM range(3)",
    "INSERT INTO {t} PARTITION (p = 8, r = NULL) VALUES (14, 'static NULL')",
    "INSERT INTO {t} SELECT a + 100, s, p, r FROM {t}",
    "INSERT INTO {t} TABLE {t}",
    "FROM {t} INSERT INTO {t} SELECT a + 200, s, p, r WHERE p = 1",
    "INSERT INTO {t} VALUES (1L, 2, 3, 4)",
    "INSERT OVERWRITE {t} PARTITION (p = 1, r = 'A') SELECT 15, 'one partition'",
    "INSERT OVERWRITE {t} PARTITION (p = 1, r = 'B') SELECT 15, 'none' WHERE false",
    "INSERT OVERWRITE {t} PARTITION (p = 2, r) SELECT 16, 'half static', concat('H', id) FROM range(2)",
    "INSERT OVERWRITE {t} PARTITION (p = 7, r) SELECT 16, 'none', 'none' WHERE false",
    "INSERT OVERWRITE {t} PARTITION (p = 99, r = 'new') SELECT 17, 'not there before'",
    "INSERT INTO {t} SELECT 18, 'none', 1, 'none' WHERE false",
    "INSERT OVERWRITE {t} SELECT 19, 'whole table', cast(id AS INT), 'I' FROM range(3)",
    "INSERT OVERWRITE {t} SELECT 20, 'none', 1, 'none' WHERE false",
]


@pytest.mark.needs("left-out columns")
def test_inserts_do_what_they_do_to_spark_s_tables(spark: SparkSession, db: str, own: str) -> None:
    """After each form of INSERT, by position, by name, with a list, static and half static, all tables have
    the same rows.
    """
    parquet = table(spark, db)
    orc = table(spark, db, "orc", "u")
    spark.sql(f"CREATE TABLE {own} (a INT, s STRING, p INT, r STRING) USING parquet PARTITIONED BY (p, r)")
    spark.sql(f"INSERT INTO {own} VALUES {START}")
    assert content(spark, parquet) == content(spark, own)
    for statement in sampled(STATEMENTS):
        for each in (parquet, orc, own):
            spark.sql(statement.format(t=each))
        assert content(spark, parquet) == content(spark, orc) == content(spark, own), statement
    assert spark.table(parquet).count() == 0


DYNAMIC = [
    "INSERT OVERWRITE {t} SELECT 30, 'two partitions', 1, r FROM VALUES ('A'), ('new') AS v (r)",
    "INSERT OVERWRITE {t} PARTITION (p = 2, r) SELECT 31, 'of p = 2', 'A'",
    "INSERT OVERWRITE {t} PARTITION (p, r) SELECT 32, 'NULL', 2, NULL",
    "INSERT OVERWRITE {t} SELECT 33, 'none', 1, 'A' WHERE false",
    "INSERT OVERWRITE {t} PARTITION (p = 1, r = 'B') SELECT 34, 'static all the same'",
]


def test_dynamic_overwrites_do_what_they_do_to_spark_s_tables(
    spark: SparkSession, db: str, own: str, dynamic: None
) -> None:
    """With partitionOverwriteMode=dynamic only the partitions that get rows are replaced."""
    parquet, orc = table(spark, db), table(spark, db, "orc", "u")
    spark.sql(f"CREATE TABLE {own} (a INT, s STRING, p INT, r STRING) USING parquet PARTITIONED BY (p, r)")
    spark.sql(f"INSERT INTO {own} VALUES {START}")
    for statement in DYNAMIC:
        for each in (parquet, orc, own):
            spark.sql(statement.format(t=each))
        assert content(spark, parquet) == content(spark, orc) == content(spark, own), statement


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """Make a DataFrame with the columns of `table`."""
    return spark.createDataFrame(list(rows), "a INT, s STRING, p INT, r STRING")


def test_the_data_frame_writer_appends_and_overwrites(spark: SparkSession, db: str, own: str) -> None:
    """insertInto and saveAsTable append and overwrite as in Spark; the write's mode has precedence over the
    session's.
    """
    ours = table(spark, db)
    spark.sql(f"CREATE TABLE {own} (a INT, s STRING, p INT, r STRING) USING parquet PARTITIONED BY (p, r)")
    spark.sql(f"INSERT INTO {own} VALUES {START}")
    new = frame(spark, (40, "n", 1, "A"), (41, "n", 9, "Z"))
    mode = "spark.sql.sources.partitionOverwriteMode"
    steps: list[Callable[[str], None]] = [
        lambda t: new.write.insertInto(t),
        lambda t: new.write.mode("append").insertInto(t),
        lambda t: new.select("r", "p", "s", "a").write.mode("append").saveAsTable(t),
        lambda t: new.limit(1).write.insertInto(t, overwrite=True),
        lambda t: new.limit(0).write.mode("overwrite").insertInto(t),
    ]
    for number, step in enumerate(steps):
        for name in (ours, own):
            if number == 2 and name == own:  # Spark's V1 append wants its partitioning repeated
                new.write.mode("append").insertInto(name)
                continue
            step(name)
        assert content(spark, ours) == content(spark, own), number
    spark.sql(f"INSERT INTO {ours} VALUES {START}")
    new.write.option("partitionOverwriteMode", "DYNAMIC").mode("overwrite").insertInto(ours)
    assert spark.table(ours).count() == 4 + 2
    spark.conf.set(mode, "dynamic")
    try:
        new.write.mode("overwrite").insertInto(ours)
        assert spark.table(ours).count() == 4 + 2
        new.write.option("partitionOverwriteMode", "static").mode("overwrite").insertInto(ours)
        assert content(spark, ours) == sorted(["(40, 'n', 1, 'A')", "(41, 'n', 9, 'Z')"])
    finally:
        spark.conf.unset(mode)


def test_an_unknown_overwrite_mode_is_refused(spark: SparkSession, db: str) -> None:
    """partitionOverwriteMode=often causes an error with the option, the value and the valid values, and
    changes nothing.
    """
    ours = table(spark, db)
    before = content(spark, ours)
    with pytest.raises(AnalysisException, match="partitionOverwriteMode is 'often': say static or dynamic"):
        frame(spark, (1, "n", 1, "A")).write.option("partitionOverwriteMode", "often").mode(
            "overwrite"
        ).insertInto(ours)
    assert content(spark, ours) == before


def test_save_as_table_makes_replaces_and_leaves_tables(spark: SparkSession, db: str, rows: Rows) -> None:
    """saveAsTable makes a partitioned table, replaces it, and leaves it alone with ignore and error."""
    name = f"{db}.saved"
    new = frame(spark, (1, "n", 1, "A"), (2, "n", 2, "B"))
    new.write.partitionBy("p").format("orc").saveAsTable(name)
    assert [p for (p,) in rows(f"SHOW PARTITIONS {name}")] == ["p=1", "p=2"]
    new.write.mode("ignore").saveAsTable(name)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        new.write.saveAsTable(name)
    assert spark.table(name).count() == 2
    frame(spark, (3, "n", 3, "C")).write.mode("overwrite").partitionBy("r").saveAsTable(name)
    assert [p for (p,) in rows(f"SHOW PARTITIONS {name}")] == ["r=C"]
    assert rows(f"SELECT a, s, p, r FROM {name}") == [(3, "n", 3, "C")]


@pytest.mark.parametrize("fmt", FORMATS)
def test_write_to(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """writeTo creates, appends, overwrites by condition and by partition, replaces, and refuses missing
    tables.
    """
    name = f"{db}.w"
    new = frame(spark, (1, "n", 1, "A"), (2, "n", 2, "B"))
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        new.writeTo(name).append()
    new.writeTo(name).using(fmt).partitionedBy(sf.col("p"), sf.col("r")).tableProperty("k", "v").create()
    assert parquetry_table(spark, name).format == fmt
    new.withColumn("a", sf.col("a") + 10).writeTo(name).append()
    assert rows(f"SELECT a FROM {name} ORDER BY a") == [(1,), (2,), (11,), (12,)]
    frame(spark, (3, "o", 1, "C")).writeTo(name).overwrite(sf.col("p") == 1)
    assert rows(f"SELECT a, r FROM {name} ORDER BY a") == [(2, "B"), (3, "C"), (12, "B")]
    frame(spark, (4, "d", 2, "B"), (5, "d", 8, "D")).writeTo(name).overwritePartitions()
    assert rows(f"SELECT a FROM {name} ORDER BY a") == [(3,), (4,), (5,)]
    frame(spark, (6, "o", 2, "BX")).writeTo(name).overwrite(sf.expr("p IN (2, 8) AND r LIKE 'B%' OR r = 'D'"))
    assert rows(f"SELECT a FROM {name} ORDER BY a") == [(3,), (6,)]
    frame(spark, (7, "t", 7, "T")).writeTo(name).overwrite(sf.lit(True))
    assert rows(f"SELECT a FROM {name}") == [(7,)]
    frame(spark, (8, "r", 8, "R")).writeTo(name).using(fmt).replace()
    assert rows(f"SELECT a FROM {name}") == [(8,)]
    assert parquetry_table(spark, name).partition_by == ()
    new.writeTo(name).using(fmt).partitionedBy(sf.col("p")).createOrReplace()
    assert [p for (p,) in rows(f"SHOW PARTITIONS {name}")] == ["p=1", "p=2"]


def parquetry_table(spark: SparkSession, name: str) -> Any:
    """Return what the metastore says of a table, past Spark."""
    catalog, table = name.split(".", 1)
    with parquetry.open(spark.conf.get(f"spark.sql.catalog.{catalog}.warehouse")) as opened:
        return opened.table(table)


@pytest.mark.parametrize("fmt", FORMATS)
def test_replace_where(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """INSERT … REPLACE WHERE replaces the partitions of a filter, and no other."""
    ours = table(spark, db, fmt)
    spark.sql(f"INSERT INTO {ours} REPLACE WHERE p = 1 AND r >= 'B' SELECT 50, 'n', 1, 'Q'")
    assert rows(f"SELECT a FROM {ours} ORDER BY a") == [(1,), (3,), (4,), (5,), (6,), (50,)]
    spark.sql(f"INSERT INTO {ours} REPLACE WHERE r IS NULL SELECT a + 1, s, p, r FROM {ours} WHERE r IS NULL")
    assert rows(f"SELECT a FROM {ours} ORDER BY a") == [(1,), (3,), (5,), (5,), (7,), (50,)]
    spark.sql(f"INSERT INTO {ours} REPLACE WHERE p = 77 SELECT 51, 'n', 77, 'Q'")
    assert rows(f"SELECT a FROM {ours} ORDER BY a") == [(1,), (3,), (5,), (5,), (7,), (50,), (51,)]


@pytest.mark.parametrize("condition", ["a = 1", "p = 1 AND a > 1", "upper(s) = 'A'", "p = 1 OR s = 'z'"])
def test_filters_that_split_partitions_are_refused(spark: SparkSession, db: str, condition: str) -> None:
    """A filter that would keep some rows of a partition is refused before any row is written,
    with a remedy.
    """
    ours = table(spark, db)
    before = content(spark, ours), parquetry_table(spark, ours).version
    with pytest.raises(
        AnalysisException, match=r"whole partitions only.*INSERT OVERWRITE|cannot|not supported"
    ):
        spark.sql(f"INSERT INTO {ours} REPLACE WHERE {condition} SELECT 50, 'n', 1, 'A'")
    assert (content(spark, ours), parquetry_table(spark, ours).version) == before


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_query_may_read_what_it_overwrites(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """INSERT OVERWRITE from the table itself sees the version before it, in each mode; so do subqueries."""
    ours = table(spark, db, fmt)
    spark.sql(f"INSERT OVERWRITE {ours} SELECT a + 10, s, p, r FROM {ours}")
    assert rows(f"SELECT a FROM {ours} ORDER BY a") == [(11,), (12,), (13,), (14,), (15,), (16,)]
    spark.sql(
        f"INSERT OVERWRITE {ours} PARTITION (p = 1, r = 'A') "
        f"SELECT (SELECT max(a) FROM {ours}), s FROM {ours} WHERE p IN (SELECT min(p) FROM {ours})"
    )
    assert rows(f"SELECT a, p, r FROM {ours} WHERE p = 1 ORDER BY r") == [(16, 1, "A")] * 3 + [(12, 1, "B")]
    spark.table(ours).where("p = 2").withColumn("a", sf.col("a") * 2).writeTo(ours).overwritePartitions()
    assert rows(f"SELECT a FROM {ours} WHERE p = 2 ORDER BY a") == [(26,), (28,), (32,)]


@pytest.mark.parametrize("fmt", FORMATS)
def test_tables_from_queries(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """CTAS and RTAS make partitioned tables with all rows; one that fails leaves the old table or none."""
    name = f"{db}.made"
    spark.sql(
        f"CREATE TABLE {name} USING {fmt} PARTITIONED BY (k) TBLPROPERTIES ('x' = 'y') "
        "AS SELECT id, id % 3 AS k FROM range(30)"
    )
    assert rows(f"SELECT k, count(*) FROM {name} GROUP BY k ORDER BY k") == [(0, 10), (1, 10), (2, 10)]
    assert [(f.partition["k"], f.rows) for f in files_of(spark, name)] == [(0, 10), (1, 10), (2, 10)]
    spark.sql(
        f"CREATE OR REPLACE TABLE {name} USING {fmt} PARTITIONED BY (id) AS SELECT id, k FROM {name} WHERE k = 1"
    )
    assert rows(f"SELECT sum(id), count(*) FROM {name}") == [(sum(range(1, 30, 3)), 10)]
    with pytest.raises(PySparkException, match="boom"):
        spark.sql(
            f"REPLACE TABLE {name} USING {fmt} AS SELECT cast(raise_error('boom') AS INT) AS x FROM range(3)"
        ).collect()
    assert rows(f"SELECT count(*) FROM {name}") == [(10,)]
    with pytest.raises(PySparkException, match="boom"):
        spark.sql(
            f"CREATE TABLE {db}.failed USING {fmt} AS SELECT cast(raise_error('boom') AS INT) AS x FROM range(3)"
        )
    assert not spark.catalog.tableExists(f"{db}.failed")
    spark.sql(f"CREATE TABLE {db}.empty USING {fmt} PARTITIONED BY (k) AS SELECT id, id AS k FROM range(0)")
    assert rows(f"SELECT * FROM {db}.empty") == []
    assert files_of(spark, f"{db}.empty") == []


def files_of(spark: SparkSession, name: str) -> list[Any]:
    """Return a table's files as the metastore lists them."""
    catalog, table = name.split(".", 1)
    with parquetry.open(spark.conf.get(f"spark.sql.catalog.{catalog}.warehouse")) as opened:
        return list(opened.files(table))


@pytest.mark.parametrize("by", ["", "PARTITIONED BY (p)"])
def test_rows_may_ask_where_the_session_is(spark: SparkSession, rows: Rows, db: str, by: str) -> None:
    """`current_database()` and `current_catalog()` in a statement that writes return the session's values."""
    spark.sql(f"CREATE TABLE {db}.t (d STRING, c STRING, p INT) {by}")
    spark.sql(f"USE {db}")
    spark.sql("INSERT INTO t SELECT current_database(), current_catalog(), 1")
    assert rows("SELECT d, c FROM t") == [(db.removeprefix("lake."), "lake")]


def test_no_rows_make_no_file_and_no_partition(spark: SparkSession, db: str, warehouse: Path) -> None:
    """An empty append leaves table and folder as they were, and so does an empty dynamic overwrite."""
    ours = table(spark, db)
    before = sorted(warehouse.rglob("*.parquet")), len(files_of(spark, ours))
    spark.sql(f"INSERT INTO {ours} SELECT 1, 'n', 5, 'N' WHERE false")
    spark.table(ours).limit(0).writeTo(ours).overwritePartitions()
    assert (sorted(warehouse.rglob("*.parquet")), len(files_of(spark, ours))) == before
    assert {(f.partition["p"], f.partition["r"]) for f in files_of(spark, ours)} == {
        (1, "A"),
        (1, "B"),
        (2, "A"),
        (2, None),
    }


def test_a_partition_overwritten_by_nothing_is_empty(spark: SparkSession, db: str, rows: Rows) -> None:
    """As in Hive and Spark, a partition named in full stays, empty; one of a filter or half a name goes."""
    ours = table(spark, db)
    spark.sql(f"INSERT OVERWRITE {ours} PARTITION (p = 1, r = 'A') SELECT 1, 'n' WHERE false")
    spark.sql(f"INSERT OVERWRITE {ours} PARTITION (p = 2, r = NULL) SELECT 1, 'n' WHERE false")
    null = "__HIVE_DEFAULT_PARTITION__"
    shown = ["p=1/r=A", "p=1/r=B", f"p=2/r={null}", "p=2/r=A"]
    assert sorted(row[0] for row in rows(f"SHOW PARTITIONS {ours}")) == sorted(shown)
    assert rows(f"SELECT count(*) FROM {ours} WHERE p = 1 AND r = 'A' OR r IS NULL") == [(0,)]
    spark.sql(f"INSERT OVERWRITE {ours} PARTITION (p = 2, r) SELECT 1, 'n', 'x' WHERE false")
    spark.table(ours).limit(0).writeTo(ours).overwrite(sf.col("p") == 1)
    assert rows(f"SHOW PARTITIONS {ours}") == []


BAD = [
    ("INSERT INTO {t} VALUES (1, 'x')", AnalysisException, "NOT_ENOUGH_DATA_COLUMNS"),
    ("INSERT INTO {t} VALUES (1, 'x', 1, 'A', 5)", AnalysisException, "TOO_MANY_DATA_COLUMNS"),
    ("INSERT INTO {t} (a, nope) VALUES (1, 2)", AnalysisException, "nope"),
    ("INSERT INTO {t} BY NAME SELECT 1 AS a, 'x' AS s, 1 AS p, 2 AS nope", AnalysisException, "nope|`r`"),
    ("INSERT INTO {t} VALUES (1, 'x', 'one', 'A')", AnalysisException, "CANNOT_SAFELY_CAST"),
    ("INSERT INTO {t} SELECT named_struct('f', 1), 'x', 1, 'A'", AnalysisException, "CANNOT_SAFELY_CAST"),
    (
        "INSERT INTO {t} SELECT 3000000000L + id, 'x', 1, 'A' FROM range(2)",
        PySparkException,
        "CAST_OVERFLOW|overflow",
    ),
    ("INSERT INTO {t} PARTITION (p = 'x', r = 'A') SELECT 1, 'x'", PySparkException, "CAST_INVALID_INPUT"),
    ("INSERT INTO {t} PARTITION (nope = 1) SELECT 1, 'x', 1", AnalysisException, "nope|NON_PARTITION_COLUMN"),
    ("INSERT INTO {t} PARTITION (a = 1) SELECT 'x', 1, 'A'", AnalysisException, "NON_PARTITION_COLUMN"),
    ("INSERT INTO {t}_nope VALUES (1)", AnalysisException, "TABLE_OR_VIEW_NOT_FOUND"),
    (
        "INSERT INTO {t} VALUES (1, 'x', 1, 'A'), (2, 'x', 1)",
        (AnalysisException, ParseException),
        "INLINE_TABLE",
    ),
]


@pytest.mark.parametrize(("statement", "kind", "text"), BAD)
def test_bad_inserts_are_refused_whole(
    spark: SparkSession, db: str, statement: str, kind: Any, text: str
) -> None:
    """A wrong number of columns, an unknown column and an unsuitable value cause Spark's own error, and
    change nothing.
    """
    ours = table(spark, db)
    before = content(spark, ours), parquetry_table(spark, ours).version, files_of(spark, ours)
    with pytest.raises(kind, match=text):
        spark.sql(statement.format(t=ours)).collect()
    assert (content(spark, ours), parquetry_table(spark, ours).version, files_of(spark, ours)) == before


@pytest.mark.parametrize("fmt", FORMATS)
def test_not_null_columns_refuse_null(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """NULL in a NOT NULL column, of data or partitions, is Spark's own error; the rows before it are not
    kept.
    """
    name = f"{db}.strict"
    spark.sql(f"CREATE TABLE {name} (a INT NOT NULL, p STRING NOT NULL) USING {fmt} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'x')")
    for values in ("(NULL, 'x')", "(2, NULL)"):
        with pytest.raises(PySparkException, match="NOT_NULL_ASSERT_VIOLATION"):
            spark.sql(f"INSERT INTO {name} VALUES (9, 'y'), {values}")
    assert rows(f"SELECT * FROM {name}") == [(1, "x")]


def test_lengths_of_char_and_varchar(spark: SparkSession, db: str, own: str, rows: Rows) -> None:
    """char is padded and varchar bounded as in Spark's tables, in data and in partitions."""
    name = f"{db}.texts"
    for each in (name, own):
        spark.sql(
            f"CREATE TABLE {each} (v VARCHAR(3), c CHAR(4), p CHAR(3), q VARCHAR(2)) USING parquet PARTITIONED BY (p, q)"
        )
        spark.sql(
            f"INSERT INTO {each} VALUES ('a  ', 'b', 'c', 'd '), ('abc   ', NULL, NULL, NULL), ('', '', 'xyz', 'é')"
        )
        with pytest.raises(PySparkException, match="EXCEED_LIMIT_LENGTH"):
            spark.sql(f"INSERT INTO {each} VALUES ('abcd', 'b', 'c', 'd')")
        with pytest.raises(PySparkException, match="EXCEED_LIMIT_LENGTH"):
            spark.sql(f"INSERT INTO {each} VALUES ('a', 'b', 'c', 'long')")
    assert content(spark, name) == content(spark, own)
    assert rows(f"SELECT v FROM {name} WHERE p = 'c' AND q = 'd '") == rows(
        f"SELECT v FROM {own} WHERE p = 'c' AND q = 'd '"
    )


def test_write_options(spark: SparkSession, db: str) -> None:
    """Options override table properties; unknown options are ignored; wrong values of ours are refused."""
    spark.sql(f"CREATE TABLE {db}.o (a BIGINT, b STRING) TBLPROPERTIES ('compression' = 'snappy')")
    data = spark.range(100).selectExpr("id", "cast(id AS STRING)")
    data.write.option("compression", "gzip").option("header", "true").insertInto(f"{db}.o")
    (file,) = files_of(spark, f"{db}.o")
    assert ".gz." in file.path
    with pytest.raises(AnalysisException, match="'compression' is 'best'"):
        data.write.option("compression", "best").insertInto(f"{db}.o")
    data.repartition(1).write.option("maxRecordsPerFile", "30").insertInto(f"{db}.o")
    assert sorted(f.rows for f in files_of(spark, f"{db}.o")) == [10, 30, 30, 30, 100]


def test_two_catalogs(spark: SparkSession, db: str, rows: Rows) -> None:
    """A query may read one catalog and write another."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS pond.w")
    spark.sql("CREATE OR REPLACE TABLE pond.w.t (a INT, p STRING) PARTITIONED BY (p)")
    ours = table(spark, db)
    spark.sql(f"INSERT INTO pond.w.t SELECT a, r FROM {ours}")
    spark.sql(f"INSERT OVERWRITE {ours} SELECT a * 2, 'pond', a, p FROM pond.w.t")
    assert rows(f"SELECT sum(a), count(*), max(s) FROM {ours}") == [(42, 6, "pond")]
    spark.sql("DROP NAMESPACE pond.w CASCADE")


def test_cached_tables_show_what_was_written(spark: SparkSession, db: str, rows: Rows) -> None:
    """A cached table is read anew after INSERT and after INSERT OVERWRITE."""
    ours = table(spark, db)
    spark.sql(f"CACHE TABLE {ours}")
    assert rows(f"SELECT count(*) FROM {ours}") == [(6,)]
    spark.sql(f"INSERT INTO {ours} VALUES (7, 'n', 1, 'A')")
    assert rows(f"SELECT count(*) FROM {ours}") == [(7,)]
    spark.sql(f"INSERT OVERWRITE {ours} VALUES (8, 'n', 1, 'A')")
    assert rows(f"SELECT a FROM {ours}") == [(8,)]
    spark.sql(f"UNCACHE TABLE {ours}")


def test_temporary_views_and_functions_reach_the_write(spark: SparkSession, db: str, rows: Rows) -> None:
    """A query over temporary views, variables, Python functions and cached frames can be inserted."""
    ours = table(spark, db)
    spark.udf.register("twice_", lambda x: 2 * x, "int")
    spark.createDataFrame([(60,), (61,)], "a INT").cache().createOrReplaceTempView("some_rows")
    spark.sql(f"INSERT INTO {ours} SELECT twice_(a), 'view', 60, 'V' FROM some_rows")
    spark.sql(f"WITH c AS (SELECT a FROM some_rows) INSERT INTO {ours} SELECT a, 'cte', 60, 'C' FROM c")
    assert rows(f"SELECT a FROM {ours} WHERE p = 60 ORDER BY a") == [(60,), (61,), (120,), (122,)]
