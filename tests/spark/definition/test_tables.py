"""Databases and tables through `spark.sql`: made, shown, described, replaced, renamed, dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from parquetry.locations.uri import take_apart

Rows = Callable[..., list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def location(rows: Rows, table: str) -> Path:
    """Return the folder of a table."""
    return Path(detail(rows, table)["Location"].removeprefix("file:"))


def detail(rows: Rows, table: str) -> dict[str, str]:
    """Return the lower part of DESCRIBE EXTENDED."""
    return {row[0]: row[1] for row in rows(f"DESCRIBE EXTENDED {table}")}


def files(folder: Path) -> list[str]:
    """Return the data files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._")


# -- namespaces


def test_namespaces(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """A database is made once, described, changed, listed, and dropped when it is empty or with CASCADE."""
    name = f"{db}_x"
    create = (
        f"CREATE DATABASE {name} COMMENT 'it\\'s \"x\"' LOCATION '{tmp_path}/d b' WITH DBPROPERTIES ('a'='b')"
    )
    spark.sql(create)
    with pytest.raises(AnalysisException, match="already exists") as caught:
        spark.sql(create)
    assert caught.value.getCondition() == "SCHEMA_ALREADY_EXISTS"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {name} COMMENT 'another'")
    spark.sql(f"ALTER DATABASE {name} SET DBPROPERTIES ('c'='d')")
    spark.sql(f"ALTER DATABASE {name} UNSET PROPERTIES ('a')")
    described = dict(rows(f"DESCRIBE DATABASE EXTENDED {name}"))
    assert described["Comment"] == 'it\'s "x"'
    assert described["Location"] == f"file:{tmp_path}/d b"
    assert described["Properties"] == "((c,d))"
    spark.sql(f"COMMENT ON DATABASE {name} IS 'new'")
    assert dict(rows(f"DESCRIBE DATABASE {name}"))["Comment"] == "new"
    short = name.removeprefix("lake.")
    assert (short,) in rows("SHOW DATABASES IN lake")
    assert rows(f"SHOW DATABASES IN lake LIKE '{short}'") == [(short,)]
    spark.sql(f"CREATE TABLE {name}.t AS SELECT 1 AS a")
    assert location(rows, f"{name}.t") == tmp_path / "d b" / "t"
    with pytest.raises(AnalysisException, match="CASCADE"):
        spark.sql(f"DROP DATABASE {name}")
    assert rows(f"SELECT * FROM {name}.t") == [(1,)]
    spark.sql(f"DROP DATABASE {name} CASCADE")
    assert (short,) not in rows("SHOW DATABASES IN lake")
    assert not (tmp_path / "d b" / "t").exists()
    spark.sql(f"DROP DATABASE IF EXISTS {name}")


def test_the_default_database(spark: SparkSession, rows: Rows, db: str) -> None:
    """`default` is always there; USE makes names short; a new session's names are not touched."""
    assert ("default",) in rows("SHOW NAMESPACES IN lake")
    with pytest.raises(AnalysisException, match="'default' is always there and cannot be dropped"):
        spark.sql("DROP NAMESPACE lake.default")
    session = spark.newSession()
    session.sql(f"USE {db}")
    session.sql("CREATE TABLE t AS SELECT 3 AS a")
    session.sql("USE spark_catalog")
    session.sql("USE lake")
    assert session.sql("SELECT current_schema()").collect() == [("default",)]
    assert rows(f"SELECT a FROM {db}.t") == [(3,)]


def test_a_relative_location_of_a_database_is_below_the_warehouse(
    spark: SparkSession, rows: Rows, db: str
) -> None:
    """A database's LOCATION without a root begins in the warehouse, wherever the driver was started."""
    spark.sql(f"CREATE DATABASE {db}_rel LOCATION 'rel/{db}'")
    place = dict(rows(f"DESCRIBE DATABASE {db}_rel"))["Location"]
    spark.sql(f"DROP DATABASE {db}_rel")
    assert place.startswith("file:/")
    assert place.endswith(f"/rel/{db}")


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("DROP NAMESPACE lake.nope", "SCHEMA_NOT_FOUND"),
        ("SHOW TABLES IN lake.nope", "SCHEMA_NOT_FOUND"),
        ("DESCRIBE NAMESPACE lake.nope", "SCHEMA_NOT_FOUND"),
        ("ALTER NAMESPACE lake.nope SET PROPERTIES ('a'='b')", "SCHEMA_NOT_FOUND"),
        ("CREATE TABLE lake.nope.t (a int)", "SCHEMA_NOT_FOUND"),
        ("USE lake.nope", "SCHEMA_NOT_FOUND"),
        ("SELECT * FROM lake.nope.t", "TABLE_OR_VIEW_NOT_FOUND"),
        ("DROP TABLE lake.nope.t", "TABLE_OR_VIEW_NOT_FOUND"),
        ("CREATE NAMESPACE lake.a.nope", "PARQUETRY_UNSUPPORTED"),
        ("CREATE TABLE lake.nope (a int)", "PARQUETRY_UNSUPPORTED"),
        ("CREATE NAMESPACE lake.`nope/x`", "PARQUETRY_UNSUPPORTED"),
    ],
)
def test_databases_that_are_not_there(spark: SparkSession, statement: str, condition: str) -> None:
    """A database that is not there, or cannot be, is an error that names it."""
    with pytest.raises(AnalysisException, match="nope") as caught:
        spark.sql(statement)
    assert caught.value.getCondition() == condition
    spark.sql("DROP TABLE IF EXISTS lake.nope.t")


