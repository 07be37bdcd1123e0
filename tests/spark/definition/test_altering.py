"""ALTER TABLE: columns and properties change, old files are still read, and what cannot be is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.support.tables import filtered

Rows = Callable[..., list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def columns(rows: Rows, table: str) -> dict[str, str]:
    """Return the names and types of a table's columns, in order."""
    described = rows(f"DESCRIBE {table}")
    names = [row[0] for row in described]
    end = names.index("# Partition Information") if "# Partition Information" in names else len(names)
    return {row[0]: row[1] for row in described[:end]}


@FORMATS
def test_added_columns(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """Columns are added at any place, inside structs, arrays and maps, too; old files hold NULL for them."""
    spark.sql(
        f"CREATE TABLE {db}.t (id int, st struct<a:int>, ar array<struct<x:int>>, m map<string,struct<y:int>>, p int) "
        f"USING {file_format} PARTITIONED BY (p)"
    )
    spark.sql(
        f"INSERT INTO {db}.t VALUES (1, named_struct('a', 1), array(named_struct('x', 1)), map('k', named_struct('y', 1)), 1)"
    )
    spark.sql(
        f'ALTER TABLE {db}.t ADD COLUMNS (z string COMMENT "it\'s" FIRST, `b c` date AFTER id, last int)'
    )
    for column in ("st.b int FIRST", "st.c struct<d:int> AFTER a", "ar.element.w string", "m.value.v double"):
        spark.sql(f"ALTER TABLE {db}.t ADD COLUMN {column}")
    assert columns(rows, f"{db}.t") == {
        "z": "string", "id": "int", "b c": "date", "st": "struct<b:int,a:int,c:struct<d:int>>",
        "ar": "array<struct<x:int,w:string>>", "m": "map<string,struct<y:int,v:double>>", "last": "int", "p": "int",
    }  # fmt: skip
    spark.sql(
        f"""INSERT INTO {db}.t VALUES ('z', 2, DATE '2024-01-01', named_struct('b', 5, 'a', 6, 'c', named_struct('d', 7)),
        array(named_struct('x', 8, 'w', 'w')), map('k', named_struct('y', 9, 'v', 0.5)), 3, 2)"""
    )
    found = rows(
        f"SELECT z, id, CAST(`b c` AS string), st.b, st.a, st.c.d, ar[0].x, ar[0].w, m['k'].y, m['k'].v, p, last FROM {db}.t"
    )
    assert sorted(found, key=str) == sorted(
        [
            (None, 1, None, None, 1, None, 1, None, 1, None, 1, None),
            ("z", 2, "2024-01-01", 5, 6, 7, 8, "w", 9, 0.5, 2, 3),
        ],
        key=str,
    )
    selected = {
        "z IS NULL": [1], "z = 'z'": [2], "last <> 4": [2], "`b c` IS NULL AND p = 1": [1],
        "st.b IS NULL": [1], "st.b = 5": [2], "ar[0].w = 'w'": [2], "last <=> NULL": [1],
    }  # fmt: skip
    assert dict(zip(selected, filtered.found(spark, f"{db}.t", [*selected]), strict=True)) == selected
    assert rows(f"SELECT count(last), min(last), max(z) FROM {db}.t") == [(1, 3, "z")]


@FORMATS
def test_renamed_columns(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """A renamed column, nested or of the partitions, reads old and new files; another column may use its old
    name.
    """
    spark.sql(
        f"CREATE TABLE {db}.t (id int, s string, st struct<a:int,b:int>, p int) USING {file_format} PARTITIONED BY (p) "
        "TBLPROPERTIES ('sort-by'='s', 'partition-order'='p desc')"
    )
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'one', named_struct('a', 10, 'b', 11), 1)")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN s TO `the text`")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN st.a TO c")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN p TO q")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN s int")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN st.a int")
    spark.sql(
        f"INSERT INTO {db}.t (id, `the text`, st, q, s) VALUES (2, 'two', named_struct('c', 20, 'b', 21, 'a', 22), 2, 5)"
    )
    assert sorted(rows(f"SELECT id, `the text`, s, st.c, st.b, st.a, q FROM {db}.t")) == [
        (1, "one", None, 10, 11, None, 1), (2, "two", 5, 20, 21, 22, 2),
    ]  # fmt: skip
    selected = {
        "`the text` = 'one'": [1], "s = 5": [2], "s IS NULL": [1], "st.c = 10": [1], "st.a = 22": [2],
        "q = 1": [1], "q > 1 AND `the text` LIKE 't%'": [2], "`the text` > 'one'": [2],
    }  # fmt: skip
    assert dict(zip(selected, filtered.found(spark, f"{db}.t", [*selected]), strict=True)) == selected
    assert rows(f"SELECT min(`the text`), max(s), count(*) FROM {db}.t") == [("one", 5, 2)]
    assert rows(f"SHOW PARTITIONS {db}.t") == [("q=2",), ("q=1",)]
    assert rows(f"SHOW TBLPROPERTIES {db}.t") == [("partition-order", "q desc"), ("sort-by", "`the text`")]
    spark.sql(f"ALTER TABLE {db}.t DROP PARTITION (q = 1)")
    assert rows(f"SELECT id FROM {db}.t") == [(2,)]


