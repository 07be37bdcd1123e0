"""Statements that bring rows, and the rows that there are after them."""

from __future__ import annotations

from tests.support.random_histories.conditions import Conditions, Others, terms
from tests.support.random_histories.tables.shapes import RandomColumn, identifier
from tests.support.random_histories.tables.tables import RECORDS, Change, ModelledTable
from tests.support.random_histories.tables.values import FLOATS, INTERVALS, TEXTS, text

MODE = "spark.sql.sources.partitionOverwriteMode"
"""Whether INSERT OVERWRITE replaces what a clause names, or the partitions that the rows are of."""


def _settled(column: RandomColumn, value: str) -> str:
    """Return the value of a partition as it is kept: an empty one is NULL."""
    if column.type in TEXTS:
        return f"nullif({value}, '')"
    return f"IF({value} = X'', NULL, {value})" if column.type == "BINARY" else value


def _statement(table: ModelledTable, verb: str, query: str) -> str:
    """Return an INSERT of a query of all columns: by their names, by a list of them, or by their places."""
    return table.draw.choice(
        [
            f"{verb} {table.name} ({table.shape.names()}) {query}",
            f"{verb} {table.name} BY NAME {query}",
            f"{verb} {table.name} SELECT {table.shape.names()} FROM ({query})",
        ]
    )


def insert(table: ModelledTable, _others: Others = ()) -> Change:
    """Add rows."""
    query = table.new_rows(table.draw.choice(RECORDS))
    sql = _statement(table, "INSERT INTO", query)
    return Change(sql, f"{table.rows()} UNION ALL {query}", table.shape, computes=True)


def insert_some_columns(table: ModelledTable, _others: Others) -> Change | None:
    """Add rows without some columns, which get their defaults."""
    left = table.draw.some([column.name for column in table.shape.all[1:]], 2)
    given = [column for column in table.shape.all if column.name not in left]
    query = table.new_rows(table.draw.choice(RECORDS))
    names = ", ".join(identifier(column.name) for column in given)
    sql = f"INSERT INTO {table.name} ({names}) SELECT {names} FROM ({query})"
    kept = ", ".join(
        identifier(column.name)
        if column in given
        else f"CAST({column.default or 'NULL'} AS {column.type}) AS {identifier(column.name)}"
        for column in table.shape.all
    )
    model = f"{table.rows()} UNION ALL SELECT {kept} FROM ({query})"
    return Change(sql, model, table.shape, computes=True)


def insert_self(table: ModelledTable, _others: Others) -> Change | None:
    """Add some of the rows that the table has once more."""
    if not table.versions:
        return None
    condition = table.conditions("a").tree(1)
    names = table.shape.names("a.")
    some = "SELECT {} FROM {} a WHERE {}"
    model = f"{table.rows()} UNION ALL {some.format(names, table.view, condition)}"
    return Change(
        f"INSERT INTO {table.name} {some.format(names, table.name, condition)}",
        model,
        table.shape,
        computes=True,
    )


def overwrite(table: ModelledTable, _others: Others) -> Change:
    """Replace all rows."""
    query = table.new_rows(table.draw.choice(RECORDS))
    sql = _statement(table, "INSERT OVERWRITE", query)
    return Change(sql, query, table.shape, {MODE: "static"}, computes=True)


def overwrite_dynamically(table: ModelledTable, _others: Others) -> Change | None:
    """Replace the partitions that the rows are of."""
    if not table.shape.parts:
        return None
    query = table.new_rows(table.draw.choice(RECORDS))
    pairs = [(part, identifier(part.name)) for part in table.shape.parts]
    same = " AND ".join(
        f"{_settled(part, f'm.{name}')} <=> {_settled(part, f'n.{name}')}" for part, name in pairs
    )
    kept = f"SELECT {table.shape.names('m.')} FROM {table.view} m LEFT ANTI JOIN ({query}) n ON {same}"
    sql = _statement(table, "INSERT OVERWRITE", query)
    return Change(sql, f"{kept} UNION ALL {query}", table.shape, {MODE: "dynamic"}, computes=True)


