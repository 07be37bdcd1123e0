"""A sample of a test's cases keeps what each case alone may show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import effort


class Case:
    """A stand-in for a test's case."""

    def __init__(self, test: str, values: dict[str, int], file: str) -> None:
        self.name = f"{test}[{values}]"
        self.nodeid = f"{file}::{self.name}"
        self.callspec = SimpleNamespace(indices=values)
        self._marker = {"whole": "every_case", "long": "exhaustive"}.get(test)

    def get_closest_marker(self, name: str) -> bool:
        return name == self._marker


def cases(test: str, file: str = "a.py", **parameters: int) -> list[Any]:
    """Return stand-ins for a test's cases, one for each combination of its parameters' values."""
    combinations: list[dict[str, int]] = [{}]
    for name, values in parameters.items():
        combinations = [{**each, name: value} for each in combinations for value in range(values)]
    return [Case(test, each, file) for each in combinations]


def shown(kept: list[Any], name: str) -> list[int]:
    return [each.callspec.indices[name] for each in kept]


@pytest.mark.parametrize("step", [1, 3, 6])
def test_each_format_and_switch_has_its_turn(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One case of `step` runs, and each value of a parameter with few values; all or none of marked tests."""
    monkeypatch.setattr(effort, "STEP", step)
    many, one = cases("many", shape=20, format=2, adaptive=2), cases("one", shape=3)
    two, whole, long = cases("two", "b.py", format=2), cases("whole", shape=9), cases("long", shape=9)
    every = [*many, *one, *two, *whole, *long]
    out = effort.left_out(every)
    kept = [each for each in many if each not in out]
    assert set(shown(kept, "format")) == {0, 1}
    assert set(shown(kept, "adaptive")) == {0, 1}
    assert 80 // step <= len(kept) <= 80 // step + 4
    assert not any(each in out for each in (*two, *whole))
    assert len([each for each in one if each not in out]) == -(-3 // step)
    assert all((each in out) == (step > 1) for each in long)
    assert out == effort.left_out(every)


def test_the_tests_of_a_file_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a file's tests runs one format, and the file both formats equally often, or nearly so."""
    monkeypatch.setattr(effort, "STEP", 24)
    tests = [cases(name, format=2, shape=3) for name in "pqrst"]
    out = effort.left_out([case for test in tests for case in test])
    formats = [shown([case for case in test if case not in out], "format") for test in tests]
    assert [len(each) for each in formats] == [2, 1, 1, 1, 1]
    assert sorted(each for some in formats for each in some) == [0, 0, 0, 1, 1, 1]


def test_other_series_run_a_sample_of_every_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case of a marked test runs on the newest series alone."""
    monkeypatch.setattr(effort, "STEP", 6)
    whole = cases("whole", shape=9, adaptive=2)
    monkeypatch.setattr(effort, "IS_NEWEST", True)
    assert effort.left_out(whole) == []
    monkeypatch.setattr(effort, "IS_NEWEST", False)
    kept = [each for each in whole if each not in effort.left_out(whole)]
    assert 3 <= len(kept) <= 4
    assert {each.callspec.indices["adaptive"] for each in kept} == {0, 1}


@pytest.mark.parametrize("step", [1, 12])
def test_a_portion_does_not_depend_on_the_sample(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any sample has one thing in four, and a run of all cases has all things."""
    monkeypatch.setattr(effort, "STEP", step)
    things = list(range(20))
    taken = [effort.portion(things, 4, case) for case in ("a", "b", "c", "d", "e", "f")]
    assert {len(each) for each in taken} == ({20} if step == 1 else {5})
    assert len({tuple(each) for each in taken}) == (1 if step == 1 else 4)
