"""Rewrite `CREATE TABLE`: `CLUSTERED BY` and `SKEWED BY`, in any order, become table properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from parquetry.ddl import clustered_by, skewed_by
from parquetry.ddl.session import Session, read_table
from parquetry.errors import UnsupportedError
from parquetry.sqltext import Edit, TokenCursor, blank, string

_QUERY = ("select", "from", "values", "map", "reduce")
"""Words that begin a query, even without `AS` before them."""
_CLAUSES: dict[str, Callable[[TokenCursor], bool]] = {
    "clustered": clustered_by.find_clause,
    "skewed": skewed_by.find_clause,
}
"""Functions that skip a clause after its word `BY`, by its first word, which also names the property."""


class _Clause(NamedTuple):
    """A clause: its property's name, its start, its value's start, and the end of both."""

    name: str
    start: int
    begins: int
    end: int


def edits(cursor: TokenCursor, session: Session) -> list[Edit]:
    """Return the edits of a statement that creates or replaces a table, or an empty list for any other."""
    if not (cursor.take("create") or cursor.next.word == "replace"):
        return []
    cursor.take("or", "replace") or cursor.take("replace")
    cursor.take("external")
    if not cursor.take("table"):
        return []
    cursor.take("if", "not", "exists")
    if read_table(cursor, session) is None:
        return []
    clauses: list[_Clause] = []
    properties = None
    for start in _clause_starts(cursor):
        word = cursor.next.word
        if cursor.take("row", "format", "delimited"):
            raise UnsupportedError(
                "ROW FORMAT DELIMITED is of text files, and tables are stored as parquet or orc: leave it out. To read text files, make "
                "a table USING csv in spark_catalog, and copy its rows with CREATE TABLE … AS SELECT."
            )
        if cursor.take("stored", "by"):
            raise UnsupportedError(
                "STORED BY names a storage handler of Hive's, and tables are stored as parquet or orc: say STORED AS PARQUET or "
                "STORED AS ORC."
            )
        if word in _CLAUSES and cursor.take(word, "by"):
            begins = cursor.next.start
            if not _CLAUSES[word](cursor) or any(clause.name == f"{word}-by" for clause in clauses):
                return []
            clauses.append(_Clause(f"{word}-by", start, begins, cursor.behind))
        elif cursor.take("tblproperties", "("):
            properties = cursor.behind
            cursor.at -= 1
            cursor.skip_parentheses()
        else:
            cursor.skip_parentheses() or cursor.advance()
    if not clauses:
        return []
    first, *others = clauses
    if properties is None:
        entries = [_entry(cursor, first, one_line=False), *(_entry(cursor, clause) for clause in others)]
        properties_edit = Edit(first.start, first.end, f"TBLPROPERTIES ({', '.join(entries)})")
    else:
        others = clauses
        listed = ", ".join(_entry(cursor, clause) for clause in clauses)
        properties_edit = Edit(
            properties, properties, listed if _closes(cursor.text, properties) else f"{listed}, "
        )
    blanks = [
        Edit(clause.start, clause.end, blank(cursor.text[clause.start : clause.end])) for clause in others
    ]
    return [properties_edit, *blanks]


def _entry(cursor: TokenCursor, clause: _Clause, *, one_line: bool = True) -> str:
    return f"'{clause.name}' = {string(cursor.text[clause.begins : clause.end], one_line=one_line)}"


def _clause_starts(cursor: TokenCursor) -> Iterator[int]:
    """Yield positions in the text, outside of parentheses and before a query."""
    cursor.skip_parentheses()  # the columns
    stored = False
    while not cursor.ended:
        word = cursor.next.word
        following = cursor.tokens[cursor.at + 1].word
        if (
            word in _QUERY
            or (word == "as" and not stored)
            or (word == "with" and following != "serdeproperties")
        ):
            return
        if word == "(" and following in (*_QUERY, "with", "("):
            return
        stored = word == "stored"
        yield cursor.next.start


def _closes(text: str, start: int) -> bool:
    """Return whether the list that begins at a position is empty."""
    return text[start:].lstrip().startswith(")")
