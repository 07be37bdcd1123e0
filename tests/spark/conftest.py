"""One Spark session for all tests that need one, and a database of its own for each test."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import Row, SparkSession

import parquetry
from parquetry import metastore as ms
from parquetry.config import series_of
from tests.support.costs import count_statements
from tests.support.encryption import key_server_jars
from tests.support.join_tables.collecting import SUFFIX as JOINS_SUFFIX, JoinTableFile
from tests.support.join_tables.made import MadeTables
from tests.support.jvm import quick_start
from tests.support.jvm.savings import remember_missing_classes, set_permissions_without_processes
from tests.support.readers.sweep import watch_drops
from tests.support.s3.launcher import s3a_jars
from tests.support.spark import audit, series
from tests.support.statements.collecting import SUFFIX, StatementFile

_NUMBERS = itertools.count()
_SETTINGS: dict[str, str] = {}
"""The settings that the session was started with."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave out what is shown on other series of Spark alone, and at last what is not audited.

    So a part of the tests is audited out of the cases that a run without audit has, too. Expect PySpark 4.0
    to leave the sockets of `collect` to the garbage collector.
    """
    _deselect(config, items, {item for item in items if not series.shows(item)})
    if series_of(pyspark.__version__) == "4.0":
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
    yield
    _deselect(config, items, audit.left_out(items))


def _deselect(config: pytest.Config, items: list[pytest.Item], out: Collection[pytest.Item]) -> None:
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collect files of statements, and table files of joins."""
    kinds: dict[str, type[pytest.Module]] = {SUFFIX: StatementFile, JOINS_SUFFIX: JoinTableFile}
    kind = kinds.get(file_path.suffix)
    return kind.from_parent(parent, path=file_path) if kind else None


@pytest.fixture(scope="session", autouse=True)
def _quick_jvms() -> None:
    """Have the JVMs that tests start, in processes of their own, too, start quickly."""
    os.environ["SPARK_SUBMIT_OPTS"] = quick_start.options()


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the catalog `lake`."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def spark(warehouse: Path, _quick_jvms: None) -> Iterator[SparkSession]:
    """A local session with the catalogs `lake` and `pond`."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", quick_start.MEMORY)
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.ui.retainedExecutions", "1000000")  # tests find theirs by their number
        .config("spark.ui.retainedJobs", "1000000")  # and count their jobs
        .config("spark.sql.shuffle.partitions", "4")
        # queries of one shape are of one class, if the hundred that Spark keeps are not too few
        .config("spark.sql.codegen.cache.maxEntries", "10000")
        .config(
            "spark.buffer.pageSize", "1m"
        )  # Each aggregate takes one page; 32 MB pages fill the heap in two seconds.
        # Spark's own tables, to compare with, are listed without a job of one task for each directory.
        .config("spark.sql.sources.parallelPartitionDiscovery.threshold", "100000")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(warehouse / "spark-warehouse"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={warehouse}")
        .config("spark.jars", ",".join(map(str, [*s3a_jars(), *key_server_jars()])))
    )
    parquetry.configure(builder, "lake", warehouse / "lake")
    parquetry.configure(builder, "pond", warehouse / "pond")
    if audit.is_on():
        builder.config("parquetry.audit", "on")
    remember_missing_classes(builder)
    count_statements(SparkSession)
    watch_drops(SparkSession, {name: warehouse / name for name in ("lake", "pond")})
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if audit.is_on():
        audit.count_claims(session)
    set_permissions_without_processes(session)
    _SETTINGS.update(session.conf.getAll)  # type: ignore[call-overload]  # a property
    yield session
    session.stop()


@pytest.fixture(scope="module", autouse=True)
def _left_as_found() -> Iterator[None]:
    """Restore settings and drop temporary views after a file's tests, so that no file depends on the files
    before it.
    """
    yield
    session = SparkSession.getActiveSession()
    if session is None or not _SETTINGS:
        return
    now: dict[str, str] = session.conf.getAll  # type: ignore[assignment]  # a property, whatever its type says
    for name in filter(session.conf.isModifiable, now.keys() - _SETTINGS.keys()):
        session.conf.unset(name)
    for name, value in _SETTINGS.items():
        if now.get(name) != value and session.conf.isModifiable(name):
            session.conf.set(name, value)
    views = session._jsparkSession.sessionState().catalog().listLocalTempViews("*")
    for position in range(views.size()):
        session.catalog.dropTempView(views.apply(position).table())


@pytest.fixture(scope="session")
def store(spark: SparkSession, warehouse: Path) -> Iterator[ms.Metastore]:
    """The metastore of the catalog `lake`."""
    spark.sql("SHOW NAMESPACES IN lake")
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        yield metastore


@pytest.fixture(scope="session")
def join_tables(spark: SparkSession) -> Iterator[MadeTables]:
    """The tables that `bucket_joins/joins.table` declares, each made at its first use."""
    tables = MadeTables(spark)
    yield tables
    tables.drop()


@pytest.fixture
def db(spark: SparkSession) -> Iterator[str]:
    """A new database, `lake.name`, in a session whose current catalog is Spark's own, also if an earlier test
    changed it.
    """
    spark.catalog.setCurrentCatalog("spark_catalog")
    name = f"lake.db{next(_NUMBERS)}"
    spark.sql(f"CREATE NAMESPACE {name}")
    yield name
    spark.sql(f"DROP NAMESPACE IF EXISTS {name} CASCADE")


@pytest.fixture
def stock(spark: SparkSession, db: str) -> Iterator[str]:
    """A database of Spark's own."""
    name = db.replace("lake.", "spark_catalog.stock_")
    spark.sql(f"CREATE DATABASE {name}")
    yield name
    spark.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def rows(spark: SparkSession) -> Callable[..., list[tuple[Any, ...]]]:
    """Run SQL and return its rows as tuples."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        found: list[Row] = spark.sql(sql).collect()
        return [tuple(row) for row in found]

    return run
