"""Turn the values of joins into conditions of a scan: sets, ranges, tuples, or a comparison with a value.

The bridge sends the values of a column packed (`predicate.reading.join_values`). If there are more than
`LIMITS.set_values`, it sends their number, their minimum and their maximum:
{"fn": "WITHIN", "col": ["k"], "type": "bigint", "count": 2000000, "least": "3", "greatest": "9"}.

A key may be computed, such as `f.id + 1`. Then a tree has its expression, `of`, in place of a column.

Values of several keys from one filter are tuples, or a set for each key if tuples prune no better:
`{"fn": "TUPLES", "count": 8, "args": [{"col": ["day"], "type": "date", "packed": …}, …]}`. The n-th values of
all columns are one tuple. If there are more tuples than the bridge sends of a set, it sends an AND of one set
for each column. If there are none, it sends no columns.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import msgspec

from parquetry.config import RUNTIME_PRUNING, SESSION_PREFIX, Settings
from parquetry.joins import LIMITS
from parquetry.metastore import TableSnapshot
from parquetry.planner.predicates import EVALUATED, conditions
from parquetry.planner.protocol.questions import ScanCounts
from parquetry.predicate import Compare, In, Or, Predicate, name_text, raw_values, tree_text
from parquetry.prune import (
    Condition,
    Origin,
    RunTimeReport,
    RuntimeValues,
    ScanReport,
    StepReduction,
    found_values,
    reductions,
)
from parquetry.texts import quantity
from parquetry.types import Family, facts_of, sql_literal

TUPLES = "TUPLES"


def split_tuples(tree: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the conditions to plan by, joined by AND.

    An AND becomes its parts. Tuples become one set for each column where tuples prune no better. Any other
    tree stays.

    Args:
        tree: a condition as the bridge sends it.
    """
    if tree.get("fn") == "AND":
        return [part for each in tree["args"] for part in split_tuples(each)]
    if tree.get("fn") != TUPLES:
        return [tree]
    if tree["count"] > LIMITS.tuples or _independent(tree):
        return [_column_set(column) for column in tree["args"]]
    return [tree]


def distinct_tuples(tree: Mapping[str, Any]) -> int:
    """Return how many different tuples a tree has: a build side may give one several times.

    >>> from base64 import b64encode
    >>> column = {"values": ["x", "x", "y"]}
    >>> distinct_tuples({"count": 3, "args": [column, column]})
    2
    >>> distinct_tuples({"count": 3, "args": [{**column, "nulls": b64encode(bytes([0, 1, 1])).decode()}]})
    3
    """
    if not tree["count"]:
        return 0
    columns = []
    for column in tree["args"]:
        flags = b64decode(column["nulls"]) if "nulls" in column else bytes(tree["count"])
        columns.append(list(zip(raw_values(column), flags, strict=True)))
    return len(set(zip(*columns, strict=True)))


def _independent(tree: Mapping[str, Any]) -> bool:
    """Return whether every combination of the columns' values is a tuple, so that the sets mean the same."""
    if not tree["count"] or any("nulls" in column for column in tree["args"]):
        return False
    return bool(prod(len(set(raw_values(column))) for column in tree["args"]) == distinct_tuples(tree))


def _column_set(column: dict[str, Any]) -> dict[str, Any]:
    values = {"fn": "IN", **column}
    if "nulls" not in column:
        return values
    return {"fn": "OR", "args": [values, {"fn": "IS_NULL", "args": [{"col": column["col"]}]}]}


_WITHIN_FUNCTION = "WITHIN"
_PLAN_TIME_NOTE = "known in planning"


class RuntimeCondition(NamedTuple):
    """A condition from a join, and its values for the report."""

    condition: Condition
    values: RuntimeValues


def runtime_conditions(
    snapshot: TableSnapshot, trees: Sequence[dict[str, Any]], origin: Origin = "join"
) -> list[RuntimeCondition]:
    """Return the conditions of runtime filters, in order. One tree of tuples may give several.

    Args:
        snapshot: the version of the table.
        trees: as the bridge sends them.
        origin: `join` for values that arrived at run time, `known` for plan-time values.
    """
    trees = [part for tree in trees for part in split_tuples(tree)]
    read = conditions(snapshot, [_bounded(tree) for tree in trees], origin)
    arrived = [_runtime_condition(condition, tree) for condition, tree in zip(read, trees, strict=True)]
    if origin == "known":
        arrived = [
            RuntimeCondition(condition, msgspec.structs.replace(values, note=_PLAN_TIME_NOTE))
            for condition, values in arrived
        ]
    return arrived


def _bounded(tree: dict[str, Any]) -> dict[str, Any]:
    if tree.get("fn") == "OR":  # a set that contains NULL
        return {**tree, "args": [_bounded(each) for each in tree["args"]]}
    if tree.get("fn") != _WITHIN_FUNCTION:
        return tree
    if facts_of(tree["type"]).family is Family.FLOAT:  # NaN, and zeros of both signs, make no bounds
        return {"fn": "ALWAYS_TRUE"}
    ends = ((">=", "least"), ("<=", "greatest"))
    column = tree["of"] if "of" in tree else {"col": tree["col"]}
    return {
        "fn": "AND",
        "args": [{"fn": op, "args": [column, {"lit": tree[end], "type": tree["type"]}]} for op, end in ends],
    }


