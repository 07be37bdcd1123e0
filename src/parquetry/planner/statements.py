"""Answer questions without a catalog: rewrite statements that Spark's parser does not know, check settings,
make the lines of EXPLAIN about joins, and count failed audits.

The bridge's parser sends a statement to the planner if it contains one of `STATEMENT_WORDS`, in any letter
case. The word may be a keyword, or part of a name, a text or a comment; only the planner distinguishes these.
`parquetry.ddl` has the rewritings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.config import SESSION_PREFIX, refuse_foreign, settle
from parquetry.counters import count_failed_audit
from parquetry.ddl import UNPARSED_WORDS, Session, rewrite
from parquetry.joins import explain_joins
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


def check_settings(q: questions.CheckSettings) -> answers.Done:
    """Make sure that each setting is known and that its value, if it has one, can be used.

    Raises:
        ConfigurationError: a setting of the session is unknown, or its value cannot be used.
        PropertyError: an option does not apply to reads, or has a meaning in other formats that no read has
            here.
    """
    settings = settle(q.options, q.settings)  # checks their names
    if q.use != "set":
        refuse_foreign(q.options, q.use)
        return answers.Done()
    for name in q.settings:
        _ = settings[name.removeprefix(SESSION_PREFIX)]  # raises if the value cannot be used
    return answers.Done()


def count_audit(_q: questions.CountFailedAudit) -> answers.Done:
    """Count an audit that failed, for the metrics of this process."""
    count_failed_audit()
    return answers.Done()


def join_lines(q: questions.ExplainJoins) -> answers.JoinLines:
    """Return what EXPLAIN says of the joins of a query: the lines that a report has."""
    return answers.JoinLines([*map(str, explain_joins(q.joins, q.settings)), *map(str, q.heavy_keys)])


ANSWERS: dict[type[questions.Question], Callable[[Any], answers.Answer]] = {
    questions.RewriteStatement: rewritten,
    questions.CheckSettings: check_settings,
    questions.CountFailedAudit: count_audit,
    questions.ExplainJoins: join_lines,
}
