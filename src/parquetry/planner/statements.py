"""Statements that Spark's parser does not know, said in others that it knows.

The bridge's parser shows a statement to the planner if one of `WORDS` occurs in it, in any case: as a keyword, or within
a name, a text or a comment, which only the answer tells apart. There is no such statement yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.planner import answers, questions

WORDS: tuple[str, ...] = ()
"""The words that the bridge is told to look for when it is given the planner."""


def rewritten(_q: questions.RewriteStatement) -> answers.Rewritten:
    """Return the text that is to be parsed in place of a statement's."""
    return answers.Rewritten(None)


ANSWERS: dict[type[questions.Question], Callable[[Any], answers.Answer]] = {
    questions.RewriteStatement: rewritten
}
