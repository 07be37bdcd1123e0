"""Find the session whose statement needs the planner."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession


def active_session() -> SparkSession:
    """Return the session whose statement the JVM's thread runs, or PySpark's own if the thread runs none.

    A process may have several sessions: by `newSession()`, or for the clients of a Thrift or Connect server.
    PySpark's `SparkSession.active()` always returns the first of them.
    """
    context: Any = SparkContext._active_spark_context
    asking = context._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    return SparkSession(context, asking.get()) if asking.isDefined() else SparkSession.active()
