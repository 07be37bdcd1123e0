"""Each reader without Spark gives the rows that Spark reads, or refuses with a reason."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.catalog import Catalog
from parquetry.errors import ConfigurationError
from parquetry.iceberg import IcebergCatalog
from parquetry.metastore import Metastore
from tests.support.effort import portion
from tests.support.readers.comparison import Comparison, table_readers
from tests.support.readers.table_readers import READERS
from tests.support.readers.values import comparable
from tests.support.tables.bucketed_tables import settings

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.every_case

_ALL = (
    "flag BOOLEAN, tiny TINYINT, small SMALLINT, whole INT, large BIGINT, single FLOAT, real DOUBLE, short DECIMAL(9,2), "
    "long DECIMAL(30,5), word STRING, limited VARCHAR(5), padded CHAR(4), raw BINARY, day DATE, moment TIMESTAMP, "
    "clock TIMESTAMP_NTZ, list ARRAY<STRUCT<a: INT, b: CHAR(3)>>, pairs MAP<STRING, DECIMAL(5,1)>, "
    "inner STRUCT<x: INT, y: STRUCT<z: STRING>>"
)
_VALUES = (
    "(true, 1, 2, 3, 4, FLOAT(1.5), DOUBLE('NaN'), 1.25, -1234567890123456789012345.12345, 'é', 'abc', 'ab', X'00FF', DATE'2024-02-29', "
    "TIMESTAMP'2024-02-29 12:34:56.789012', TIMESTAMP_NTZ'1969-12-31 23:59:59.999999', "
    "array(named_struct('a', 1, 'b', 'x'), NULL), map('k', 1.5, 'n', NULL), named_struct('x', 1, 'y', named_struct('z', 'q'))), "
    "(false, -128, -32768, -2147483648, -9223372036854775808, FLOAT('Infinity'), DOUBLE('-0.0'), -9999999.99, 0, '', '', '', X'', "
    "DATE'1990-01-01', TIMESTAMP'1970-01-01 00:00:00', TIMESTAMP_NTZ'2999-12-31 23:59:59', CAST(array() AS ARRAY<STRUCT<a: INT, b: STRING>>), CAST(map() AS MAP<STRING, DECIMAL(2,1)>), "
    "named_struct('x', CAST(NULL AS INT), 'y', CAST(NULL AS STRUCT<z: STRING>))), "
    "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
)
_COMMON = _ALL.replace("padded CHAR(4)", "padded VARCHAR(4)").replace("b: CHAR(3)", "b: STRING")
_IN_ORC = _VALUES.replace("2999-12-31", "2199-12-31")  # PyArrow reads ORC's times in nanoseconds
_EVOLVED = [
    "CREATE TABLE {t} (a INT, b STRING, c FLOAT, d DECIMAL(5,2), s STRUCT<x: INT, y: INT>, gone INT, k CHAR(2)) USING {f}",
    "INSERT INTO {t} VALUES (1, 'x', 1.5, 1.25, named_struct('x', 1, 'y', 2), 7, 'k'), (NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "ALTER TABLE {t} RENAME COLUMN b TO renamed",
    "ALTER TABLE {t} DROP COLUMN gone",
    "ALTER TABLE {t} ADD COLUMNS (gone STRING, b INT DEFAULT 5, t STRING DEFAULT 'é''x', dd DATE DEFAULT DATE'2020-01-01', dn DECIMAL(9,3) DEFAULT 1.5)",
    "ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT",
    "ALTER TABLE {t} ALTER COLUMN c TYPE DOUBLE",
    "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12,4)",
    "ALTER TABLE {t} RENAME COLUMN s.x TO xx",
    "ALTER TABLE {t} ADD COLUMN s.z STRING",
    "INSERT INTO {t} (a, renamed, c, d, s, k, gone) VALUES (4294967296, 'new', 1e300D, 12345.6789, named_struct('xx', 1, 'y', 2, 'z', 'zz'), 'kk', 'back')",
]
_PARTITIONED = [
    "CREATE TABLE {t} (id INT, s STRING, d DATE, m TIMESTAMP, n TIMESTAMP_NTZ, flag BOOLEAN, amount DECIMAL(7,2), real DOUBLE, "
    "raw BINARY, c CHAR(3), tiny TINYINT) USING {f} PARTITIONED BY (s, d, m, n, flag, amount, real, raw, c, tiny)",
    "INSERT INTO {t} VALUES (1, 'a/b=c %é', DATE'2024-02-29', TIMESTAMP'2024-02-29 12:34:56.789012', TIMESTAMP_NTZ'1990-01-01 00:00:00', "
    "true, -1.5, 1e10D, X'6162', 'x', -1), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
    "(3, '1', DATE'1990-01-01', TIMESTAMP'1970-01-01 00:00:00', TIMESTAMP_NTZ'2200-01-01 01:00:00', false, 0, DOUBLE('NaN'), X'', 'xyz', 127)",
    "ALTER TABLE {t} RENAME COLUMN s TO renamed",
]
TABLES: dict[str, list[str]] = {
    "types": [f"CREATE TABLE {{t}} ({_ALL}) USING parquet", f"INSERT INTO {{t}} VALUES {_VALUES}"],
    "types_of_formats": [
        f"CREATE TABLE {{t}} ({_COMMON}) USING parquet",
        f"INSERT INTO {{t}} VALUES {_VALUES}",
    ],
    "types_in_orc": [f"CREATE TABLE {{t}} ({_ALL}) USING orc", f"INSERT INTO {{t}} VALUES {_IN_ORC}"],
    "evolved": [each.replace("{f}", "parquet") for each in _EVOLVED],
    "evolved_in_orc": [
        each.replace("{f}", "orc")
        for each in _EVOLVED
        if "TYPE" not in each and "s." not in each and "4294967296" not in each
    ],
    "partitioned": [each.replace("{f}", "parquet") for each in _PARTITIONED],
    "partitioned_orc": [each.replace("{f}", "orc") for each in _PARTITIONED],
    "partition_first": [
        "CREATE TABLE {t} (p INT, id INT, v STRING) USING parquet PARTITIONED BY (p)",
        "INSERT INTO {t} VALUES (1, 2, 'x'), (2, 3, 'y'), (NULL, 4, 'z')",
    ],
    "bucketed": [
        "CREATE TABLE {t} (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS",
        "INSERT INTO {t} SELECT id, concat('v', id), id % 2 FROM range(100)",
    ],
    "directories": [
        "CREATE TABLE {t} (id INT, country STRING) USING parquet SKEWED BY (country) ON ('de', 'fr') STORED AS DIRECTORIES "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
        "INSERT INTO {t} SELECT id, CASE WHEN id < 50 THEN 'de' WHEN id < 80 THEN 'fr' WHEN id < 90 THEN NULL ELSE concat('c', id) END FROM range(100)",
    ],
    "expression_default": [
        "CREATE TABLE {t} (id INT) USING parquet",
        "INSERT INTO {t} VALUES (1)",
        "ALTER TABLE {t} ADD COLUMN l ARRAY<INT> DEFAULT array(1, 2)",
    ],
    "lacking_struct": [
        "CREATE TABLE {t} (id INT, s STRUCT<a: INT>) USING parquet",
        "INSERT INTO {t} VALUES (1, named_struct('a', 1)), (2, NULL)",
        "ALTER TABLE {t} ADD COLUMN s.b INT",
        "ALTER TABLE {t} DROP COLUMN s.a",
    ],
    "intervals": [
        "CREATE TABLE {t} (id INT, i INTERVAL DAY TO SECOND, p INTERVAL DAY TO SECOND) USING parquet PARTITIONED BY (p)",
        "INSERT INTO {t} VALUES (1, INTERVAL '1 02:03:04.000005' DAY TO SECOND, INTERVAL '-1 00:00:00' DAY TO SECOND), (2, NULL, NULL)",
    ],
    "months": [
        "CREATE TABLE {t} (id INT, y INTERVAL YEAR TO MONTH) USING parquet",
        "INSERT INTO {t} VALUES (1, INTERVAL '1-2' YEAR TO MONTH)",
    ],
    "empty": ["CREATE TABLE {t} (id INT, s STRING) USING parquet"],
}
WRITTEN_WITH: dict[str, dict[str, str]] = {
    "int96": {"spark.sql.parquet.outputTimestampType": "INT96"},
    "millis": {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"},
    "legacy_lists": {"spark.sql.parquet.writeLegacyFormat": "true"},
    "julian": {
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    },
}
"""Tables like `types`, written with other settings."""
_SCANS = {name for name in READERS if name.startswith("scan ")}
_BY_FORMATS = {name for name in READERS if name not in _SCANS}
_DATASET_AND_FORMATS = {"scan dataset", *_BY_FORMATS}
REFUSED: dict[str, set[str]] = {
    **dict.fromkeys(("types", *WRITTEN_WITH), _DATASET_AND_FORMATS),  # a CHAR is padded
    **dict.fromkeys(("types_in_orc", "evolved_in_orc", "partitioned_orc"), _DATASET_AND_FORMATS),
    **dict.fromkeys(("evolved", "partitioned", "foreign"), _DATASET_AND_FORMATS),  # other names, types
    "intervals": _DATASET_AND_FORMATS,  # numbers in the files
    "types_of_formats": {
        "iceberg pyiceberg",
        "iceberg polars",
    },  # PyIceberg reads NULL as an empty list of structs
    "partition_first": {"iceberg pyiceberg", "iceberg polars"},  # which take no NULL of a partition
    "lacking_struct": _SCANS,
    **{key: set(READERS) for key in ("expression_default", "months", "old_days", "old_days_in_orc")},
}
"""The readers that refuse a table. All others give Spark's rows."""


