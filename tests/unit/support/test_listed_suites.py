"""The list of Spark's tests that do not pass: what it says, and what it refuses."""

from __future__ import annotations

import pytest

from tests.support.suites import listed

TEXT = """# A head.
AlphaSuite
  does not apply: the one.
    a test
  for now: the other.
    another test
    third: test
BetaSuite
"""


def test_a_list_says_a_reason_for_each_test() -> None:
    """A listed test has the reason above it, and a suite without lines has no listed tests."""
    assert listed.read(TEXT) == {
        "AlphaSuite": {
            "a test": "does not apply: the one.",
            "another test": "for now: the other.",
            "third: test": "for now: the other.",
        },
        "BetaSuite": {},
    }


def test_a_list_is_written_sorted_under_its_head() -> None:
    """However the tests came, the text is the same."""
    suites = listed.read(TEXT)
    other = {suite: dict(reversed(tests.items())) for suite, tests in reversed(suites.items())}
    assert listed.written(TEXT, other) == TEXT


@pytest.mark.parametrize(
    "line",
    ["AlphaSuite", "  the one, but not how things stand", "    a test without a reason", "      deeper"],
)
def test_a_line_out_of_place_is_refused(line: str) -> None:
    """The error names the line of a duplicate suite or test, or of a reason in an unknown form."""
    with pytest.raises(ValueError, match="Line 9 of the list"):
        listed.read(TEXT + line)
    with pytest.raises(ValueError, match="Line 8 of the list"):
        listed.read(TEXT.replace("BetaSuite", "    a test"))
