"""Golden files of run-time verdicts: a query, what was read of its fact table, and the values that did that.

A file has comments, and examples, each with a title of its own:

    ## inner
        SELECT sum(v) FROM {f} f JOIN {d} d ON f.k = d.k
          ⇒ f: k → 6 values · partitions 6 of 40 · files 6 of 6
          ⇒ t: k → 6 values · partitions 12 of 80 · files 12 of 12
              k: 6 run-time values of d.k (INNER JOIN, its broadcast)

The names in braces are tables. A line with an arrow says what came to the scan of one of them, and what each
step kept of how much. The lines below it say for each side of a join what became of its values, in the words
of the report. Where adaptive execution makes a difference, the table has two lines.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import parquetry
from tests.support.goldens import GOLDENS, UPDATE

if TYPE_CHECKING:  # this module is read where there is no Spark, too
    from pyspark.sql import DataFrame

QUERY = "    "
ANSWER = "      "
ARROW = f"{ANSWER}⇒ "
DETAIL = f"{ANSWER}    "
NO_SCAN = "no scan"
"""The verdict where the final plan has no scan of the table."""
_NUMBERED = re.compile(r"#\d+L?")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of the scan of a table.

    Attributes:
        read: what came to it, and what each step kept.
        values: what the report says of the values of each side of a join.
    """

    read: str
    values: tuple[str, ...] = ()

    @classmethod
    def from_report(
        cls, frame: DataFrame, names: Mapping[str, str], table: str, more: Iterable[str] = ()
    ) -> Verdict:
        """Return what the report of a query that has run says of the first scan of a table.

        Args:
            frame: the query.
            names: of tables, by the letters that a golden file has for them.
            table: the letter of the one that is looked at.
            more: what else is to be said of the query.
        """
        report = parquetry.report(frame)
        scans: list[dict[str, Any]] = report.to_dict()["scans"]
        scan = next((each for each in scans if each["table"] == names[table]), None)
        lines = [str(each) for each in report.values if each.table == names[table]]
        prefix = f"{names[table]}."
        values = tuple(_in_short(line.removeprefix(prefix), names) for line in lines)
        return cls(" · ".join([*_read(scan, names), *more]), values)

    @classmethod
    def from_scan(cls, scan: Mapping[str, Any], names: Mapping[str, str]) -> Verdict:
        """Return what the dict of one scan in a report says."""
        return cls(" · ".join(_read(scan, names)))


def _read(scan: Mapping[str, Any] | None, names: Mapping[str, str]) -> list[str]:
    if scan is None:
        return [NO_SCAN]
    run_time = scan.get("run_time", {})
    values = [
        (f"{each['column']} → {each['count']:,} {_unit(each)}" if "column" in each else each["condition"])
        + (f" ({each['note']})" if "note" in each else "")
        for each in run_time.get("values", ())
    ]
    parts = [_in_short(", ".join(values), names)] if values else []
    steps = [
        f"{step['name']} {step['kept']:,} of {step['of']:,}"
        for step in scan["steps"]
        if step.get("unit", step["name"]) != "bytes"
    ]
    return [*parts, *steps]


def _unit(values: Mapping[str, Any]) -> str:
    unit = "tuple" if values.get("tuples") else "value"
    return unit if values["count"] == 1 else f"{unit}s"


def _in_short(text: str, names: Mapping[str, str]) -> str:
    """Return a text with letters for tables, and without the numbers that Spark gives columns."""
    for letter, name in sorted(names.items(), key=lambda item: -len(item[1])):
        text = re.sub(rf"{re.escape(name)}\b", letter, text)
    return _NUMBERED.sub("", text)


def verdict_lines(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Return verdicts by table as a golden file has them; several verdicts on the same values share them.

    >>> verdict_lines({"f": Verdict("files 1 of 2", ("k: 3 values",)), "g": Verdict("files 4 of 4", ("k: 3 values",))})
    ['      ⇒ f: files 1 of 2', '      ⇒ g: files 4 of 4', '          k: 3 values']
    """
    lines: list[str] = []
    pending: tuple[str, ...] = ()
    for name, verdict in verdicts.items():
        if lines and verdict.values != pending:
            lines += [DETAIL + each for each in pending]
        pending = verdict.values
        lines.append(f"{ARROW}{name}: {verdict.read}")
    return lines + [DETAIL + each for each in pending]


def with_and_without_adaptive_execution(name: str, adaptive: Verdict, planned: Verdict) -> dict[str, Verdict]:
    """Return one verdict where both are the same, or else each with what it is of."""
    if adaptive == planned:
        return {name: adaptive}
    return {f"{name}, adaptive": adaptive, f"{name}, planned": planned}


class VerdictFile:
    """The examples of a golden file.

    Args:
        path: of the file.

    Raises:
        ValueError: a line is neither a comment nor part of an example, or two examples have one title.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queries: dict[str, list[str]] = {}
        self._answers: dict[str, list[str]] = {}
        title = ""
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if line.startswith("## "):
                title = line.removeprefix("## ")
                if title in self._queries:
                    raise ValueError(f"{path.name}:{number + 1}: there are two examples {title!r}")
                self._queries[title], self._answers[title] = [], []
            elif title and line.startswith(ANSWER):
                self._answers[title].append(line)
            elif title and line.startswith(QUERY) and not self._answers[title]:
                self._queries[title].append(line.strip())
            elif line and not line.startswith("#"):
                raise ValueError(f"{path.name}:{number + 1}: what is this? {line}")

    @classmethod
    def named(cls, name: str) -> VerdictFile:
        """Return the file of a name in tests/golden/runtime."""
        return cls(GOLDENS / "runtime" / f"{name}.txt")

    @property
    def titles(self) -> list[str]:
        """Return the titles of all examples."""
        return list(self._queries)

    def query(self, title: str) -> str:
        """Return the query of an example, with tables in braces."""
        return " ".join(self._queries[title])

    def answer(self, title: str) -> list[str]:
        """Return the lines below the query of an example."""
        return self._answers[title]

    def check(self, title: str, verdicts: Mapping[str, Verdict]) -> None:
        """Assert that these are an example's verdicts; with PARQUETRY_UPDATE_GOLDENS=1 set, write them."""
        lines = verdict_lines(verdicts)
        if os.environ.get(UPDATE) == "1":
            self._write(title, lines)
        old = self._answers[title]
        diff = "\n".join(difflib.unified_diff(old, lines, "as written", "as it is now", lineterm="", n=9))
        where = f"{self.path.parent.name}/{self.path.name}: {title}\n    {self.query(title)}"
        assert old == lines, (
            f"{where}\n{diff}\nif this is meant, run again with {UPDATE}=1, and read the diff"
        )

    def _write(self, title: str, lines: list[str]) -> None:
        self._answers[title] = lines
        text: list[str] = []
        here = ""
        for line in self.path.read_text(encoding="utf-8").splitlines():
            if here and not line.startswith(QUERY):
                text += self._answers[here]
                here = ""
            if line.startswith("## "):
                here = line.removeprefix("## ")
            if not line.startswith(ANSWER):
                text.append(line)
        text += self._answers[here] if here else []
        self.path.write_text("\n".join(text) + "\n", encoding="utf-8")
