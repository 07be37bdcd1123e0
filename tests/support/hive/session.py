"""A session with Hive's own metastore, embedded in Derby, and what that metastore has of a table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import parquetry


class HiveSession:
    """A session with the catalog `lake` and with Hive.

    Attributes:
        spark: the session.
        work: the folder of all that is written.
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        settings = {
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(work / "hive"),
            "spark.hadoop.javax.jdo.option.ConnectionURL": f"{self.derby};create=true",
        }
        for name, value in settings.items():
            builder.config(name, value)
        self.spark = parquetry.configure(builder, "lake", work / "lake").getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")
        self.spark.sql("CREATE NAMESPACE lake.db")

    @property
    def derby(self) -> str:
        """The URL of the metastore's database."""
        return f"jdbc:derby:;databaseName={self.work}/derby"

    def rows(self, sql: str) -> list[list[Any]]:
        """Run SQL and return its rows as lists."""
        return [list(row) for row in self.spark.sql(sql).collect()]

    def error(self, sql: str) -> str:
        """Run SQL that fails, and return the error; an empty text if it does not fail."""
        try:
            self.spark.sql(sql)
        except Exception as error:  # noqa: BLE001  # any error is an answer
            return str(error)
        return ""

    @contextlib.contextmanager
    def client(self) -> Iterator[Any]:
        """Give a client of Hive's metastore, past Spark."""
        jvm: Any = self.spark._jvm
        hive, session = jvm.org.apache.hadoop.hive.metastore, self.spark._jsparkSession.sessionState()
        configuration = jvm.org.apache.spark.sql.hive.client.HiveClientImpl.newHiveConf(
            self.spark.sparkContext._jsc.sc().conf(), session.newHadoopConf(),
            jvm.scala.collection.immutable.HashMap(), jvm.scala.Option.empty(),
        )  # fmt: skip
        opened = hive.HiveMetaStoreClient(configuration)
        yield opened
        opened.close()
