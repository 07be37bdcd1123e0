"""Find the session of a statement, classes of its JVM, and the error of the JVM behind one of PySpark's."""

from __future__ import annotations

import functools
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from parquetry.spark.configuration import BRIDGE_PACKAGE

_SESSION_CLASS = "org.apache.spark.sql.classic.SparkSession"


def active_session() -> SparkSession:
    """Return the session whose statement the JVM's thread runs, or PySpark's own if the thread runs none.

    A process may have several sessions: by `newSession()`, or for the clients of a Thrift or Connect server.
    PySpark's `SparkSession.active()` always returns the first of them.
    """
    context: Any = SparkContext._active_spark_context
    asking = java_class(context._jvm, _SESSION_CLASS).getActiveSession()
    return session_of(asking.get()) if asking.isDefined() else SparkSession.active()


def session_of(java_session: Any) -> SparkSession:
    """Return PySpark's form of a session of the JVM.

    To make one, PySpark asks the JVM five times. Most processes have one session, which PySpark has made.
    """
    context: Any = SparkContext._active_spark_context
    own: Any = SparkSession._instantiatedSession
    if own is not None and own._sc is context and java_session.equals(own._jsparkSession):
        return SparkSession._instantiatedSession
    return SparkSession(context, java_session)


class JavaClassMethods:
    """The static methods of a Java class. Each is looked up in the JVM once.

    Args:
        java_class: Py4J's.
    """

    def __init__(self, java_class: JavaClass) -> None:
        self._class = java_class

    def __getattr__(self, name: str) -> Any:
        """Return a method, or another member, which is not kept."""
        member = getattr(self._class, name)
        if isinstance(member, JavaMember):
            self.__dict__[name] = member
        return member


@functools.cache
def java_class(jvm: Any, name: str) -> Any:
    """Return the static methods of a Java class.

    `jvm.org.apache.Some` asks the JVM four times: for every part of the name, the JVM looks for a class of
    that name in all jars. This function asks once in the life of a JVM.

    Args:
        jvm: Py4J's view of it.
        name: of the class, with its package.

    Raises:
        TypeError: the JVM has no such class.
    """
    named = getattr(jvm, name)
    if not isinstance(named, JavaClass):  # Py4J takes an unknown class for a package
        raise TypeError(f"The JVM has no class {name}.")
    return JavaClassMethods(named)


def bridge_class(jvm: Any, name: str) -> Any:
    """Return the static methods of the bridge's class, such as `datafiles.FileWriter`; see `java_class`."""
    return java_class(jvm, f"{BRIDGE_PACKAGE}.{name}")


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
