"""Filters of any length and depth: an error is a few lines, with the place of the mistake and the remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parquetry.errors import ColumnNotFoundError, ParquetryError, UnsupportedError
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Not, Or, equal
from parquetry.predicate.reading.parse import parse_filter
from parquetry.types import ColumnType
from tests.support.effort import STEP

LEVELS = 20_000 if STEP == 1 else 5000
INT = ColumnType("int")
COLUMNS = {"a": INT, "s": ColumnType("string")}
TEXTS = {
    "alternating": "(a = 1 OR NOT (a = 2 AND " * LEVELS + "a = 3" + "))" * LEVELS,
    "parentheses": "(" * LEVELS + "a = ?" + ")" * LEVELS,
    "not": "NOT " * LEVELS + "a",
    "and": "a = 1 AND " * LEVELS + "b = 1",
    "function": "lower(" * LEVELS + "s" + ")" * LEVELS + " = 'x'",
    "case": "CASE WHEN " * LEVELS + "a",
    "arithmetic": "a = " + "1 + " * LEVELS + "1",
    "list": "a IN (" + ", ".join(f"'x{n}'" for n in range(LEVELS)) + ")",
    "value": "a = '" + "x" * LEVELS + "'",
    "name": "x" * LEVELS + " = 1",
    "fields": "a" + ".b" * LEVELS + " = 1",
    "lines": "a = 1 AND\n" * LEVELS + "b = 1",
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_long_filter_has_a_short_message(kind: str) -> None:
    """The message has less than a kilobyte, says what is wrong, and marks the place in what it quotes."""
    with pytest.raises(ParquetryError) as caught:
        parse_filter(TEXTS[kind], COLUMNS)
    message = caught.value.message
    assert len(message.encode()) < 1000
    said, line, mark = message.rsplit("\n", 2)
    assert said[-1] == "." or "characters in all" in said
    assert line[len(mark) - 1] in "(aCsxbl+'?.1N"


def test_right_filters_of_many_levels() -> None:
    """Levels that mean nothing are no limit."""
    assert str(parse_filter("(" * LEVELS + "a = 1" + ")" * LEVELS, COLUMNS)) == "a = 1"
    assert str(parse_filter("NOT " * LEVELS + "a = 1", COLUMNS)) == "a = 1"


def test_a_long_condition_of_nodes() -> None:
    """Conditions that a program has built have short messages, too."""
    node: And | Or | Not = Not(equal("a", 1, INT))
    for number in range(300):
        node = (Or if number % 2 else And)((node, equal("a", number, INT)))
    with pytest.raises(UnsupportedError) as deep:
        Filter.bind(node, COLUMNS)
    with pytest.raises(ColumnNotFoundError) as long:
        Filter.bind(equal("x" * LEVELS, 1, INT), COLUMNS)
    assert len(deep.value.message) < 1000
    assert len(long.value.message) < 1000


@pytest.mark.parametrize("kind", ["NOT", "AND", "UPPER"])
@pytest.mark.parametrize("levels", [10, 400, 3000, LEVELS])
def test_a_deep_tree_of_spark_is_planned_or_refused_in_words(tmp_path: Path, kind: str, levels: int) -> None:
    """A question with a tree of any depth has an answer, or an error that says that it is nested too deep."""
    planner = Planner(NoEngine("UTC"))

    def ask(op: str, **fields: object) -> str:
        asked = {
            "protocol": codec.PROTOCOL,
            "op": op,
            "catalog": "lake",
            "options": {"warehouse": str(tmp_path)},
        }
        return json.dumps({**asked, **fields})

    schema = {"type": "struct", "fields": [{"name": "a", "type": "string", "nullable": True, "metadata": {}}]}
    created = ask(
        "create_table", namespace=["default"], name="t", schema=schema, partitioning=[], properties={}
    )
    table = json.loads(planner.ask(created))["ok"]["table"]
    leaf = '{"fn":"=","args":[{"col":["a"]},{"lit":"x","type":"string"}]}'
    before, after = f'{{"fn":"{kind}","args":[', f"{',' + leaf if kind == 'AND' else ''}]}}"
    tree = before * levels + leaf + after * levels
    answer = planner.ask(ask("push_predicates", table=table, predicates=["TREE"]).replace('"TREE"', tree))
    if "error" in answer[:20]:
        error = json.loads(answer)["error"]
        assert error["code"] == "UNSUPPORTED"
        assert "nested too deep" in error["message"]
        assert len(answer) < 1000
        assert levels > 10
    else:
        assert answer.startswith('{"ok":')
