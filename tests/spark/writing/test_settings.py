"""An option of a write has precedence over the session's setting, then the table's property, then the
default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import parquetry

Files = list[Any]
Write = Callable[..., Files]


@pytest.fixture(autouse=True)
def own_settings(spark: SparkSession) -> Iterator[None]:
    """Take back what a test has set for the session."""
    yield
    for name in list(spark.conf.getAll):
        if name.startswith("parquetry.") or name == "spark.sql.parquet.compression.codec":
            spark.conf.unset(name)


def rows_of(spark: SparkSession) -> DataFrame:
    """Return 20,000 rows in four tasks; each of the columns x, y and z has its own order."""
    return spark.range(0, 20_000, 1, 4).selectExpr(
        "sha1(cast(id AS STRING)) AS x", "hash(id) AS y", "hash(id + 1) AS z", "cast(id % 2 AS INT) AS p"
    )


@pytest.fixture
def write(spark: SparkSession, db: str) -> Write:
    """Overwrite a table with the same rows and these options, and return its files."""

    def write(table: str, **options: str) -> Files:
        frame = rows_of(spark)
        frame.write.options(**{name.replace("_", "-"): text for name, text in options.items()}).insertInto(
            f"{db}.{table}", overwrite=True
        )
        with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
            return list(catalog.files(f"{db.removeprefix('lake.')}.{table}"))

    return write


def codec(files: Files) -> str:
    """Return the codec of the files, which is one for all."""
    (found,) = {pq.read_metadata(file.path).row_group(0).column(0).compression for file in files}
    return str(found)


def sorted_by(files: Files) -> str | None:
    """Return the one column of x, y and z that sorts the rows of each file."""
    read = [pq.read_table(file.path).to_pydict() for file in files]
    found = [name for name in ("x", "y", "z") if all(rows[name] == sorted(rows[name]) for rows in read)]
    assert len(found) < 2
    return found[0] if found else None


@pytest.mark.parametrize(
    ("name", "property", "session", "option", "seen", "expected"),
    [
        ("compression", "gzip", "zstd", "snappy", codec, ["UNCOMPRESSED", "GZIP", "ZSTD", "SNAPPY"]),
        ("sort-by", "x", "y", "z", sorted_by, [None, "x", "y", "z"]),
        ("distribution", "none", "auto", "none", len, [2, 8, 2, 8]),
    ],
)
def test_precedence(
    spark: SparkSession, db: str, write: Write, name: str, property: str, session: str, option: str,
    seen: Callable[[Files], Any], expected: list[Any],
) -> None:  # fmt: skip
    """Each level, set in turn from the lowest to the highest, decides the write; after it is unset, the next
    does.
    """
    spark.conf.set("spark.sql.parquet.compression.codec", "uncompressed")  # what holds by default
    spark.sql(f"CREATE TABLE {db}.t (x STRING, y INT, z INT, p INT) PARTITIONED BY (p)")
    found = [seen(write("t"))]
    spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('{name}' = '{property}')")
    found.append(seen(write("t")))
    spark.sql(f"SET `parquetry.{name}` = {session}")
    found.append(seen(write("t")))
    found.append(seen(write("t", **{name: option})))
    assert found == expected
    spark.sql(f"ALTER TABLE {db}.t UNSET TBLPROPERTIES ('{name}')")
    assert seen(write("t", **{name.upper(): option})) == expected[3]
    assert seen(write("t")) == expected[2]
    spark.sql(f"RESET `parquetry.{name}`")
    assert seen(write("t")) == expected[0]


def test_precedence_of_sizes(spark: SparkSession, db: str, write: Write) -> None:
    """The smaller the target-file-size of the level that decides, the more files."""
    spark.sql(f"CREATE TABLE {db}.t (x STRING, y INT, z INT, p INT)")
    by_default = len(write("t"))
    spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('target-file-size' = '128kb')")
    by_property = len(write("t"))
    spark.sql("SET `parquetry.target-file-size` = 512kb")
    by_session = len(write("t"))
    by_option = len(write("t", target_file_size="32kb"))
    assert by_default == 1
    assert 1 < by_session < by_property < by_option


def test_a_setting_is_that_of_the_session_that_writes(spark: SparkSession, db: str, write: Write) -> None:
    """SQL and CREATE TABLE … AS SELECT follow their session; another session has settings of its own."""
    spark.sql("SET `parquetry.compression` = gzip")
    other = spark.newSession()
    for session, expected in ((spark, "GZIP"), (other, "ZSTD")):
        other.conf.set("parquetry.compression", "zstd")
        session.sql(f"CREATE OR REPLACE TABLE {db}.t AS SELECT 1 AS x")
        session.sql(f"INSERT INTO {db}.t VALUES (2)")
        with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
            files = list(catalog.files(f"{db.removeprefix('lake.')}.t"))
        assert (len(files), codec(files)) == (2, expected)


def test_options_of_a_table_made_from_a_query(spark: SparkSession, db: str) -> None:
    """OPTIONS of CREATE TABLE are properties; options of `saveAsTable` apply to its write, which makes all or
    nothing.
    """
    made = f"{db.removeprefix('lake.')}.made"
    rows_of(spark).createOrReplaceTempView("rows_to_write")
    spark.sql("SET `parquetry.compression` = zstd")
    options = "OPTIONS ('compression' = 'gzip', 'partition-order' = 'p desc')"
    spark.sql(f"CREATE TABLE {db}.made PARTITIONED BY (p) {options} AS SELECT * FROM rows_to_write")
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        assert codec(list(catalog.files(made))) == "ZSTD"
        assert [partition.values for partition in catalog.partitions(made)] == [{"p": 1}, {"p": 0}]
    spark.sql(f"DROP TABLE {db}.made")
    writer = rows_of(spark).write.option("compression", "gzip")
    with pytest.raises(
        AnalysisException, match="Option 'partition-order' cannot be given for one read or write"
    ):
        writer.option("partition-order", "p desc").partitionBy("p").saveAsTable(f"{db}.made")
    assert not spark.catalog.tableExists(f"{db}.made")
    rows_of(spark).write.option("compression", "gzip").saveAsTable(f"{db}.made")
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        assert codec(list(catalog.files(made))) == "GZIP"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "parquetry.sort-by",
            "nope",
            "'parquetry.sort-by': Column 'nope' is not in the table; its columns are: x",
        ),
        ("parquetry.sort-by", "m", "'parquetry.sort-by': column m is a map, and maps have no order."),
    ],
)
def test_session_settings_that_cannot_be_used(
    spark: SparkSession, db: str, rows: Callable[[str], Any], name: str, text: str, says: str
) -> None:
    """A write reports the session's invalid setting, and writes nothing; reads go on; after it is unset, the
    write succeeds.
    """
    spark.sql(f"CREATE TABLE {db}.t (x INT, m MAP<INT, INT>)")
    spark.conf.set(name, text)
    with pytest.raises(AnalysisException) as error:
        spark.sql(f"INSERT INTO {db}.t VALUES (1, NULL)")
    assert says in str(error.value)
    assert rows(f"SELECT * FROM {db}.t") == []
    spark.sql(f"RESET `{name}`")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, NULL)")
    assert rows(f"SELECT x FROM {db}.t") == [(1,)]


@pytest.mark.parametrize(
    ("name", "good", "bad", "says"),
    [
        ("compression", "zstd", "best", "Session setting 'parquetry.compression' is 'best': not one of none"),
        ("target-file-size", "1mb", "0", "'parquetry.target-file-size' is '0': not a size such as 128mb;"),
        ("runtime-pruning", "false", "flase", "'parquetry.runtime-pruning' is 'flase': not true or false;"),
        ("runtime-pruning-max-build-size", "0", "none", "is 'none': not a size such as 128mb;"),
    ],
)
def test_a_value_that_cannot_be_used_is_not_taken(
    spark: SparkSession, db: str, rows: Callable[[str], Any], name: str, good: str, bad: str, says: str
) -> None:
    """`SET` and `spark.conf.set` report errors, as for Spark's own settings; the previous value stays, and
    all statements work.
    """
    key = f"parquetry.{name}"
    spark.sql(f"CREATE TABLE {db}.t (x INT)")
    for before in (None, good):
        if before is not None:
            spark.sql(f"SET `{key}` = {before}")
        for give in (
            lambda: spark.sql(f"SET `{key}` = {bad}"),
            lambda: spark.conf.set(key, bad),
            lambda: spark.newSession().conf.set(key, bad),
        ):
            with pytest.raises(AnalysisException) as error:
                give()
            assert says in str(error.value)
        assert spark.conf.get(key, None) == before
        spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    assert rows(f"SELECT count(*), sum(x) FROM {db}.t") == [(2, 2)]
    assert spark.conf.isModifiable(key)
    spark.sql(f"RESET `{key}`")
    assert spark.conf.get(key, None) is None


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("parquetry.target-file-sice", "is unknown: did you mean 'parquetry.target-file-size'?"),
        ("parquetry.runtime-prunning", "is unknown: did you mean 'parquetry.runtime-pruning'?"),
        ("parquetry.target_file_size", "is unknown: did you mean 'parquetry.target-file-size'?"),
        ("parquetry.partition-order", "cannot be given for a session: set the table property"),
    ],
)
def test_misspelt_settings(
    spark: SparkSession, db: str, rows: Callable[[str], Any], key: str, says: str
) -> None:
    """`SET` reports the error and sets nothing.

    If `spark.conf.set` set such a value, each read and write reports it, but no other statement.
    """
    spark.sql(f"CREATE TABLE {db}.t (x INT)")
    with pytest.raises(AnalysisException) as error:
        spark.sql(f"SET `{key}` = 1mb")
    assert says in str(error.value)
    assert spark.conf.get(key, None) is None
    spark.conf.set(key, "1mb")
    for statement in (
        "SELECT * FROM {}",
        "SELECT count(*) FROM {}",
        "SELECT x FROM {} WHERE x = 1",
        "INSERT INTO {} VALUES (1)",
        "INSERT OVERWRITE {} SELECT 2",
    ):
        with pytest.raises(AnalysisException) as error:
            spark.sql(statement.format(f"{db}.t")).collect()
        assert says in str(error.value)
        assert f"RESET `{key}` takes it back." in str(error.value)
    assert rows(f"SHOW TABLES IN {db}")
    assert rows(f"DESCRIBE TABLE {db}.t")
    assert rows("SELECT id FROM range(1)") == [(0,)]
    spark.sql(f"RESET `{key}`")
    assert rows(f"SELECT * FROM {db}.t") == []


def test_an_option_that_cannot_be_used(spark: SparkSession, db: str) -> None:
    """Its error says that it is an option."""
    spark.sql(f"CREATE TABLE {db}.t (x INT)")
    for name, text, says in (
        ("Compression", "best", "Option 'compression' is 'best': not one of none"),
        ("sort-by", "nope", "Option 'sort-by': Column 'nope' is not in the table"),
    ):
        with pytest.raises(AnalysisException) as error:
            spark.range(1).selectExpr("cast(id AS INT)").write.option(name, text).insertInto(f"{db}.t")
        assert says in str(error.value)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("version-as-of", "0", "'version-as-of' .* say option.'versionAsOf'"),
        ("snapshot-id", "7", "'snapshot-id' .*'versionAsOf'"),
        ("as-of-timestamp", "1", "'as-of-timestamp' .*'timestampAsOf'"),
        ("branch", "b", "'branch' .*'versionAsOf', '…'. with the name"),
        ("tag", "v1", "'tag' .*'versionAsOf', '…'. with the name"),
        ("readChangeFeed", "true", "'readChangeFeed' .* is not recorded"),
        ("startingVersion", "0", "'startingVersion' .* option of streams"),
        ("endingTimestamp", "2026-01-01", "'endingTimestamp' .* option of streams"),
    ],
)
def test_options_of_reads_that_say_something_elsewhere(
    spark: SparkSession, db: str, option: str, value: str, says: str
) -> None:
    """Such options are refused with their name and the alternative, also by queries that read no file, in any
    letter case, and in SQL.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS x")
    for name in (option, option.upper()):
        frame = spark.read.option(name, value).table(f"{db}.t")
        for query in (frame, frame.where("x = 1"), frame.selectExpr("count(*)")):
            with pytest.raises(AnalysisException, match=f"(?i){says}"):
                query.collect()
    with pytest.raises(AnalysisException, match=says):
        spark.sql(f"SELECT * FROM {db}.t WITH (`{option}` = '{value}')").collect()
    assert spark.read.option("header", "true").option("readChangeFeed", "false").table(f"{db}.t").count() == 1
    assert spark.read.option("versionAsOf", "1").table(f"{db}.t").count() == 1


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("overwrite-mode", "dynamic", "'partitionOverwriteMode', 'dynamic'"),
        ("merge-schema", "true", "'mergeSchema', 'true'"),
        ("branch", "b", "write to the table lake.db.t.branch_"),
        ("txnAppId", "a", "written twice"),
        ("replaceUsing", "x", "'replaceWhere'"),
    ],
)
def test_options_of_writes_that_say_something_elsewhere(
    spark: SparkSession, db: str, option: str, value: str, says: str
) -> None:
    """Such options are refused with their name and the alternative, and no row is written."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1L AS x")
    rows = spark.range(3).toDF("x").write.mode("overwrite").option(option, value)
    with pytest.raises(AnalysisException, match=f"Option '{option}' .*other rows would be written: .*{says}"):
        rows.insertInto(f"{db}.t")
    assert spark.table(f"{db}.t").count() == 1
