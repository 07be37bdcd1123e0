"""How much of an exhaustive test is run: a sample, or all of it (`make test-all`).

PARQUETRY_TEST_SAMPLE=5 in the environment runs a fifth of the generated examples, and stops at each fifth row.
Cases of one test begin at different rows, so that together they stop at each. PARQUETRY_TEST_SAMPLE=1/5 runs five times
as many examples as usual.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

_SAMPLE = Fraction(os.environ.get("PARQUETRY_TEST_SAMPLE", "1"))
STEP = max(1, int(_SAMPLE))
_T = TypeVar("_T")


def examples(all_of_them: int, least: int = 10) -> int:
    """Return how many examples a property is tried with, of so many; of a sample, not fewer than the least."""
    return max(min(least, all_of_them), int(all_of_them / _SAMPLE))


def steps(*case: str) -> Iterator[int]:
    """Count 0, 1, 2, … without end, or from a place that depends on the case, each of `STEP`."""
    return itertools.count(_begin(case), STEP)


def sampled(things: Sequence[_T], *case: str) -> Sequence[_T]:
    """Return things, or a sample of them: each of `STEP`, and the last; where there are cases, from a place that depends on the case."""
    if STEP == 1 or not things:
        return things
    return things[_begin(case) % len(things) :: STEP] if case else [*things[:-1:STEP], *things[-1:]]


def _begin(case: Sequence[str]) -> int:
    return zlib.crc32("|".join(case).encode()) % STEP
