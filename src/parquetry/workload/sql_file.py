"""Queries in a file of SQL: its statements, and by sqlglot the tables, conditions, joins and columns of each.

sqlglot knows the text alone: a column without a table's name is of the only table of its query, or of the
only one that is known to have it. In a session, Spark's own optimizer tells more (`parquetry.spark`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from parquetry.errors import WarehouseError
from parquetry.sqltext import END_OF_TEXT, Edit, apply_edits, string, tokenise
from parquetry.workload.model import QueryCondition, QueryJoin, QueryRecord, TableRead

DOOR = "sql-file"
_DIALECT = "spark"
_CAST = re.compile(r"CAST\(('(?:[^'\\]|\\.)*') AS (DATE|TIMESTAMP|TIMESTAMP_NTZ)\)")
"""A literal with its type, as sqlglot writes it."""
_USE = re.compile(
    r"USE\s+(?:DATABASE\s+|NAMESPACE\s+|SCHEMA\s+)?(?:[\w`]+\.)?(?P<name>[\w`]+)", re.IGNORECASE
)
_LOG = logging.getLogger("parquetry")
Columns = Mapping[str, tuple[str, ...]]
"""The known columns of tables, by the tables' names in lower case."""


def statements_of(text: str) -> list[str]:
    """Return the statements of a text, which semicolons end. Semicolons in texts and comments do not count.

    >>> statements_of("SELECT ';' -- one; two\\n; SELECT 2;")
    ["SELECT ';' -- one; two", 'SELECT 2']
    """
    parts, first = [], 0
    for token in tokenise(text):
        if token.kind in ("SEMICOLON", END_OF_TEXT):
            parts.append(text[first : token.start])
            first = token.end
    return [part.strip() for part in parts if part.strip()]


def read_statements(path: str) -> list[str]:
    """Return the statements of a file.

    Raises:
        WarehouseError: the file cannot be read.
    """
    try:
        return statements_of(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WarehouseError(f"The queries in {path} cannot be read: {error}") from None


def read_sql_file(path: str, columns: Columns | None = None) -> Iterator[QueryRecord]:
    """Yield the queries of a file that read tables.

    A statement that cannot be read is left out, with a warning in the log.

    Args:
        path: of the file.
        columns: the known columns of tables.

    Raises:
        WarehouseError: the file cannot be read.
    """
    database = None
    for number, statement in enumerate(read_statements(path), 1):
        try:
            if named := _USE.fullmatch(statement):
                database = named["name"].strip("`")
                continue
            record = query_of(statement, columns or {}, database)
        except sqlglot.errors.SqlglotError as error:
            reason = str(error).splitlines()[0]
            _LOG.warning("Statement %d of %s is left out, since it cannot be read: %s", number, path, reason)
            continue
        if record is not None:
            yield record


def query_of(statement: str, columns: Columns, database: str | None = None) -> QueryRecord | None:
    """Return a statement as a record, or None if it reads no table.

    Args:
        statement: in Spark's SQL.
        columns: the known columns of tables.
        database: of tables without one, or None if it is not known.

    Raises:
        SqlglotError: the statement cannot be read.
    """
    query = _query_in(sqlglot.parse_one(_with_plain_texts(statement), read=_DIALECT))
    if query is None:
        return None
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table) if database else ():
        if len(table.parts) == 1 and table.name.lower() not in ctes:
            table.set("db", exp.to_identifier(database))
    reads = tuple(read for scope in traverse_scope(query) for read in _ScopeReads(scope, columns).reads())
    return QueryRecord(reads, door=DOOR, statement=statement) if reads else None


def _with_plain_texts(statement: str) -> str:
    """Return a statement with each doubled quote in a text escaped: sqlglot would take it for two texts."""
    tokens = [token for token in tokenise(statement) if token.quoted and "'" in token.text]
    return apply_edits(statement, [Edit(token.start, token.end, string(token.text)) for token in tokens])


def _query_in(tree: exp.Expr) -> exp.Query | None:
    """Return the query of a statement: the rows that a change reads are a query, too."""
    if isinstance(tree, exp.Query):
        return tree
    if isinstance(tree, exp.Delete | exp.Update) and isinstance(tree.this, exp.Table):
        found = exp.select("*").from_(tree.this.copy())
        where = tree.args.get("where")
        return found if where is None else found.where(where.this.copy())
    if isinstance(tree, exp.Merge):
        source = tree.args["using"].copy()
        return exp.select("*").from_(tree.this.copy()).join(source, on=tree.args["on"].copy())
    return tree.find(exp.Query)


def table_name(table: exp.Table) -> str:
    """Return a table as its catalog names it, or the folder that is read."""
    if len(table.parts) == 2 and "/" in table.name:  # parquet.`/a/folder`
        return table.name
    return ".".join(part.name for part in table.parts[-2:])