def _runtime_condition(condition: Condition, tree: dict[str, Any]) -> RuntimeCondition:
    node = condition.predicate
    if tree.get("fn") == TUPLES:
        return _tuple_condition(condition, tree)
    if tree.get("fn") == _WITHIN_FUNCTION:
        note = f"more than {LIMITS.set_values:,}: by the least and the greatest"
        return RuntimeCondition(condition, found_values(_key_text(tree), tree["count"], note))
    if tree.get("fn") == EVALUATED:
        values = found_values(
            tree.get("of", condition.text), tree.get("count"), tuples=tree.get("tuples", False)
        )
        return RuntimeCondition(condition, values)
    if "of" in tree:
        return RuntimeCondition(condition, found_values(_key_text(tree), len(set(raw_values(tree)))))
    count = _count(node)
    if count is None:
        if isinstance(node, Or) and len(node.children) > LIMITS.listed_values:
            written = f"{', '.join(map(name_text, sorted(condition.about)))} IN {quantity(len(node.children), 'range')}"
            condition = Condition(condition.filter, condition.about, written, condition.origin)
        return RuntimeCondition(condition, found_values(condition.text, None))
    assert isinstance(node, In | Compare)
    if isinstance(node, In) and len(node.values) > LIMITS.listed_values:
        condition = Condition(condition.filter, condition.about, _summary(node), condition.origin)
    return RuntimeCondition(condition, found_values(name_text(node.column), count))


def _tuple_condition(condition: Condition, tree: dict[str, Any]) -> RuntimeCondition:
    keys = tree.get("args", ())
    text = tree.get("text") or f"({', '.join(map(_key_text, keys))})"
    count = distinct_tuples(tree)
    if not 0 < count <= LIMITS.listed_values or any("of" in key for key in keys):
        written = f"{text} IN ({count:,} tuples)"
        condition = Condition(condition.filter, condition.about, written, condition.origin)
    return RuntimeCondition(condition, found_values(text, count, tuples=True))


def _key_text(tree: dict[str, Any]) -> str:
    return tree_text(tree["of"]) if "of" in tree else tree_text({"col": tree["col"]})


def _count(node: Predicate) -> int | None:
    if isinstance(node, In):
        return len(node.values)
    return 1 if isinstance(node, Compare) and node.op == "=" else None


def _summary(node: In) -> str:
    least, greatest = (sql_literal(node.type, value) for value in (node.values[0], node.values[-1]))
    return f"{name_text(node.column)} IN ({quantity(len(node.values), 'value')} from {least} to {greatest})"


def runtime_report(
    arrived: Sequence[RuntimeCondition], settings: Settings, before: ScanCounts | None, after: ScanReport
) -> RunTimeReport | None:
    """Return the report about runtime filters, or None if none have arrived yet.

    Args:
        arrived: the conditions of the filters.
        settings: of the read.
        before: the scan's counts without the filters, or None if unknown.
        after: the scan's report with them.
    """
    if not settings[RUNTIME_PRUNING]:
        return RunTimeReport(off=_where(settings))
    if not arrived:
        return None
    steps = [(step.name, step.kept, step.of) for step in after.steps]
    kept = [] if before is None else before.steps
    smaller: tuple[StepReduction, ...] = reductions(
        [(step.name, step.kept) for step in kept], steps, {step.name for step in kept if step.about}
    )
    late = before is not None and before.by_totals
    return RunTimeReport(tuple(each.values for each in arrived), smaller, late=late)


def unused(
    arrived: Sequence[Sequence[RuntimeCondition]], report: ScanReport, by_readers: Collection[str] = ()
) -> list[str | None]:
    """Return for each runtime filter why it prunes nothing, or None if it prunes something.

    Args:
        arrived: the conditions of each filter. A filter has several if sets replace its tuples.
        report: of the scan with them.
        by_readers: columns whose values go to the readers. These skip row groups, and do not report which.
    """
    reasons = ([_unused(each, report, by_readers) for each in filter] for filter in arrived)
    return [None if None in each or not each else each[0] for each in reasons]


def _unused(runtime: RuntimeCondition, report: ScanReport, by_readers: Collection[str]) -> str | None:
    condition = runtime.condition
    if any((condition.text, condition.origin) in step.causes() for step in report.steps):
        return None
    reasons = [
        note.reason
        for step in report.steps
        for note in step.not_by
        if (note.condition, note.origin) == (condition.text, condition.origin)
    ]
    reason = reasons[-1] if reasons else "nothing is left that it could leave out"
    if runtime.values.note is not None:
        reason = f"{runtime.values.note}, and {reason}"
    return f"{reason}, and readers look for row groups" if condition.about & set(by_readers) else reason


def _where(settings: Settings) -> str:
    level = settings.effective(RUNTIME_PRUNING).level
    if level == "session":
        return f"session setting '{SESSION_PREFIX}{RUNTIME_PRUNING}'"
    return f"{'option' if level == 'option' else 'table property'} '{RUNTIME_PRUNING}'"
