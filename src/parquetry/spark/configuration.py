"""Settings that make a catalog known to Spark, for a session that starts or one that runs.

They are for a version of Spark, which has a jar of the bridge. Nothing here imports pyspark, so that a
cluster needs none of pip's.

A wheel carries a jar for each series of Spark. The series is the one that the caller names, or that
SPARK_HOME has, or that is installed as PySpark, in this order.
"""

from __future__ import annotations

import logging
import os
import re
import runpy
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from parquetry._version import __version__
from parquetry.config import SPARK_SERIES, SPARK_SETTINGS, series_of, series_text
from parquetry.errors import BridgeError, ConfigurationError
from parquetry.locations import take_apart, warehouse_location
from parquetry.store import split_store, without_password

BRIDGE_PACKAGE = "org.apache.spark.sql.parquetry"
CATALOG_CLASS = f"{BRIDGE_PACKAGE}.ParquetryCatalog"
EXTENSIONS_CLASS = f"{BRIDGE_PACKAGE}.ParquetryExtensions"
SPARK_DEFAULTS = {setting.name: setting.value for setting in SPARK_SETTINGS if setting.value is not None}

_LOG = logging.getLogger("parquetry")
_STORE_PASSWORDS = ("store_password", "store_sslpassword")


def settings(
    catalog: str = "lake",
    warehouse: str | os.PathLike[str] = "warehouse",
    *,
    spark: str | None = None,
    **options: str,
) -> dict[str, str]:
    """Return the settings that make a catalog known to Spark, for `--conf` or `spark-defaults.conf`.

    They include Spark's settings to join bucketed tables without a shuffle (`config.spark.SPARK_SETTINGS`).

    Args:
        catalog: its name in SQL.
        warehouse: folder or URI of its tables.
        spark: the version or series of the Spark that gets the settings, such as ``4.1``. Each series has a
            jar of its own. None takes the Spark that SPARK_HOME names, or else the installed PySpark.
        options: further options of the catalog: ``store``, ``store_password``. A password in the store's URL
            becomes a setting of its own.

    Raises:
        ConfigurationError: the name cannot be a catalog's, the store's URL is ambiguous, or there is no
            Spark.
        BridgeError: there is no bridge for this Spark.
    """
    version = spark or version_in_use()
    if version is None:
        raise ConfigurationError(
            "parquetry.settings finds no Spark, and each series of Spark has a jar of its own: say "
            "parquetry.settings(…, spark='4.1'), set SPARK_HOME, or pip install 'parquetry[spark]'."
        )
    of_session = session_settings(catalog, warehouse, options)
    return {"spark.jars": str(jar_for(version)), "spark.sql.extensions": EXTENSIONS_CLASS, **of_session}


def session_settings(
    catalog: str, warehouse: str | os.PathLike[str], options: Mapping[str, str], *, absolute: bool = True
) -> dict[str, str]:
    """Return the settings that a running session accepts as well.

    Args:
        catalog: as in `settings`.
        warehouse: as in `settings`.
        options: as in `settings`.
        absolute: whether a warehouse without a scheme is a path of this machine.
    """
    if not re.fullmatch(r"\w+", catalog, re.ASCII):
        raise ConfigurationError(f"{catalog!r} cannot name a catalog: use letters, digits and underscores.")
    if catalog.lower() in ("spark_catalog", "system"):
        raise ConfigurationError(
            f"{catalog!r} is a catalog of Spark's own: choose another name, such as 'lake'."
        )
    location = os.fspath(warehouse)
    warehouse_location(location)  # which refuses a password in it, before Spark's settings show it
    prefix = f"spark.sql.catalog.{catalog}"
    options = _apart_from_url(options)
    here = absolute and not take_apart(location).scheme
    return {
        prefix: CATALOG_CLASS,
        f"{prefix}.warehouse": str(Path(location).absolute()) if here else location,
        **{f"{prefix}.{_option_name(name)}": value for name, value in options.items()},
        **SPARK_DEFAULTS,
    }


