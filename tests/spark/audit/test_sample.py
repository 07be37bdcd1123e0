"""The tests that run with audit on (`make test AUDIT=1`), and a sample of them (`AUDIT=12`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.spark import audit


class Item:
    """A stand-in for a test."""

    def __init__(self, folder: str, number: int, *fixtures: str, is_marked: bool = False) -> None:
        self.path = Path("tests", "spark", folder, "test_a.py")
        self.nodeid = f"{self.path}::test_{number}"
        self.fixturenames = fixtures
        self._is_marked = is_marked

    def get_closest_marker(self, _: str) -> bool:
        return self._is_marked


@pytest.fixture
def items() -> list[Item]:
    """Sixty tests that query the session, and others."""
    querying = [Item("reading", number, "spark") for number in range(60)]
    return [
        *querying,
        Item("doors", 1),
        Item("reading", 60, "spark", is_marked=True),
        *(Item("storage", number, "spark") for number in range(60)),
    ]


@pytest.mark.parametrize(("one_in", "kept"), [(0, 122), (1, 120)])
def test_all_tests_that_query_the_session(
    items: list[Item], monkeypatch: pytest.MonkeyPatch, one_in: int, kept: int
) -> None:
    """With audit on, a test is left out that has no query in the session, or a marker that says why."""
    monkeypatch.setattr(audit, "_ONE_IN", one_in)
    assert len(items) - len(audit.left_out(items)) == kept


def test_a_sample(items: list[Item], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample has some tests of a folder, and none of a folder whose servers start for them."""
    monkeypatch.setattr(audit, "_ONE_IN", 4)
    kept = set(items) - audit.left_out(items)
    assert {each.path.parent.name for each in kept} == {"reading"}
    assert 5 <= len(kept) <= 30