WIDER = {
    "both": [
        ("tinyint", "-3", "int", -3), ("smallint", "300", "bigint", 300), ("int", "-5", "bigint", -5),
        ("float", "CAST(1.5 AS float)", "double", 1.5), ("decimal(5,2)", "1.25", "decimal(10,2)", Decimal("1.25")),
        ("varchar(3)", "'ab'", "varchar(9)", "ab"), ("varchar(3)", "'ab'", "string", "ab"),
        ("char(3)", "'abc'", "varchar(3)", "abc"), ("char(3)", "'abc'", "string", "abc"),
    ],
    "parquet": [
        ("int", "7", "double", 7.0), ("decimal(5,2)", "1.25", "decimal(10,4)", Decimal("1.2500")),
        ("int", "7", "decimal(12,2)", Decimal("7.00")),
    ],
}  # fmt: skip


@FORMATS
def test_widened_parts_of_arrays_and_maps(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """The elements of an array and the values of a map get wider types, and old files are read as these."""
    spark.sql(f"CREATE TABLE {db}.t (id int, a array<int>, m map<string, int>) USING {file_format}")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, array(1, NULL), map('x', 1))")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN a.element TYPE bigint")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN m.value TYPE bigint")
    spark.sql(f"INSERT INTO {db}.t VALUES (2, array(3000000000), map('x', 3000000000))")
    assert columns(rows, f"{db}.t") == {"id": "int", "a": "array<bigint>", "m": "map<string,bigint>"}
    assert rows(f"SELECT a, m['x'] FROM {db}.t ORDER BY id") == [
        ([1, None], 1),
        ([3_000_000_000], 3_000_000_000),
    ]
    assert rows(f"SELECT id FROM {db}.t WHERE array_contains(a, 1L)") == [(1,)]


