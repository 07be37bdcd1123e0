"""Run `CALL system.publish` for the command line: start Spark with Hive support, and stop it afterwards.

The procedure itself decides what Hive gets.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    builder = SparkSession.builder.appName("parquetry publish").enableHiveSupport()
    for key, value in {"spark.ui.enabled": "false", **conf}.items():
        builder.config(key, value)
    options = {} if warehouse.store is None else {"store": warehouse.store}
    spark = configure(builder, "lake", warehouse.location, **options).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        _require_metastore(spark)
        arguments: dict[str, Any] = {"table": table, "read_only": read_only}
        arguments |= {} if hive_table is None else {"hive_table": hive_table}
        given = ", ".join(f"{key} => :{key}" for key in arguments)
        return [row.asDict() for row in spark.sql(f"CALL lake.system.publish({given})", arguments).collect()]
    finally:
        spark.stop()


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
