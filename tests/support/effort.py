"""How much of an exhaustive test is run: a sample, or all of it (`make test-all`).

PARQUETRY_TEST_SAMPLE=5 in the environment runs a fifth of the generated examples, and stops at each fifth
row. Cases of one test begin at different rows, so that together they stop at each. PARQUETRY_TEST_SAMPLE=1/5
runs five times as many examples as usual.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import pytest

_SAMPLE = Fraction(os.environ.get("PARQUETRY_TEST_SAMPLE", "1"))
STEP = max(1, int(_SAMPLE))
FEW = 2
"""The most values of a parameter, such as a format or a switch, whose values are all among the cases that are
run.
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

    Of each test's cases, one of `STEP` is run, at least one, and more until both values of a parameter with
    two have had their turn. The choice is always the same. A test with the marker `every_case` runs whole,
    and one with the marker `exhaustive` does not run.
    """
    if STEP == 1:
        return []
    of_test: defaultdict[str, list[Any]] = defaultdict(list)
    out: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("exhaustive"):
            out.append(item)
        elif hasattr(item, "callspec") and not item.get_closest_marker("every_case"):
            of_test[item.nodeid.partition("[")[0]].append(item)
    return [*out, *(item for cases in of_test.values() for item in _left_out(cases))]


def _left_out(cases: Sequence[Any]) -> Iterator[Any]:
    values: defaultdict[str, set[int]] = defaultdict(set)
    for case in cases:
        for name, position in case.callspec.indices.items():
            values[name].add(position)
    wanted = {(name, each) for name, of_name in values.items() if len(of_name) <= FEW for each in of_name}
    number = -(-len(cases) // STEP)
    for case in sorted(cases, key=lambda case: zlib.crc32(case.name.encode())):
        shows = wanted.intersection(case.callspec.indices.items())
        if number > 0 or shows:
            number -= 1
            wanted -= shows
        else:
            yield case


def _begin(case: Sequence[str]) -> int:
    return zlib.crc32("|".join(case).encode()) % STEP
