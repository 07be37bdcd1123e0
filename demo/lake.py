"""The place of the data, and the session that reads it. No other module names a warehouse or a store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import parquetry
from parquetry.catalog import Catalog

CATALOG, DATABASE = "lake", "shop"
_STORE = "sqlite"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_JVM_OPTIONS = f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()} -XX:TieredStopAtLevel=1"
"""The quick compiler alone, for both sides: two minutes do not win back the cost of optimized code."""


@dataclass(frozen=True, slots=True)
class Lake:
    """The data of one run.

    Attributes:
        folder: with everything that the demo makes.
    """

    folder: Path

    @property
    def raw(self) -> Path:
        """Return the folder of the rows as TPC-DS's generator makes them."""
        return self.folder / "raw"

    @property
    def warehouse(self) -> str:
        """Return the warehouse of the catalog."""
        return str(self.folder / "warehouse")

    @property
    def million(self) -> str:
        """Return the warehouse of the table with a million partitions, which has a metastore and no data."""
        return str(self.folder / "million" / "warehouse")

    @property
    def plain(self) -> Path:
        """Return the folder of the files that plain Spark writes."""
        return self.folder / "plain"

    def catalog(self) -> Catalog:
        """Open the catalog without Spark."""
        return parquetry.open(self.warehouse, _STORE)

    def session(self) -> SparkSession:
        """Start Spark on two cores, with the catalog."""
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2]").appName("Parquetry demo")
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": _JVM_OPTIONS,
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.warehouse.dir": str((self.folder / "spark-warehouse").absolute()),
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        builder = parquetry.configure(builder, catalog=CATALOG, warehouse=self.warehouse, store=_STORE)
        return builder.getOrCreate()
