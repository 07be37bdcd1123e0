"""The rule that a test's docstring is its claim."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def refuse_without_claim(items: Iterable[pytest.Item]) -> None:
    """Raise an error that names the tests without a docstring.

    A doctest claims what it shows. A state machine's test is called `runTest`, and each of its rules has a
    claim.

    Raises:
        pytest.UsageError: there are some.
    """
    tests = (item for item in items if isinstance(item, pytest.Function) and item.name != "runTest")
    silent = dict.fromkeys(f"{test.path.name}::{test.originalname}" for test in tests if not test.obj.__doc__)
    if silent:
        raise pytest.UsageError(f"A test's docstring is its claim, and these have none: {', '.join(silent)}.")