# -- creating


@FORMATS
def test_both_forms_of_partitioned_by(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """`PARTITIONED BY (p)` and Hive's `PARTITIONED BY (p int)` make the same table; so do USING and STORED
    AS.
    """
    spark.sql(
        f"CREATE TABLE {db}.a (id bigint, p int COMMENT 'c', q string) USING {file_format} PARTITIONED BY (p, q)"
    )
    spark.sql(
        f"CREATE TABLE {db}.b (id bigint) PARTITIONED BY (p int COMMENT 'c', q string) STORED AS {file_format.upper()}"
    )
    assert rows(f"DESCRIBE {db}.a") == rows(f"DESCRIBE {db}.b") == [
        ("id", "bigint", None), ("p", "int", "c"), ("q", "string", None),
        ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("p", "int", "c"), ("q", "string", None),
    ]  # fmt: skip
    for table in ("a", "b"):
        assert detail(rows, f"{db}.{table}")["Provider"] == file_format
        spark.sql(f"INSERT INTO {db}.{table} VALUES (1, 2, 'x')")
        (file,) = (location(rows, f"{db}.{table}") / "p=2" / "q=x").glob("pq-*")
        assert file.suffix == f".{file_format}"


def test_a_table_as_a_whole(spark: SparkSession, rows: Rows, db: str) -> None:
    """Every statement that shows COMMENT, TBLPROPERTIES, column comments, NOT NULL and types shows what was
    declared.
    """
    spark.sql(
        f"""CREATE TABLE {db}.`t 1` (id bigint NOT NULL COMMENT 'it\\'s', `a.b` decimal(5,2), `c``d` struct<x:int,`y z`:string>,
        m map<string,array<date>>, v varchar(3), c char(2), `ü` timestamp_ntz, p int)
        USING parquet PARTITIONED BY (p) COMMENT 'say "hi"' TBLPROPERTIES ('k.a'='v\\'1', 'target-file-size'='1mb')"""
    )
    assert rows(f"SHOW TABLES IN {db}") == [(db.removeprefix("lake."), "t 1", False)]
    assert rows(f"SHOW TABLES IN {db} LIKE 'x*'") == []
    assert rows(f"SHOW COLUMNS IN {db}.`t 1`") == [
        (n,) for n in ("id", "a.b", "c`d", "m", "v", "c", "ü", "p")
    ]
    assert rows(f"SHOW TBLPROPERTIES {db}.`t 1`") == [("k.a", "v'1"), ("target-file-size", "1mb")]
    assert rows(f"SHOW TBLPROPERTIES {db}.`t 1` ('k.a')") == [("k.a", "v'1")]
    assert rows(f"DESCRIBE {db}.`t 1` id") == [
        ("col_name", "id"),
        ("data_type", "bigint"),
        ("comment", "it's"),
    ]
    shown = detail(rows, f"{db}.`t 1`")
    assert shown["c`d"] == "struct<x:int,y z:string>"
    assert (shown["v"], shown["c"]) == ("varchar(3)", "char(2)")
    assert (shown["Type"], shown["Provider"], shown["Comment"]) == ("MANAGED", "parquet", 'say "hi"')
    assert shown["Table Properties"] == "[k.a=v'1,target-file-size=1mb]"
    assert "t 1" in rows(f"SHOW TABLE EXTENDED IN {db} LIKE 't*'")[0][3]


@pytest.mark.newest("Spark 4.2 and earlier leave backslashes of comments as they are in SHOW CREATE TABLE")
@FORMATS
def test_show_create_table_makes_the_same_table(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path, file_format: str
) -> None:
    """The text of SHOW CREATE TABLE, executed again, makes a table with the same text."""
    definitions = [
        "(id bigint NOT NULL COMMENT 'it''s \"x\"', s string, `a.b c` array<struct<`x y`:int COMMENT 'i'>>, m map<string,int>) "
        f"USING {file_format} COMMENT 'a ''b'' \\\\ c' TBLPROPERTIES ('k''1'='v', 'compression'='snappy')",
        f"(id int, `p q` date, `r``s` string) USING {file_format} PARTITIONED BY (`r``s`, `p q`) "
        "OPTIONS ('compression'='none') TBLPROPERTIES ('partition-order'='`p q` desc', 'sort-by'='id')",
        f"(id int, v varchar(7), c char(3)) PARTITIONED BY (p string) STORED AS {file_format} LOCATION '{tmp_path}/a b%20c#d'",
        f"USING {file_format} PARTITIONED BY (p) AS SELECT id, CAST(id AS string) AS p FROM range(3)",
    ]
    for number, definition in enumerate(definitions):
        spark.sql(f"CREATE TABLE {db}.t{number} {definition}")
        before = rows(f"DESCRIBE {db}.t{number}")
        [[text]] = rows(f"SHOW CREATE TABLE {db}.t{number}")
        spark.sql(f"DROP TABLE {db}.t{number}")
        spark.sql(text)
        assert rows(f"SHOW CREATE TABLE {db}.t{number}") == [(text,)]
        assert rows(f"DESCRIBE {db}.t{number}") == before


def test_show_create_table_reads_as_spark_writes_it(spark: SparkSession, rows: Rows, db: str) -> None:
    """Spark's own tables show the same text, `COLLATE UTF8_BINARY` included, save for the name."""
    definition = (
        "(id bigint, s string, p int) USING parquet PARTITIONED BY (p) COMMENT 'c' TBLPROPERTIES ('k'='v')"
    )
    spark.sql(f"CREATE TABLE {db}.t {definition}")
    name = f"spark_catalog.default.{db.replace('.', '_')}"
    spark.sql(f"CREATE TABLE {name} {definition}")
    [[ours]], [[stock]] = rows(f"SHOW CREATE TABLE {db}.t"), rows(f"SHOW CREATE TABLE {name}")
    spark.sql(f"DROP TABLE {name}")
    assert ours.replace(f"{db}.t", name) == stock


def test_if_not_exists(spark: SparkSession, rows: Rows, db: str) -> None:
    """A name that is taken, in any case, is an error that names it; IF NOT EXISTS leaves the table alone."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    for statement in (f"CREATE TABLE {db}.T (b int)", f"CREATE TABLE {db}.t AS SELECT 2 AS b"):
        with pytest.raises(AnalysisException, match="already exists") as caught:
            spark.sql(statement)
        assert caught.value.getCondition() == "TABLE_OR_VIEW_ALREADY_EXISTS"
        spark.sql(statement.replace("TABLE", "TABLE IF NOT EXISTS"))
    assert rows(f"SELECT * FROM {db}.T") == [(1,)]
    assert len(files(location(rows, f"{db}.t").parent)) == 1


@FORMATS
def test_create_table_as_select(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """CTAS makes the table with its rows; a query that fails leaves neither the table nor a file."""
    query = "SELECT id, CAST(id % 3 AS int) AS p, CASE WHEN id % 2 = 0 THEN CAST(id AS string) END AS s FROM range(20)"
    spark.sql(f"CREATE TABLE {db}.t USING {file_format} PARTITIONED BY (p) AS {query}")
    assert sorted(rows(f"SELECT id, p, s FROM {db}.t"), key=str) == sorted(rows(query), key=str)
    assert rows(f"SHOW PARTITIONS {db}.t") == [("p=0",), ("p=1",), ("p=2",)]
    with pytest.raises(PySparkException, match="USER_RAISED_EXCEPTION"):
        spark.sql(
            f"CREATE TABLE {db}.u USING {file_format} PARTITIONED BY (p) "
            "AS SELECT id, id % 2 AS p, assert_true(id < 15) IS NULL AS x FROM range(20)"
        )
    assert rows(f"SHOW TABLES IN {db} LIKE 'u'") == []
    assert not (location(rows, f"{db}.t").parent / "u").exists()


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ("(a int) USING csv", "parquet or orc, not csv: say USING parquet"),
        ("(a int) STORED AS TEXTFILE", "parquet or orc, not textfile"),
        ("(a int) STORED AS INPUTFORMAT 'x.TextInputFormat' OUTPUTFORMAT 'x.Y'", "parquet or orc"),
        ("(a int, d date) PARTITIONED BY (years(d))", r"PARTITIONED BY \(years\(d\)\) is not supported"),
        (
            "(a int, s struct<x:int>) PARTITIONED BY (s)",
            "column s is of type struct<x:int>; a partition column has to be",
        ),
        ("(a int, s array<int>) PARTITIONED BY (s)", "column s is of type array<int>"),
        ("(a int, s struct<x:int>) PARTITIONED BY (s.x)", "s.x"),
        ("(a int) PARTITIONED BY (a)", "partition columns only"),
        ("(a int) PARTITIONED BY (nope)", "nope"),
        ("(a int, b int) PARTITIONED BY (a, A)", "(?i)duplicate column.*a"),
        ("", "no columns: name them, or the LOCATION"),
        ("LOCATION '/nowhere/at/all'", "LOCATION file:/nowhere/at/all: PATH_NOT_FOUND; name the columns"),
        ("(a int, b string COLLATE UTF8_LCASE)", "column b has a collation"),
        ("(a int, b map<string, string COLLATE UTF8_LCASE>)", "column b has a collation"),
        ("(a string) DEFAULT COLLATION UTF8_LCASE", "leave DEFAULT COLLATION out"),
        ("(a int, b struct<v:variant>) USING orc", "Column b.v is of type variant, which ORC has not"),
        (
            "(a int) TBLPROPERTIES ('target-file-sise'='1mb')",
            "'target-file-sise' is unknown; did you mean 'target-file-size'",
        ),
        (
            "(a int) TBLPROPERTIES ('target-file-size'='big')",
            "'target-file-size' is 'big': not a size such as 128mb",
        ),
        (
            "(a int) TBLPROPERTIES ('parquetry.x'='1')",
            "'parquetry.x' is unknown; known are auto-compact, ",
        ),
        ("(a int) TBLPROPERTIES ('compression'='best')", "'compression' is 'best': not one of none"),
        ("(a int) TBLPROPERTIES ('sort-by'='a, nope')", "'sort-by': Column 'nope' is not in the table"),
        ("(a int) TBLPROPERTIES ('sort-by'='a,,')", "'sort-by' is 'a,,': not a list of column names"),
        (
            "(a int, p int) PARTITIONED BY (p) TBLPROPERTIES ('partition-order'='a desc')",
            "names 'a', which is not a partition",
        ),
    ],
)
def test_tables_that_cannot_be(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path, definition: str, says: str
) -> None:
    """An impossible definition is an error that says which part is wrong and what to write; no table or
    folder remains.
    """
    with pytest.raises(AnalysisException, match=says):
        spark.sql(f"CREATE TABLE {db}.t {definition}")
    assert rows(f"SHOW TABLES IN {db}") == []
    assert not list(warehouse.glob(f"{db.replace('.', '/')}.db/t*"))


def test_names_that_differ_in_case_only(spark: SparkSession, rows: Rows, db: str) -> None:
    """With any setting of spark.sql.caseSensitive, names of columns must differ in more than case.

    If the setting is off, queries find them in any case.
    """
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")
    for definition in ("(id int, ID int)", "(a int, s struct<x:int,X:int>)", "AS SELECT 1 AS a, 2 AS A"):
        with pytest.raises(AnalysisException, match="differ in letter case only"):
            session.sql(f"CREATE TABLE {db}.t {definition}")
    session.sql(f"CREATE TABLE {db}.t (Id int, P int) PARTITIONED BY (P)")
    session.sql(f"INSERT INTO {db}.t VALUES (1, 2)")
    assert session.sql(f"SELECT Id FROM {db}.t WHERE P = 2").collect() == [(1,)]
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        session.sql(f"SELECT id FROM {db}.t")
    assert rows(f"SELECT ID FROM {db}.T WHERE p = 2") == [(1,)]
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 3)")
    assert rows(f"SHOW PARTITIONS {db}.t") == [("P=2",), ("P=3",)]


# -- locations


@FORMATS
@pytest.mark.parametrize("name", ["plain", "a b%20c", "x#y?z", "a:b", "it's {a}[b]*", "ünï"])
def test_external_tables(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path, file_format: str, name: str
) -> None:
    """An external table is at its LOCATION, for any name of the folder; DROP leaves its live files, and
    deletes dead ones.
    """
    folder = tmp_path / name
    spark.sql(
        f"CREATE EXTERNAL TABLE {db}.t (id int) PARTITIONED BY (p int) STORED AS {file_format} "
        f"LOCATION '{str(folder).replace(chr(39), chr(92) + chr(39))}/'"
    )
    assert detail(rows, f"{db}.t")["Type"] == "EXTERNAL"
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    dead = files(folder)
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) VALUES (3)")
    assert len(files(folder)) == 3
    spark.sql(f"DROP TABLE {db}.t")
    (live_1,), (live_2,) = files(folder / "p=1"), files(folder / "p=2")
    assert live_1 not in dead
    assert live_2 in dead
    found = spark.read.format(file_format).load(
        str(folder).replace("{", "\\{").replace("[", "\\[").replace("*", "\\*")
    )
    assert sorted(map(tuple, found.select("id", "p").collect())) == [(2, 2), (3, 1)]


def test_a_relative_location_is_below_the_database(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path
) -> None:
    """LOCATION without a root begins at the database's location, as Spark's own catalog has it."""
    spark.sql(f"ALTER DATABASE {db} SET LOCATION '{tmp_path}'")
    spark.sql(f"CREATE TABLE {db}.t (id int) USING parquet LOCATION 'sub/./t'")
    spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    assert location(rows, f"{db}.t") == tmp_path / "sub" / "t"
    assert len(files(tmp_path / "sub" / "t")) == 1


def test_a_location_is_taken_apart_as_hadoop_does(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """A URI is not decoded: `file:/…/a%20b` is a folder with a `%` in its name."""
    for text in ("file:/t/a%20b", "/t/x=1%2F2", "file:///t/a?b#c d", "s3a://bucket/t%", "hdfs://host:1/a:b"):
        path = spark._jvm.org.apache.hadoop.fs.Path(text)
        assert take_apart(text).path == path.toUri().getPath(), text
        assert take_apart(text).authority.removeprefix("//") == (path.toUri().getAuthority() or ""), text
    spark.sql(f"CREATE TABLE {db}.t (id int) USING parquet LOCATION 'file:{tmp_path}/a%20b'")
    spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    assert len(files(tmp_path / "a%20b")) == 1


def test_external_needs_a_location(spark: SparkSession, rows: Rows, db: str) -> None:
    """EXTERNAL without LOCATION is refused as in Spark: no table would own the files."""
    with pytest.raises(AnalysisException, match="needs a LOCATION"):
        spark.sql(f"CREATE EXTERNAL TABLE {db}.t (id int) STORED AS PARQUET")
    assert rows(f"SHOW TABLES IN {db}") == []


@FORMATS
def test_columns_read_from_a_location(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path, file_format: str
) -> None:
    """A table without declared columns gets its columns and partition columns from the files and folders at
    LOCATION.
    """
    frame = spark.sql("SELECT id, CAST(id % 2 AS int) AS p FROM range(6)")
    frame.write.partitionBy("p").format(file_format).save(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {db}.t USING {file_format} LOCATION '{tmp_path}/t'")
    assert rows(f"DESCRIBE {db}.t")[:2] == [("id", "bigint", None), ("p", "int", None)]
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t WHERE p = 1") == [(3, 9)]


# -- dropping, renaming, replacing


@pytest.mark.parametrize("purge", ["", " PURGE"])
def test_drop_table(spark: SparkSession, rows: Rows, db: str, purge: str) -> None:
    """DROP [PURGE] removes a managed table and its folder; without IF EXISTS, a missing table is an error."""
    spark.sql(f"CREATE TABLE {db}.t PARTITIONED BY (p) AS SELECT 1 AS a, 2 AS p")
    folder = location(rows, f"{db}.t")
    assert len(files(folder)) == 1
    spark.sql(f"DROP TABLE {db}.t{purge}")
    assert not folder.exists()
    with pytest.raises(AnalysisException, match=r"`t`") as caught:
        spark.sql(f"DROP TABLE {db}.t{purge}")
    assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
    spark.sql(f"DROP TABLE IF EXISTS {db}.t{purge}")


def test_rename(spark: SparkSession, rows: Rows, db: str) -> None:
    """RENAME works within a database and across, with or without the catalog's name, and moves no file."""
    spark.sql(f"CREATE DATABASE {db}_b")
    short = db.removeprefix("lake.")
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    folder = location(rows, f"{db}.t")
    for old, new in (
        (f"{db}.t", "t2"),
        (f"{db}.t2", f"{short}.t3"),
        (f"{db}.t3", f"{db}_b.t"),
        (f"{db}_b.t", f"{short.upper()}.T4"),
    ):
        spark.sql(f"ALTER TABLE {old} RENAME TO {new}")
        with pytest.raises(AnalysisException):
            spark.table(old)
    assert rows(f"SELECT * FROM {db}.t4") == [(1,)]
    assert location(rows, f"{db}.t4") == folder
    spark.sql(f"CREATE TABLE {db}.other (a int)")
    for new, says in (
        (f"{short}.other", r"`lake`\.`db\d+`\.`other` because it already exists"),
        ("nope.x", r"schema `lake`\.`nope` cannot be found"),
        (f"pond.{short}.x", "it stays in its catalog"),
    ):
        with pytest.raises(AnalysisException, match=says):
            spark.sql(f"ALTER TABLE {db}.t4 RENAME TO {new}")
    assert rows(f"SHOW TABLES IN {db}") == [(short, "other", False), (short, "t4", False)]
    spark.sql(f"DROP DATABASE {db}_b")


def test_a_renamed_tables_folder_is_not_anothers(spark: SparkSession, rows: Rows, db: str) -> None:
    """A table under the former name of another, even one that was never written, has a folder of its own."""
    spark.sql(f"CREATE TABLE {db}.t (a int)")
    spark.sql(f"ALTER TABLE {db}.t RENAME TO u")
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 5 AS a")
    spark.sql(f"INSERT INTO {db}.u VALUES (6)")
    spark.sql(f"DROP TABLE {db}.u")
    assert rows(f"SELECT * FROM {db}.t") == [(5,)]


@FORMATS
def test_replace_table_as_select(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """CREATE OR REPLACE gives a table new content, which may be read from the old.

    The table keeps its location, and the old files.
    """
    create = f"CREATE OR REPLACE TABLE {db}.t USING {file_format}"
    spark.sql(f"{create} AS SELECT id AS a FROM range(4)")
    old = location(rows, f"{db}.t")
    spark.sql(f"{create} PARTITIONED BY (b) AS SELECT a * 10 AS c, a % 2 AS b FROM {db}.t")
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(0, 0), (10, 1), (20, 0), (30, 1)]
    assert rows(f"SHOW PARTITIONS {db}.t") == [("b=0",), ("b=1",)]
    assert location(rows, f"{db}.t") == old
    assert rows(f"SELECT count(*) FROM {db}.t VERSION AS OF 1") == [(4,)]
    assert len(list(old.parent.iterdir())) == 1


@FORMATS
def test_a_replacement_that_fails_leaves_the_old_table(
    spark: SparkSession, rows: Rows, db: str, file_format: str
) -> None:
    """If the query of [CREATE OR] REPLACE fails, the old table is unchanged, and no file of the new one
    remains.
    """
    spark.sql(f"CREATE TABLE {db}.t USING {file_format} AS SELECT id FROM range(4)")
    before = files(location(rows, f"{db}.t").parent)
    for statement in ("CREATE OR REPLACE", "REPLACE"):
        with pytest.raises(PySparkException, match="USER_RAISED_EXCEPTION"):
            spark.sql(
                f"{statement} TABLE {db}.t AS SELECT id, IF(id < 90, 1, raise_error('90')) AS x FROM range(100)"
            )
        with pytest.raises(AnalysisException, match="PARQUETRY_PROPERTY"):
            spark.sql(f"{statement} TABLE {db}.t TBLPROPERTIES ('compression'='x') AS SELECT 1 AS a")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(0,), (1,), (2,), (3,)]
    assert files(location(rows, f"{db}.t").parent) == before
    assert len(list(location(rows, f"{db}.t").parent.iterdir())) == 1


