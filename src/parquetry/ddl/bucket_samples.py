"""Rewrite Hive's `TABLESAMPLE (BUCKET x OUT OF y [ON …])` into a sample that Spark parses.

Spark parses `BUCKET x OUT OF y` as a fraction of the rows, and refuses ON. A number of rows may be any
expression, though, so the sample becomes a call there. The bridge does with it what Hive's clause says
(`bridge/buckets/BucketSample.scala`). The relation may be a table, a view or a subquery: only the resolved
plan says what its buckets are.
"""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.ddl.session import Session
from parquetry.sqltext import Edit, TokenCursor

WORDS = ("TABLESAMPLE",)
"""Every rewritten statement has this word."""

FUNCTION = "parquetry_bucket_sample"
"""The function whose call stands for a sample: bucket, number of buckets, seed or NULL, hashed values."""


def edits(cursor: TokenCursor, session: Session) -> Iterator[Edit]:
    """Yield the edits of all bucket samples in a text; none if the session has no catalog of ours.

    >>> from parquetry.sqltext import apply_edits
    >>> def rewrite(text): return apply_edits(text, edits(TokenCursor(text), Session(frozenset({"lake"}), frozenset(), "lake", ("db",))))
    >>> rewrite("SELECT * FROM t TABLESAMPLE (BUCKET 3 OUT OF 16 ON id, s) a")
    'SELECT * FROM t TABLESAMPLE (parquetry_bucket_sample(3, 16, NULL, id, s) ROWS) a'
    >>> rewrite("SELECT * FROM t TABLESAMPLE (BUCKET 3 OUT OF 16) REPEATABLE (7)")
    'SELECT * FROM t TABLESAMPLE (parquetry_bucket_sample(3, 16, 7) ROWS) REPEATABLE (7)'
    >>> rewrite("SELECT * FROM t TABLESAMPLE (10 PERCENT)")
    'SELECT * FROM t TABLESAMPLE (10 PERCENT)'
    """
    if not session.catalogs:
        return
    for at, token in enumerate(cursor.tokens):
        cursor.at = at
        if token.word == "tablesample":
            yield from _sample(cursor)


def _sample(cursor: TokenCursor) -> Iterator[Edit]:
    """Yield the edits of the sample at the next token; none if it is no sample of a bucket."""
    cursor.advance()
    parentheses = cursor.at
    if not cursor.skip_parentheses():
        return
    closing = cursor.tokens[cursor.at - 1]
    seed = cursor.tokens[cursor.at + 2].text if _is_repeatable(cursor) else "NULL"
    cursor.at = parentheses + 1
    begins = cursor.next.start
    numbers = _numbers(cursor)
    if numbers is None:
        return
    is_hashed = cursor.take("on")
    if not is_hashed and cursor.next is not closing:
        return
    behind = cursor.behind
    # Line breaks stay, so what follows is on its line.
    lines = "\n" * cursor.text.count("\n", begins, behind)
    yield Edit(
        begins, behind, f"{FUNCTION}({numbers[0]}, {numbers[1]}, {seed}{',' if is_hashed else ''}{lines}"
    )
    yield Edit(closing.start, closing.start, ") ROWS")


def _numbers(cursor: TokenCursor) -> tuple[str, str] | None:
    """Take `BUCKET x OUT OF y`, and return the two numbers; None if something else is next."""
    if not cursor.take("bucket"):
        return None
    bucket = cursor.advance().text
    if not cursor.take("out", "of"):
        return None
    count = cursor.advance().text
    return (bucket, count) if bucket.isdigit() and count.isdigit() else None


def _is_repeatable(cursor: TokenCursor) -> bool:
    """Return whether `REPEATABLE (seed)` is next."""
    words = [token.word for token in cursor.tokens[cursor.at : cursor.at + 2]]
    return words == ["repeatable", "("] and cursor.tokens[cursor.at + 2].text.isdigit()
