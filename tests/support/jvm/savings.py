"""Savings in a session's JVM where Hadoop and Janino waste its time; the session's results stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

_HERE = Path(__file__).parent


def remember_missing_classes(builder: SparkSession.Builder) -> None:
    """Start the JVM of a session that is to be made; its threads look for no missing class twice."""
    conf = SparkConf(loadDefaults=False).setAll(
        [(key, str(value)) for key, value in builder._options.items()]
    )
    SparkContext._ensure_initialized(conf=conf)
    jvm = SparkContext._jvm
    thread = jvm.java.lang.Thread.currentThread()
    made = _compiled(jvm, "MissedClasses").loadClass("MissedClasses").getConstructors()[0]
    arguments = SparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = thread.getContextClassLoader()
    thread.setContextClassLoader(made.newInstance(arguments))


def set_permissions_without_processes(spark: SparkSession) -> None:
    """Put a file system that runs no `chmod` in the place of the one that Hadoop keeps for all of a JVM."""
    jvm = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.setClassLoader(_compiled(jvm, "LocalFiles"))
    conf.set("fs.file.impl", "LocalFiles")
    files = jvm.org.apache.hadoop.fs.FileSystem
    files.closeAll()
    kept = files.get(jvm.java.net.URI("file:///"), conf)
    assert kept.getClass().getName() == "LocalFiles"


def _compiled(jvm: Any, name: str) -> Any:
    """Return a class loader that knows the class of a file beside this one."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook((_HERE / f"{name}.java").read_text())
    return compiler.getClassLoader()
