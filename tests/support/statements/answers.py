"""Answers as lines of text, and how they are compared with the lines of a file."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Sequence
from typing import Any

ANY_ROWS = "…"
"""A line of an expected answer that stands for any rows, also none."""
_HASH = re.compile(r"(\d+) values hashing to ([0-9a-f]{32})")
_REGEX, _NO_REGEX = "<REGEX>:", "<!REGEX>:"


def text_of(value: Any) -> str:
    """Return a value as a file has it.

    >>> print(text_of(None), text_of(True), text_of(""), text_of(b"ab"), text_of("a\\nb"), text_of([1, None, {"k": (1, "x")}]))
    NULL true (empty) 6162 a\\nb [1, NULL, {k -> {1, x}}]
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes | bytearray):
        return value.hex().upper()
    if isinstance(value, tuple):
        return f"{{{', '.join(map(text_of, value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{text_of(key)} -> {text_of(each)}' for key, each in value.items())}}}"
    return str(value).replace("\n", "\\n").replace("\t", "\\t") or "(empty)"


def lines_of(rows: Sequence[Sequence[Any]], sort: str) -> list[str]:
    """Return the lines of an answer: a row each, with a tab between values; sorted by rows or by values."""
    texts = [[text_of(value) for value in row] for row in rows]
    if sort == "valuesort":
        return sorted(value for row in texts for value in row)
    lines = ["\t".join(row) for row in texts]
    return sorted(lines) if sort == "rowsort" else lines


def difference(expected: Sequence[str], rows: Sequence[Sequence[Any]], sort: str) -> list[str]:
    """Return the lines of a diff between an expected answer and rows; none if they agree.

    An expected answer may have a row, or a value, on each line, or be the number and the hash of all values.
    A line `…` stands for any rows, and a value `<REGEX>:…` for all values that the expression matches whole.
    """
    got = lines_of(rows, sort)
    values = [value for line in got for value in line.split("\t")]
    wanted = list(expected)
    if len(wanted) == 1 and _HASH.fullmatch(wanted[0]):
        digest = hashlib.md5("".join(f"{value}\n" for value in values).encode()).hexdigest()
        got = [f"{len(values)} values hashing to {digest}"]
    elif len(values) > len(got) and len(wanted) == len(values) and not any("\t" in line for line in wanted):
        got = values
    elif sort == "rowsort" and not any(line.startswith(_REGEX) for line in wanted):
        wanted.sort()
    if _agree(wanted, got):
        return []
    # What agrees by an expression is no difference to show.
    shown = [line if index >= len(got) or not _matches(line, got[index]) else got[index]
             for index, line in enumerate(wanted)]  # fmt: skip
    return [
        line
        for line in difflib.unified_diff(shown, got, lineterm="", n=3)
        if not line.startswith(("---", "+++", "@@"))
    ] or ["the lines of … are missing"]


def _agree(wanted: Sequence[str], got: Sequence[str]) -> bool:
    """Return whether lines agree, in order."""
    for index, line in enumerate(wanted):
        if line == ANY_ROWS:
            rest = wanted[index + 1 :]
            return any(_agree(rest, got[start:]) for start in range(index, len(got) + 1))
        if index >= len(got) or not _matches(line, got[index]):
            return False
    return len(got) == len(wanted)


def _matches(wanted: str, got: str) -> bool:
    if wanted == got:
        return True
    if _REGEX not in wanted and _NO_REGEX not in wanted:
        return False
    cells, values = wanted.split("\t"), got.split("\t")
    return len(cells) == len(values) and all(map(_matches_value, cells, values))


def _matches_value(wanted: str, got: str) -> bool:
    if wanted.startswith(_REGEX):
        return re.fullmatch(wanted.removeprefix(_REGEX), got, re.S) is not None
    if wanted.startswith(_NO_REGEX):
        return re.fullmatch(wanted.removeprefix(_NO_REGEX), got, re.S) is None
    return wanted == got
