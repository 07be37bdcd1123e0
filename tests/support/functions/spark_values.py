"""Spark's own values of expressions over the rows of a view, and the bridge's trees of the expressions.

Spark evaluates a projection over literal rows in its optimizer, so no job runs. A row whose value is an error
does not hide the other rows: each expression is evaluated under `TryEval`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from parquetry.predicate.reading.operand_trees import literal_reader
from parquetry.types import parse_type

LOCAL = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
_CATALYST = "org.apache.spark.sql.catalyst.expressions"


class _Error:
    """The outcome of a row that is an error in Spark."""

    def __repr__(self) -> str:
        return "error"


ERROR = _Error()


class Evaluated(NamedTuple):
    """An expression with Spark's value for each row.

    Attributes:
        sql: the expression.
        tree: as the bridge sends it.
        type: of the values, as SQL writes it.
        values: as the planner has them, texts as bytes; None is NULL, and `ERROR` an error.
    """

    sql: str
    tree: Any
    type: str
    values: list[Any]


def evaluate(spark: SparkSession, view: str, expressions: Sequence[str]) -> list[Evaluated]:
    """Return Spark's values of expressions over all rows of a view of literals."""
    jvm: Any = spark._jvm
    expressions_of = getattr(jvm, _CATALYST)
    column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column
    found = [_plain(each) for each in _analysed(spark, view, expressions)]
    columns = []
    for each in found:
        guarded = column(expressions_of.TryEval(each))
        columns.append(guarded.cast("binary") if each.dataType().sql() == "STRING" else guarded)
        columns.append(column(expressions_of.TryEval(expressions_of.IsNull(each))))
    array = spark.sparkContext._gateway.new_array(jvm.org.apache.spark.sql.Column, len(columns))
    for position, each in enumerate(columns):
        array[position] = each.alias(f"c{position}")
    plan = spark.table(view)._jdf.select(array).queryExecution().optimizedPlan()
    rows = [json.loads(text) for text in _texts(jvm, plan)]
    trees, compact = (
        _module(jvm, "org.apache.spark.sql.parquetry.predicates.ExpressionTrees"),
        _module(jvm, "org.json4s.jackson.JsonMethods").compact,
    )
    return [
        Evaluated(sql, json.loads(compact(trees.of(each))), type, _values(type, rows, position))
        for position, (sql, each, type) in enumerate(
            (sql, each, each.dataType().sql().lower()) for sql, each in zip(expressions, found, strict=True)
        )
    ]


def _module(jvm: Any, name: str) -> Any:
    return getattr(getattr(jvm, f"{name}$"), "MODULE$")


def _analysed(spark: SparkSession, view: str, expressions: Sequence[str]) -> list[Any]:
    """Return the optimized expressions over the view's rows."""
    spark.conf.set("spark.sql.optimizer.excludedRules", LOCAL)
    try:
        selected = ", ".join(f"({each}) AS c{position}" for position, each in enumerate(expressions))
        plan = spark.sql(f"SELECT {selected} FROM {view}")._jdf.queryExecution().optimizedPlan()
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")
    assert plan.nodeName() == "Project", plan.toString()[:2000]
    several = plan.projectList()
    return [several.apply(position) for position in range(several.length())]


def _plain(expression: Any) -> Any:
    return expression.child() if expression.nodeName() == "Alias" else expression


def _texts(jvm: Any, plan: Any) -> list[str]:
    """Return the rows of a plan of literals as JSON."""
    assert plan.nodeName() == "LocalRelation", plan.toString()[:2000]
    of_row, compact = (
        _module(jvm, "org.apache.spark.sql.parquetry.protocol.Json").ofRow,
        _module(jvm, "org.json4s.jackson.JsonMethods").compact,
    )
    data, schema = plan.data(), plan.schema()
    return [compact(of_row(data.apply(position), schema)) for position in range(data.length())]


def _values(type: str, rows: Sequence[Sequence[str | None]], position: int) -> list[Any]:
    read: Any = str
    if type == "string":
        read = bytes.fromhex
    elif parse_type(type).keyed:
        read = literal_reader(type)[1]
    found: list[Any] = []
    for row in rows:
        value, null = row[2 * position], row[2 * position + 1]
        found.append(ERROR if null is None else None if value is None else read(value))
    return found