@FORMATS
def test_widened_columns(spark: SparkSession, rows: Rows, db: str, file_format: str) -> None:
    """Each widening on offer reads old files as the new type, and filters by it without losing a row."""
    cases = WIDER["both"] + (WIDER["parquet"] if file_format == "parquet" else [])
    names = [f"c{i}" for i in range(len(cases))]
    spark.sql(
        f"CREATE TABLE {db}.t (id int, st struct<x:int>, {', '.join(f'{n} {c[0]}' for n, c in zip(names, cases, strict=True))}) "
        f"USING {file_format}"
    )
    spark.sql(f"INSERT INTO {db}.t SELECT 1, named_struct('x', 1), {', '.join(c[1] for c in cases)}")
    spark.sql(f"INSERT INTO {db}.t SELECT 2, {', '.join(['NULL'] * (len(names) + 1))}")
    for name, (_, _, wider, _) in zip(names, cases, strict=True):
        spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN {name} TYPE {wider}")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN st.x TYPE bigint")
    values = ["3000000000" if name == "c2" else "NULL" for name in names]
    spark.sql(f"INSERT INTO {db}.t SELECT 3, named_struct('x', 3000000000), {', '.join(values)}")
    assert columns(rows, f"{db}.t") == {
        "id": "int",
        "st": "struct<x:bigint>",
        **{n: c[2] for n, c in zip(names, cases, strict=True)},
    }
    assert rows(f"SELECT {', '.join(names)} FROM {db}.t WHERE id = 1") == [tuple(c[3] for c in cases)]
    conditions = [f"{n} = CAST({c[1]} AS {c[2]})" for n, c in zip(names, cases, strict=True)]
    conditions += [" AND ".join(conditions), "c2 < 3000000000", "st.x < 3000000000", "c2 >= 3000000000"]
    expected = [[1]] * (len(conditions) - 1) + [[3]]
    assert filtered.differences(conditions, filtered.found(spark, f"{db}.t", conditions), expected) == []
    assert rows(f"SELECT min(c2), max(c2) FROM {db}.t") == [(-5, 3000000000)]


def test_comments_and_places(spark: SparkSession, rows: Rows, db: str) -> None:
    """ALTER COLUMN comments a column and moves it; nothing else changes."""
    spark.sql(f"CREATE TABLE {db}.t (a int, b int, c int, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 2, 3, 4)")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN b COMMENT 'it\\'s \"b\"'")
    spark.sql(f"ALTER TABLE {db}.t CHANGE COLUMN c c bigint COMMENT 'c'")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN c FIRST")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN p AFTER c")
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN a DROP NOT NULL")
    assert rows(f"DESCRIBE {db}.t")[:4] == [
        ("c", "bigint", "c"), ("p", "int", None), ("a", "int", None), ("b", "int", 'it\'s "b"'),
    ]  # fmt: skip
    assert rows(f"SELECT * FROM {db}.t") == [(3, 4, 1, 2)]
    spark.sql(f"INSERT INTO {db}.t VALUES (30, 40, 10, 20)")
    assert rows(f"SELECT a, b, c, p FROM {db}.t WHERE p = 40") == [(10, 20, 30, 40)]
    spark.sql(f"DELETE FROM {db}.t WHERE p = 4")
    assert rows(f"SHOW PARTITIONS {db}.t") == [("p=40",)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("ALTER COLUMN id TYPE smallint", "(?i)id.*smallint"),
        ("ALTER COLUMN s TYPE int", "(?i)s.*int"),
        ("ALTER COLUMN de TYPE decimal(4,2)", "(?i)de.*decimal"),
        ("ALTER COLUMN id TYPE float", "(?i)id.*float"),
        ("ALTER COLUMN p TYPE bigint", "p is a partition column"),
        ("ALTER COLUMN id SET NOT NULL", "(?i)id"),
        ("DROP COLUMN p", "Column p is a partition column of table .* make another table with CREATE TABLE"),
        ("DROP COLUMN nope", "nope"),
        ("REPLACE COLUMNS (p int)", "is the last that is in the files"),
        ("REPLACE COLUMNS (id string)", "Column id is .* and cannot become string"),
        ("ADD COLUMN n int NOT NULL", "Column n cannot be NOT NULL"),
        ("ADD COLUMN st.n int DEFAULT 3", "Field st.n cannot have a DEFAULT"),
        ("ALTER COLUMN st.x SET DEFAULT 3", "Field st.x cannot have a DEFAULT|INVALID_DEFAULT_VALUE"),
        ("ADD COLUMN n int DEFAULT 'three'", "INVALID_DEFAULT_VALUE"),
        ("ADD COLUMN ID int", "already exists"),
        ("ADD COLUMN st.X int", "already exists"),
        ("ADD COLUMNS (n int, N int)", "(?i)already|differ in letter case"),
        ("ADD COLUMN nope.x int", "nope"),
        ("ADD COLUMN id.x int", "not a struct"),
        ("ADD COLUMN n int AFTER nope", "FIELD_NOT_FOUND"),
        ("ADD COLUMN n string COLLATE UTF8_LCASE", "column n has a collation"),
        ("ADD COLUMN n array<string COLLATE UTF8_LCASE>", "column n has a collation"),
        ("RENAME COLUMN nope TO x", "nope"),
        ("RENAME COLUMN id TO S", "already exists"),
        ("ALTER COLUMN nope COMMENT 'x'", "nope"),
        ("SET LOCATION '/x'", "is managed: its files are in .*`parquetry relocate FROM TO`"),
        ("SET TBLPROPERTIES ('a'='b', 'target-file-sise'='1mb')", "did you mean 'target-file-size'"),
        ("SET TBLPROPERTIES ('Target_File_Size'='1mb')", "did you mean 'target-file-size'"),
        ("SET TBLPROPERTIES ('a'='b', 'target-file-size'='0')", "'target-file-size' is '0': not a size"),
        ("SET TBLPROPERTIES ('partition-order'='p')", "'partition-order' cannot be changed after"),
        ("UNSET TBLPROPERTIES ('partition-order')", "'partition-order' cannot be changed after"),
        ("SET TBLPROPERTIES ('sort-by'='nope')", "'sort-by': Column 'nope' is not in the table"),
        ("SET TBLPROPERTIES ('sort-by'='m')", "column m is a map"),
    ],
)
def test_changes_that_are_refused(
    spark: SparkSession, rows: Rows, altered: str, change: str, says: str
) -> None:
    """A change that old files or keys do not allow is an error that names the column, and changes nothing."""
    before = rows(f"SHOW CREATE TABLE {altered}"), rows(f"SELECT * FROM {altered}")
    with pytest.raises(AnalysisException, match=says):
        spark.sql(f"ALTER TABLE {altered} {change}")
    assert (rows(f"SHOW CREATE TABLE {altered}"), rows(f"SELECT * FROM {altered}")) == before


