"""The session that asks the planner."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession


def active_session() -> SparkSession:
    """Return the session whose statement the JVM's thread runs, or PySpark's own if the thread runs none.

    PySpark's `SparkSession.active()` gives the first session of the process, whichever of several asks (`newSession()`, clients of a
    Thrift or Connect server).
    """
    context: Any = SparkContext._active_spark_context
    asking = context._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    return SparkSession(context, asking.get()) if asking.isDefined() else SparkSession.active()
