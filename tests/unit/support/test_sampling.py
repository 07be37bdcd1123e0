"""A sample of a test's cases keeps what each case alone may show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import effort


def cases(test: str, **parameters: int) -> list[Any]:
    """Return stand-ins for a test's cases, one for each combination of its parameters' values."""
    combinations: list[dict[str, int]] = [{}]
    for name, values in parameters.items():
        combinations = [{**each, name: value} for each in combinations for value in range(values)]
    return [
        SimpleNamespace(
            name=f"{test}[{each}]",
            nodeid=f"a.py::{test}[{each}]",
            callspec=SimpleNamespace(indices=each),
            get_closest_marker=lambda name: name == "every_case" and test == "whole",
        )
        for each in combinations
    ]


@pytest.mark.parametrize("step", [1, 3, 6])
def test_each_format_and_switch_has_its_turn(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One case of `step` runs, at least two, and each value of a parameter with few values. All run in whole
    tests.
    """
    monkeypatch.setattr(effort, "STEP", step)
    many, two, whole = (
        cases("many", shape=20, format=2, adaptive=2),
        cases("two", format=2),
        cases("whole", shape=9),
    )
    out = effort.left_out([*many, *two, *whole])
    kept = [each for each in many if each not in out]
    assert {each.callspec.indices["format"] for each in kept} == {0, 1}
    assert {each.callspec.indices["adaptive"] for each in kept} == {0, 1}
    assert 80 // step <= len(kept) <= 80 // step + 4
    assert not any(each in out for each in (*two, *whole))
    assert out == effort.left_out([*many, *two, *whole])
