"""Check the installation and the warehouse, suggest a remedy for each problem, and show the settings.

This changes nothing: it compiles no bridge and makes no metastore. Only with `write`, a small file is written
to the warehouse and deleted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from parquetry._version import __version__
from parquetry.config import (
    CATALOG_OPTIONS,
    PRUNING_HISTORY,
    PRUNING_HISTORY_KEEP,
    PRUNING_HISTORY_ROWS,
    SESSION_PREFIX,
    SETTINGS,
    SPARK_SERIES,
    TABLE_SETTINGS,
    Setting,
    series_of,
    series_text,
)
from parquetry.errors import ParquetryError
from parquetry.metastore import Check
from parquetry.store import PASSWORD_VARIABLE, without_password
from parquetry.warehouse import FILE_NAME, HISTORY_VARIABLE, STORE_VARIABLE, VARIABLE, find_warehouse

OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
LIBRARIES = ("pyarrow", "msgspec", "sqlglot", "rich", "typer")

_INSTALL_SPARK = "pip install 'parquetry[spark]'"
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class InEffect:
    """A setting outside a session.

    Attributes:
        name: of the setting.
        value: as text, or None if it has no value.
        origin: where the value comes from, or None if it has no value.
        how: the ways to set it, in the order of precedence.
    """

    name: str
    value: str | None
    origin: str | None
    how: tuple[str, ...]


def examine(
    warehouse: str | None = None,
    store: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    *,
    write: bool = False,
) -> Iterator[Check]:
    """Check everything, in the order of dependence.

    Args:
        warehouse: as given, or None to search for it as `parquetry.warehouse` does.
        store: as given.
        storage_options: of the warehouse's files; see `parquetry.open`.
        write: whether to write a small file to the warehouse, read it back and delete it.
    """
    yield _python()
    yield Check("parquetry", True, __version__)
    for name in LIBRARIES:
        yield _library(name)
    spark = _pyspark()
    yield spark
    if spark.ok:
        yield from _list_missing_features(spark.found)
    if home := os.environ.get("SPARK_HOME"):
        yield _spark_home(home)
    yield _java()
    if spark.ok:
        yield _bridge()
    yield from _warehouse(warehouse, store, storage_options, write)


def settings_in_effect(warehouse: str | None = None, store: str | None = None) -> Iterator[InEffect]:
    """Return the settings outside a session: the catalog's settings, and the defaults of tables' settings.

    Args:
        warehouse: as given, or None to search for it as `parquetry.warehouse` does.
        store: as given.
    """
    try:
        source = find_warehouse(warehouse, store)
        url = None if source.store is None else without_password(source.store)
        named = {"warehouse": (source.location, source.origin), "store": (url, source.store_origin)}
        named |= {name: (value, source.history_origin) for name, value in source.history.items()}
        if os.environ.get(PASSWORD_VARIABLE):
            named["store.password"] = ("***", PASSWORD_VARIABLE)
    except ParquetryError:  # `examine` reports it
        named = {}
    for option in CATALOG_OPTIONS:
        value, origin = named.get(option.name, (None, None))
        if value is None and option.default is not None:
            value, origin = option.default, "default"
        also = SETTINGS.get(option.name)
        ways = (*_WAYS.get(option.name, ()), f"spark.sql.catalog.<name>.{option.name}")
        yield InEffect(option.name, value, origin, ways if also is None else (*ways, *_ways(also)))
    for setting in TABLE_SETTINGS:
        if setting.name not in _WAYS:
            origin = None if setting.default is None else "default"
            yield InEffect(setting.name, setting.default, origin, _ways(setting))


def _ways(setting: Setting) -> tuple[str, ...]:
    """Return the ways to give a setting of tables."""
    ways = {
        "option": f"option of the {'read' if setting.of_reads else 'write'}",
        "session": f"SET `{SESSION_PREFIX}{setting.name}`",
        "property": "table property at creation" if setting.fixed else "table property",
    }
    return tuple(ways[level] for level in setting.levels)


_WAYS = {
    "warehouse": ("--warehouse", VARIABLE, FILE_NAME),
    "store": ("--store", STORE_VARIABLE, FILE_NAME),
    "store.password": (PASSWORD_VARIABLE, "PGPASSWORD", "~/.pgpass"),
    PRUNING_HISTORY: (HISTORY_VARIABLE, FILE_NAME),
    PRUNING_HISTORY_KEEP: (FILE_NAME,),
    PRUNING_HISTORY_ROWS: (FILE_NAME,),
}
"""Ways to give the options of a catalog outside a session."""


def _python() -> Check:
    wanted = ".".join(map(str, OLDEST_PYTHON))
    fits = sys.version_info >= OLDEST_PYTHON
    return Check("python", fits, platform.python_version(), None if fits else f"use Python {wanted} or later")


def _library(name: str) -> Check:
    try:
        importlib.import_module(name)
        return Check(name, True, importlib.metadata.version(name))
    except ImportError as error:
        return Check(name, False, f"cannot be imported: {error}", f"pip install --force-reinstall {name}")


def _pyspark() -> Check:
    try:
        version: str = importlib.import_module("pyspark").__version__
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "pyspark"
        return Check(
            "pyspark",
            False,
            "not installed (looking into a warehouse works without it)" if missing else f"broken: {error}",
            _INSTALL_SPARK,
        )
    fits = series_of(version) is not None
    return Check("pyspark", fits, version, None if fits else f"needs {series_text()}: {_INSTALL_SPARK}")


def _list_missing_features(version: str) -> Iterator[Check]:
    """Return what Parquetry leaves out on a version of Spark, as notes."""
    series = series_of(version)
    for missing in SPARK_SERIES[series] if series else ():
        yield Check(f"left out on Spark {series}", None, missing.words)


def _spark_home(home: str) -> Check:
    """Check the Spark that SPARK_HOME makes PySpark start instead of its own."""
    from parquetry.spark import version_of_home

    version = version_of_home(Path(home))
    if version is None:
        return Check("SPARK_HOME", False, f"{home}, which holds no Spark", "unset SPARK_HOME, or correct it")
    if series_of(version):
        return Check("SPARK_HOME", True, f"{home}, Spark {version}")
    return Check(
        "SPARK_HOME",
        False,
        f"{home}, Spark {version}",
        f"unset SPARK_HOME, or let it name a Spark {series_text()}",
    )


def _java() -> Check:
    import shutil

    home = os.environ.get("JAVA_HOME")
    launcher = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    remedy = f"install a Java {OLDEST_JAVA} runtime, or point JAVA_HOME to one"
    if launcher is None:
        return Check("java", False, f"none below JAVA_HOME={home}" if home else "none on the PATH", remedy)
    try:
        done = subprocess.run([launcher, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("java", False, f"{launcher} cannot be run: {error}", remedy)
    said = (done.stderr + done.stdout).strip()
    version = _JAVA_VERSION.search(said)
    if version is None:
        return Check("java", False, f"{launcher} does not tell its version: {said[:200]!r}", remedy)
    fits = int(version[1]) >= OLDEST_JAVA
    return Check("java", fits, f"{version[1]} ({launcher})", None if fits else remedy)


def _bridge() -> Check:
    from parquetry.spark import bridge_jar

    carried = Path(bridge_jar.__file__).parent / "jars" / bridge_jar.jar_name()
    if carried.exists():
        return Check("bridge", True, f"{carried} (carried by the package)")
    try:
        cached = bridge_jar.cache_dir() / f"{bridge_jar._sources_hash()}-{bridge_jar.jar_name()}"
    except ParquetryError as error:
        return Check("bridge", False, error.message, "pip install --force-reinstall parquetry")
    if cached.exists():
        return Check("bridge", True, f"{cached} (compiled before)")
    return Check("bridge", None, f"to be compiled on first use, for about 10 seconds, into {cached.parent}")


def _warehouse(
    warehouse: str | None, store: str | None, options: Mapping[str, str] | None, write: bool
) -> Iterator[Check]:
    """Check the metastore and the files of a warehouse; the files, too, if the metastore cannot be opened."""
    from parquetry.catalog import Catalog
    from parquetry.errors import WarehouseError

    try:
        source = find_warehouse(warehouse, store)
    except WarehouseError as error:
        yield Check("warehouse", None, error.message)
        return
    except ParquetryError as error:
        yield Check("warehouse", False, error.message)
        return
    where = f"{source.location} ({source.origin})"
    try:
        with Catalog.open(source.location, source.store, options) as catalog:
            tables = len(catalog.tables())
            yield Check("warehouse", True, f"{where}, {tables} {'table' if tables == 1 else 'tables'}")
            yield from catalog.doctor(write=write)
    except ParquetryError as error:
        yield Check(
            "warehouse",
            False,
            f"{where}: {error.message}",
            "correct the path; a new warehouse is made when Spark first uses its catalog",
        )
        yield from _files(source.location, options, write)


def _files(warehouse: str, options: Mapping[str, str] | None, write: bool) -> Iterator[Check]:
    from parquetry.locations import ArrowFileSystems, use_file_systems
    from parquetry.metastore import check_files

    with use_file_systems(ArrowFileSystems(options)):
        yield from list(check_files(warehouse, write=write))
