"""The place of the data, and the session that reads it. No other module names a warehouse or a store.

The data is in one folder, or on servers that `demo.servers` has started.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

import parquetry
from demo import java_warnings
from parquetry.catalog import Catalog

CATALOG, DATABASE = "lake", "shop"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
_JVM_OPTIONS = (
    f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()} "
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
)
"""The quick compiler alone, for both sides: two minutes do not win back the cost of optimized code. For it
alone, a JVM reserves 48 MB of code, which are full before the last scene.
"""


@dataclass(frozen=True, slots=True)
class Servers:
    """The servers of a run that is not on a local disk.

    Attributes:
        bucket: URI of an empty bucket.
        store: URL of a store in PostgreSQL, without the table.
        settings: of a session that reaches the bucket.
        storage_options: of `parquetry.open`, to reach it.
    """

    bucket: str
    store: str
    settings: Mapping[str, str] = field(repr=False)
    storage_options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lake:
    """The data of one run.

    Attributes:
        folder: with everything that the demo makes on the local disk.
        servers: where tables and metastores are instead, or None.
    """

    folder: Path
    servers: Servers | None = None

    @property
    def raw(self) -> Path:
        """Return the folder of the rows as TPC-DS's generator makes them."""
        return self.folder / "raw"

    @property
    def readings(self) -> Path:
        """Return the folder of the large files, on the local disk."""
        return self.folder / "readings"

    @property
    def name(self) -> str:
        """Return where the tables are, in words."""
        return "in " + (str(self.folder) if self.servers is None else "S3, the metastore in PostgreSQL")

    @property
    def warehouse(self) -> str:
        """Return the warehouse of the catalog."""
        return self._place("warehouse")

    @property
    def store(self) -> str:
        """Return the store of the catalog's metastore."""
        return self._store("lake")

    @property
    def million(self) -> tuple[str, str]:
        """Return warehouse and store of the table with a million partitions, which has no data."""
        return self._place("million/warehouse"), self._store("million")

    @property
    def plain(self) -> str:
        """Return the folder of the files that plain Spark writes, as its scans name it."""
        return self._place("plain")

    def catalog(self) -> Catalog:
        """Open the catalog without Spark."""
        options = None if self.servers is None else self.servers.storage_options
        return parquetry.open(self.warehouse, self.store, options)

    def _place(self, name: str) -> str:
        return (
            str((self.folder / name).absolute()) if self.servers is None else f"{self.servers.bucket}/{name}"
        )

    def _store(self, table: str) -> str:
        return "sqlite" if self.servers is None else f"{self.servers.store}?table={table}"

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
        for name, value in (settings | dict(self.servers.settings if self.servers else {})).items():
            builder = builder.config(name, value)
        builder = parquetry.configure(builder, catalog=CATALOG, warehouse=self.warehouse, store=self.store)
        with java_warnings.without_expected():
            return builder.getOrCreate()