@pytest.fixture(scope="module")
def altered(spark: SparkSession) -> str:
    """A table that nothing changes."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.refusals")
    spark.sql(
        "CREATE OR REPLACE TABLE lake.refusals.t (id int, s string, de decimal(5,2), st struct<x:int>, m map<int,int>, p int) "
        "PARTITIONED BY (p) TBLPROPERTIES ('partition-order'='p desc')"
    )
    spark.sql("INSERT INTO lake.refusals.t VALUES (1, 's', 1.5, named_struct('x', 1), map(1, 2), 3)")
    return "lake.refusals.t"


def test_properties(spark: SparkSession, rows: Rows, db: str) -> None:
    """Properties are set and unset, the user's own keep their values, and a comment belongs to the table."""
    spark.sql(f"CREATE TABLE {db}.t (a int) TBLPROPERTIES ('k'='1')")
    spark.sql(
        f"ALTER TABLE {db}.t SET TBLPROPERTIES ('k'='2', 'target-file-size'='1 GiB', 'my key'='it\\'s', 'sort-by'='A')"
    )
    spark.sql(f"COMMENT ON TABLE {db}.t IS 'it\\'s'")
    assert rows(f"SHOW TBLPROPERTIES {db}.t") == [
        ("k", "2"), ("my key", "it's"), ("sort-by", "A"), ("target-file-size", "1 GiB"),
    ]  # fmt: skip
    assert ("Comment", "it's", "") in rows(f"DESCRIBE EXTENDED {db}.t")
    spark.sql(f"ALTER TABLE {db}.t UNSET TBLPROPERTIES ('k', 'sort-by')")
    spark.sql(f"ALTER TABLE {db}.t UNSET TBLPROPERTIES IF EXISTS ('nope')")
    spark.sql(f"COMMENT ON TABLE {db}.t IS NULL")
    assert rows(f"SHOW TBLPROPERTIES {db}.t") == [("my key", "it's"), ("target-file-size", "1 GiB")]
    assert not [row for row in rows(f"DESCRIBE EXTENDED {db}.t") if row[0] == "Comment" and row[1]]


