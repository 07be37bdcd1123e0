"""Iceberg's client on Spark, without our jar, reads the rows of served tables, or gets a reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from parquetry.iceberg import IcebergCatalog
from parquetry.metastore import Metastore
from tests.support.clients.iceberg import served
from tests.support.effort import alternating
from tests.support.other_sparks.session import OtherSpark, OtherSparkError, iceberg_catalog, iceberg_on_spark
from tests.support.readers.cases import CASES, ReaderCase
from tests.support.readers.python_tables import PythonLake
from tests.support.readers.values import comparable

_NUMBERS = itertools.count()
SERIES = ("3.5", "4.1")


@pytest.fixture(scope="module", params=SERIES)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherSpark]:
    """A session of a series of Spark with Iceberg's runtime."""
    with iceberg_on_spark(request.param, tmp_path_factory.mktemp("other")) as running:
        yield running


def attach(session: OtherSpark, address: str) -> str:
    """Add a served catalog to a session, and return its name."""
    name = f"served_{next(_NUMBERS)}"
    session.configure(iceberg_catalog(name, address))
    return name


def difference(session: OtherSpark, catalog: str, case: ReaderCase, *, is_filtered: bool) -> str | None:
    """Return what a session reads otherwise than it should, or None."""
    try:
        given = comparable(session.rows(f"SELECT * FROM {catalog}.default.t").to_pylist())
    except OtherSparkError as error:
        return None if case.refusal is not None and case.refusal in str(error) else str(error)
    if case.refusal is not None or given != comparable(case.rows):
        return str(given)
    if is_filtered and case.filter is not None:
        where, numbers = case.filter
        rows = session.rows(f"SELECT * FROM {catalog}.default.t WHERE {where}").to_pylist()
        if comparable(rows) != comparable([case.rows[number] for number in numbers]):
            return f"{where}: {rows}"
    return None


@pytest.mark.parametrize("planning", ["server", "client"])
def test_each_table_is_read_or_refused(session: OtherSpark, tmp_path: Path, planning: str) -> None:
    """It reads the rows that our Spark reads, also under a filter; a refusal has the server's words."""
    wrong = {}
    filtered = alternating(
        [name for name, case in CASES.items() if case.filter is not None], second=planning == "client"
    )
    for number, (name, case) in enumerate(CASES.items()):
        lake = PythonLake(tmp_path / str(number))
        case.make(lake)
        with served(IcebergCatalog(lake.metastore, planning, files_per_page=1)) as address:
            wrong[name] = difference(session, attach(session, address), case, is_filtered=name in filtered)
    assert {name: text for name, text in wrong.items() if text is not None} == {}


TABLES = {
    "directories": [
        "CREATE TABLE {t} (id INT, country STRING) USING parquet SKEWED BY (country) ON ('de', 'fr') STORED AS DIRECTORIES "
        "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
        "INSERT INTO {t} SELECT id, CASE WHEN id < 50 THEN 'de' WHEN id < 80 THEN 'fr' WHEN id < 90 THEN NULL ELSE concat('c', id) END FROM range(100)",
        "DELETE FROM {t} WHERE country = 'fr' AND id % 2 = 0",
        "UPDATE {t} SET country = 'x' WHERE id = 7",
    ],
    "bucketed": [
        "CREATE TABLE {t} (id INT, v STRING, p INT) USING parquet PARTITIONED BY (p) CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS",
        "INSERT INTO {t} SELECT id, concat('v', id), id % 2 FROM range(100)",
        "INSERT OVERWRITE {t} PARTITION (p = 1) SELECT id, 'new' FROM range(3)",
        "ALTER TABLE {t} RENAME COLUMN v TO word",
        "INSERT INTO {t} VALUES (1000, NULL, NULL)",
    ],
    "evolved": [
        "CREATE TABLE {t} (a INT, b STRING, s STRUCT<x: INT, y: ARRAY<STRUCT<z: STRING>>>, m MAP<STRING, INT>) USING parquet",
        "INSERT INTO {t} VALUES (1, 'x', named_struct('x', 1, 'y', array(named_struct('z', 'q'))), map('k', 1)), (NULL, NULL, NULL, NULL)",
        "ALTER TABLE {t} DROP COLUMN b",
        "ALTER TABLE {t} RENAME COLUMN s.x TO xx",
        "ALTER TABLE {t} ADD COLUMNS (b INT AFTER a, s.w DATE)",
        "ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT",
        "INSERT INTO {t} (a, b) VALUES (4294967296, 5)",
    ],
}  # fmt: skip


