"""The list of tests of Spark's suites that do not apply to Parquetry, or fail for now.

It is `tests/spark/suites/suites.txt`.

A line without indentation names a suite. An indented line is a reason, which begins with how things stand
(`STANDS`). A line that is indented once more is a test. A suite without lines of its own passes all of its
tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "spark" / "suites" / "suites.txt"
STANDS = ("does not apply: ", "for now: ")
UNKNOWN = "for now: why, is to be found out and said here."

Listed = Mapping[str, Mapping[str, str]]
"""Reasons by test, by suite."""


def read(text: str) -> dict[str, dict[str, str]]:
    """Return what a list says.

    Raises:
        ValueError: a line stands twice or is not what its place asks for; it is named.
    """
    suites: dict[str, dict[str, str]] = {}
    tests: dict[str, str] = {}
    reason = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        said, depth = line.strip(), (len(line) - len(line.lstrip())) // 2
        if depth == 0 and said not in suites:
            tests, reason = suites.setdefault(said, {}), ""
        elif depth == 1 and suites and said.startswith(STANDS) and said not in tests.values():
            reason = said
        elif depth == 2 and reason and said not in tests:
            tests[said] = reason
        else:
            raise ValueError(
                f"Line {number} of the list, {line!r}, stands twice or where it does not belong."
            )
    return suites


def written(text: str, suites: Listed) -> str:
    """Return the text of a list, under an existing head: suites, reasons and tests are sorted."""
    lines = [line for line in text.splitlines() if line.startswith("#")]
    for suite, tests in sorted(suites.items()):
        lines.append(suite)
        for reason in sorted(set(tests.values())):
            lines.append(f"  {reason}")
            lines += [f"    {test}" for test in sorted(tests) if tests[test] == reason]
    return "\n".join(lines) + "\n"


def update(suite: str, failed: Iterable[str]) -> None:
    """Write the list again with exactly the tests of a suite that failed; they keep their reasons, if any."""
    text = LIST.read_text()
    suites = read(text)
    suites[suite] = {test.strip(): suites[suite].get(test.strip(), UNKNOWN) for test in failed}
    LIST.write_text(written(text, suites))
