"""Find the JVM's error behind an error of PySpark."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException


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
