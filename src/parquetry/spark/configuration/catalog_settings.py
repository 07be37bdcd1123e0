"""Write the settings of a catalog, for a session that starts or one that runs."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path

from parquetry.config import SPARK_SETTINGS
from parquetry.errors import ConfigurationError
from parquetry.locations import take_apart, warehouse_location
from parquetry.spark.configuration.spark_in_use import jar_for, version_in_use
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
