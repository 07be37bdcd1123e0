"""Spark's tests with audit on: `make test AUDIT=1`, or `AUDIT=12` for one test in twelve."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from tests.support.costs import METER

_ONE_IN = int(os.environ.get("PARQUETRY_TEST_AUDIT") or 0)
MARKER = "unaudited"


def is_on() -> bool:
    """Return whether the tests' sessions audit their queries."""
    return _ONE_IN > 0


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that do not run with audit on.

    These are the tests outside of the sample, and the tests with a marker that says what an audit changes.
    """
    if not is_on():
        return set()
    return {
        item
        for item in items
        if item.get_closest_marker(MARKER) or zlib.crc32(item.nodeid.encode()) % _ONE_IN
    }


def claims(session: SparkSession) -> int:
    """Return how many claims audits have checked so far."""
    return int(session._jvm.org.apache.spark.sql.parquetry.audit.AuditOutcome.claims())


def count_claims(session: SparkSession) -> None:
    """Have the run tell how many claims its audits have checked."""
    METER.claims = lambda: claims(session)
