"""A text that Spark is to parse, with Hive's clauses about our tables, and Delta's statements on them, said in what Spark knows.

Everything else stays as it is, letter for letter, and on its line: errors that Spark finds in the rest of a statement still
point at it. A clause that is not understood stays, too, and Spark says what it thinks of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from parquetry.ddl import alter_table, create_table, maintenance
from parquetry.ddl.parameters import NONE, filled
from parquetry.ddl.session import Session
from parquetry.errors import ClauseError
from parquetry.sqltext import END_OF_TEXT, TokenCursor, edited

WORDS = ("CLUSTERED", "SORTED", "BUCKETS", "SKEWED", "DIRECTORIES", "CONCATENATE", *maintenance.WORDS)
"""Every statement that is rewritten holds one of them."""

_MAY_BE = re.compile(
    r"\b(?:create|replace|alter)\b.*\btable\b|\b(?:optimize|vacuum|restore)\b|\bdesc(?:ribe)?\s+(?:history|detail)\b",
    re.IGNORECASE | re.DOTALL,
)
_EXPLAIN = ("explain", "extended", "codegen", "cost", "formatted", "logical")
_BEFORE = (";", "begin", "atomic", "then", "else", "do", "loop", "repeat")
"""What stands before a statement of a script."""


def rewrite(
    text: str, session: Session, named: Mapping[str, str] = NONE, positional: Sequence[str] = ()
) -> str | None:
    r"""Return the text to parse instead of another; None: that one.

    Args:
        text: a statement, or a script (`BEGIN … END`).
        session: says whose tables are ours.
        named: what its markers `:name` stand for, as SQL; they are filled in.
        positional: what its markers `?` stand for.

    >>> session = Session(frozenset({"lake"}), frozenset(), "lake", ("db",))
    >>> print(rewrite("create table t (x int)\nskewed by (x) on (1, 'a')\nusing orc", session))
    create table t (x int)
    TBLPROPERTIES ('skewed-by' = '(x) on (1, \'a\')')
    using orc
    >>> print(rewrite("ALTER TABLE a.t PARTITION (ds = '1') CONCATENATE", session))
    CALL lake.system.compact(table => 'a.t', where => '`ds` = \'1\'', concatenate => true)
    >>> rewrite("SELECT 'ALTER TABLE t NOT SKEWED'", session) is None
    True
    """
    if _MAY_BE.search(text) is None:
        return None
    try:
        text = filled(text, named, positional)
        cursor = TokenCursor(text)
    except ClauseError:
        return None  # Spark's parser says what is not closed
    found = []
    for at in _beginnings(cursor):
        for edits in (create_table.edits, alter_table.edits, maintenance.edits):
            cursor.at = at
            found += edits(cursor, session)
    return edited(text, found) if found else None


def _beginnings(cursor: TokenCursor) -> Iterator[int]:
    """Yield the numbers of tokens at which a statement may begin: the first, and in a script those inside."""
    first = 0
    while cursor.tokens[first].word in _EXPLAIN:
        first += 1
    yield first
    if cursor.tokens[first].word != "begin":
        return
    for at, token in enumerate(cursor.tokens):
        if token.word in _BEFORE and cursor.tokens[at + 1].kind != END_OF_TEXT:
            yield at + 1
