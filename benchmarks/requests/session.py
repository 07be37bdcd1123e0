"""A Spark session in a process of its own: it reads settings and then statements from its input, as JSON.

It runs under the PySpark of its side, so of this project it imports only Parquetry, and only on request.
"""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import SparkSession

ANSWER = "ANSWER "


def main() -> None:
    """Start the session, then run statement by statement, and answer each with `null` or its error."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    start = json.loads(sys.stdin.readline())
    builder = SparkSession.builder.master("local[2]").appName("requests")
    for name, value in start["settings"].items():
        builder = builder.config(name, value)
    if start["warehouse"]:
        import parquetry

        builder = parquetry.configure(builder, "lake", start["warehouse"], store=start["store"])
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    _answer(None)
    for line in sys.stdin:
        try:
            spark.sql(json.loads(line)).collect()
        except Exception as error:  # noqa: BLE001  # the parent is told, and stops
            _answer(f"{type(error).__name__}: {str(error)[:2000]}")
        else:
            _answer(None)


def _answer(error: str | None) -> None:
    print(ANSWER + json.dumps(error), flush=True)


if __name__ == "__main__":
    main()
