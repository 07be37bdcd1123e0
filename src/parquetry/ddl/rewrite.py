"""Rewrite Hive's clauses and Delta's statements about our tables in a text, before Spark parses it.

All other characters stay the same, and on the same lines, so Spark's error messages point at the right
position. A clause that is not understood stays, too, and Spark reports the error.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from parquetry.ddl import alter_table, bucket_samples, create_table, habits, habitual_statements, maintenance
from parquetry.ddl.session import Session
from parquetry.errors import ClauseError, UnsupportedError
from parquetry.sqltext import END_OF_TEXT, Edit, TokenCursor, apply_edits

_NO_VALUES: Mapping[str, str] = MappingProxyType({})


def fill_markers(text: str, named: Mapping[str, str], positional: Sequence[str]) -> str:
    """Return a statement with its markers `:name` and `?` replaced; markers without a value stay.

    Spark replaces markers only in statements that it understands.

    Raises:
        ClauseError: a quote or a comment is not closed.

    >>> fill_markers("ON (:a, ':a', :b)", {"a": "'x'"}, ())
    "ON ('x', ':a', :b)"
    >>> fill_markers("ON (?, '?', ?)", {}, ["1", "NULL"])
    "ON (1, '?', NULL)"
    """
    if not (named or positional):
        return text
    values = iter(positional)
    edits = []
    tokens = TokenCursor(text).tokens
    for token, following in itertools.pairwise(tokens):
        if token.word == "?":
            edits.append(Edit(token.start, token.end, next(values, "?")))
        elif token.word == ":" and following.start == token.end and following.text in named:
            edits.append(Edit(token.start, following.end, named[following.text]))
    return apply_edits(text, edits)


WORDS = (
    "CLUSTERED",
    "SORTED",
    "BUCKETS",
    "SKEWED",
    "DIRECTORIES",
    "CONCATENATE",
    "DELIMITED",
    "STORED BY",
    *maintenance.WORDS,
    *bucket_samples.WORDS,
    *habits.PARSED_WORDS,
)
"""Every rewritten statement has one of these words, and every one that is refused before it is parsed."""

_MAY_BE = re.compile(
    r"\b(?:create|replace|alter)\b.*\btable\b|\b(?:optimize|vacuum|restore|analyze)\b|\bdesc(?:ribe)?\s+(?:history|detail)\b"
    r"|table_changes_by_path|hudi_table_changes|\bindex\b|\btablesample\b",
    re.IGNORECASE | re.DOTALL,
)
_SHOWN_LENGTH = 100
_EXPLAIN = ("explain", "extended", "codegen", "cost", "formatted", "logical")
_BEFORE = (";", "begin", "atomic", "then", "else", "do", "loop", "repeat")
"""Tokens that come before a statement of a script."""


def rewrite(
    text: str, session: Session, named: Mapping[str, str] = _NO_VALUES, positional: Sequence[str] = ()
) -> str | None:
    r"""Return the rewritten text, or None if the text needs no change.

    Args:
        text: a statement, or a script (`BEGIN … END`).
        session: the catalogs of the session.
        named: the values of its markers `:name`, as SQL; they are filled in.
        positional: the values of its markers `?`.

    >>> session = Session(frozenset({"lake"}), frozenset(), "lake", ("db",))
    >>> print(rewrite("create table t (x int)\nskewed by (x) on (1, 'a')\nusing orc", session))
    create table t (x int)
    TBLPROPERTIES ('skewed-by' = '(x) on (1, \'a\')')
    using orc
    >>> print(rewrite("ALTER TABLE a.t PARTITION (ds = '1') CONCATENATE", session))
    CALL lake.system.compact(table => 'a.t', where => '`ds` = \'1\'', concatenate => true)
    >>> rewrite("SELECT 'ALTER TABLE t NOT SKEWED'", session) is None
    True

    Raises:
        UnsupportedError: nothing does what the statement says, or this version of Spark tells no values of
            markers; the message says what to type instead.
    """
    if _MAY_BE.search(text) is None:
        return None
    try:
        text = fill_markers(text, named, positional)
        cursor = TokenCursor(text)
    except ClauseError:
        return None  # Spark's parser reports the quote or comment that is not closed
    changes = []
    for at in _beginnings(cursor):
        cursor.at = at
        habitual_statements.refuse_parsed(cursor, session)
        for edits in (create_table.edits, alter_table.edits, maintenance.edits):
            cursor.at = at
            changes += edits(cursor, session)
    changes += bucket_samples.edits(cursor, session)
    _refuse_markers(cursor, changes, session)
    return apply_edits(text, changes) if changes else None


def _refuse_markers(cursor: TokenCursor, edits: Sequence[Edit], session: Session) -> None:
    """Refuse a parameter marker in a replaced clause, if this version of Spark does not tell its value."""
    lacking = session.lacking("parameters")
    if lacking is None or not edits:
        return
    for token, following in itertools.pairwise(cursor.tokens):
        marked = token.word == "?" or (token.word == ":" and following.start == token.end)
        if marked and any(edit.start <= token.start < edit.end for edit in edits):
            marker = cursor.text[token.start : token.end if token.word == "?" else following.end]
            said = textwrap.shorten(cursor.text, _SHOWN_LENGTH, placeholder="…")
            raise UnsupportedError(f"{said}: {lacking}. Write the value itself in place of {marker}.")


def refuse_unparsed(text: str, session: Session) -> None:
    """Refuse a text that no parser has understood, if it is a statement of another product about our tables.

    Raises:
        UnsupportedError: it is one; the message says what to type instead.
    """
    try:
        cursor = TokenCursor(text)
    except ClauseError:
        return
    for at in _beginnings(cursor):
        cursor.at = at
        habitual_statements.refuse_unparsed(cursor, session)


def _beginnings(cursor: TokenCursor) -> Iterator[int]:
    """Yield the numbers of tokens where a statement may begin: the first token, and in a script others."""
    first = 0
    while cursor.tokens[first].word in _EXPLAIN:
        first += 1
    yield first
    if cursor.tokens[first].word != "begin":
        return
    for at, token in enumerate(cursor.tokens):
        if token.word in _BEFORE and cursor.tokens[at + 1].kind != END_OF_TEXT:
            yield at + 1
