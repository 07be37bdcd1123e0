"""Collects files of statements as pytest collects modules.

A section is a test, and the loops around it are its cases.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.spark import series
from tests.support.statements.records import FormError, Section, read
from tests.support.statements.running import RecordError, Runner
from tests.support.statements.spark_session import SparkRecords, labels

SUFFIX = ".test"
_SERIES = re.compile(r"spark (>=|=) (\d+\.\d+)")
_NEWEST = "spark newest"
_TAGS = ("core", "every_case", "unaudited")
_WHY = "the file says why"


class StatementFile(pytest.Module):
    """A file of statements, whose tests are its sections."""

    def _getobj(self) -> ModuleType:
        module = ModuleType(self.path.stem)
        try:
            for section in read(self.path):
                setattr(module, section.name, make_test(section))
        except FormError as error:
            raise self.CollectError(str(error)) from error
        return module


def make_test(section: Section) -> Callable[..., None]:
    """Return a section as a function that pytest collects; the variables of loops are its parameters."""

    def test(request: pytest.FixtureRequest, spark: SparkSession, db: str, **loops: str) -> None:
        failure = ""
        try:
            run(section, request, spark, db, loops)
        except (RecordError, FormError) as error:
            failure = str(error)
        if failure:
            pytest.fail(failure, pytrace=False)

    test.__name__ = test.__qualname__ = section.name
    test.__doc__ = section.claim
    test.__test__ = True  # type: ignore[attr-defined]
    arguments = ["request", "spark", "db", *(name for loop in section.loops for name in loop.names)]
    test.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in arguments]
    )
    made: Any = test
    for mark in [
        *(requirement(each, section.location) for each in section.requires),
        *(tag(each, section.location) for each in section.tags),
    ]:
        made = mark(made)
    for loop in section.loops:
        turns = loop.turns if len(loop.names) > 1 else [turn[0] for turn in loop.turns]
        made = pytest.mark.parametrize(",".join(loop.names), turns, ids=[turn[0] for turn in loop.turns])(
            made
        )
    return made


def requirement(words: str, location: str) -> pytest.MarkDecorator:
    """Return the marker of a line `require`."""
    if words == _NEWEST:
        return pytest.mark.newest(_WHY)
    if match := _SERIES.fullmatch(words):
        return pytest.mark.since(match[2], _WHY) if match[1] == ">=" else pytest.mark.only(match[2], _WHY)
    try:
        series.has(words)
    except KeyError:
        raise FormError(
            f"{location}: no feature is called {words!r}; config/spark_versions.py lists them."
        ) from None
    return pytest.mark.needs(words)


def tag(tag: str, location: str) -> pytest.MarkDecorator:
    """Return the marker of a word behind `tags`."""
    if tag not in _TAGS:
        raise FormError(f"{location}: {tag!r} is no tag; there are {', '.join(_TAGS)}.")
    return getattr(pytest.mark, tag)(_WHY) if tag == "unaudited" else getattr(pytest.mark, tag)


def run(
    section: Section, request: pytest.FixtureRequest, spark: SparkSession, db: str, loops: dict[str, str]
) -> None:
    """Run a section in a database of its own, which is the current one, and restore what it changes."""
    sessions: list[SparkRecords] = []

    def open_session(name: str) -> SparkRecords:
        session = spark.newSession() if name else spark
        session.sql(f"USE {db}")
        sessions.append(SparkRecords(session))
        return sessions[-1]

    text = repr(section)
    variables = {"db": db, "name": db.partition(".")[2]}
    for variable, fixture in (("folder", "tmp_path"), ("stock", "stock"), ("warehouse", "warehouse")):
        if f"${{{variable}" in text:
            variables[variable] = str(request.getfixturevalue(fixture))
    if "stock" in variables:
        variables["stock_name"] = variables["stock"].partition(".")[2]
    try:
        Runner(open_session, labels(), variables, loops).run(section.records)
    finally:
        for session in sessions:
            session.restore()
        spark.catalog.setCurrentCatalog("spark_catalog")
        spark.catalog.setCurrentDatabase("default")