def test_replace_table(spark: SparkSession, rows: Rows, db: str) -> None:
    """REPLACE TABLE makes an empty table in the place of one that has to be there."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    spark.sql(f"REPLACE TABLE {db}.t (b string) USING orc COMMENT 'new'")
    assert rows(f"SELECT * FROM {db}.t") == []
    assert detail(rows, f"{db}.t")["Provider"] == "orc"
    for what in ("(a int)", "AS SELECT 1 AS a"):
        with pytest.raises(AnalysisException, match="nope") as caught:
            spark.sql(f"REPLACE TABLE {db}.nope {what}")
        assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"
    assert len(rows(f"SHOW TABLES IN {db}")) == 1


def test_a_replacement_in_the_same_folder(spark: SparkSession, rows: Rows, db: str) -> None:
    """A table replaced in the same folder has the new content; the previous version keeps its files for its
    readers.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    folder = location(rows, f"{db}.t")
    spark.sql(f"CREATE OR REPLACE TABLE {db}.t LOCATION '{folder}' AS SELECT 2 AS b")
    assert rows(f"SELECT b FROM {db}.t") == [(2,)]
    assert rows(f"SELECT a FROM {db}.t VERSION AS OF 1") == [(1,)]
    assert len(files(folder)) == 2


# -- versions of a table within a session


