"""Spark's own suites of catalogs, tables and commands, on tables of ours: all of them, or a sample.

They run on the series of Spark that they are of. `suites.txt` names the tests that do not pass, and why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.effort import sampled
from tests.support.goldens import UPDATE
from tests.support.suites import listed
from tests.support.suites.tally import PROPERTY, tally

_ROOT = Path(__file__).resolve().parents[3]
_LISTED = listed.read(listed.LIST.read_text())
_RUN = list(_LISTED) if os.environ.get(UPDATE) == "1" else sampled(list(_LISTED))

pytestmark = [
    pytest.mark.core,
    pytest.mark.every_case,  # of the cases in `_RUN`
    pytest.mark.only("4.2", "Spark's suites are of Spark 4.2"),
]

Test = dict[str, Any]
"""One of Spark's: `test`, its name; `outcome`; `message`, of one that failed."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], list[Test]]]:
    """Run a suite, in one process for all of them."""
    command = [sys.executable, "-m", "tests.support.suites.running", str(tmp_path_factory.mktemp("suites"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT / "src"), str(_ROOT)])}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=_ROOT, env=environment, **pipes) as running:
        assert running.stdin
        assert running.stdout

        def outcomes(suite: str) -> list[Test]:
            print(suite, file=running.stdin, flush=True)
            answer = running.stdout.readline()
            assert answer, (
                f"What runs Spark's suites ended at {suite} ({running.wait()}); see what it printed."
            )
            return json.loads(answer)  # type: ignore[no-any-return]

        yield outcomes
        running.stdin.close()
        running.wait(60)


@pytest.mark.parametrize("suite", _RUN)
def test_suite(
    run: Callable[[str], list[Test]], record_property: Callable[[str, object], None], suite: str
) -> None:
    """Spark's tests pass, but for those on the list, and these do not."""
    reasons = _LISTED[suite]
    tests = {test["test"].strip(): test for test in run(suite)}
    record_property(PROPERTY, tally((test["outcome"] for test in tests.values()), reasons.values()))
    failed = {name: test for name, test in tests.items() if test["outcome"] == "failed"}
    if os.environ.get(UPDATE) == "1":
        listed.update(suite, failed)
        return
    wrong = [
        *(
            f"FAILS and is not listed: {name}\n{failed[name]['message']}"
            for name in failed
            if name not in reasons
        ),
        *(
            f"PASSES and is listed: {name}\n({reason})"
            for name, reason in reasons.items()
            if name in tests and name not in failed
        ),
        *(f"IS LISTED and is no test: {name}" for name in reasons if name not in tests),
    ]
    if wrong:
        pytest.fail("\n\n".join([f"{suite}, see {listed.LIST.name}:", *wrong]), pytrace=False)


def test_the_list_is_in_order() -> None:
    """The list is as it would be written: sorted, a block for each reason, and a reason for each test."""
    text = listed.LIST.read_text()
    assert text == listed.written(text, listed.read(text))
    assert listed.UNKNOWN not in text
