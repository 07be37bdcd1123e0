"""Answer statements of other products about our tables with what to type instead. `habits` has the table.

A statement that Spark parses is answered before: it would be refused later, in words that name no remedy. Any
other is answered only if every parser of the session has refused it, so statements of other extensions stay
theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from parquetry.ddl import habits
from parquetry.ddl.session import Session, SessionTable, read_table
from parquetry.errors import UnsupportedError
from parquetry.identifiers import join_name, parse_name, part_text
from parquetry.sqltext import TokenCursor

_SHOWN_LENGTH = 100


def refuse_parsed(cursor: TokenCursor, session: Session) -> None:
    """Refuse a statement that Spark parses, and that has no meaning here.

    Raises:
        UnsupportedError: it is one; the message says what to type instead.
    """
    words = _words(cursor)
    for habit in habits.PARSED:
        _answer(habit, words, cursor, session)


def refuse_unparsed(cursor: TokenCursor, session: Session) -> None:
    """Refuse a statement that no parser has understood, if it is a habit from another product, or needs what
    this version of Spark lacks.

    Raises:
        UnsupportedError: it is one; the message says what to type instead.

    >>> session = Session(frozenset({"lake"}), frozenset(), "lake", ("db",))
    >>> refuse_unparsed(TokenCursor("REORG TABLE t APPLY (PURGE)"), session)
    Traceback (most recent call last):
    parquetry.errors.UnsupportedError: Parquetry has no REORG TABLE t: DELETE, UPDATE and MERGE write files anew, so none has rows to be \
purged: CALL lake.system.compact(table => 'db.t') writes small files anew.
    """
    words = _words(cursor)
    called = habits.EXECUTE.match(words)
    if called is not None and (table := _table(called, "table", cursor, session)) is not None:
        names = part_text(table.catalog), join_name(table.table)
        answer = habits.procedure_answer(called["procedure"], *names)
        raise _statement_error(called, cursor, answer or f"procedures are called: CALL {names[0]}.system.….")
    for feature, statements in habits.LACKING.items():
        if (lacking := session.lacking(feature)) is not None:
            for habit in statements:
                _answer(habit, words, cursor, session, lacking)
    for habit in habits.UNPARSED:
        _answer(habit, words, cursor, session)


def _words(cursor: TokenCursor) -> str:
    """Return the statement's words and signs, with a blank between two.

    A text is `'`, and a quoted name is `` ` ``. Words that the tokenizer takes for one, such as CLUSTER BY,
    have `_` between them.
    """
    words = []
    for token in cursor.tokens[cursor.at : -1]:
        if token.kind == "SEMICOLON":
            break
        words.append("_".join(token.word.split()) or ("'" if token.quoted else "`"))
    return " ".join(words)


def _answer(
    habit: habits.Habit, words: str, cursor: TokenCursor, session: Session, lacking: str | None = None
) -> None:
    """Raise the error for a statement about a table of ours that a habit's pattern matches.

    Args:
        habit: a pattern and an answer.
        words: of the statement.
        cursor: at the statement.
        session: its catalogs.
        lacking: what Spark lacks for the statement, or None if it is one of another product.
    """
    anchored = not habit.pattern.pattern.startswith(("(?:from|join)", "(?:hudi_table"))
    search: Callable[[str], re.Match[str] | None] = habit.pattern.match if anchored else habit.pattern.search
    match = search(words)
    if match is None:
        return
    groups = [name for name, group in match.groupdict().items() if group is not None]
    if not groups:  # it names no table
        if session.catalogs:
            catalog = part_text(min(session.catalogs))
            raise _statement_error(match, cursor, habits.fill_answer(habit.answer, catalog, "db.t"), lacking)
        return
    table = _table(match, groups[0], cursor, session)
    if table is not None:
        answer = habits.fill_answer(habit.answer, part_text(table.catalog), join_name(table.table))
        raise _statement_error(match, cursor, answer, lacking)


def _table(match: re.Match[str], group: str, cursor: TokenCursor, session: Session) -> SessionTable | None:
    """Return the table of ours that a group of a match names, or None."""
    at = cursor.at
    cursor.at = at + _tokens_before(match, match.start(group))
    try:
        if group == "text":
            try:
                return session.resolve(parse_name(cursor.next.text))
            except ValueError:
                return None
        return read_table(cursor, session)
    finally:
        cursor.at = at


def _statement_error(
    match: re.Match[str], cursor: TokenCursor, answer: str, lacking: str | None = None
) -> UnsupportedError:
    first = cursor.at + _tokens_before(match, match.start())
    last = cursor.at + _tokens_before(match, match.end()) - (match.string[match.end() - 1] == " ")
    said = " ".join(cursor.text[cursor.tokens[first].start : cursor.tokens[last].end].split())
    said = _close_parentheses(said.rstrip("( "))
    return UnsupportedError(
        f"{said}: {lacking}. {answer}" if lacking else f"Parquetry has no {said}: {answer}"
    )


def _close_parentheses(said: str) -> str:
    """Return the beginning of a statement, shortened, with an ellipsis where it stops within parentheses.

    >>> _close_parentheses("table_changes('lake.n.t'"), _close_parentheses("CREATE TABLE g (id INT)")
    ("table_changes('lake.n.t' …)", 'CREATE TABLE g (id INT)')
    """
    shown = said if len(said) <= _SHOWN_LENGTH else f"{said[:_SHOWN_LENGTH]}…"
    unclosed = shown.count("(") - shown.count(")")
    if unclosed <= 0:
        return shown
    return f"{shown}{'' if shown.endswith('…') else ' …'}{')' * unclosed}"


def _tokens_before(match: re.Match[str], position: int) -> int:
    return match.string.count(" ", 0, position)
