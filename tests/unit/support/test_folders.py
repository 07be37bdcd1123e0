"""Tests are found by where they lie: in folders that one can look over."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[2]
AT_MOST = 12


def test_a_folder_has_a_dozen_test_modules_at_most() -> None:
    """A folder of more is to become several, as the product's have become."""
    count = Counter(path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))
    assert len(count) > 30
    assert {folder: modules for folder, modules in count.items() if modules > AT_MOST} == {}