@pytest.mark.needs("newer versions")
def test_a_frame_over_a_table_that_changes(spark: SparkSession, rows: Rows, db: str) -> None:
    """A DataFrame or view made before an INSERT reads the new rows when it runs; both sides of a join read
    one version.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1)")
    frame = spark.table(f"{db}.t")
    view = f"v_{db.replace('.', '_')}"
    frame.createOrReplaceTempView(view)
    joined = frame.join(spark.table(f"{db}.t").withColumnRenamed("p", "q"), "id")
    spark.sql(f"INSERT INTO {db}.t VALUES (2, 2)")
    assert sorted(map(tuple, frame.collect())) == [(1, 1), (2, 2)]
    assert sorted(map(tuple, joined.collect())) == [(1, 1, 1), (2, 2, 2)]
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN n int")
    assert sorted(rows(f"SELECT id, p FROM {view}")) == [(1, 1), (2, 2)]
    spark.sql(f"DROP VIEW {view}")


@pytest.mark.needs("newer versions")
def test_a_frame_over_a_table_that_was_dropped(spark: SparkSession, rows: Rows, db: str) -> None:
    """A DataFrame over a table that was dropped or made again raises an error or reads the new table, never
    the old rows.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    frame = spark.table(f"{db}.t")
    spark.sql(f"DROP TABLE {db}.t")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        frame.collect()
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 2 AS a")
    assert rows(f"SELECT a FROM {db}.t") == [(2,)]
    again = spark.table(f"{db}.t")
    spark.sql(f"CREATE OR REPLACE TABLE {db}.t AS SELECT 3 AS a")
    try:
        assert again.collect() == [(3,)]
    except AnalysisException as error:
        assert "replaced" in str(error) or "TABLE_ID_MISMATCH" in str(error)  # noqa: PT017


