"""The plans in tests/golden/plans are the recorded ones, and they are right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from parquetry.key_schema import KeySchema
from parquetry.metastore import TableSnapshot
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.predicate.evaluate import evaluate
from parquetry.scan import plan_scan
from parquetry.scan.plan_text import plan_text
from tests.support.goldens import GOLDENS, check_golden
from tests.support.planning.keys import read_plan
from tests.support.planning.plan_goldens import PlanExample, Row, read_examples, with_plans
from tests.support.planning.plan_texts import read_range

FILES = sorted((GOLDENS / "plans").glob("*.txt"))
VERSION = b"\x00" * 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans_are_as_written_and_find_what_the_filter_says(path: Path) -> None:
    """Each plan of a golden file is right, as it is and as its text says, before its text is compared."""
    examples = list(read_examples(path))
    tables: dict[int, TableSnapshot] = {}
    plans: dict[int, Sequence[str]] = {}
    for example in examples:
        setting = example.setting
        if setting.index:
            if id(setting) not in tables:
                tables[id(setting)] = setting.table()
            plans[example.line] = _planned_by_table(example, tables[id(setting)])
        else:
            plans[example.line] = _planned(example)
    check_golden(path, with_plans(path, plans))


def _wanted(example: PlanExample) -> list[Row]:
    """Return the rows that a filter is TRUE for, in the order of their keys."""
    schema, filter = example.setting.schema, example.filter
    rows = example.setting.rows(filter)
    wanted = [row for row in rows if evaluate(filter.node, dict(zip(schema.types, row, strict=True))) is True]
    return sorted(wanted, key=schema.encode)


def _planned(example: PlanExample) -> list[str]:
    schema = example.setting.schema
    plan = plan_scan(example.filter, schema)
    keys = sorted(map(schema.encode, example.setting.rows(example.filter)))
    found = read_plan(
        plan,
        schema,
        lambda start, stop: [k for k in keys if start <= k and (stop is None or k + VERSION < stop)],
    )
    wanted = list(map(schema.encode, _wanted(example)))
    assert list(found) == wanted, example.text
    lines = plan_text(plan, schema).splitlines()
    said = [key for line in lines for key in _said(line, schema, keys)]
    assert said == wanted, (example.text, lines)
    assert bool(wanted) == bool(plan.scans), f"{example.text}: no key is generated that it finds"
    return lines


def _planned_by_table(example: PlanExample, table: TableSnapshot) -> list[str]:
    plan = cheapest_plan(table, example.filter)
    wanted = _wanted(example)
    assert [partition.values for partition in table.partitions(plan)] == wanted, example.text
    return plan_text(plan, table.key_schema).splitlines()


def _said(line: str, schema: KeySchema, keys: Sequence[bytes]) -> list[bytes]:
    """Return the keys that a line of a plan says are found."""
    if line == "nothing to scan":
        return []
    _, within, residual = read_range(line, schema.types)
    rows = [(key, dict(zip(schema.types, schema.decode(key), strict=True))) for key in keys]
    return [key for key, row in rows if all(evaluate(part.node, row) is True for part in (within, residual))]
