"""Collects table files of joins as pytest collects modules, and runs their queries beside plain Spark.

A section is a test. Its lines are cases if they have names, and so are the turns of its loops `cases`.
"""

from __future__ import annotations

import inspect
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from parquetry.config import series_of
from tests.support.effort import IS_NEWEST, STEP, sampled
from tests.support.goldens import UPDATE
from tests.support.join_tables.counts import fits, rewrite
from tests.support.join_tables.made import MadeTables
from tests.support.join_tables.reading import (
    ALWAYS,
    READ,
    Line,
    Section,
    TableFile,
    counted,
    names_in,
    query_of,
    read,
    settings_of,
)
from tests.support.spark import plans
from tests.support.statements.collecting import requirement, tag
from tests.support.statements.records import FormError
from tests.support.tables.bucketed_tables import plainly, settings

SUFFIX = ".table"
_CASE = "case"
_OF_EARLIER_SERIES = {"spark.sql.sources.v2.bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled"}
"""Settings that the newest series has by another name."""
_ANSWERS: dict[str, list[tuple[Any, ...]]] = {}
"""The rows of plain Spark by the text of a query, as the views do not change."""
_GIVEN = {"series": series_of(pyspark.__version__) or "", "codegen": "true" if STEP == 1 else "false"}


class JoinTableFile(pytest.Module):
    """A table file, whose tests are its sections."""

    def _getobj(self) -> ModuleType:
        module = ModuleType(self.path.stem)
        try:
            file = read(self.path)
            for section in file.sections:
                setattr(module, section.name, _test(file, section))
        except FormError as error:
            raise self.CollectError(str(error)) from error
        return module


def _test(file: TableFile, section: Section) -> Callable[..., None]:
    """Return a section as a function that pytest collects."""
    by_name = {line.cells[_CASE]: line for line in section.lines if _CASE in line.cells}

    def test(spark: SparkSession, join_tables: MadeTables, **case: str) -> None:
        lines = [by_name[case.pop(_CASE)]] if by_name else section.lines
        failures = [text for line in lines for text in _run(file, section, line, spark, join_tables, case)]
        if failures:
            pytest.fail("\n".join(failures), pytrace=False)

    names = [name for loop in section.cases for name in loop.names] + [_CASE] * bool(by_name)
    test.__name__ = test.__qualname__ = section.name
    test.__doc__ = section.claim
    test.__test__ = True  # type: ignore[attr-defined]
    test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("spark", "join_tables", *names)]
    )
    made: Any = test
    for words in section.requires:
        made = requirement(words, section.location)(made)
    for word in section.tags:
        made = tag(word, section.location)(made)
    for loop in section.cases:
        turns = loop.turns if len(loop.names) > 1 else [turn[0] for turn in loop.turns]
        made = pytest.mark.parametrize(",".join(loop.names), turns, ids=[turn[0] for turn in loop.turns])(
            made
        )
    return pytest.mark.parametrize(_CASE, by_name)(made) if by_name else made  # type: ignore[no-any-return]


def _run(
    file: TableFile,
    section: Section,
    line: Line,
    spark: SparkSession,
    tables: MadeTables,
    case: Mapping[str, str],
) -> Iterator[str]:
    """Run a line in each turn of its section, or in a sample; yield what is not as the line has it."""
    got: defaultdict[str, list[tuple[int, str, str]]] = defaultdict(list)
    turns = section.turns()
    if "every_case" not in section.tags:
        turns = list(sampled(turns, section.name, line.query, *case.values()))
    for turn in turns:
        variables = {**file.variables, **ALWAYS, **_GIVEN, **case, **turn}
        query = query_of(line, variables)
        twins = {name: tables.of(name, variables) for name in names_in(query)}
        where = f"{line.location} ({', '.join(f'{k}={v}' for k, v in {**case, **turn}.items())})"
        chosen = dict(settings_of(section, line, variables))
        unknown = [name for name in {*chosen} - _OF_EARLIER_SERIES if not _is_known(spark, name)]
        if unknown:
            yield f"{where}: Spark has no setting {', '.join(unknown)}"
        text = query.format(**{name: each.view for name, each in twins.items()})
        if text not in _ANSWERS:
            _ANSWERS[text] = plainly(spark, text)
        with settings(spark, chosen):
            frame = spark.sql(query.format(**{name: each.table for name, each in twins.items()}))
            rows, nodes = plans.run(frame)
            for column in counted(line):
                number = _count(frame, nodes, column)
                got[column].append((number, line.expected(column, variables), where))
        if plans.comparable(rows) != _ANSWERS[text]:
            yield f"{where}: it has other rows than plain Spark\n{query}"
    for column, counts in got.items():
        wrong = [each for each in counts if not fits(*each[:2])]
        numbers = {number for number, _, _ in counts}
        if wrong and not (os.environ.get(UPDATE) == "1" and rewrite(line, column, numbers)):
            yield from (
                f"{where}: {column} is {number}, not {expected}\n{line.query}"
                for number, expected, where in wrong
            )


def _is_known(spark: SparkSession, name: str) -> bool:
    """Return whether a setting exists. Earlier series lack some, and queries refuse unknown ones of ours."""
    return not IS_NEWEST or not name.startswith("spark.") or spark.conf.isModifiable(name)


def _count(frame: DataFrame, nodes: Mapping[str, int], column: str) -> int:
    """Return what a column counts in a query that has run."""
    if column == "tasks":
        return plans.tasks(frame)
    if column == "apart":
        return sum("keys" in each for each in parquetry.report(frame).to_dict().get("heavy_keys", []))
    if column in READ:
        steps = [step for scan in parquetry.report(frame).scans for step in scan.steps]
        return sum(step.kept for step in steps if step.name == column)
    return sum(nodes[name] for name in column.split("+"))
