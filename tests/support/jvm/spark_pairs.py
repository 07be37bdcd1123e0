"""Each of several jars of the bridge within each of several Sparks, in one JVM: a class loader for each
pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from parquetry.spark import bridge_jar

PACKAGE = "org.apache.spark.sql.parquetry"


class Jvm:
    """A JVM that has no Spark on its own class path."""

    def __init__(self, gateway: Any) -> None:
        self._jvm = gateway.jvm
        self._gateway = gateway

    def start(self, spark: Path, jar: Path) -> str | None:
        """Give a Spark the extension of a jar, as a session that starts does; return the error, or None.

        Args:
            spark: the folder of a PySpark.
            jar: the bridge.
        """
        loader = self._loader(spark, jar)
        thread = self._jvm.java.lang.Thread.currentThread()
        usual = thread.getContextClassLoader()
        thread.setContextClassLoader(loader)  # Spark finds its version's file by it
        try:
            wanted = loader.loadClass("org.apache.spark.sql.SparkSessionExtensions")
            extension = loader.loadClass(f"{PACKAGE}.ParquetryExtensions")
            # by Java's reflection, as Py4J keeps methods by names of classes, which each pair has anew
            apply = extension.getMethod("apply", self._array(self._jvm.java.lang.Class, wanted))
            apply.invoke(self._new(extension), self._array(self._jvm.java.lang.Object, self._new(wanted)))
        except Py4JJavaError as error:
            cause = error.java_exception
            while cause.getCause() is not None:
                cause = cause.getCause()
            return str(cause.toString())
        finally:
            thread.setContextClassLoader(usual)
            loader.close()
        return None

    def _loader(self, spark: Path, jar: Path) -> Any:
        paths = [jar, *sorted((spark / "jars").glob("*.jar"))]
        urls = [self._jvm.java.io.File(str(path)).toURI().toURL() for path in paths]
        platform = self._jvm.java.lang.ClassLoader.getPlatformClassLoader()
        return self._jvm.java.net.URLClassLoader(self._array(self._jvm.java.net.URL, *urls), platform)

    def _new(self, which: Any) -> Any:
        constructor = which.getConstructor(self._array(self._jvm.java.lang.Class))
        return constructor.newInstance(self._array(self._jvm.java.lang.Object))

    def _array(self, of: Any, *values: Any) -> Any:
        array = self._gateway.new_array(of, len(values))
        for place, value in enumerate(values):
            array[place] = value
        return array


@contextmanager
def jvm(spark: Path) -> Iterator[Jvm]:
    """Start a JVM with the Py4J of a PySpark, and end it."""
    (py4j,) = (spark / "jars").glob("py4j-*.jar")
    port, process = launch_gateway(
        jarpath=str(py4j),
        classpath=str(py4j),
        java_path=bridge_jar.java(),
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    try:
        yield Jvm(gateway)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait()
