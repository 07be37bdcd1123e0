"""The line at the end of a run that tells how many of Spark's own tests pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.suites import listed
from tests.support.suites.tally import PROPERTY, summary_line, tally

pytest_plugins = ["pytester"]

ONE = tally(["passed", "failed", "passed", "ignored"], ["does not apply: the one."])
OTHER = tally(["passed", "failed", "failed"], ["for now: the other.", "for now: a third."])


def test_counts_of_suites_are_added() -> None:
    """Passing tests are counted over all suites that ran.

    Other tests are counted by their reasons on the list.
    """
    assert summary_line([ONE, OTHER]) == (
        "Spark's own suites: 3 of 7 tests pass (2 suites); suites.txt has the reasons of 1 that does not apply and 2 that fail for now."
    )
    assert summary_line([]) is None


def test_the_whole_list_is_counted() -> None:
    """Each test on the list counts as one of the two kinds."""
    suites = listed.read(listed.LIST.read_text())
    counts = [tally([], tests.values()) for tests in suites.values()]
    assert sum(sum(each.values()) for each in counts) == sum(map(len, suites.values())) > 300


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_workers_tell_what_they_counted(
    pytester: pytest.Pytester, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line comes at the end of a run, in one process or several.

    Without suites there is no line.
    """
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
    pytester.makeconftest("from tests.conftest import pytest_terminal_summary")
    pytester.makepyfile(
        f'''
        import pytest

        @pytest.mark.parametrize("counts", [{ONE}, {OTHER}])
        def test_suite(record_property, counts):
            record_property("{PROPERTY}", counts)
            assert counts["pass"] > 1

        def test_other(record_property):
            record_property("other", 1)
        '''
    )
    run = pytester.runpytest_subprocess(*workers)
    run.assert_outcomes(passed=2, failed=1)
    run.stdout.fnmatch_lines(["Spark's own suites: 3 of 7 tests pass (2 suites); *"])
    assert "own suites" not in pytester.runpytest_subprocess(*workers, "-k", "other").stdout.str()