def test_a_frame_written_into_its_own_table(spark: SparkSession, rows: Rows, db: str) -> None:
    """A table may be appended to itself, and overwritten by a query over it, cached or not."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT id FROM range(3)")
    frame = spark.table(f"{db}.t").where("id > 0")
    frame.writeTo(f"{db}.t").append()
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(0,), (1,), (1,), (2,), (2,)]
    cached = spark.table(f"{db}.t").cache()
    assert cached.count() == 5
    spark.sql(f"INSERT OVERWRITE {db}.t SELECT id + 10 FROM {db}.t WHERE id = 2")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(12,), (12,)]
    cached.unpersist()


def test_versions_that_are_not_there(spark: SparkSession, rows: Rows, db: str) -> None:
    """VERSION AS OF and TIMESTAMP AS OF read a table's earlier state. For a missing version the error names
    it and the existing ones.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    spark.sql(f"INSERT INTO {db}.t VALUES (2)")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN a TO b")
    assert rows(f"SELECT a FROM {db}.t VERSION AS OF 1") == [(1,)]
    assert sorted(rows(f"SELECT b FROM {db}.t TIMESTAMP AS OF now() + INTERVAL 1 DAY")) == [(1,), (2,)]
    for clause, says in (
        ("VERSION AS OF 99", "has no version 99; it has versions 0 to 3"),
        ("VERSION AS OF 'x'", "'x': a table's versions are numbers"),
        ("TIMESTAMP AS OF '2001-01-01'", "it has versions 0 to 3"),
    ):
        with pytest.raises(AnalysisException, match=says):
            spark.sql(f"SELECT * FROM {db}.t {clause}")
