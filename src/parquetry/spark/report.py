"""What the scans of a query read and left out, and why: before a run, and after it."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession

from parquetry.prune.report import Report
from parquetry.spark.session import attach

_UNTRANSLATED = "Spark does not hand this condition to a data source"


def explain(query: DataFrame | str) -> Report:
    """Plan a query without running it, and return what its scans will read.

    Values that joins find at run time are not known yet; `report` has them.

    Args:
        query: a DataFrame, or SQL for the active session.

    Raises:
        BridgeError: the session has no bridge.
    """
    return report(SparkSession.active().sql(query) if isinstance(query, str) else query)


def report(frame: DataFrame) -> Report:
    """Return what the scans of a DataFrame have read; of one that has not run yet, what they will.

    Args:
        frame: with scans of Parquetry's tables; others are passed over.

    Raises:
        BridgeError: the session has no bridge.
    """
    spark = attach(frame.sparkSession)
    door = spark._jvm.org.apache.spark.sql.parquetry.Reports
    scans = []
    for found in json.loads(door.of(frame._jdf)):
        scan = found["report"]
        notes = [{"condition": text, "reason": _UNTRANSLATED} for text in found["untranslated"]]
        for step in scan["steps"]:
            if step["name"] in ("partitions", "files"):
                step["not_by"] = [*step["not_by"], *notes]
        scans.append(scan)
    return Report.from_dict({"scans": scans})
