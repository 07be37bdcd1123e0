"""A session of another series of Spark in a JVM of its own, which runs queries and hands over their rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import py4j.java_gateway
import py4j.protocol
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from tests.support.jars import fetched, java
from tests.support.jvm.quick_start import FLAGS

_HERE = Path(__file__).parent
_OPENED = (
    "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent",
    "java.util.concurrent.atomic", "jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar",
)  # fmt: skip
"""Packages of Java that Spark looks into."""
_SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}


class OtherSparkError(Exception):
    """A query failed."""


class OtherSpark:
    """A running session.

    Args:
        name: of the jars, such as `iceberg-3.5`: a file of this folder has their versions.
        folder: of its files, empty.
        settings: of the session, beside the usual ones.

    Raises:
        ArtifactsError: the jars could not be fetched.
    """

    def __init__(self, name: str, folder: Path, settings: Mapping[str, str]) -> None:
        jars = fetched(_HERE / f"{name}.xml", f"Spark-with-{name}", "200 MB")
        self._folder, self._numbers = folder, itertools.count()
        with open(folder / "log", "w", encoding="utf-8") as log:
            port = launch_gateway(
                jarpath=str(next(jars.glob("py4j-*.jar"))),
                classpath=os.pathsep.join(map(str, sorted(jars.glob("*.jar")))),
                javaopts=[
                    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
                    *FLAGS.split(),
                    "-Xmx1g",
                    f"-Dderby.system.home={folder}",
                ],
                die_on_exit=True,
                redirect_stdout=log,
                redirect_stderr=log,
                java_path=java(),
                cwd=str(folder),
            )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
        builder = self._gateway.jvm.org.apache.spark.sql.SparkSession.builder()
        for key, value in {**_SETTINGS, **settings}.items():
            builder = builder.config(key, value)
        self._session = builder.getOrCreate()

    def configure(self, settings: Mapping[str, str]) -> None:
        """Change settings of the running session."""
        for key, value in settings.items():
            self._session.conf().set(key, value)

    def rows(self, query: str) -> pa.Table:
        """Return the rows of a query, which go through a file of Parquet.

        Raises:
            OtherSparkError: it failed, with Spark's message.
        """
        target = self._folder / f"rows-{next(self._numbers)}"
        try:
            with _own_errors():
                self._session.sql(query).coalesce(1).write().parquet(str(target))
        except Py4JJavaError as error:
            raise OtherSparkError(_message(error.java_exception)) from None
        return pq.read_table(target)

    def close(self) -> None:
        """End the session and its JVM."""
        self._gateway.shutdown()


@contextmanager
def _own_errors() -> Iterator[None]:
    """Leave errors as Py4J raises them within a block.

    PySpark changes Py4J for all JVMs of the process. It would look for the other session's error in its own
    JVM, where another object may have the same number.
    """
    changed = py4j.java_gateway.get_return_value
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
    try:
        yield
    finally:
        py4j.java_gateway.get_return_value = changed


def _message(error: Any) -> str:
    """Return the messages of an error and of its causes."""
    texts = []
    while error is not None and len(texts) < 10:
        texts.append(str(error.toString()))
        error = error.getCause()
    return "\n".join(texts)


@contextmanager
def iceberg_on_spark(series: str, folder: Path) -> Iterator[OtherSpark]:
    """Run a session with Iceberg's runtime within a block. `iceberg_catalog` adds catalogs.

    Args:
        series: of Spark: 3.5 or 4.1.
        folder: for its files, empty.
    """
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    session = OtherSpark(f"iceberg-{series}", folder, {"spark.sql.extensions": extensions})
    try:
        yield session
    finally:
        session.close()


def iceberg_catalog(name: str, address: str, **options: str) -> dict[str, str]:
    """Return the settings of an Iceberg catalog that is served at an address."""
    prefix = f"spark.sql.catalog.{name}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "rest",
        f"{prefix}.uri": address,
        **{f"{prefix}.{key}": value for key, value in options.items()},
    }


@contextmanager
def delta_on_spark(folder: Path) -> Iterator[OtherSpark]:
    """Run a session with Delta within a block.

    Args:
        folder: for its files, empty.
    """
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",  # fifty tasks for each log take twenty seconds
    }
    session = OtherSpark("delta-4.2", folder, settings)
    try:
        yield session
    finally:
        session.close()
