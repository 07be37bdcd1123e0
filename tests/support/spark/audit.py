"""Spark's tests with audit on: `make test AUDIT=1`, or `AUDIT=5/24` for one test in twenty-four."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from tests.support.costs import METER

_TURN, _, _SHARE = os.environ.get("PARQUETRY_TEST_AUDIT", "").rpartition("/")
_ONE_IN = int(_SHARE or 0)
MARKER = "unaudited"
_COSTLY = ("storage", "uptime")
"""Folders that a sample leaves out: HDFS and S3 start for them, or hundreds of statements run."""


def is_on() -> bool:
    """Return whether the tests' sessions audit their queries."""
    return _ONE_IN > 0


def left_out(items: Sequence[Any]) -> set[Any]:
    """Return the tests that do not run with audit on.

    These are the tests outside of the sample, and the tests with a marker that says what an audit changes. A
    test whose programs start sessions of their own would run as without the audit.
    """
    if not is_on():
        return set()
    return {
        item
        for item in items
        if item.get_closest_marker(MARKER)
        or (zlib.crc32(item.nodeid.encode()) - int(_TURN or 0)) % _ONE_IN
        or "spark" not in item.fixturenames
        or (_ONE_IN > 1 and _is_costly(item))
    }


def _is_costly(item: Any) -> bool:
    """Return whether a test costs a minute before its first claim: it starts servers, or measures growth."""
    return item.path.parent.name in _COSTLY


def claims(session: SparkSession) -> int:
    """Return how many claims audits have checked so far."""
    return int(session._jvm.org.apache.spark.sql.parquetry.audit.AuditOutcome.claims())


def count_claims(session: SparkSession) -> None:
    """Have the run tell how many claims its audits have checked."""
    METER.claims = lambda: claims(session)
