"""Storages of the tests: a local disk, HDFS and S3, each with a catalog.

Hadoop lists and changes their files.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from parquetry.spark.configuration import CATALOG_CLASS
from tests.support.hdfs import launcher as hdfs
from tests.support.s3 import launcher as s3

NAMES = ("local", "hdfs", "s3")
BUCKET = "lake"
_NUMBERS = itertools.count()


class Storage(NamedTuple):
    """A warehouse somewhere, and a fresh database in it.

    Attributes:
        spark: the session.
        base: URI of a folder for this test alone.
        catalog: its name.
        database: as `catalog.name`.
        warehouse: URI.
        store: URL of the metastore.
    """

    spark: SparkSession
    base: str
    catalog: str
    database: str
    warehouse: str
    store: str

    def options(self, secret: str = s3.SECRET_KEY) -> dict[str, str] | None:
        """Return PyArrow's options for this storage; HDFS and local disks need none."""
        if not self.base.startswith("s3a:"):
            return None
        return {
            "aws_access_key_id": s3.ACCESS_KEY,
            "aws_secret_access_key": secret,
            "aws_endpoint_url": s3.shared_server().endpoint,
            "aws_region": s3.REGION,
        }

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run SQL and return its rows as tuples."""
        return [tuple(row) for row in self.spark.sql(sql).collect()]

    def files(self, location: str, hidden: bool = False) -> list[str]:
        """Return the relative paths of the files below a location, in order; on request also hidden ones."""
        path, system = self._hadoop(location)
        if not system.exists(path):
            return []
        root, found = system.makeQualified(path).toString(), []
        entries = system.listFiles(path, True)
        while entries.hasNext():
            found.append(entries.next().getPath().toString().removeprefix(root).lstrip("/"))
        return sorted(
            each for each in found if hidden or not any(part[0] in "._" for part in each.split("/"))
        )

    def exists(self, location: str) -> bool:
        """Return whether there is a file or directory at a location."""
        path, system = self._hadoop(location)
        return bool(system.exists(path))

    def delete(self, location: str) -> None:
        """Delete what is at a location."""
        path, system = self._hadoop(location)
        assert system.delete(path, True)

    def move(self, source: str, target: str) -> None:
        """Rename a folder, as a person does who moves a table's files."""
        (old, system), (new, _) = self._hadoop(source), self._hadoop(target)
        assert system.rename(old, new)

    def write_text(self, location: str, text: str) -> None:
        """Write a small file."""
        path, system = self._hadoop(location)
        stream = system.create(path, True)
        stream.write(bytearray(text.encode()))
        stream.close()

    def _hadoop(self, location: str) -> tuple[Any, Any]:
        path = self.spark._jvm.org.apache.hadoop.fs.Path(location)
        return path, path.getFileSystem(self.spark._jsparkSession.sessionState().newHadoopConf())


def open_storage(name: str, spark: SparkSession, folder: Path) -> Storage:
    """Return a storage with a database of its own; a server is started if need be.

    Args:
        name: one of `NAMES`.
        spark: the session, whose settings are changed.
        folder: on a local disk, for the metastore, and for the files of the storage ``local``.
    """
    number = next(_NUMBERS)
    base = f"{_root(name, spark, folder)}/base{number}"
    catalog = f"{name}_lake{number}"
    warehouse, store = f"{base}/wh", f"sqlite://{folder}/{name}{number}.sqlite"
    prefix = f"spark.sql.catalog.{catalog}"
    spark.conf.set(prefix, CATALOG_CLASS)
    spark.conf.set(f"{prefix}.warehouse", warehouse)
    spark.conf.set(f"{prefix}.store", store)
    spark.sql(f"CREATE NAMESPACE {catalog}.db")
    return Storage(spark, base, catalog, f"{catalog}.db", warehouse, store)


def _root(name: str, spark: SparkSession, folder: Path) -> str:
    if name == "local":
        return f"file:{folder}"
    if name == "hdfs":
        return hdfs.shared_server().url
    server = s3.shared_server()
    server.make_bucket(BUCKET)
    conf = spark._jsc.hadoopConfiguration()
    for key, value in server.settings().items():
        conf.set(key.removeprefix("spark.hadoop."), value)
    return f"s3a://{BUCKET}"
