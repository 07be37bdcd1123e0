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
            get_closest_marker=lambda name: {"every_case": "whole", "exhaustive": "long"}.get(name) == test,
        )
        for each in combinations
    ]


@pytest.mark.parametrize("step", [1, 3, 6])
def test_each_format_and_switch_has_its_turn(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One case of `step` runs, and each value of a parameter with few values; all or none of marked tests."""
    monkeypatch.setattr(effort, "STEP", step)
    many, one = cases("many", shape=20, format=2, adaptive=2), cases("one", shape=3)
    two, whole, long = cases("two", format=2), cases("whole", shape=9), cases("long", shape=9)
    every = [*many, *one, *two, *whole, *long]
    out = effort.left_out(every)
    kept = [each for each in many if each not in out]
    assert {each.callspec.indices["format"] for each in kept} == {0, 1}
    assert {each.callspec.indices["adaptive"] for each in kept} == {0, 1}
    assert 80 // step <= len(kept) <= 80 // step + 4
    assert not any(each in out for each in (*two, *whole))
    assert len([each for each in one if each not in out]) == -(-3 // step)
    assert all((each in out) == (step > 1) for each in long)
    assert out == effort.left_out(every)


@pytest.mark.parametrize("step", [1, 12])
def test_a_portion_does_not_depend_on_the_sample(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any sample has one thing in four, and a run of all cases has all things."""
    monkeypatch.setattr(effort, "STEP", step)
    things = list(range(20))
    taken = [effort.portion(things, 4, case) for case in ("a", "b", "c", "d", "e", "f")]
    assert {len(each) for each in taken} == ({20} if step == 1 else {5})
    assert len({tuple(each) for each in taken}) == (1 if step == 1 else 4)
