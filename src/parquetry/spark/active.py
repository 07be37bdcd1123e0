"""Find the session whose statement needs the planner, and the error of the JVM behind one of PySpark's."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession


def active_session() -> SparkSession:
    """Return the session whose statement the JVM's thread runs, or PySpark's own if the thread runs none.

    A process may have several sessions: by `newSession()`, or for the clients of a Thrift or Connect server.
    PySpark's `SparkSession.active()` always returns the first of them.
    """
    context: Any = SparkContext._active_spark_context
    asking = context._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    return SparkSession(context, asking.get()) if asking.isDefined() else SparkSession.active()


def java_error(error: Py4JJavaError | CapturedException) -> Any:
    """Return the error that the JVM threw.

    PySpark 4.0 leaves it out of an error of a Python worker, which it raises while it handles Py4J's error.
    """
    of_py4j: Any = error
    if isinstance(error, CapturedException):
        if error._origin is not None:
            return error._origin
        of_py4j = error.__context__
    return of_py4j.java_exception
