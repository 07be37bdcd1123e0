"""Queries that a user gives: conditions as texts, or a file with one on each line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from parquetry.errors import UnsupportedError
from parquetry.workload import QueryCondition, QueryRecord, TableRead

Queries: TypeAlias = str | os.PathLike[str] | Iterable[QueryRecord | str]
"""Records of queries, conditions as texts, or the path of a file."""
_COMMENT = ("--", "#")


def queries_from(queries: Queries, table: str) -> list[QueryRecord]:
    """Return records of queries.

    Args:
        queries: records, conditions of one table as texts, or the path of a file with a condition on each
            line. Lines that begin with `--` or `#` are comments. A condition may be a whole query's WHERE.
        table: the table that conditions are of.

    Raises:
        UnsupportedError: the file does not exist, or has no query.
    """
    if isinstance(queries, str | os.PathLike):
        path = Path(queries)
        if not path.is_file():
            raise UnsupportedError(f"The file of queries '{path}' does not exist: name a file of conditions.")
        return _from_text(path.read_text(encoding="utf-8"), str(path), table)
    return [_record(each, table) if isinstance(each, str) else each for each in queries]


def _from_text(text: str, name: str, table: str) -> list[QueryRecord]:
    lines = [line.strip().rstrip(";").strip() for line in text.splitlines()]
    conditions: Sequence[str] = [line for line in lines if line and not line.startswith(_COMMENT)]
    if not conditions:
        raise UnsupportedError(f"The file of queries '{name}' has no condition: write one on each line.")
    return [_record(each, table) for each in conditions]


def _record(condition: str, table: str) -> QueryRecord:
    return QueryRecord((TableRead(table, conditions=(QueryCondition(condition, ()),)),), door="sql-file")
