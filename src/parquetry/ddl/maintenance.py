"""Rewrite Delta's maintenance statements as procedures and queries.

They are `OPTIMIZE`, `VACUUM`, `RESTORE`, `DESCRIBE HISTORY` and `DESCRIBE DETAIL`. Hive's `ANALYZE TABLE …
FOR COLUMNS`, without names, becomes Spark's `FOR ALL COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable

from parquetry.ddl.session import Session, SessionTable, read_table
from parquetry.errors import UnsupportedError
from parquetry.identifiers import join_name, part_text
from parquetry.sqltext import Edit, TokenCursor, string

WORDS = ("OPTIMIZE", "VACUUM", "RESTORE", "HISTORY", "DETAIL", "ANALYZE")
"""Every rewritten statement has one of these words."""


def edits(cursor: TokenCursor, session: Session) -> list[Edit]:
    """Return the edits of a maintenance statement; an empty list for any other statement.

    Raises:
        UnsupportedError: no procedure does what the statement says; the message names an alternative.
    """
    begins = cursor.next.start
    if cursor.take("analyze", "table"):
        return _analyze(cursor, session)
    say: Callable[[TokenCursor, SessionTable], str | None]
    if cursor.take("optimize"):
        say = _optimize
    elif cursor.take("vacuum"):
        say = _vacuum
    elif cursor.take("restore"):
        cursor.take("table")
        say = _restore
    elif cursor.take("describe", "history") or cursor.take("desc", "history"):
        say = _history
    elif cursor.take("describe", "detail") or cursor.take("desc", "detail"):
        say = _detail
    else:
        return []
    table = read_table(cursor, session)
    said = None if table is None else say(cursor, table)
    return [Edit(begins, cursor.behind, said)] if said is not None and cursor.ended else []


def _analyze(cursor: TokenCursor, session: Session) -> list[Edit]:
    """Name all columns where Hive's form names none."""
    if read_table(cursor, session) is None:
        return []
    while not cursor.ended:
        if not cursor.take("for", "columns"):
            cursor.advance()
        elif cursor.ended:
            begins = cursor.tokens[cursor.at - 1].start
            return [Edit(begins, begins, "ALL ")]
    return []


def _optimize(cursor: TokenCursor, table: SessionTable) -> str | None:
    where = None
    if cursor.take("where"):
        start = cursor.next.start
        while not cursor.ended and cursor.next.word != "zorder":
            cursor.advance()
        where = cursor.text[start : cursor.behind]
    if cursor.take("zorder"):
        of = join_name((table.catalog, *table.table))
        raise UnsupportedError(
            f"OPTIMIZE {join_name(table.table)} takes the order of rows from the table: ALTER TABLE {of} SET TBLPROPERTIES "
            f"('sort-by' = 'zorder(a, b)') says it for new files, and {_call(table, 'compact', 'rewrite_all => true')} "
            "writes the others anew. Leave ZORDER BY out."
        )
    return _call(table, "compact", *([] if where is None else [f"where => {string(where, one_line=True)}"]))


def _vacuum(cursor: TokenCursor, table: SessionTable) -> str | None:
    given = []
    cursor.take("full")  # every vacuum looks at all files
    if cursor.take("lite") or cursor.take("using"):
        raise UnsupportedError(
            f"VACUUM {join_name(table.table)} always looks at all files of the table: say VACUUM {join_name(table.table)} [RETAIN "
            "168 HOURS] [DRY RUN], without LITE and USING INVENTORY."
        )
    if cursor.take("retain"):
        number = cursor.advance().text
        if not number.isdigit():
            return None
        if cursor.take("days") or cursor.take("day"):
            raise UnsupportedError(
                f"VACUUM {join_name(table.table)} counts in hours: say RETAIN {int(number) * 24} HOURS for {number} days."
            )
        if not (cursor.take("hours") or cursor.take("hour")):
            return None
        given.append(f"retain_hours => {int(number)}")
    if cursor.take("dry", "run"):
        given.append("dry_run => true")
    return _call(table, "vacuum", *given)


def _restore(cursor: TokenCursor, table: SessionTable) -> str | None:
    if cursor.take("to", "timestamp", "as", "of"):
        if not cursor.next.quoted:
            return None
        time = string(cursor.advance().text, one_line=True)
        return _call(table, "rollback", f"timestamp => CAST({time} AS TIMESTAMP)")
    if not (cursor.take("to", "version", "as", "of") and cursor.next.text.isdigit()):
        return None
    return _call(table, "rollback", f"version => {cursor.advance().text}")


def _history(cursor: TokenCursor, table: SessionTable) -> str | None:
    limit = ""
    if cursor.take("limit"):
        if not cursor.next.text.isdigit():
            return None
        limit = f" LIMIT {cursor.advance().text}"
    return f"SELECT * FROM {join_name((table.catalog, *table.table, 'history'))}{limit}"


def _detail(_cursor: TokenCursor, table: SessionTable) -> str | None:
    return _call(table, "detail")


def _call(table: SessionTable, procedure: str, *given: str) -> str:
    arguments = ", ".join((f"table => {string(join_name(table.table))}", *given))
    return f"CALL {part_text(table.catalog)}.system.{procedure}({arguments})"