def test_every_version_of_tables_of_spark(
    session: OtherSpark, spark: SparkSession, db: str, store: Metastore
) -> None:
    """Directories, buckets, changed rows and evolved columns: each version has the rows of our Spark."""
    database = db.partition(".")[2]
    wrong = {}
    with served(IcebergCatalog(store)) as address:
        catalog = attach(session, address)
        for table, statements in TABLES.items():
            for statement in statements:
                spark.sql(statement.replace("{t}", f"{db}.{table}"))
        for table in TABLES:
            for version in range(1, store.table(database, table).version + 1):
                ours = spark.sql(f"SELECT * FROM {db}.{table} VERSION AS OF {version}").toArrow()
                theirs = session.rows(f"SELECT * FROM {catalog}.{database}.{table} VERSION AS OF {version}")
                if comparable(theirs.to_pylist()) != comparable(ours.to_pylist()):
                    wrong[table, version] = theirs.to_pylist()
        counts = {
            "country = 'de' AND id < 10": "directories",
            "country IS NULL": "directories",
            "id = 17": "bucketed",
            "p IS NULL OR word = 'new'": "bucketed",
            "a > 1 AND b = 5": "evolved",
        }
        for where, table in counts.items():
            theirs = session.rows(f"SELECT count(*) AS n FROM {catalog}.{database}.{table} WHERE {where}")
            if theirs["n"].to_pylist() != [spark.table(f"{db}.{table}").where(where).count()]:
                wrong[where] = theirs.to_pylist()
    assert wrong == {}


@pytest.mark.needs("views")
def test_views(session: OtherSpark, spark: SparkSession, db: str, store: Metastore) -> None:
    """A view has our Spark's rows there, also with renamed columns and with names of three parts."""
    database = db.partition(".")[2]
    spark.sql(f"CREATE TABLE {db}.t AS SELECT id, concat('s', id) AS s FROM range(5)")
    spark.sql(f"CREATE VIEW {db}.full AS SELECT * FROM {db}.t WHERE id > 1")
    spark.sql(f"USE {db}")
    spark.sql("CREATE VIEW bare (number COMMENT 'few', word) AS SELECT id, upper(s) AS s FROM t WHERE id < 3")
    spark.catalog.setCurrentCatalog("spark_catalog")
    with served(IcebergCatalog(store, name="lake")) as address:
        catalog = attach(session, address)
        for view in ("full", "bare"):
            theirs = session.rows(f"SELECT * FROM {catalog}.{database}.{view}")
            assert comparable(theirs.to_pylist()) == comparable(
                spark.table(f"{db}.{view}").toArrow().to_pylist()
            )


def test_nothing_is_written(session: OtherSpark, tmp_path: Path) -> None:
    """INSERT, ALTER and DROP are refused; the table stays as it was, and a sync adopts no file."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"a": "long"})
    lake.write("t", "a.parquet", [{"a": 1}])
    before = lake.table("t").version
    with served(IcebergCatalog(lake.metastore)) as address:
        table = f"{attach(session, address)}.default.t"
        for statement in (
            f"INSERT INTO {table} VALUES (2)",
            f"ALTER TABLE {table} ADD COLUMN b INT",
            f"DROP TABLE {table}",
        ):
            with pytest.raises(OtherSparkError):
                session.rows(statement)
        assert session.rows(f"SELECT * FROM {table}").to_pylist() == [{"a": 1}]
    assert lake.table("t").version == before
    assert lake.sync("t").version == before
