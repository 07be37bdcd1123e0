"""The planner as a process that a JVM has started: `python -m parquetry.spark.serve VERSION`.

`bridge/process/PlannerProcess.scala` starts it when a statement needs a planner, and no Python process has
attached one. The process joins the JVM's SparkContext over Py4J, and attaches the planner. It ends when the
JVM closes its standard input.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from parquetry._version import __version__
from parquetry.errors import BridgeError
from parquetry.spark.session import attach_to


def join(gateway: Any) -> SparkContext:
    """Return PySpark's object for the JVM's SparkContext, and make the JVM's default session Python's own.

    Without a session of its own, PySpark would make the first statement's session the JVM's default.

    Args:
        gateway: PySpark's, to the JVM.
    """
    jvm = gateway.jvm
    session = jvm.org.apache.spark.sql.parquetry.protocol.Bridge.defaultSession()
    java = jvm.org.apache.spark.api.java.JavaSparkContext(session.sparkContext())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jvm=jvm, _jconf=java.getConf()))
    SparkSession(context, session)
    return context


def main() -> int:
    """Attach a planner to the JVM that started this process, and serve it until the JVM ends."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    wanted = sys.argv[1]
    if wanted != __version__:
        print(f"ERROR {sys.executable} has Parquetry {__version__}, and the bridge is of version {wanted}.")
        return 2
    try:
        attach_to(join(launch_gateway()))
    except BridgeError as error:
        print(f"ERROR {error.message}")
        return 3
    sys.stdin.buffer.read()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # PySpark's own end of a process would speak to a JVM that may have ended
