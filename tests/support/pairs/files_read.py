"""The golden file of pairs: the files that each scan opens, in lines for people.

    ## top-k: SELECT k, v FROM {t} ORDER BY k DESC LIMIT 3
    alone                    f 1 of 22
    run-time values          f 1 of 22 · d 1 of 1
    IN                       g 11 of 11 · f 1 of 22        -- why this is more than it could be

A line with two answers has `planned` before the one without adaptive execution. A remark behind two hyphens
stays when the file is written anew.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.goldens import GOLDENS, UPDATE

PATH = GOLDENS / "pairs" / "files_read.txt"
_WIDTH = 26
_REMARK = "  -- "
_PLANNED = " | planned "


class FilesRead:
    """The lines of the golden file.

    Args:
        path: of the file.
        titles: the title of each mechanism, with its meetings in their order.
    """

    def __init__(self, path: Path, titles: dict[str, list[str]]) -> None:
        self._path = path
        self._titles = titles
        self._head: list[str] = []
        self._lines: dict[tuple[str, str], tuple[str, str]] = {}
        title = ""
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            if line.startswith("## "):
                title = line.removeprefix("## ").partition(": ")[0]
            elif not title:
                self._head.append(line)
            elif line:
                answer, _, remark = line.partition(_REMARK)
                self._lines[title, answer[:_WIDTH].strip()] = answer[_WIDTH:].strip(), remark

    def check(self, mechanism: str, meeting: str, adaptive: str | None, planned: str | None) -> None:
        """Assert what a pair reads with adaptive execution, without it, or both; in an update, write it."""
        known, remark = self._lines.get((mechanism, meeting), ("", ""))
        first, _, second = known.partition(_PLANNED)
        second = second or first
        if os.environ.get(UPDATE) == "1":
            first, second = adaptive or first, planned or second
            self._lines[mechanism, meeting] = (
                first if first == second else f"{first}{_PLANNED}{second}",
                remark,
            )
            self._write()
        where = f"{self._path.name}: {mechanism} / {meeting}; if it is meant, run again with {UPDATE}=1"
        assert adaptive in (None, first), where
        assert planned in (None, second), where

    def _write(self) -> None:
        text = list(self._head)
        for title, meetings in self._titles.items():
            text.append(f"## {title}")
            for meeting in meetings:
                answer, remark = self._lines.get((title.partition(": ")[0], meeting), ("", ""))
                text.append(f"{meeting:{_WIDTH}}{answer}{_REMARK if remark else ''}{remark}".rstrip())
            text.append("")
        self._path.write_text("\n".join(text), encoding="utf-8")