def _option_name(name: str) -> str:
    """Return an option's name as settings have it."""
    return name.replace("store_", "store.", 1) if name in _STORE_PASSWORDS else name.replace("_", "-")


def _apart_from_url(options: Mapping[str, str]) -> dict[str, str]:
    """Return options with the passwords of a store's URL as options of their own.

    Spark's settings, event log and pages show a URL whole, and leave out what is called a password.

    Raises:
        ConfigurationError: no store has such a URL, or it is ambiguous.
    """
    if (url := options.get("store")) is None:
        return dict(options)
    plain, passwords = split_store(url)
    if passwords:
        _LOG.warning(
            "The store's URL %s has a password: it becomes a setting of its own, whose value Spark does not show. Better give "
            "it apart from the URL (store_password=…, PGPASSWORD, ~/.pgpass).",
            without_password(url),
        )
    apart = {f"store_{name}": value for name, value in passwords.items()}
    return {**apart, **options, "store": plain}


SPARK_HOME = "SPARK_HOME"

_JARS = Path(__file__).resolve().parents[1] / "jars"
_RELEASE = re.compile(r"Spark (\d\S*)")
_SPARK_CORE = re.compile(r"spark-core_[\d.]+-(.+)\.jar")


def version_of_home(home: Path) -> str | None:
    """Return the version of the Spark in a folder, by its file RELEASE or its jars, or None."""
    try:
        match = _RELEASE.match((home / "RELEASE").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    if match is not None:
        return match[1]
    names = (_SPARK_CORE.fullmatch(path.name) for path in sorted(home.glob("jars/spark-core_*.jar")))
    return next((name[1] for name in names if name), None)


def installed_pyspark() -> tuple[str, Path] | None:
    """Return the version and the folder of the installed PySpark, or None. It is not imported."""
    try:
        spec = find_spec("pyspark")
    except ValueError:  # its import is blocked
        return None
    for folder in map(Path, (spec.submodule_search_locations or ()) if spec else ()):
        if (folder / "version.py").is_file():
            return str(runpy.run_path(str(folder / "version.py"))["__version__"]), folder
    return None


def version_in_use() -> str | None:
    """Return the version of the Spark that SPARK_HOME names, else of the installed PySpark, else None."""
    home = os.environ.get(SPARK_HOME)
    if home and (version := version_of_home(Path(home))):
        return version
    installed = installed_pyspark()
    return installed[0] if installed else None


def defaults_file() -> Path | None:
    """Return where the Spark in use looks for spark-defaults.conf, or None if there is no Spark."""
    if folder := os.environ.get("SPARK_CONF_DIR"):
        return Path(folder) / "spark-defaults.conf"
    home = os.environ.get(SPARK_HOME)
    if not home:
        installed = installed_pyspark()
        home = str(installed[1]) if installed else None
    return Path(home) / "conf" / "spark-defaults.conf" if home else None


def jar_for(spark: str) -> Path:
    """Return the bridge's jar for a version of Spark. For the installed PySpark, it is compiled if need be.

    Args:
        spark: a version or a series, such as ``4.1.4`` or ``4.1``.

    Raises:
        ConfigurationError: Parquetry has no bridge for this version.
        BridgeError: this install carries no jar for it.
    """
    series = series_of(f"{spark}.")
    if series is None:
        raise ConfigurationError(
            f"Parquetry {__version__} does not work with Spark {spark!r}: name one of {series_text()}."
        )
    installed = installed_pyspark()
    if installed and series_of(installed[0]) == series:
        from parquetry.spark import bridge_jar

        return bridge_jar.jar()
    carried = sorted(_JARS.glob(f"parquetry-bridge-{__version__}-spark-{series}.*.jar"))
    if carried:
        return carried[-1]
    has = [each for each in SPARK_SERIES if list(_JARS.glob(f"*-spark-{each}.*.jar"))]
    raise BridgeError(
        f"This install of Parquetry carries no jar for Spark {series} ({'it has ' + ', '.join(has) if has else 'it has none'}): install "
        f"Parquetry's wheel, which has one for each series, or pip install 'pyspark=={series}.*' beside it, for which one is compiled."
    )
