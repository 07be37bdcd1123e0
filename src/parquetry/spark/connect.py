"""Sessions of Spark Connect: configure a client, and get reports from its server.

The server plans: its JVM has the bridge, and starts a planner of its own (`bridge/process`). The client only
sets its session's settings, and gets reports by `CALL system.explain_json`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import secrets
from collections.abc import Iterator
from typing import Any

from parquetry.errors import BridgeError, ConfigurationError
from parquetry.identifiers import quoted
from parquetry.locations import take_apart
from parquetry.prune import Report

CATALOG_PREFIX = "spark.sql.catalog."


def is_remote(builder: Any) -> bool:
    """Return whether a builder makes a session of Spark Connect."""
    return bool(builder._options.get("spark.remote") or os.environ.get("SPARK_REMOTE"))


def configure_remote(builder: Any, catalog: str, settings: dict[str, str]) -> Any:
    """Add a catalog to the settings of a Connect session.

    `getOrCreate()` and `create()` then make sure that the server has the bridge.

    Args:
        builder: of a client's session.
        catalog: the catalog's name.
        settings: the settings of the catalog that a client can set.

    Raises:
        ConfigurationError: the warehouse is a relative path, which a server cannot know.
    """
    location = settings[f"{CATALOG_PREFIX}{catalog}.warehouse"]
    if not take_apart(location).scheme and not os.path.isabs(location):
        raise ConfigurationError(
            f"The warehouse {location!r} is a relative path, and the Spark Connect server may run elsewhere: give a path "
            "or URI as the server sees it."
        )
    for key, value in settings.items():
        builder.config(key, value)
    for name in ("getOrCreate", "create"):
        setattr(builder, name, _with_check(getattr(builder, name), catalog))
    return builder


def _with_check(make: Any, catalog: str) -> Any:
    @functools.wraps(make)
    def make_checked() -> Any:
        session = make()
        require_bridge(session, catalog)
        return session

    return make_checked


def require_bridge(session: Any, catalog: str) -> None:
    """Make sure that a server can plan for a catalog.

    Raises:
        BridgeError: the server has no bridge, or cannot start a planner. The message says how to start it.
    """
    from pyspark.errors import PySparkException

    extensions = session.conf.get("spark.sql.extensions", "") or ""
    reason = "its sessions are without Parquetry's extensions"
    if "ParquetryExtensions" in extensions:
        try:
            session.sql(f"SHOW NAMESPACES IN {quoted(catalog)}").collect()
        except PySparkException as error:
            reason = str(error).splitlines()[0]
        else:
            return
    raise BridgeError(
        f"The Spark Connect server cannot plan for catalog {catalog}: {reason}. Start it with what `parquetry conf --flags` prints "
        "on a machine that has Parquetry and the server's PySpark (spark.jars, spark.sql.extensions, spark.parquetry.python)."
    )


def report_of_frame(frame: Any, *, of_run: bool = True) -> Report:
    """Return the report of the newest run of a DataFrame's scans in its session, or of its plan.

    Args:
        frame: of a client.
        of_run: whether a run is looked for.
    """
    name = f"parquetry_report_{secrets.token_hex(8)}"
    frame.createTempView(name)
    try:
        return report_of_sql(frame.sparkSession, f"TABLE {name}", of_run=of_run)
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def report_of_sql(session: Any, query: str, *, of_run: bool = False) -> Report:
    """Return the report of a statement, which the server plans without running it."""
    catalog = next(_catalogs(session), None)
    if catalog is None:
        raise BridgeError(
            "This Spark Connect session knows no catalog of Parquetry: make it with parquetry.configure(builder.remote(…), …)."
        )
    text = query.replace("\\", "\\\\").replace("'", "\\'")
    call = f"CALL {quoted(catalog)}.system.explain_json(query => '{text}', of_run => {of_run})"
    return Report.from_dict(json.loads(session.sql(call).collect()[0][0]))


def _catalogs(session: Any) -> Iterator[str]:
    with contextlib.suppress(AttributeError):
        for key, value in session.conf.getAll.items():
            if key.startswith(CATALOG_PREFIX) and value.endswith(".ParquetryCatalog"):
                yield key.removeprefix(CATALOG_PREFIX)
