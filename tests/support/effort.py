"""How much of an exhaustive test is run: all of it, or a sample, which is what `make test-fast` takes.

PARQUETRY_TEST_SAMPLE=5 in the environment runs a fifth of the generated examples, and stops at each fifth row.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

STEP = int(os.environ.get("PARQUETRY_TEST_SAMPLE", "1"))
_LEAST = 10
_T = TypeVar("_T")


def examples(all_of_them: int) -> int:
    """Return how many examples a property is tried with, of so many."""
    return all_of_them if STEP == 1 else max(_LEAST, all_of_them // STEP)


def sampled(things: Sequence[_T]) -> Sequence[_T]:
    """Return things, or a sample of them: each of `STEP`, and the last."""
    return things if STEP == 1 else [*things[:-1:STEP], *things[-1:]]
