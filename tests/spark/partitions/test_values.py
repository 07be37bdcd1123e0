"""A partition's values, of any type, become Hive's directories and come back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.tables import filtered

# type → SQL literals of distinct values; NULL is added to each
TYPES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "0Y", "127Y"],
    "smallint": ["-32768S", "7S"],
    "int": ["-2147483648", "0", "2147483647"],
    "bigint": ["-9223372036854775808L", "9223372036854775807L"],
    "float": ["1.5F", "float('-3.4028235E38')", "float('1.4E-45')", "0.1F", "float('NaN')", "float('Infinity')", "float('-Infinity')"],
    "double": ["1e10D", "1.0E-300D", "0.1D", "123456789.125D", "double('NaN')", "double('Infinity')", "double('-Infinity')"],
    "decimal(10,2)": ["1.5BD", "-99999999.99BD", "0BD"],
    "decimal(38,10)": ["1234567890123456789012345678.0123456789BD", "-0.0000000001BD"],
    "string": [
        "'plain'", "'a b'", "'a/b'", "'a=b'", "'50%'", "'%2F'", "'x:y'", "'q?'", "'#1'", "'\\'\"'", "'{[^]}'", "'~!@$&()+,;|<>`'",
        "'tab\\there'", "'line\\nbreak'", "'é'", "'日本語'", "'😀'", "'.'", "'..'", "' lead'", "'trail '", "'NULL'", "'null'",
        "'007'", "'1.0'", "'a*b'", "'back\\\\slash'",
    ],
    "varchar(5)": ["'abc'", "'a  '", "'é/=%'"],
    "char(5)": ["'abc'", "'x'"],
    "binary": ["X'41'", "CAST('é/=%' AS BINARY)", "X'20'"],
    "date": ["DATE'2024-02-29'", "DATE'0001-01-01'", "DATE'1582-10-15'", "DATE'1969-12-31'", "DATE'9999-12-31'", "DATE'+12345-06-07'", "DATE'-0044-03-15'"],
    "timestamp": [
        "TIMESTAMP'2024-02-29 12:34:56.5'", "TIMESTAMP'1969-12-31 23:59:59.999999'", "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'9999-12-31 23:59:59.999999'", "timestamp_micros(1761438600000000)", "timestamp_micros(1761442200000000)",
    ],
    "timestamp_ntz": [
        "TIMESTAMP_NTZ'2024-02-29 12:34:56.000001'", "TIMESTAMP_NTZ'0001-01-01 00:00:00'", "TIMESTAMP_NTZ'2025-03-30 02:30:00'",
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    ],
}  # fmt: skip


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[None]:
    """A session in a zone where two instants can bear one name."""
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def opened(spark: SparkSession) -> parquetry.Catalog:
    """Open the catalog `lake` past Spark."""
    return parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse"))


def directories(folder: Path) -> list[str]:
    """Return the names of a table's partitions' directories."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*=*") if path.is_dir())


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
@pytest.mark.parametrize("type_", TYPES)
def test_every_type_partitions(spark: SparkSession, db: str, berlin: None, type_: str, fmt: str) -> None:
    """Each value is a partition of one row, is read back to the bit, and is found by equality; so is NULL."""
    literals = TYPES[type_]
    name = f"{db}.t"
    spark.sql(f"CREATE TABLE {name} (i INT, p {type_}) USING {fmt} PARTITIONED BY (p)")
    values = ", ".join(f"({i}, {literal})" for i, literal in enumerate([*literals, "NULL"]))
    spark.sql(f"INSERT INTO {name} SELECT i, CAST(p AS {type_}) FROM VALUES {values} AS v (i, p)")
    with opened(spark) as catalog:
        numbers = [file.rows for file in catalog.files(name.removeprefix("lake."))]
    assert numbers == [1] * (len(literals) + 1)
    typed = ", ".join(f"({i}, CAST({literal} AS {type_}))" for i, literal in enumerate([*literals, "NULL"]))
    # what goes wrong between JVM and Python (years beyond 9999) is compared in the JVM
    wrong = spark.sql(
        f"SELECT i, string(p), string(q) FROM (SELECT i, p AS q FROM VALUES {typed} AS v (i, p)) LEFT JOIN {name} USING (i) "
        f"WHERE NOT (p <=> {padded(type_)})"
    ).collect()
    assert wrong == []
    conditions = [*(f"p = CAST({literal} AS {type_})" for literal in literals), "p IS NULL"]
    assert filtered.found(spark, name, conditions, "i") == [[i] for i in range(len(conditions))]


def padded(type_: str) -> str:
    """Return the column `q` as a table keeps it."""
    return f"rpad(q, {type_[5:-1]}, ' ')" if type_.startswith("char") else "q"


@pytest.mark.parametrize("type_", TYPES)
def test_directories_are_spark_s(spark: SparkSession, db: str, tmp_path: Path, type_: str) -> None:
    """Each type's directories have the names that Spark's own partitionBy gives them; `spark.read` returns
    the same rows.
    """
    values = ", ".join(f"({i}, {literal})" for i, literal in enumerate([*TYPES[type_], "NULL"]))
    frame = spark.sql(f"SELECT i, CAST(p AS {type_}) AS p FROM VALUES {values} AS v (i, p)")
    spark.sql(f"CREATE TABLE {db}.d (i INT, p {type_}) PARTITIONED BY (p) LOCATION '{tmp_path}/ours'")
    frame.writeTo(f"{db}.d").append()
    written = spark.table(f"{db}.d") if type_.startswith("char") else frame
    written.write.partitionBy("p").parquet(f"{tmp_path}/own")
    assert directories(tmp_path / "ours") == directories(tmp_path / "own")
    ours, own = (spark.read.parquet(f"{tmp_path}/{who}") for who in ("ours", "own"))
    assert ours.schema == own.schema
    # as text: Python has no years beyond 9999
    ours_as_text, own_as_text = (sorted(each.selectExpr("i", "string(p)").collect()) for each in (ours, own))
    assert ours_as_text == own_as_text


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_odd_names(spark: SparkSession, db: str, tmp_path: Path, fmt: str) -> None:
    """Any reader and writer handles columns whose names have blanks, dots, backticks, signs and letters of
    any script.
    """
    names = ["a b", "a.b", "a`b", "Ünï", "k=v", "x/y", "UPPER", "50%", "日付"]
    quoted = ["`" + name.replace("`", "``") + "`" for name in names]
    columns = ", ".join(f"{name} STRING" for name in quoted)
    table = f"{db}.`odd name.x`"
    spark.sql(
        f"CREATE TABLE {table} (`i.i` INT, {columns}) USING {fmt} PARTITIONED BY ({', '.join(quoted)}) LOCATION '{tmp_path}/odd'"
    )
    frame = spark.createDataFrame([(1, *names), (2, *[None] * len(names))], ["i.i", *names])
    frame.selectExpr("cast(`i.i` AS INT) AS `i.i`", *quoted).writeTo(table).append()
    expected = sorted(map(str, frame.collect()))
    assert sorted(map(str, spark.table(table).collect())) == expected
    frame.write.partitionBy(*names).format(fmt).save(f"{tmp_path}/own")
    assert directories(tmp_path / "odd") == directories(tmp_path / "own")
    plain = spark.read.format(fmt).load(f"{tmp_path}/odd")
    assert sorted(map(str, plain.collect())) == expected
