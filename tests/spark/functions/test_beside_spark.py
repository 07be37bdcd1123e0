"""Each function of the planner's table has Spark's own values over the edges of its types.

`tests/support/functions` has the edges, the calls, Spark's values of them, and what is compared. The time
zones take the calls of times by turns; with and without errors (ANSI) take the other calls by turns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.predicate.functions import table
from parquetry.types import parse_type
from tests.support.effort import STEP
from tests.support.functions.calls import CALLS, TIMED, under_other_names
from tests.support.functions.edges import ZONES, edges, statement
from tests.support.functions.spark_values import Evaluated, evaluate
from tests.support.functions.verdicts import Judged, Rows

pytestmark = pytest.mark.newest("functions and expressions are listed for the newest series")

VIEW = "edges_of_types"
RUNS, CONDITIONS = (12, 1) if STEP > 1 else (60, 8)
"""Containers and conditions for each expression."""
_NAME = re.compile(r"[a-z]+\d*_?")


def _values(spark: SparkSession, zone: str, ansi: bool, calls: Sequence[str]) -> tuple[Rows, list[Evaluated]]:
    """Return rows of edges, and Spark's values of calls over them."""
    known = edges(zone)
    words = {word for call in calls for word in _NAME.findall(call)}
    names = [name for each in known for name in (each, f"{each}_") if name in words]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.sql(statement(known, names, seed=1)).createOrReplaceTempView(VIEW)
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    found = evaluate(spark, VIEW, [*names, *calls])
    columns = found[: len(names)]
    types = {each.sql: parse_type(known[each.sql.rstrip("_")].read_as) for each in columns}
    return Rows({each.sql: (types[each.sql], each.values) for each in columns}), found


def _turns(calls: Sequence[str], turn: int, turns: int) -> Sequence[str]:
    return calls if STEP == 1 else calls[turn::turns]


@pytest.fixture(scope="module")
def evaluated(spark: SparkSession) -> list[tuple[Rows, list[Evaluated]]]:
    """All calls, with Spark's values."""
    modes = (True, False)
    found = [_values(spark, "UTC", ansi, _turns(CALLS, turn, 2)) for turn, ansi in enumerate(modes)]
    for turn, zone in enumerate(ZONES):
        for ansi in modes if STEP == 1 else modes[turn % 2 :][:1]:
            found += [_values(spark, zone, ansi, _turns(TIMED, turn, len(ZONES)))]
    return found


def _judged(evaluated: Sequence[tuple[Rows, Sequence[Evaluated]]]) -> Iterator[Judged]:
    """Yield each call that the planner knows, compared with Spark's values."""
    dice = random.Random(1)
    for rows, several in evaluated:
        for each in several:
            judged = Judged(rows, each)
            if judged.is_known:
                containers = judged.containers(dice, RUNS)
                judged.check_rows()
                judged.check_runs(containers)
                judged.check_direction()
                judged.check_conditions(containers, dice, CONDITIONS)
                yield judged


@pytest.fixture(scope="module")
def judged(evaluated: list[tuple[Rows, list[Evaluated]]]) -> list[Judged]:
    """The calls that the planner knows, compared with Spark's values."""
    return list(_judged(evaluated))


def test_no_claim_is_refuted(judged: list[Judged]) -> None:
    """Ranges, implied conditions and verdicts allow the value, and the error, of every row of Spark's."""
    faults = [fault for each in judged for fault in each.faults]
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:20]])
    assert sum(each.decided for each in judged) > len(judged)


def test_every_function_has_edges(
    judged: list[Judged], evaluated: list[tuple[Rows, list[Evaluated]]]
) -> None:
    """Each name of the table is called by some expression whose value the planner knows exactly for a row."""
    exact = {each.name for each in judged if each.exact}
    faults = []
    for rows, several in evaluated:
        for each in several:
            for name, tree in under_other_names(each.tree):
                other = Judged(rows, each, tree)
                if name not in exact and other.is_known:
                    other.check_rows()
                    faults += other.faults
                    exact |= {name} if other.exact else set()
    assert not faults
    assert table.FUNCTIONS.keys() - exact == set()


@pytest.mark.parametrize("language", ["tr", "lt"])
def test_letters_of_a_language(spark: SparkSession, language: str) -> None:
    """Where the JVM's language changes ASCII letters in a way of its own, the planner claims nothing."""
    locales: Any = spark._jvm.java.util.Locale  # type: ignore[union-attr]
    before = locales.getDefault()
    rows, plain = _values(spark, "UTC", True, ["upper(s)", "lower(s)"])
    locales.setDefault(locales.forLanguageTag(language))
    try:
        _, found = _values(spark, "UTC", True, ["upper(s)", "lower(s)"])
    finally:
        locales.setDefault(before)
    assert any(one.values != other.values for one, other in zip(plain, found, strict=True))
    assert [Judged(rows, each).is_known for each in found] == [True, False, False]
    assert [Judged(rows, each).is_known for each in plain] == [True, True, True]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("UNIXTIMESTAMP", "UNIXSECONDS"),
        ("FLOOR", "CEIL"),
        ("UPPER", "LOWER"),
        ("BROUND", "ROUND"),
        ("<", "<="),
    ],
)
def test_a_fault_is_found(
    evaluated: list[tuple[Rows, list[Evaluated]]], monkeypatch: pytest.MonkeyPatch, name: str, other: str
) -> None:
    """A function with the rule of another one is refuted by Spark's values."""
    monkeypatch.setitem(table.FUNCTIONS, name, table.FUNCTIONS[other])

    def calls(each: Any) -> bool:
        return str(each.get("fn")) == name or str(each.get("class", "")).upper() == name

    some = [(rows, [each for each in several if calls(each.tree)]) for rows, several in evaluated]
    assert any(each.faults for each in _judged(some))
