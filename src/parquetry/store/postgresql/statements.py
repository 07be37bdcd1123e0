"""The SQL of a store in PostgreSQL.

The store is one table. The primary key `key` has the type `bytea`, which sorts as bytes do. The column
`fields` has the parts of the key that conditions test, or null for a row without fields. Values travel in
binary form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from psycopg import sql

from parquetry.store.condition import AllOf, AnyOf, Condition, FieldCompare, FieldIn, FieldMatches

_OPERATORS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Statements:
    """Statements about one table.

    Args:
        table: name of the table, or schema and name.
    """

    def __init__(self, table: Sequence[str]) -> None:
        name = sql.Identifier(*table)

        def compose(text: str) -> sql.Composed:
            return sql.SQL(text).format(table=name)

        self.table = name
        self.create = compose(
            "CREATE TABLE IF NOT EXISTS {table} (key bytea PRIMARY KEY, value bytea NOT NULL, fields bytea[])"
        )
        self.columns = sql.SQL(
            "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        self.time = sql.SQL("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        self.get = compose("SELECT value FROM {table} WHERE key = %b")
        self.get_many = compose("SELECT key, value FROM {table} WHERE key = ANY(%b)")
        self.put = compose(
            "INSERT INTO {table} AS old SELECT * FROM unnest(%b::bytea[], %b::bytea[]) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        )
        self.put_with_fields = compose(
            "INSERT INTO {table} AS old SELECT key, value, fields::bytea[] "
            "FROM unnest(%b::bytea[], %b::bytea[], %s::text[]) AS row (key, value, fields) "
            "ON CONFLICT (key) DO UPDATE SET value = excluded.value, fields = coalesce(excluded.fields, old.fields)"
        )
        self.delete = compose("DELETE FROM {table} WHERE key = ANY(%b)")
        self.insert = compose("INSERT INTO {table} (key, value) VALUES (%b, %b) ON CONFLICT (key) DO NOTHING")
        self.swap = compose("UPDATE {table} SET value = %b WHERE key = %b AND value = %b")
        # Rows are locked in the order of their keys, so that two such statements never deadlock.
        self.swap_together = compose(
            "WITH wanted AS (SELECT * FROM unnest(%b::bytea[], %b::bytea[], %b::bytea[]) AS row (key, expected, value)), "
            "found AS (SELECT {table}.key FROM {table} JOIN wanted USING (key) WHERE {table}.value = wanted.expected "
            "ORDER BY key FOR UPDATE OF {table}) "
            "UPDATE {table} SET value = wanted.value FROM wanted "
            "WHERE {table}.key = wanted.key AND {table}.value = wanted.expected "
            "AND (SELECT count(*) FROM found) = (SELECT count(*) FROM wanted)"
        )
        self.remove = compose("DELETE FROM {table} WHERE key = %b AND value = %b")

    def page(self, bounded: bool, reverse: bool, where: Condition | None) -> tuple[sql.Composed, list[Any]]:
        """Return the statement that reads rows of a range, and the condition's arguments.

        Arguments of the statement: start, stop if the range has one, the condition's arguments, the number of
        rows.
        """
        condition, arguments = satisfying(where)
        text = sql.SQL(
            "SELECT key, value FROM {table} WHERE key >= %b{upper}{condition} ORDER BY key{order} LIMIT %s"
        ).format(
            table=self.table,
            upper=sql.SQL(" AND key < %b" if bounded else ""),
            condition=condition,
            order=sql.SQL(" DESC" if reverse else ""),
        )
        return text, arguments

    def first_pages(self, where: Condition | None) -> tuple[sql.Composed, list[Any]]:
        """Return the statement that reads the first rows of many ranges, and the condition's arguments.

        Arguments of the statement: starts, stops, the condition's arguments, the number of rows per range. It
        returns the number of the range (from 1), the key and the value.
        """
        condition, arguments = satisfying(where)
        text = sql.SQL(
            "SELECT range.number, row.key, row.value "
            "FROM unnest(%b::bytea[], %b::bytea[]) WITH ORDINALITY AS range (start, stop, number) CROSS JOIN LATERAL ("
            "SELECT key, value FROM {table} WHERE key >= range.start AND key < range.stop{condition} ORDER BY key LIMIT %s"
            ") AS row ORDER BY range.number, row.key"
        ).format(table=self.table, condition=condition)
        return text, arguments

    def wanted_page(self, bounded: bool, where: Condition | None) -> tuple[sql.Composed, list[Any]]:
        """Return the statement that reads a page of a range and returns the wanted row of each group in it.

        Arguments of the statement, in this order:

        - the width of the mark,
        - start, and stop if the range has one,
        - the condition's arguments,
        - the number of rows of the page,
        - the first wanted mark, and the unwanted marks.

        The last row of the result has the last key of the page, no value, and the number of rows of the page.
        """
        condition, arguments = satisfying(where)
        text = sql.SQL(
            "WITH page AS MATERIALIZED (SELECT key, value, length(key) - %s AS common FROM {table} "
            "WHERE key >= %b{upper}{condition} ORDER BY key LIMIT %s), "
            "wanted AS (SELECT DISTINCT ON (substring(key FOR common)) key, value FROM page "
            "WHERE substring(key FROM common + 1) >= %b AND substring(key FROM common + 1) <> ALL (%b::bytea[]) "
            "ORDER BY substring(key FOR common), key) "
            "SELECT key, value, 0 FROM wanted UNION ALL "
            "(SELECT key, NULL, (SELECT count(*) FROM page) FROM page ORDER BY key DESC LIMIT 1) ORDER BY 3, 1"
        ).format(table=self.table, upper=sql.SQL(" AND key < %b" if bounded else ""), condition=condition)
        return text, arguments

    def leading(self, bounded: bool, where: Condition | None) -> tuple[sql.Composed, list[Any]]:
        """Return the statement that reads the first row of many groups, and seeks each group in the index.

        Arguments of the statement, in this order:

        - start, and stop if the range has one,
        - the width of the mark, and the bytes that replace it to skip a group,
        - stop again, if the range has one,
        - the condition's arguments,
        - the number of groups.

        The value of a row that does not satisfy the condition is null.
        """
        condition, arguments = satisfying(where)
        text = sql.SQL(
            "WITH RECURSIVE step (key) AS ("
            "(SELECT key FROM {table} WHERE key >= %b{upper} ORDER BY key LIMIT 1) UNION ALL "
            "SELECT (SELECT key FROM {table} WHERE key >= substring(step.key FOR length(step.key) - %s) || %b{upper} "
            "ORDER BY key LIMIT 1) FROM step WHERE step.key IS NOT NULL) "
            "SELECT row.key, CASE WHEN true{condition} THEN row.value END "
            "FROM (SELECT key FROM step LIMIT %s) AS first JOIN {table} AS row ON row.key = first.key ORDER BY row.key"
        ).format(table=self.table, upper=sql.SQL(" AND key < %b" if bounded else ""), condition=condition)
        return text, arguments

    def count(self, bounded: bool) -> sql.Composed:
        """Return the statement that counts the rows of ranges, up to a limit.

        Arguments of the statement: starts, stops if the ranges have them, and the limit twice.
        """
        return sql.SQL(
            "SELECT count(*) FROM (SELECT FROM unnest(%b::bytea[]{stops}) AS range ({columns}) "
            "CROSS JOIN LATERAL (SELECT FROM {table} WHERE key >= range.start{upper} LIMIT %s) AS row LIMIT %s) AS counted"
        ).format(
            table=self.table,
            stops=sql.SQL(", %b::bytea[]" if bounded else ""),
            columns=sql.SQL("start, stop" if bounded else "start"),
            upper=sql.SQL(" AND key < range.stop" if bounded else ""),
        )

    def first_keys(self, bounded: bool, fields: int) -> sql.Composed:
        """Return the statement that seeks the first key of each group of rows with the same first fields.

        Arguments of the statement, in this order:

        - the bytes before the first field,
        - start, and stop if the range has one,
        - the bytes before the first field,
        - the bytes behind the last key of a group, and stop again, if the range has one,
        - the number of groups.

        It returns each key, and the number of bytes that its group has in common: of a row without fields,
        all.
        """
        lengths = "".join(f" + octet_length(fields[{position + 1}])" for position in range(fields))
        width = sql.SQL("coalesce(%s" + lengths + ", octet_length(key))")
        return sql.SQL(
            "WITH RECURSIVE step (key, width) AS ("
            "(SELECT key, {width} FROM {table} WHERE key >= %b{upper} ORDER BY key LIMIT 1) UNION ALL "
            "SELECT row.key, row.width FROM step CROSS JOIN LATERAL (SELECT key, {width} AS width FROM {table} "
            "WHERE key >= substring(step.key FOR step.width) || %b{upper} ORDER BY key LIMIT 1) AS row) "
            "SELECT key, width FROM step LIMIT %s"
        ).format(table=self.table, width=width, upper=sql.SQL(" AND key < %b" if bounded else ""))


def array_of_bytes(values: Sequence[bytes]) -> str | None:
    r"""Return a row's fields as the text of an array, or None if it has no fields.

    >>> array_of_bytes([b"a", b"\x00\xff"])
    '{"\\\\x61","\\\\x00ff"}'
    """
    return "{" + ",".join(f'"\\\\x{value.hex()}"' for value in values) + "}" if values else None


def satisfying(condition: Condition | None) -> tuple[sql.Composable, list[Any]]:
    """Return the text that adds a condition to a WHERE clause, and its arguments.

    A row without a field satisfies every condition on it. PostgreSQL has no regular expressions on bytes, so
    every row satisfies them here.
    """
    if condition is None:
        return sql.SQL(""), []
    arguments: list[Any] = []
    text = _text(condition, arguments)
    return sql.SQL(" AND " + text), arguments


def _text(condition: Condition, arguments: list[Any]) -> str:
    match condition:
        case AllOf(children):
            return "(" + (" AND ".join(_text(child, arguments) for child in children) or "true") + ")"
        case AnyOf(children):
            return "(" + (" OR ".join(_text(child, arguments) for child in children) or "false") + ")"
        case FieldCompare(position, op, value):
            arguments.append(value)
            return f"coalesce(fields[{position + 1}] {_OPERATORS[op]} %b, true)"
        case FieldIn(position, values, within):
            arguments.append(list(values))
            return f"coalesce(fields[{position + 1}] {'= ANY' if within else '<> ALL'}(%b::bytea[]), true)"
        case FieldMatches():
            return "true"
    assert_never(condition)
