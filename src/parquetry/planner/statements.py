"""Statements that Spark's parser does not know, said in others that it knows.

The bridge's parser shows a statement to the planner if one of `STATEMENT_WORDS` occurs in it, in any case: as a keyword, or within
a name, a text or a comment, which only the answer tells apart. What becomes of which statement, `parquetry.ddl` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.ddl import Session, rewrite
from parquetry.planner.protocol import answers, questions

STATEMENT_WORDS: tuple[str, ...] = rewrite.WORDS
"""The words that the bridge is told to look for when it is given the planner."""


def rewritten(q: questions.RewriteStatement) -> answers.Rewritten:
    """Return the text that is to be parsed in place of a statement's."""
    session = Session(
        frozenset(q.catalogs), frozenset(q.other_catalogs), q.current_catalog, tuple(q.current_namespace)
    )
    return answers.Rewritten(rewrite.rewrite(q.text, session, q.named, q.positional))


ANSWERS: dict[type[questions.Question], Callable[[Any], answers.Answer]] = {
    questions.RewriteStatement: rewritten
}
