"""Boxes of a join, read as one condition, allow each row that a row of the build side matches."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import Predicate
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.join_values import expand_boxes
from parquetry.predicate.reading.spark_json import from_json
from parquetry.types import ColumnType
from tests.support.effort import examples

COLUMNS = {"a": ColumnType("int"), "b": ColumnType("double")}
VALUES: dict[str, list[Any]] = {
    "a": [None, -3, 0, 1, 2, 3, 4, 2**31 - 1],
    "b": [None, -1.5, -0.0, 0.0, 2.5, 7.0, float("nan")],
}
TESTS = {"<": "LessThan", "<=": "LessThanOrEqual", ">": "GreaterThan", ">=": "GreaterThanOrEqual"}


def compared(chance: random.Random) -> dict[str, Any]:
    """Return a comparison of a column with a value of a box, as the bridge derives it."""
    name = chance.choice(["a", "b"])
    place = ["a", "b"].index(name)
    column, type = {"col": [name]}, str(COLUMNS[name])

    def bounded(op: str) -> dict[str, Any]:
        value = {"box": place, "least": op.startswith(">"), "type": type}
        return {"fn": op, "class": TESTS[op], "type": "boolean", "args": [column, value]}

    between = {"fn": "AND", "args": [bounded(">="), bounded("<=")]}
    kind = chance.randrange(4)
    if kind == 0:
        return between
    if kind == 1:
        return {"fn": "OR", "args": [between, {"fn": "IS_NULL", "args": [column]}]}
    if kind == 2:
        own = {"fn": "<=>", "args": [column, {"lit": None, "type": type}]}
        return {"fn": "AND", "args": [own, bounded("<")]} if chance.random() < 0.5 else own
    return bounded(chance.choice(list(TESTS)))


def condition(chance: random.Random, depth: int) -> dict[str, Any]:
    """Return a condition of several comparisons."""
    if not depth:
        return compared(chance)
    return {"fn": chance.choice(["AND", "OR"]), "args": [condition(chance, depth - 1) for _ in range(2)]}


def text(value: Any) -> str | None:
    """Return a value as the bridge sends it."""
    return None if value is None else "NaN" if value != value else str(value)


def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows in the order of the bridge: NULL is the least, NaN the greatest."""
    return sorted(
        set(rows), key=lambda row: [(v is not None, v != v, 0 if v is None or v != v else v) for v in row]
    )


def condition_of(tree: dict[str, Any]) -> Predicate:
    """Return the condition that a tree stands for."""
    return normalise(from_json(tree, COLUMNS))


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_all_matches_are_allowed(depth: int) -> None:
    """A condition of few boxes allows just the rows that match one; of many boxes, these and more."""
    chance = random.Random(depth)
    everything = list(itertools.product(*VALUES.values()))
    for _ in range(examples(200, least=30)):
        given = condition(chance, depth)
        rows = ordered(chance.choices(everything, k=chance.randint(0, 9)))
        tree = {"fn": "BOXES", "exact": True, "types": ["int", "double"], "condition": given}
        single = [condition_of({**tree, "most": 1, "rows": [list(map(text, row))]}) for row in rows]
        for most in (1, 2, 4, 100):
            found = condition_of({**tree, "most": most, "rows": [list(map(text, row)) for row in rows]})
            for values in everything:
                row = dict(zip(COLUMNS, values, strict=True))
                matched = any(evaluate(each, row) is True for each in single)
                allowed = evaluate(found, row) is True
                assert allowed or not matched, (given, rows, row)
                assert most < len(rows) or not rows or allowed == matched or len(single) > most


def test_forms() -> None:
    """Equal ends are an equality, NULL satisfies `<=>` alone, and without rows nothing needs a value."""
    day = {"col": ["a"]}
    low, high = ({"box": 0, "least": least, "type": "int"} for least in (True, False))
    between = {"fn": "AND", "args": [{"fn": ">=", "args": [day, low]}, {"fn": "<=", "args": [day, high]}]}
    same = {"fn": "<=>", "args": [{"col": ["b"]}, {"lit": None, "type": "double"}]}
    boxes = {"fn": "BOXES", "most": 100, "exact": True, "types": ["int"], "rows": [["3"], ["5"]]}
    assert str(condition_of({**boxes, "condition": between})) == "a IN (3, 5)"
    assert str(condition_of({**boxes, "exact": False, "condition": between})) == "a >= 3 AND a <= 5"
    assert str(condition_of({**boxes, "rows": [[None]], "condition": between})) == "FALSE"
    assert (
        str(condition_of({**boxes, "rows": [], "condition": {"fn": "OR", "args": [between, same]}}))
        == "b IS NULL"
    )
    assert (
        expand_boxes({**boxes, "rows": [], "condition": {"fn": "AND", "args": [between, same]}})["fn"]
        == "ALWAYS_FALSE"
    )
