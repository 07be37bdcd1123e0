"""Conditions of Hive's own expressions select what Hive's own metastore selects.

Hive's classes wrote the expressions and applied them: see `tests/support/hive/expressions/recording.py`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from parquetry.hive import PartitionExpression, read_partition_expression
from parquetry.hive.expressions import conditions
from parquetry.hive.expressions.tree import CallNode, ExpressionNode, read_tree
from parquetry.predicate import TRUE, And, Not, Opaque, Or, Predicate
from parquetry.predicate.evaluate import evaluate
from tests.support.goldens import GOLDENS, check_golden
from tests.support.hive.expressions.recording import (
    VERSIONS,
    Recorded,
    column_types,
    partition_values,
    recorded,
)

COLUMNS = column_types()
UNREAD = {"unix_timestamp(ts) > 0"}
"""Expressions with a class that is not on the list."""


def weakened(node: Predicate) -> Predicate:
    """Replace each part that is not understood by what it implies."""
    match node:
        case And(children) | Or(children):
            return type(node)(tuple(map(weakened, children)))
        case Not(Opaque()):
            return TRUE
        case Opaque(implied=implied):
            return TRUE if implied is None else implied
    return node


def read(each: Recorded) -> PartitionExpression:
    """Read an expression; it has to be understood."""
    found = read_partition_expression(each.data, COLUMNS)
    assert found is not None, each.id
    return found


def selections(each: Recorded) -> list[tuple[str, bool]]:
    """Return, for each partition, Hive's answer and whether ours may select it."""
    condition = weakened(read(each).filter.node)
    return [
        (truth, evaluate(condition, values) is True)
        for truth, values in zip(each.truths, partition_values(), strict=True)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_partition_is_lost(version: str) -> None:
    """Each partition that Hive's metastore selects by an expression is selected by our condition."""
    of_version = [each for each in recorded() if each.hive == version and each.text not in UNREAD]
    lost = [each.id for each in of_version if ("T", False) in selections(each)]
    assert len(of_version) > 500
    assert lost == []


@pytest.mark.parametrize("version", VERSIONS)
def test_exact_conditions_select_no_more(version: str) -> None:
    """A condition that is exact selects no partition that Hive's metastore does not select."""
    exact = [
        each for each in recorded() if each.hive == version and each.text not in UNREAD and read(each).exact
    ]
    more = [each.id for each in exact if ("F", True) in selections(each)]
    assert len(exact) > 300
    assert more == []


def test_expressions_of_unknown_classes_are_not_understood() -> None:
    """An expression with a class that is not on the list is not understood as a whole."""
    unread = [each for each in recorded() if each.text in UNREAD]
    assert {each.hive for each in unread} == set(VERSIONS)
    assert [each.id for each in unread if read_partition_expression(each.data, COLUMNS) is not None] == []


def test_conditions() -> None:
    """A golden file has each expression with its condition, or with why parts are not understood."""
    versions = defaultdict(list)
    for each in recorded():
        if each.zone == "UTC" and each.text not in UNREAD:
            found = read(each)
            answer = str(found.filter) if found.exact else f"{found.filter}   [{'; '.join(found.reasons)}]"
            text = each.string if each.folded else each.text
            line = (text[:150].replace("\n", "\\n"), answer[:300].replace("\n", "\\n").replace("\r", "\\r"))
            if each.hive[0] not in versions[line]:
                versions[line].append(each.hive[0])
    lines = [f"{''.join(found)} | {text} ⇒ {answer}\n" for (text, answer), found in versions.items()]
    check_golden(GOLDENS / "hive-expressions.txt", "".join(lines))


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_are_tested_as_hive_tests_them(version: str) -> None:
    """Where texts are compared as numbers or dates, each partition has the truth that Hive finds."""
    tested = [
        each
        for each in recorded()
        if each.hive == version and each.text not in UNREAD and read(each).is_tested
    ]
    assert len(tested) > 20
    for each in tested:
        condition = read(each)
        for truth, values in zip(each.truths, partition_values(), strict=True):
            truths = condition.truths(values)
            assert len(truths) > 1 or (True in truths) == (truth == "T"), (each.id, values)


def without_types(node: ExpressionNode) -> ExpressionNode:
    """Return an expression as Hive's planner sends it: copies of comparisons do not say their common type."""
    if not isinstance(node, CallNode):
        return node
    return replace(node, args=tuple(map(without_types, node.args)), compared=("",) * len(node.compared))


@pytest.mark.parametrize("version", VERSIONS)
def test_comparisons_without_a_type(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison that does not say its common type selects what it would select if it did."""

    def read_copies(data: bytes) -> tuple[ExpressionNode, Any]:
        tree, dialect = read_tree(data)
        return without_types(tree), dialect

    of_version = [each for each in recorded() if each.hive == version and each.text not in UNREAD]
    saying = {each.id: read(each).filter for each in of_version}
    monkeypatch.setattr(conditions, "read_tree", read_copies)
    assert {each.id: read(each).filter for each in of_version} == saying
