"""How many of Spark's tests pass: each suite's test counts them, and the end of a run shows the sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tests.support.suites.listed import LIST, STANDS

PROPERTY = "tests of Spark"
"""Under which a suite's counts go with the report of the test that ran it."""
_PASS, _OF = "pass", "of"


def tally(outcomes: Iterable[str], reasons: Iterable[str]) -> dict[str, int]:
    """Return how many tests of a suite there are, pass, and are listed as what.

    Args:
        outcomes: of its tests, as ScalaTest calls them.
        reasons: of the tests that are on the list.
    """
    ended, summary_line = list(outcomes), list(reasons)
    stands = {stand: sum(reason.startswith(stand) for reason in summary_line) for stand in STANDS}
    return {_OF: len(ended), _PASS: ended.count("passed"), **stands}


def summary_line(suites: Iterable[Mapping[str, int]]) -> str | None:
    """Return the line about all suites that were run, or None if none was.

    >>> summary_line([{"of": 7, "pass": 4, "does not apply: ": 2, "for now: ": 1}, {"of": 3, "pass": 3}])
    "Spark's own suites: 7 of 10 tests pass (2 suites); suites.txt has the reasons of 2 that do not apply and 1 that fails for now."
    """
    counts: Counter[str] = Counter()
    number = 0
    for each in suites:
        counts.update(each)
        number += 1
    if not number:
        return None
    apart, now = (counts[stand] for stand in STANDS)
    return (
        f"Spark's own suites: {counts[_PASS]:,} of {counts[_OF]:,} tests pass ({number} suite{'s' * (number > 1)}); {LIST.name} has the reasons of "
        f"{apart} that do{'es' * (apart == 1)} not apply and {now} that fail{'s' * (now == 1)} for now."
    )
