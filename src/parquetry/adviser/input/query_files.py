"""Queries that a user gives: conditions as texts, a file of conditions or of SQL, or Spark's event logs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from parquetry.adviser.input.bound_queries import Others
from parquetry.errors import UnsupportedError
from parquetry.workload import QueryCondition, QueryRecord, TableRead, read_event_log, read_sql_file

Queries: TypeAlias = str | os.PathLike[str] | Iterable[QueryRecord | str]
"""Records of queries, conditions as texts, or the path of a file."""
_COMMENT = ("--", "#")
_QUERY = re.compile(r"^\s*(?:SELECT|WITH|INSERT|CREATE|MERGE|USE|EXPLAIN)\b", re.IGNORECASE | re.MULTILINE)
"""A line that only a file of SQL has."""
_EVENT = '{"Event":"'


class _KnownColumns(Mapping[str, tuple[str, ...]]):
    """The columns of a table, and of other tables as soon as SQL names them."""

    def __init__(self, table: str, columns: Iterable[str], others: Others) -> None:
        self._known = dict.fromkeys(_names(table), tuple(columns))
        self._others = others

    def __getitem__(self, name: str) -> tuple[str, ...]:
        if name not in self._known:
            other = self._others(name)
            self._known[name] = () if other is None else tuple(other.columns)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def queries_from(
    queries: Queries, table: str, columns: Iterable[str] = (), others: Others = lambda _: None
) -> list[QueryRecord]:
    """Return records of queries.

    Args:
        queries: records, conditions of one table as texts, or a path: of a file with a condition on each
            line, of a file of SQL, or of Spark's event logs. Lines that begin with `--` or `#` are comments.
        table: the table that conditions are of.
        columns: of the table; SQL need not name its table in front of them.
        others: finds other tables of SQL, whose columns need no table's name either.

    Raises:
        UnsupportedError: the file does not exist, or has no query.
        WarehouseError: an event log, or a file of SQL, cannot be read.
    """
    if not isinstance(queries, str | os.PathLike):
        return [_record(each, table) if isinstance(each, str) else each for each in queries]
    path = Path(queries)
    if path.is_dir():
        return list(read_event_log(str(path)))
    if not path.is_file():
        raise UnsupportedError(
            f"The file of queries '{path}' does not exist: name a file of conditions or of SQL."
        )
    with path.open("rb") as file:
        start = file.read(len(_EVENT)).decode(errors="replace")
    if start == _EVENT or path.suffix in (".zstd", ".zst", ".lz4", ".snappy", ".gz"):
        return list(read_event_log(str(path)))
    text = path.read_text(encoding="utf-8")
    if path.suffix.lower() == ".sql" or _QUERY.search(text):
        return list(read_sql_file(str(path), _KnownColumns(table, columns, others)))
    return _from_text(text, str(path), table)


def _names(table: str) -> list[str]:
    """Return names that SQL may have for a table: its own, and its last part, which is a folder's, too."""
    last = re.split(r"[./]", table.rstrip("/"))[-1]
    return list(dict.fromkeys((table.lower(), last.lower())))


def _from_text(text: str, name: str, table: str) -> list[QueryRecord]:
    lines = [line.strip().rstrip(";").strip() for line in text.splitlines()]
    conditions = [line for line in lines if line and not line.startswith(_COMMENT)]
    if not conditions:
        raise UnsupportedError(f"The file of queries '{name}' has no condition: write one on each line.")
    return [_record(each, table) for each in conditions]


def _record(condition: str, table: str) -> QueryRecord:
    return QueryRecord((TableRead(table, conditions=(QueryCondition(condition, ()),)),), door="sql-file")
