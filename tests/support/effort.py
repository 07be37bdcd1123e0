"""How much of an exhaustive test is run: a sample, or all of it (`make test-all`).

PARQUETRY_TEST_SAMPLE=5 in the environment runs a fifth of the generated examples, and stops at each fifth
row. Cases of one test begin at different rows, so that together they stop at each. PARQUETRY_TEST_SAMPLE=1/5
runs five times as many examples as usual.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, TypeVar

import pytest

from parquetry.config import SPARK_SERIES, series_of

_SAMPLE = Fraction(os.environ.get("PARQUETRY_TEST_SAMPLE", "1"))
STEP = max(1, int(_SAMPLE))
IS_NEWEST = not find_spec("pyspark") or series_of(version("pyspark")) == next(iter(SPARK_SERIES))
"""Whether the installed series of Spark is the one whose tests are more than the core."""
FEW = 2
"""The most values of a parameter, such as a format or a switch, whose values are all among the cases that a
file runs.
"""
_T = TypeVar("_T")


def examples(all_of_them: int, least: int = 10) -> int:
    """Return with how many of all examples a property is tried: in a sample, not fewer than the least."""
    return max(min(least, all_of_them), int(all_of_them / _SAMPLE))


def steps(*case: str) -> Iterator[int]:
    """Count 0, 1, 2, … without end, or from a place that depends on the case, each of `STEP`."""
    return itertools.count(_begin(case), STEP)


def sampled(things: Sequence[_T], *case: str) -> Sequence[_T]:
    """Return things, or a sample of them: each of `STEP`, and the last.

    With cases, the sample begins at a position that depends on the case.
    """
    if STEP == 1 or not things:
        return things
    return things[_begin(case) % len(things) :: STEP] if case else [*things[:-1:STEP], *things[-1:]]


def alternating(things: Sequence[_T], second: bool) -> Sequence[_T]:
    """Return things, or in a sample every other one: from the first, or from the second."""
    return things if STEP == 1 else things[second::2]


def portion(things: Sequence[_T], one_in: int, case: str) -> Sequence[_T]:
    """Return things, or in any sample one in so many of them, from a position that depends on the case."""
    return things if STEP == 1 else things[zlib.crc32(case.encode()) % one_in :: one_in]


def left_out(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that are not run where a sample is run.

    Of each test's cases, one of `STEP` is run, and at least one. The tests of a file take turns with the
    values of a parameter that has two: each test runs the one that the tests before it have run less often.
    Both values are among the file's cases. The choice is always the same. A test with the marker
    `every_case` runs whole on the newest series of Spark, and one with the marker `exhaustive` does not run.
    """
    if STEP == 1:
        return []
    of_test: defaultdict[str, list[Any]] = defaultdict(list)
    out: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("exhaustive"):
            out.append(item)
        elif hasattr(item, "callspec") and not (IS_NEWEST and item.get_closest_marker("every_case")):
            of_test[item.nodeid.partition("[")[0]].append(item)
    turns: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for test, cases in of_test.items():
        out += _left_out(cases, turns[test.partition("::")[0]])
    return out


def _left_out(cases: Sequence[Any], turns: Counter[tuple[str, int]]) -> Iterator[Any]:
    """Yield the cases of a test that are not run.

    Args:
        cases: all cases.
        turns: how often the tests of the file run each value of a parameter with two, so far.
    """
    values: defaultdict[str, set[int]] = defaultdict(set)
    for case in cases:
        for name, position in case.callspec.indices.items():
            values[name].add(position)
    few = {(name, each) for name, of_name in values.items() if len(of_name) <= FEW for each in of_name}
    shown = {case: few.intersection(case.callspec.indices.items()) for case in cases}
    number = -(-len(cases) // STEP)
    order = {
        case: (sum(turns[each] for each in shown[case]), zlib.crc32(case.name.encode())) for case in cases
    }
    for case in sorted(cases, key=order.__getitem__):
        if number > 0 or not all(turns[each] for each in shown[case]):
            number -= 1
            turns.update(shown[case])
        else:
            yield case


def _begin(case: Sequence[str]) -> int:
    return zlib.crc32("|".join(case).encode()) % STEP
