"""Run a procedure for the command line: start Spark, for `publish` with Hive support, and stop it afterwards.

The procedure itself decides what Hive gets.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from parquetry.errors import ConfigurationError
from parquetry.spark.session import configure
from parquetry.warehouse import Warehouse

_METASTORE_SETTINGS = ("hive.metastore.uris", "javax.jdo.option.ConnectionURL")
"""Hive's settings for where its metastore is. Without either, Hive makes one in the working directory."""


def publish_table(
    warehouse: Warehouse,
    table: str,
    hive_table: str | None,
    conf: Mapping[str, str],
    *,
    read_only: bool = False,
) -> list[dict[str, Any]]:
    """Start Spark, publish a table, and stop Spark.

    Args:
        warehouse: of the table.
        table: its name, as ``database.table``.
        hive_table: its name in Hive, or None for the same name.
        conf: settings of the Spark session.
        read_only: as for the procedure.

    Returns:
        The rows of the procedure, by the names of their columns.

    Raises:
        ConfigurationError: no setting says where the metastore is.
        BridgeError: there is no bridge for the installed PySpark.
    """
    arguments: dict[str, Any] = {"table": table, "read_only": read_only}
    arguments |= {} if hive_table is None else {"hive_table": hive_table}
    with _session(
        warehouse, SparkSession.builder.appName("parquetry publish").enableHiveSupport(), conf
    ) as spark:
        _require_metastore(spark)
        return _call(spark, "publish", arguments)


def call_procedure(
    warehouse: Warehouse, name: str, arguments: Mapping[str, Any], conf: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Start Spark, run a procedure, and stop Spark.

    Args:
        warehouse: that the procedure works on.
        name: of the procedure.
        arguments: by name.
        conf: settings of the Spark session.

    Returns:
        The rows of the procedure, by the names of their columns.

    Raises:
        BridgeError: there is no bridge for the installed PySpark.
    """
    with _session(warehouse, SparkSession.builder.appName(f"parquetry {name}"), conf) as spark:
        return _call(spark, name, arguments)


@contextlib.contextmanager
def _session(
    warehouse: Warehouse, builder: SparkSession.Builder, conf: Mapping[str, str]
) -> Iterator[SparkSession]:
    """Yield a session whose catalog `lake` is the warehouse, and stop it at the end of the block."""
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    for key, value in {**quiet, **conf}.items():
        builder.config(key, value)
    options = {} if warehouse.store is None else {"store": warehouse.store}
    spark = configure(builder, "lake", warehouse.location, **options).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _call(spark: SparkSession, name: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = ", ".join(f"{key} => :{key}" for key in arguments)
    return [row.asDict() for row in spark.sql(f"CALL lake.system.{name}({given})", dict(arguments)).collect()]


def _require_metastore(spark: SparkSession) -> None:
    """Make sure that settings, spark-defaults.conf or hive-site.xml name a metastore, before Hive makes one.

    Raises:
        ConfigurationError: none of them names one.
    """
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    if not any(conf.get(name) for name in _METASTORE_SETTINGS):
        raise ConfigurationError(
            "No Hive metastore is named, and Hive would make a new one in the working directory: give "
            "--conf spark.hadoop.hive.metastore.uris=thrift://host:9083, or a hive-site.xml in SPARK_CONF_DIR."
        )
