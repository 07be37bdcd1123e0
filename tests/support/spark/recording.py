"""Questions and answers of the bridge as `tests/golden/protocol.jsonl` holds them.

The first line holds the parts that every question about a catalog carries. Each further line is a statement,
or a question that it led to with its answer. Names replace the parts that differ from run to run:

- `<folder>`: the folder of warehouse and files,
- `<table 1>`: the first table that is mentioned,
- `<commit>`: the id of the commit of a table's version,
- `<time>`: microseconds since the epoch,
- `<user>`: the user,
- `<application>`: the application's id, and its name,
- `<error>`: the name of an error that the bridge keeps.

Questions are repeated with the current values of those names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[2] / "golden" / "protocol.jsonl"
WITHOUT_CATALOG = {"rewrite_statement", "check_settings", "explain_joins"}
"""Questions that carry no more than the protocol's version."""
_FILES = Path(__file__).parents[2] / "fixtures" / "recorded"
_WRITTEN = 1_772_000_000
_TIME = re.compile(r"1[0-9]{15}")
_ERROR = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COMMIT = re.compile(r'("commit":")[0-9a-f]+"')
_TABLE = re.compile(r"<table (\d+)>")
_TABLE_FIELDS = {"id", "version", "commit", "database", "table"}
_AUTHOR_FIELDS = {"user": "<user>", "application": "<application>", "application_name": "<application>"}

Exchange = tuple[dict[str, Any], dict[str, Any]]


def lay_out(folder: Path) -> None:
    """Copy the files that the statements are about into a folder, as old as they have always been."""
    shutil.copytree(_FILES, folder, dirs_exist_ok=True)
    for path in folder.rglob("*.parquet"):
        os.utime(path, (_WRITTEN, _WRITTEN))


class StandInNames:
    """Names that replace what differs from run to run.

    Args:
        folder: of warehouse and files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._tables: list[str] = []
        self._commits: dict[tuple[str, int], str] = {}
        self._positions: dict[str, str] = {}
        self._authors: dict[str, str] = {}

    def with_names(self, value: Any) -> Any:
        """Return a question or an answer with names in place of what differs."""
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and (origin := part.get("origin")):
                self._authors.update(
                    {origin[key]: name for key, name in _AUTHOR_FIELDS.items() if origin[key]}
                )
        return _walk(value, self._named_text, self._named_table)

    def with_values(self, value: Any) -> Any:
        """Return a question with the values that its names have here."""
        return _walk(value, self._original_text, self._original_table)

    def _named_text(self, text: str) -> str:
        original = text
        if _TIME.fullmatch(text):
            return "<time>"
        if text in self._authors:
            return self._authors[text]
        for number, id in enumerate(self._tables, 1):  # in how far a stream is, for one
            text = text.replace(id, f"<table {number}>")
        named = _COMMIT.sub(r'\1<commit>"', text)
        self._positions[named] = original
        return _ERROR.sub("<error>", named.replace(self._folder, "<folder>"))

    def _original_text(self, text: str) -> str:
        if "<commit>" in text:  # a stream's position, which an answer has given
            return self._positions[text]
        return _TABLE.sub(lambda found: self._table_id(found[0]), text.replace("<folder>", self._folder))

    def _named_table(self, ref: dict[str, Any]) -> dict[str, Any]:
        self._commits[ref["id"], ref["version"]] = ref["commit"]
        return {**ref, "id": self._table_name(ref["id"]), "commit": "<commit>"}

    def _original_table(self, ref: dict[str, Any]) -> dict[str, Any]:
        id = self._table_id(ref["id"])
        return {**ref, "id": id, "commit": self._commits[id, ref["version"]]}

    def _table_name(self, id: str) -> str:
        if id not in self._tables:
            self._tables.append(id)
        return f"<table {self._tables.index(id) + 1}>"

    def _table_id(self, name: str) -> str:
        found = _TABLE.fullmatch(name)
        assert found, name
        return self._tables[int(found[1]) - 1]


def _walk(
    value: Any, map_text: Callable[[str], str], map_table: Callable[[dict[str, Any]], dict[str, Any]]
) -> Any:
    match value:
        case str():
            return map_text(value)
        case list():
            return [_walk(each, map_text, map_table) for each in value]
        case dict() if set(value) == _TABLE_FIELDS:
            return map_table(value)
        case dict():
            return {
                key: "<user>" if key == "owner" else _walk(each, map_text, map_table)
                for key, each in value.items()
            }
    return value


def lines(head: dict[str, Any], exchanges: Iterable[str | Exchange]) -> Iterator[str]:
    """Write statements, questions and answers as the lines of the file.

    Args:
        head: what every question about a catalog carries.
        exchanges: statements and exchanges, with names in place of what differs.
    """
    yield json.dumps(head)
    for each in exchanges:
        if isinstance(each, str):
            yield json.dumps({"statement": each}, ensure_ascii=False)
        else:
            question, answer = each
            shown = {key: value for key, value in question.items() if head.get(key) != value}
            yield json.dumps({"question": shown, "answer": answer}, ensure_ascii=False)


def recorded() -> tuple[dict[str, Any], list[str | Exchange]]:
    """Read the file: what every question about a catalog carries, statements and exchanges."""
    head, *rest = map(json.loads, GOLDEN.read_text().splitlines())
    of_all = {"protocol": head["protocol"]}
    return head, [
        each["statement"]
        if "statement" in each
        else (
            {**(of_all if each["question"]["op"] in WITHOUT_CATALOG else head), **each["question"]},
            each["answer"],
        )
        for each in rest
    ]
