"""Rewrite `ALTER TABLE`: clauses become table properties, `CONCATENATE` becomes a procedure."""

from __future__ import annotations

from parquetry.ddl import clustered_by
from parquetry.ddl.clustered_by import filter_text, read_partition
from parquetry.ddl.session import Session, SessionTable, read_table
from parquetry.ddl.skewed_by import NOT_DIRECTORIES, find_clause
from parquetry.identifiers import join_name, part_text
from parquetry.sqltext import Edit, TokenCursor, string


def edits(cursor: TokenCursor, session: Session) -> list[Edit]:
    """Return the edits of a statement that alters a table, or an empty list for any other statement."""
    begins = cursor.next.start
    if not cursor.take("alter", "table"):
        return []
    table = read_table(cursor, session)
    if table is None:
        return []
    start = cursor.next.start
    partition = None
    if cursor.take("partition"):
        partition = read_partition(cursor)
        if partition is None:
            return []
    spec = "" if partition is None else f"{cursor.text[start : cursor.behind]} "
    if cursor.take("concatenate"):
        where = "" if partition is None else filter_text(partition)
        edit = Edit(begins, cursor.behind, _compact(table, where))
    elif cursor.take("set", "skewed", "location"):
        clause_start = cursor.next.start
        if not cursor.skip_parentheses():
            return []
        edit = _set_property(
            start, cursor, "skewed-locations", spec + cursor.text[clause_start : cursor.behind]
        )
    elif (clause := _buckets(cursor, of_partition=partition is not None)) is not None:
        edit = _set_property(
            start, cursor, "clustered-by", spec + clause
        )  # for a partition this is refused later, with a remedy
    elif partition is not None:
        return []
    elif cursor.take("not", "clustered"):
        edit = Edit(start, cursor.behind, "UNSET TBLPROPERTIES IF EXISTS ('clustered-by')")
    elif cursor.take("skewed", "by"):
        clause_start = cursor.next.start
        if not find_clause(cursor):
            return []
        edit = _set_property(start, cursor, "skewed-by", cursor.text[clause_start : cursor.behind])
    elif cursor.take("not", "stored", "as", "directories"):
        edit = _set_property(start, cursor, "skewed-by", NOT_DIRECTORIES)
    elif cursor.take("not", "skewed"):
        edit = Edit(start, cursor.behind, "UNSET TBLPROPERTIES IF EXISTS ('skewed-by')")
    else:
        return []
    return [edit] if cursor.ended else []


def _buckets(cursor: TokenCursor, *, of_partition: bool) -> str | None:
    """Take a clause about buckets and return the property's value, or take nothing and return None."""
    at = cursor.at
    if cursor.take("not", "sorted"):
        return clustered_by.NOT_SORTED
    if of_partition and cursor.take("not", "clustered"):
        return clustered_by.NOT_CLUSTERED
    find = clustered_by.find_clause if cursor.take("clustered", "by") else clustered_by.find_count
    start = cursor.next.start
    if find(cursor):
        return cursor.text[start : cursor.behind]
    cursor.at = at
    return None


def _set_property(start: int, cursor: TokenCursor, name: str, value: str) -> Edit:
    return Edit(start, cursor.behind, f"SET TBLPROPERTIES ('{name}' = {string(value)})")


def _compact(table: SessionTable, where: str) -> str:
    given = f"table => {string(join_name(table.table))}"
    if where:
        given += f", where => {string(where)}"
    return f"CALL {part_text(table.catalog)}.system.compact({given}, concatenate => true)"