class _ScopeReads:
    """The tables of one SELECT, and what it says of each."""

    def __init__(self, scope: Scope, columns: Columns) -> None:
        self._sources = {
            name: source for name, source in scope.sources.items() if isinstance(source, exp.Table)
        }
        self._others = len(scope.sources) > len(self._sources)
        self._scope, self._columns = scope, columns

    def reads(self) -> Iterator[TableRead]:
        """Yield the read of each table."""
        conditions: dict[str, list[QueryCondition]] = {name: [] for name in self._sources}
        joins: dict[str, list[QueryJoin]] = {name: [] for name in self._sources}
        for part in self._conditions():
            self._add(part, conditions, joins)
        named = [(self._source_of(column), column) for column in self._scope.columns]
        has_star = any(isinstance(each, exp.Star) or each.is_star for each in self._selected())
        for name, table in self._sources.items():
            read = tuple(dict.fromkeys(self._path(column) for source, column in named if source == name))
            unknown = has_star or any(source is None for source, _ in named)
            yield TableRead(
                table_name(table),
                conditions=tuple(dict.fromkeys(conditions[name])),
                joins=tuple(dict.fromkeys(joins[name])),
                columns=None if unknown else read,
            )

    def _selected(self) -> list[exp.Expr]:
        return list(self._scope.expression.args.get("expressions") or ())

    def _conditions(self) -> Iterator[exp.Expr]:
        """Yield the parts of WHERE and of the ON of joins that keep only rows that satisfy them."""
        select = self._scope.expression
        where = select.args.get("where")
        if where is not None:
            yield from _parts(where.this)
        for join in select.args.get("joins") or ():
            for part in _parts(join.args.get("on")):
                if self._keeps_only(join, part):
                    yield part
            for column in join.args.get("using") or ():
                yield from self._using(column.name)

    def _keeps_only(self, join: exp.Join, part: exp.Expr) -> bool:
        """Return whether a part of ON holds for all rows that are read. An outer join keeps other rows."""
        side = join.side.upper()
        sources = {self._source_of(column) for column in part.find_all(exp.Column)}
        if not side or len(sources) > 1:
            return True
        mine = sources == {join.alias_or_name}
        return (side == "LEFT" and mine) or (side == "RIGHT" and not mine)

    def _using(self, name: str) -> Iterator[exp.Expr]:
        first, *others = list(self._sources) or [""]
        for other in others:
            yield exp.EQ(this=exp.column(name, table=first), expression=exp.column(name, table=other))

    def _add(
        self,
        part: exp.Expr,
        conditions: dict[str, list[QueryCondition]],
        joins: dict[str, list[QueryJoin]],
    ) -> None:
        """Add a condition to the table that it is about, or an equality of two columns to both tables."""
        part = part.unnest()
        columns = list(part.find_all(exp.Column))
        sources = {self._source_of(column) for column in columns}
        if isinstance(part, exp.EQ) and len(sources) > 1:
            sides = [side.unnest() for side in (part.left, part.right)]
            if all(isinstance(side, exp.Column) for side in sides):
                self._add_join(sides, joins)
            return
        if len(sources) == 1 and (source := sources.pop()) is not None and not part.find(exp.Query):
            names = tuple(dict.fromkeys(map(self._path, columns)))
            plain = part.transform(self._without_table).transform(_with_numbers)
            text = _CAST.sub(r"\2 \1", plain.sql(_DIALECT))
            conditions[source].append(QueryCondition(text, names))

    def _add_join(self, sides: list[exp.Expr], joins: dict[str, list[QueryJoin]]) -> None:
        for mine, other in (sides, sides[::-1]):
            assert isinstance(mine, exp.Column)
            assert isinstance(other, exp.Column)
            source, far = self._source_of(mine), self._source_of(other)
            if source is not None:
                table = table_name(self._sources[far]) if far is not None else None
                joins[source].append(
                    QueryJoin(self._path(mine), table, self._path(other) if far is not None else None)
                )

    def _path(self, column: exp.Column) -> str:
        """Return a column's name, or the path of a field of a struct, without the table's name."""
        parts = [part.name for part in column.parts]
        path = ".".join(parts[self._qualifiers(column) :])
        parent = column.parent
        while isinstance(parent, exp.Dot):
            path, parent = f"{path}.{parent.name}", parent.parent
        return path

    def _qualifiers(self, column: exp.Column) -> int:
        """Return how many parts of a name are the table's: three in `lake.db.t.c`."""
        names = [part.name for part in column.parts]
        return next((at for at in range(len(names) - 1, 0, -1) if names[at - 1] in self._scope.sources), 0)

    def _without_table(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and self._qualifiers(node):
            first, *rest = node.parts[self._qualifiers(node) :]
            return (
                exp.Dot.build([exp.column(first.copy()), *(part.copy() for part in rest)])
                if rest
                else exp.column(first.copy())
            )
        return node

    def _source_of(self, column: exp.Column) -> str | None:
        """Return the name, within the query, of the table that a column is of, or None if it is not known."""
        first, qualifiers = column.parts[0].name, self._qualifiers(column)
        if qualifiers:
            name = column.parts[qualifiers - 1].name
            return name if name in self._sources else None
        if len(self._sources) == 1 and not self._others:
            return next(iter(self._sources))
        having = [
            name
            for name, table in self._sources.items()
            if first.lower() in {each.lower() for each in self._columns.get(table_name(table).lower(), ())}
        ]
        return having[0] if len(having) == 1 else None


def _with_numbers(node: exp.Expr) -> exp.Expr:
    """Return a whole number for a sum or a difference of two, such as 1999 + 1."""
    if isinstance(node, exp.Add | exp.Sub) and all(
        isinstance(side, exp.Literal) and side.is_int for side in (node.left, node.right)
    ):
        left, right = int(node.left.name), int(node.right.name)
        number = left + right if isinstance(node, exp.Add) else left - right
        return exp.Literal.number(number)
    return node


def _parts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """Yield the parts of an AND."""
    if condition is not None:
        yield from condition.flatten() if isinstance(condition, exp.And) else (condition,)