def write_partition(table: ModelledTable, _others: Others) -> Change | None:
    """Add rows to a partition that a clause names, wholly or in part, or replace what the clause names."""
    draw, shape = table.draw, table.shape
    first = shape.parts[:1]
    if not first or first[0].type in INTERVALS:
        return None
    value = draw.constant(first[0].type, of_partition=True)
    given = f"CAST(CAST({value} AS STRING) AS {first[0].type})"
    query = table.new_rows(draw.choice(RECORDS))
    rest = [identifier(column.name) for column in (*shape.columns, *shape.parts[1:])]
    name = identifier(first[0].name)
    clause = ", ".join([f"{name} = {value}", *(identifier(part.name) for part in shape.parts[1:])])
    names = [identifier(column.name) for column in shape.columns]
    rows = ", ".join([*names, f"{given} AS {name}", *rest[len(names) :]])
    new = f"SELECT {rows} FROM ({query})"
    source = f"PARTITION ({clause}) SELECT {', '.join(rest)} FROM ({query})"
    if draw.often(0.5):
        sql = f"INSERT INTO {table.name} {source}"
        return Change(sql, f"{table.rows()} UNION ALL {new}", shape, computes=True)
    model = f"{table.rows()} WHERE NOT ({_settled(first[0], name)} <=> {_settled(first[0], given)}) UNION ALL {new}"
    return Change(f"INSERT OVERWRITE {table.name} {source}", model, shape, {MODE: "static"}, computes=True)


def replace_where(table: ModelledTable, _others: Others) -> Change | None:
    """Replace the partitions that a condition selects, by rows that satisfy it.

    An empty value becomes NULL as the value of a partition. Such a row satisfies another condition than the
    stored one, and is refused with reason. The condition is about values in their stored form.
    """
    if not table.shape.parts:
        return None
    names = table.shape.names()
    stored = ", ".join(
        f"{_settled(column, name)} AS {name}" if column in table.shape.parts else name
        for column in table.shape.all
        for name in [identifier(column.name)]
    )
    parts = [(term.removeprefix("a."), type) for term, type in terms(table.shape.parts, "a")]
    condition = Conditions(table.draw, parts).tree(1)
    query = f"SELECT * FROM (SELECT {stored} FROM ({table.new_rows(5)})) WHERE {condition}"
    sql = f"INSERT INTO {table.name} REPLACE WHERE {condition} SELECT {names} FROM ({query})"
    model = f"{table.rows()} WHERE NOT coalesce({condition}, false) UNION ALL {query}"
    return Change(sql, model, table.shape, computes=True)


def adopt(table: ModelledTable, location: str) -> Change:
    """Take in what plain Spark has written to the place of an external table.

    Plain Spark has two folders for 0.0 and -0.0, and one of them is taken in: here there is one.
    """
    floats = [identifier(part.name) for part in table.shape.parts if part.type in FLOATS]
    query = table.new_rows(table.draw.choice(RECORDS))
    if floats:
        names = ", ".join(
            f"IF({name} = 0, CAST(0 AS {column.type}), {name}) AS {name}" if name in floats else name
            for column in table.shape.all
            for name in [identifier(column.name)]
        )
        query = f"SELECT {names} FROM ({query})"
    parts = ", ".join(identifier(part.name) for part in table.shape.parts)
    stock = f"spark_catalog.default.{table.plain.replace('.', '_')}"
    written = (
        f"CREATE TABLE {stock} USING {table.format} {f'PARTITIONED BY ({parts}) ' if parts else ''}"
        f"LOCATION {text(location)} AS {query}",
        f"DROP TABLE {stock}",
    )
    model = f"{table.rows()} UNION ALL {query}"
    return Change(f"MSCK REPAIR TABLE {table.name}", model, table.shape, before=written)
