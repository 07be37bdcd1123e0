"""Queries in a file of SQL as a session plans them: Spark's optimizer tells tables, conditions and joins.

No query runs. Statements that prepare others (USE, SET, CREATE TEMPORARY VIEW) run in a copy of the session.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from parquetry.errors import UnsupportedError
from parquetry.spark.active import java_error, session_of
from parquetry.workload import PlanInfo, QueryRecord, count_shuffles, read_statements, reads_of

_LOG = logging.getLogger("parquetry")
_DOOR = "sql-file"
_PREPARES = re.compile(
    r"(?:USE|SET|CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+)?TEMP(?:ORARY)?\s+VIEW)\b", re.IGNORECASE
)

_WRITES_OF_QUERIES = (
    *("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"),
    *("CreateTableAsSelect", "ReplaceTableAsSelect"),
)
"""Spark's names of commands that write the rows of a query."""


def plan_queries(spark: SparkSession, path: str) -> Iterator[QueryRecord]:
    """Yield the queries of a file that read tables, as a session plans them.

    A statement that Spark refuses is left out, with a warning in the log.

    Args:
        spark: the session, which need not have Parquetry.
        path: of the file.

    Raises:
        WarehouseError: the file cannot be read.
        UnsupportedError: the session is a client of Spark Connect, which shows no plans.
    """
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedError(
            f"The queries of {path} are planned in a session of this process, and this one is a client of Spark Connect: "
            "read them without a session."
        )
    copy = session_of(spark._jsparkSession.cloneSession())
    for number, statement in enumerate(read_statements(path), 1):
        try:
            if _PREPARES.match(statement):
                copy.sql(statement)
                continue
            plan = _plan_of(copy, statement)
        except (Py4JJavaError, CapturedException) as error:
            reason = str(java_error(error).toString()).splitlines()[0]
            _LOG.warning("Statement %d of %s is left out, since Spark refuses it: %s", number, path, reason)
            continue
        if reads := reads_of(plan):
            yield QueryRecord(reads, door=_DOOR, statement=statement, shuffles=count_shuffles(plan))


def _plan_of(spark: SparkSession, statement: str) -> PlanInfo:
    jvm: Any = spark._jvm
    state = spark._jsparkSession.sessionState()
    mode = jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    query = state.executePlan(state.sqlParser().parsePlan(statement), mode)
    analyzed = query.analyzed()
    if analyzed.getClass().getSimpleName() in _WRITES_OF_QUERIES:  # Spark's plan of the write hides its query
        query = state.executePlan(analyzed.query(), mode)
    info = jvm.org.apache.spark.sql.execution.SparkPlanInfo.fromSparkPlan(query.executedPlan())
    mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper()
    mapper.registerModule(jvm.com.fasterxml.jackson.module.scala.DefaultScalaModule())
    return msgspec.json.decode(mapper.writeValueAsString(info), type=PlanInfo)
