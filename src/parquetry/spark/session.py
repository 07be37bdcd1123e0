"""Join a Spark session: give settings to a new session, and the planner to an existing one."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import threading
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from parquetry._version import __version__
from parquetry.config import (
    LIST_SETTINGS,
    SESSION_PREFIX,
    TABLE_SETTINGS,
    defaults_entries,
    settle,
    with_part,
)
from parquetry.errors import BridgeError, ConfigurationError
from parquetry.spark import bridge_jar
from parquetry.spark.configuration import BRIDGE_PACKAGE, EXTENSIONS_CLASS, SPARK_DEFAULTS, session_settings
from parquetry.spark.connect import configure_remote, is_remote
from parquetry.spark.serving.callbacks import install

_ATTACH_LOCK = threading.Lock()


def configure(
    builder: SparkSession.Builder,
    catalog: str = "lake",
    warehouse: str | os.PathLike[str] = "warehouse",
    **options: str,
) -> SparkSession.Builder:
    """Add a catalog to the settings of a session to be made; `getOrCreate()` then attaches the planner.

    A builder with `remote(…)` makes a client of Spark Connect. There the server plans, and `getOrCreate()`
    makes sure that it can.

    Values that `spark.jars` and `spark.sql.extensions` already have are kept. Spark's own settings for joins
    of bucketed tables (`config.spark.SPARK_SETTINGS`) are set only if they have no value. The function may be
    called once for each catalog. `getOrCreate()` raises ConfigurationError, before anything starts, if a
    setting `parquetry.…` of the builder cannot be used.

    Args:
        builder: ``SparkSession.builder``.
        catalog: the catalog's name in SQL.
        warehouse: folder or URI of its tables; made on first use.
        options: further options of the catalog: ``store``, ``store_password``. A password in the store's URL
            becomes a setting of its own.

    Returns:
        The same builder.

    Raises:
        ConfigurationError: the name cannot be a catalog's.
        BridgeError: there is no bridge for the installed PySpark.
    """
    if is_remote(builder):
        given = session_settings(catalog, warehouse, options, absolute=False)
        configured: SparkSession.Builder = configure_remote(builder, catalog, given)
        return configured
    of_session = session_settings(catalog, warehouse, options)
    to_load = {"spark.jars": str(bridge_jar.jar()), "spark.sql.extensions": EXTENSIONS_CLASS}
    for key, value in {**to_load, **of_session}.items():
        if key in LIST_SETTINGS:
            held = [part for part in _builder_setting(builder, key).split(",") if part]
            value = ",".join(held if value in held else with_part(held, value))
        elif key in SPARK_DEFAULTS and (_builder_setting(builder, key) or _is_set(key)):
            continue
        builder.config(key, value)
    if not getattr(builder, "_parquetry", False):
        made = builder.getOrCreate

        @functools.wraps(made)
        def get_or_create() -> SparkSession:
            _check_settings(builder)
            if not _jvm_runs():
                bridge_jar.java()  # says what is missing; Spark's launcher would only say that it has exited
                _start_without_passwords(builder)
            _load_into_running_jvm(str(bridge_jar.jar()))
            return attach(made())

        builder.getOrCreate = get_or_create
        builder._parquetry = True
    return builder


def attach(spark: SparkSession) -> SparkSession:
    """Install the planner in a session whose settings name a Parquetry catalog.

    For a client of Spark Connect there is nothing to do: its server has the planner.

    Returns:
        The same session.

    Raises:
        BridgeError: the session has no bridge, or one of another version; the message says what to set.
    """
    context = getattr(spark, "_sc", None)
    if context is None:  # a client of Spark Connect, whose server plans
        return spark
    attach_to(context)
    return spark


def attach_to(context: SparkContext) -> None:
    """Install the planner in the JVM of a SparkContext, for all its sessions.

    Raises:
        BridgeError: the JVM has no bridge, or one of another version; the message says what to set.
    """
    jvm: Any = context._jvm
    door = getattr(jvm, BRIDGE_PACKAGE).protocol.Bridge
    try:
        version = door.version()
    except TypeError:  # py4j takes an unknown class for a package
        raise BridgeError(
            "The bridge is not on this session's class path: make the session with "
            "parquetry.configure(SparkSession.builder, …), or start Spark with the settings that "
            "`parquetry conf` prints (a running session cannot take them any more: stop it first)."
        ) from None
    if version != __version__:
        raise BridgeError(
            f"The session's bridge is of version {version}, and Parquetry of {__version__}: "
            f"put {bridge_jar.jar()} into spark.jars and start the session again."
        )
    if EXTENSIONS_CLASS not in (context.getConf().get("spark.sql.extensions") or ""):
        raise BridgeError(
            "This session was made without Parquetry's extensions, and a running one cannot take them: stop it "
            f"(spark.stop()) and make it with parquetry.configure, or with spark.sql.extensions={EXTENSIONS_CLASS}."
        )
    with _ATTACH_LOCK:
        if not door.installed():
            install(context._gateway, getattr(jvm, BRIDGE_PACKAGE).protocol)
            getattr(jvm, BRIDGE_PACKAGE).protocol.Settings.register(
                {
                    f"{SESSION_PREFIX}{each.name}": each.text
                    for each in TABLE_SETTINGS
                    if "session" in each.levels
                }
            )
            atexit.register(_flush_history, context)


def _flush_history(context: SparkContext) -> None:
    """Have the last queries of a program recorded that ends without a stop of its session."""
    if context is SparkContext._active_spark_context:
        with contextlib.suppress(Py4JError, OSError):  # the JVM may have ended before
            getattr(context._jvm, BRIDGE_PACKAGE).reports.FinishedQueries.flushHistory()


def _check_settings(builder: SparkSession.Builder) -> None:
    """Make sure that Parquetry's settings in a builder are valid.

    Otherwise every statement of the session would fail, even RESET.

    Raises:
        ConfigurationError: one is unknown, or has a value that cannot be used.
    """
    settings = {key: str(value) for key, value in builder._options.items() if key.startswith(SESSION_PREFIX)}
    try:
        effective = settle(session=settings)
        for key in settings:
            _ = effective[key.removeprefix(SESSION_PREFIX)]
    except ConfigurationError as error:
        reason = re.split(r"; (?:SET|RESET) ", error.message)[0]
        raise ConfigurationError(f"{reason}; give the builder another value, or none.") from None


def _start_without_passwords(builder: SparkSession.Builder) -> None:
    """Start the JVM before the session if a setting is a password.

    PySpark gives the builder's settings to the JVM as arguments, which every user of the machine sees in the
    list of processes. A JVM that runs gets them over the gateway.
    """
    options = {key: str(value) for key, value in builder._options.items()}
    shown = {key: value for key, value in options.items() if "password" not in key.lower()}
    if len(shown) < len(options):
        conf = pyspark.SparkConf(loadDefaults=False)
        for key, value in shown.items():
            conf.set(key, value)
        SparkContext._ensure_initialized(conf=conf)


def _builder_setting(builder: SparkSession.Builder, key: str) -> str:
    """Return the value that a setting has in the builder, in a running JVM, or in Spark's defaults file."""
    in_builder = builder._options.get(key)
    if in_builder is not None:
        return str(in_builder)
    if _jvm_runs():
        return str(pyspark.SparkConf(_jvm=_running_jvm()).get(key, "") or "")
    home = os.environ.get("SPARK_CONF_DIR") or str(
        Path(os.environ.get("SPARK_HOME", pyspark.__path__[0])) / "conf"
    )
    defaults = Path(home) / "spark-defaults.conf"
    if defaults.is_file():
        entries = {each.name: each.value for each in defaults_entries(defaults.read_text(encoding="utf-8"))}
        return entries.get(key, "")
    return ""


def _is_set(key: str) -> bool:
    """Return whether a setting is set in the running session, if there is one."""
    session = SparkSession.getActiveSession()
    return session is not None and key in session.conf.getAll


def _jvm_runs() -> bool:
    return SparkContext._jvm is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def _running_jvm() -> Any:
    SparkContext._ensure_initialized()
    return SparkContext._jvm


def _load_into_running_jvm(path: str) -> None:
    """Give the jar to a JVM that started before this builder was configured (`spark-submit`, `pyspark`).

    Its class path is fixed by then, but spark-submit's class loader accepts more jars, as `--jars` needs it.
    """
    if not _jvm_runs():
        return
    jvm = _running_jvm()
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if any(url.toString().endswith(Path(path).name) for url in _urls(loader)):
        return
    if hasattr(loader, "addURL"):
        loader.addURL(jvm.java.io.File(path).toURI().toURL())


def _urls(loader: Any) -> list[Any]:
    try:
        return list(loader.getURLs())
    except Exception as error:  # py4j: the loader has no URLs
        if "getURLs" in str(error):
            return []
        raise
