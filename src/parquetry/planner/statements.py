"""Rewrite statements that Spark's parser does not know into statements that it knows.

The bridge's parser sends a statement to the planner if it contains one of `STATEMENT_WORDS`, in any letter
case. The word may be a keyword, or part of a name, a text or a comment; only the planner distinguishes these.
`parquetry.ddl` has the rewritings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.ddl import UNPARSED_WORDS, Session, rewrite
from parquetry.planner.protocol import answers, questions

REFUSED_STATEMENT_WORDS: tuple[str, ...] = UNPARSED_WORDS
"""The words that make the bridge send a statement that no parser has understood."""
STATEMENT_WORDS: tuple[str, ...] = rewrite.WORDS
"""The words that make the bridge send a statement; it gets them when it connects to the planner."""


def rewritten(q: questions.RewriteStatement) -> answers.Rewritten:
    """Return the text to parse instead of a statement's own, if there is one.

    Raises:
        UnsupportedError: it is a habit from another product; the message says what to type instead.
    """
    session = Session(
        frozenset(q.catalogs),
        frozenset(q.other_catalogs),
        q.current_catalog,
        tuple(q.current_namespace),
        q.spark,
    )
    if q.refused:
        rewrite.refuse_unparsed(q.text, session)
        return answers.Rewritten(None)
    return answers.Rewritten(rewrite.rewrite(q.text, session, q.named, q.positional))


ANSWERS: dict[type[questions.Question], Callable[[Any], answers.Answer]] = {
    questions.RewriteStatement: rewritten
}
