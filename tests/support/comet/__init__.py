"""Comet, a native engine that Spark runs plans in. Its newest series of Spark is 4.1."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.jars import fetched

SERIES = "4.1"
"""The series of Spark that the jar is for."""


def comet_jar() -> Path:
    """Return the path of Comet's jar, fetched if need be.

    Raises:
        ArtifactsError: Maven Central could not be reached.
    """
    (jar,) = fetched(Path(__file__).with_name("ivy.xml"), "Comet", "99 MB").glob("*.jar")
    return jar


def with_comet(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Return a session's builder with the settings that Comet needs."""
    jar = str(comet_jar())
    settings = {
        "spark.plugins": "org.apache.spark.CometPlugin",
        "spark.driver.extraClassPath": jar,
        "spark.executor.extraClassPath": jar,
        "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": "1g",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