@pytest.fixture(scope="module")
def database(spark: SparkSession) -> Iterator[str]:
    """A database with all tables."""
    name = "lake.without_spark"
    spark.catalog.setCurrentCatalog("spark_catalog")
    spark.sql(f"CREATE NAMESPACE {name}")
    for table, statements in TABLES.items():
        for statement in statements:
            spark.sql(statement.replace("{t}", f"{name}.{table}"))
    for table, changed in WRITTEN_WITH.items():
        with settings(spark, changed):
            for statement in TABLES["types"]:
                spark.sql(statement.replace("{t}", f"{name}.{table}"))
    with settings(spark, WRITTEN_WITH["julian"]):
        spark.sql(f"CREATE TABLE {name}.old_days (id INT, d DATE, t TIMESTAMP) USING parquet")
        spark.sql(f"INSERT INTO {name}.old_days VALUES (1, DATE'1500-01-01', TIMESTAMP'1500-01-01 00:00:00')")
    spark.sql(
        f"CREATE TABLE {name}.old_days_now (id INT, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ) USING parquet"
    )
    spark.sql(
        f"INSERT INTO {name}.old_days_now VALUES (1, DATE'0001-01-01', TIMESTAMP'1500-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00')"
    )
    spark.sql(f"CREATE TABLE {name}.old_days_in_orc (id INT, d DATE) USING orc")
    spark.sql(f"INSERT INTO {name}.old_days_in_orc VALUES (1, DATE'1500-01-01')")
    yield name
    spark.sql(f"DROP NAMESPACE {name} CASCADE")