def test_a_table_that_is_not_there(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """ALTER, DESCRIBE, SHOW and INSERT of a table that is not there name it."""
    for statement in (
        "ALTER TABLE {} ADD COLUMN a int", "ALTER TABLE {} RENAME TO x", "DESCRIBE {}", "SHOW CREATE TABLE {}",
        "SHOW PARTITIONS {}", "SHOW TBLPROPERTIES {}", "SHOW COLUMNS IN {}", "TRUNCATE TABLE {}", "INSERT INTO {} VALUES (1)",
        "DELETE FROM {} WHERE a = 1", "SELECT * FROM {}", "MSCK REPAIR TABLE {}", "ALTER TABLE {} ADD PARTITION (p = 1)",
    ):  # fmt: skip
        with pytest.raises(AnalysisException, match="`nope`") as caught:
            spark.sql(statement.format(f"{db}.nope"))
        assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND", statement


def test_an_added_column_leaves_positional_inserts_as_in_sparks_own_tables(
    spark: SparkSession, db: str, rows: Rows
) -> None:
    """After ADD COLUMNS, Hive's INSERT … PARTITION and plain VALUES give each column its value, also in older
    versions.
    """
    spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.stock")
    try:
        for table in (f"{db}.t", "spark_catalog.stock.t"):
            spark.sql(
                f"CREATE TABLE {table} (id int, cust string, ds string) USING parquet PARTITIONED BY (ds)"
            )
            spark.sql(f"INSERT INTO {table} VALUES (0, 'b', '2025-12-31')")
            spark.sql(f"ALTER TABLE {table} ADD COLUMNS (note string, more int)")
            assert spark.table(table).columns == ["id", "cust", "note", "more", "ds"]
            spark.sql(f"INSERT INTO {table} PARTITION (ds) SELECT 1, 'c', 'a note', 7, '2026-01-01'")
            spark.sql(f"INSERT INTO {table} PARTITION (ds = '2026-01-02') SELECT 2, 'd', 'another', 8")
            spark.sql(f"INSERT INTO {table} VALUES (3, 'e', 'third', 9, '2026-01-03')")
            assert rows(f"SELECT * FROM {table} ORDER BY id") == [
                (0, "b", None, None, "2025-12-31"),
                (1, "c", "a note", 7, "2026-01-01"),
                (2, "d", "another", 8, "2026-01-02"),
                (3, "e", "third", 9, "2026-01-03"),
            ]
            assert [name for (name,) in rows(f"SHOW PARTITIONS {table}")] == [
                "ds=2025-12-31", "ds=2026-01-01", "ds=2026-01-02", "ds=2026-01-03",
            ]  # fmt: skip
    finally:
        spark.sql("DROP DATABASE spark_catalog.stock CASCADE")
    assert spark.sql(f"SELECT * FROM {db}.t VERSION AS OF 1").columns == ["id", "cust", "ds"]
    assert rows(f"SELECT * FROM {db}.t VERSION AS OF 1") == [(0, "b", "2025-12-31")]
    for refused in ("ADD COLUMN n int AFTER ds", "ALTER COLUMN id AFTER ds"):
        with pytest.raises(AnalysisException, match=r"PARQUETRY_UNSUPPORTED.*stay there"):
            spark.sql(f"ALTER TABLE {db}.t {refused}")
    assert spark.table(f"{db}.t").columns == ["id", "cust", "note", "more", "ds"]
