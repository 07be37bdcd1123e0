"""`CREATE TABLE … SKEWED BY …`, in any order with the other clauses: the clause becomes a table property."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.ddl.cursor import Cursor
from parquetry.ddl.edit import Edit, blank, string
from parquetry.ddl.session import Session, read_table
from parquetry.ddl.skewed_by import find_clause

_QUERY = ("select", "from", "values", "map", "reduce")
"""Words that begin a query, which `AS` need not stand before."""


def edits(cursor: Cursor, session: Session) -> list[Edit]:
    """Return what is to be replaced in a statement that makes or replaces a table; nothing of any other."""
    if not (cursor.take("create") or cursor.next.word == "replace"):
        return []
    cursor.take("or", "replace") or cursor.take("replace")
    cursor.take("external")
    if not cursor.take("table"):
        return []
    cursor.take("if", "not", "exists")
    if read_table(cursor, session) is None:
        return []
    clause, properties = None, None
    for place in _clauses(cursor):
        if cursor.take("skewed", "by"):
            begins = cursor.next.start
            if clause is not None or not find_clause(cursor):
                return []
            clause = place, begins, cursor.behind
        elif cursor.take("tblproperties", "("):
            properties = cursor.behind
            cursor.at -= 1
            cursor.skip_parentheses()
        else:
            cursor.skip_parentheses() or cursor.advance()
    if clause is None:
        return []
    start, begins, end = clause
    text = cursor.text[begins:end]
    if properties is None:
        return [Edit(start, end, f"TBLPROPERTIES ('skewed-by' = {string(text)})")]
    entry = f"'skewed-by' = {string(text, one_line=True)}"
    return [
        Edit(start, end, blank(cursor.text[start:end])),
        Edit(properties, properties, entry if _closes(cursor.text, properties) else f"{entry}, "),
    ]


def _clauses(cursor: Cursor) -> Iterator[int]:
    """Yield places, in the text, outside of parentheses and before the query, if there is one."""
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


def _closes(text: str, place: int) -> bool:
    """Return whether a list that begins here has no entries."""
    return text[place:].lstrip().startswith(")")