@pytest.fixture(scope="module")
def foreign(spark: SparkSession, database: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of files that PyArrow has written, in several ways."""
    folder = tmp_path_factory.mktemp("foreign") / "t"
    folder.mkdir()
    times = [dt.datetime(2024, 1, 1, 1, 2, 3, 4000), None, dt.datetime(1969, 12, 31)]
    base = {
        "id": pa.array([1, 2, None], pa.int32()),
        "Word": pa.array(["a", None, "é"]),
        "day": pa.array([dt.date(2024, 1, 1), None, dt.date(1950, 1, 1)]),
        "moment": pa.array(times, pa.timestamp("ms", "UTC")),
        "amount": pa.array([1, None, 3])
        .cast(pa.decimal128(19, 0))
        .cast(pa.decimal128(21, 2))
        .cast(pa.decimal128(9, 2)),
        "raw": pa.array([b"x", None, b""]),
    }
    pq.write_table(pa.table(base), folder / "plain.parquet")
    coded = base | {"Word": base["Word"].dictionary_encode(), "raw": base["raw"].cast(pa.large_binary())}
    pq.write_table(pa.table(coded), folder / "coded.parquet")
    odd = base | {
        "id": pa.array([1, None, 65535], pa.uint16()),
        "moment": base["moment"].cast(pa.timestamp("us")),
    }
    pq.write_table(
        pa.table(odd),
        folder / "odd.parquet",
        use_deprecated_int96_timestamps=True,
        store_decimal_as_integer=True,
    )
    lower = {name.lower(): column for name, column in base.items()}
    pq.write_table(pa.table(lower), folder / "lower.parquet", row_group_size=1, compression="zstd")
    pq.write_table(pa.table({"id": pa.array([9], pa.int8()), "extra": [1]}), folder / "lacking.parquet")
    table = f"{database}.foreign"
    spark.sql(
        f"CREATE TABLE {table} (id INT, word STRING, day DATE, moment TIMESTAMP, amount DECIMAL(9,2), raw BINARY) "
        f"USING parquet LOCATION '{folder}'"
    )
    spark.sql(f"MSCK REPAIR TABLE {table}")
    return table


@pytest.fixture(scope="module")
def catalog(warehouse: Path) -> Iterator[Catalog]:
    """The catalog without Spark."""
    with parquetry.open(warehouse / "lake") as opened:
        yield opened


def test_each_reader_gives_sparks_rows_or_refuses(
    spark: SparkSession, database: str, foreign: str, catalog: Catalog, store: Metastore
) -> None:
    """Every reader has Spark's rows of every table, or refuses it with a reason and a remedy."""
    comparison = Comparison()
    with table_readers(catalog, IcebergCatalog(store)) as readers:
        for name in store.tables("without_spark"):
            rows = None if name == "months" else spark.table(f"{database}.{name}").toArrow()
            readers.compare(store.table("without_spark", name), rows, comparison)
    assert comparison.wrong == {}
    assert {name: set(reasons) for name, reasons in comparison.refused.items()} == REFUSED


CONDITIONS: dict[str, list[str]] = {
    "types": [
        "tiny < 1 OR padded = 'ab'", "padded = 'ab  '", "padded < 'b'", "real = 'NaN'", "real > 1e300", "NOT (real > 1)", "real = 0.0",
        "single >= 1.5", "short = 1.25", "long < 0", "word LIKE '%é'", "raw = X'00FF'", "raw <= X'00'", "flag", "NOT flag", "flag IS NULL",
        "day > DATE '2000-01-01'", "moment = TIMESTAMP '2024-02-29 12:34:56.789012'", "clock < TIMESTAMP_NTZ '1970-01-01 00:00:00'",
        "large NOT IN (4, 5)", "large IN (4, NULL)", "whole <=> NULL", "limited IN ('abc', '')",
        "list IS NULL", "inner IS NOT NULL AND tiny IS NOT NULL", "whole BETWEEN -2147483648 AND 0",
    ],
    "partitioned": [
        "renamed = 'a/b=c %é'", "renamed IS NULL", "d >= DATE '2000-01-01'", "real = 'NaN'", "c = 'x'", "flag OR id = 2", "amount <= 0 AND id > 1",
        "m = TIMESTAMP '1970-01-01 00:00:00'", "tiny <> -1",
    ],
    "evolved": ["b = 5", "t = 'é''x' AND a = 1", "gone IS NULL", "c > 1e10", "d = 1.25", "dd < DATE '2020-01-02'", "renamed IS NULL", "k = 'k'"],
    "directories": ["country = 'de'", "country IN ('fr', 'c95')", "country IS NULL", "country > 'de' AND id < 60"],
    "bucketed": ["id = 17", "id IN (3, 99, 1000)", "p = 1 AND id < 10"],
    "foreign": ["id = 1", "word = 'é'", "amount > 1.5", "day IS NULL", "moment >= TIMESTAMP '2000-01-01 00:00:00'", "raw = X''"],
}  # fmt: skip


def test_conditions_have_sparks_rows(
    spark: SparkSession, foreign: str, database: str, catalog: Catalog
) -> None:
    """Every condition has the rows, and the count, that Spark finds by it."""
    wrong = []
    for table, conditions in CONDITIONS.items():
        counted = ", ".join(f"count_if({condition})" for condition in conditions)
        expected = spark.sql(f"SELECT {counted} FROM {database}.{table}").collect()[0]
        for condition, number in zip(conditions, expected, strict=True):
            scan = catalog.scan(f"without_spark.{table}", condition, time_zone="UTC")
            if (scan.to_arrow().num_rows, scan.count()) != (number, number):
                wrong.append((table, condition, scan.to_arrow().num_rows, scan.count(), number))
    assert wrong == []


def test_orc_times_are_of_the_javas_zone(spark: SparkSession, database: str, catalog: Catalog) -> None:
    """Java processes of another zone write other local times. Their zone gives Spark's instants."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    table = f"{database}.times_in_new_york"
    try:
        zones.setDefault(zones.getTimeZone("America/New_York"))
        spark.sql(f"CREATE TABLE {table} (t TIMESTAMP, n TIMESTAMP_NTZ) USING orc")
        spark.sql(
            f"INSERT INTO {table} VALUES (TIMESTAMP'2024-07-01 12:00:00.123456', TIMESTAMP_NTZ'2024-07-01 12:00:00'), "
            "(TIMESTAMP'1950-01-01 00:00:00', TIMESTAMP_NTZ'1950-01-01 00:00:00.5'), (NULL, NULL)"
        )
        expected = comparable(spark.table(table).toArrow().to_pylist())
    finally:
        zones.setDefault(before)
    scan = catalog.scan("without_spark.times_in_new_york", time_zone="America/New_York")
    given = comparable(scan.to_arrow().to_pylist())
    spark.sql(f"DROP TABLE {table}")
    assert given == expected


_PROGRAM = """
import sys
from pyspark.sql import SparkSession
import parquetry
from tests.support.readers.values import comparable

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.sparkContext.setLogLevel("OFF")
parquetry.register_data_source(spark)

def source(table, **options):
    reader = spark.read.format("parquetry").option("warehouse", sys.argv[1]).options(**options)
    return reader.option("table", f"without_spark.{table}").load()

def show(name, value):
    print("=", name, value)

for table in ("types", "evolved", "partitioned", "directories"):
    show(table, comparable(source(table).toArrow().to_pylist()))
frame = source("bucketed", columns="v, id", where="p = 1")
show("columns", frame.columns)
show("pushed", sorted(row.id for row in frame.where("id < 10").collect()))
show("liked", frame.where("v LIKE 'v1%' AND id IN (11, 13, 20)").count())
show("version", source("bucketed", version="0").count())
show("limit", source("bucketed", limit="7").count())
types = source("types")
for condition in sys.argv[2:]:
    show(condition, types.where(condition).count())
try:
    source("types", tabel="x")
except Exception as error:
    show("option", "The option 'tabel' is unknown" in str(error))
"""
_PUSHED = (
    "padded = 'ab  '",
    "real > 1",
    "NOT (real > 1)",
    "day = DATE'2024-02-29'",
    "moment < TIMESTAMP'2000-01-01'",
    "raw = X'00FF'",
    "NOT flag",
    "short <=> 1.25",
    "word IS NULL",
)


def test_a_session_without_the_jar_reads_by_the_python_source(
    spark: SparkSession, database: str, warehouse: Path
) -> None:
    """The Python source has the catalog's rows. Columns and versions are options, filters are pushed."""
    with pytest.raises(ConfigurationError, match="This session has Parquetry's jar"):
        parquetry.register_data_source(spark)
    expected = {
        table: str(comparable(spark.table(f"{database}.{table}").toArrow().to_pylist()))
        for table in ("types", "evolved", "partitioned", "directories")
    }
    pushed = portion(_PUSHED, 3, "pushed")
    expected |= {
        condition: str(spark.table(f"{database}.types").where(condition).count()) for condition in pushed
    }
    expected |= {
        "columns": "['v', 'id']",
        "pushed": "[1, 3, 5, 7, 9]",
        "liked": "2",
        "version": "0",
        "limit": "7",
        "option": "True",
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(warehouse / "lake"), *pushed],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "PYSPARK_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line[2:] for line in done.stdout.splitlines() if line.startswith("= ")]
    assert sorted(lines) == sorted(f"{name} {value}" for name, value in expected.items())
