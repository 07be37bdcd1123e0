"""Statements that change columns and the table's name, and the rows that there are after them."""

from __future__ import annotations

from tests.support.random_histories.conditions import Others
from tests.support.random_histories.tables.layouts import drawn_layout
from tests.support.random_histories.tables.shapes import RandomColumn, TableShape, drawn_shape, identifier
from tests.support.random_histories.tables.tables import Change, ModelledTable
from tests.support.random_histories.tables.values import NESTED, SCALARS, TIMES, WIDER


def _new_name(table: ModelledTable) -> str | None:
    """Return a name for a column: new, or one that a column had once."""
    name = table.draw.choice([f"n{table.count}", *table.gone])
    taken = {column.name.lower() for column in table.shape.all}
    return None if name.lower() in taken else name


def add_column(table: ModelledTable, _others: Others) -> Change | None:
    """Add a column, at any place, with a default or without."""
    draw, shape = table.draw, table.shape
    name = _new_name(table)
    if name is None:
        return None
    type = draw.choice(list(SCALARS if draw.often(0.8) else NESTED))
    # what a literal of a time means depends on the zone of the session that writes by it
    default = draw.literal(type, 0) if draw.often(0.5) and type not in (*NESTED, *TIMES) else None
    column = RandomColumn(name, type, default)
    place = draw.choice(["", "", "FIRST", f"AFTER {identifier(shape.columns[0].name)}"])
    at = {"": len(shape.columns), "FIRST": 0}.get(place, 1)
    columns = (*shape.columns[:at], column, *shape.columns[at:])
    said = f" DEFAULT {default}" if default else ""
    sql = f"ALTER TABLE {table.name} ADD COLUMN {identifier(name)} {type}{said} {place}"
    new = TableShape(columns, shape.parts)
    model = f"SELECT {new.names()} FROM (SELECT *, CAST({default or 'NULL'} AS {type}) AS {identifier(name)} FROM {table.view})"
    return table.changed(sql, model, new)


def set_default(table: ModelledTable, _others: Others) -> Change | None:
    """Change what rows get that are written without a column."""
    columns = [column for column in table.shape.columns if column.scalar and column.type not in TIMES]
    if not columns:
        return None
    column = table.draw.choice(columns)
    default = None if table.draw.often(0.3) else table.draw.literal(column.type, 0)
    what = f"SET DEFAULT {default}" if default else "DROP DEFAULT"
    sql = f"ALTER TABLE {table.name} ALTER COLUMN {identifier(column.name)} {what}"
    return table.changed(sql, None, table.shape.with_column(column.name, column._replace(default=default)))


def drop_column(table: ModelledTable, _others: Others) -> Change | None:
    """Drop a column that is not the key."""
    columns = [column for column in table.shape.columns if column.name != "k"]
    if not columns or len(table.shape.columns) == 1:
        return None
    column = table.draw.choice(columns)
    shape = TableShape(
        tuple(other for other in table.shape.columns if other is not column), table.shape.parts
    )
    sql = f"ALTER TABLE {table.name} DROP COLUMN {identifier(column.name)}"
    return table.changed(sql, f"SELECT {shape.names()} FROM {table.view}", shape)


def rename_column(table: ModelledTable, _others: Others) -> Change | None:
    """Rename a column, a partition column too."""
    columns = [column for column in table.shape.all if column.name != "k"]
    new = _new_name(table)
    if new is None or not columns:
        return None
    column = table.draw.choice(columns)
    shape = table.shape.with_column(column.name, column._replace(name=new))
    sql = f"ALTER TABLE {table.name} RENAME COLUMN {identifier(column.name)} TO {identifier(new)}"
    names = [
        f"{identifier(old.name)} AS {identifier(now.name)}"
        for old, now in zip(table.shape.all, shape.all, strict=True)
    ]
    return table.changed(sql, f"SELECT {', '.join(names)} FROM {table.view}", shape)


def widen_column(table: ModelledTable, _others: Others) -> Change | None:
    """Give a column a wider type."""
    columns = [column for column in table.shape.columns if column.type in WIDER]
    if not columns:
        return None
    column = table.draw.choice(columns)
    type = table.draw.choice(WIDER[column.type])
    name = identifier(column.name)
    shape = table.shape.with_column(column.name, column._replace(type=type))
    names = [
        f"CAST({name} AS {type}) AS {name}" if other is column else identifier(other.name)
        for other in table.shape.all
    ]
    sql = f"ALTER TABLE {table.name} ALTER COLUMN {name} TYPE {type}"
    return table.changed(sql, f"SELECT {', '.join(names)} FROM {table.view}", shape)


def move_column(table: ModelledTable, _others: Others) -> Change:
    """Put a column of the files before or behind another."""
    columns = list(table.shape.columns)
    column = columns.pop(table.draw.randrange(len(columns)))
    at = table.draw.randint(0, len(columns))
    place = f"AFTER {identifier(columns[at - 1].name)}" if at else "FIRST"
    columns.insert(at, column)
    shape = TableShape(tuple(columns), table.shape.parts)
    sql = f"ALTER TABLE {table.name} ALTER COLUMN {identifier(column.name)} {place}"
    return table.changed(sql, f"SELECT {shape.names()} FROM {table.view}", shape)


def rename_table(table: ModelledTable, _others: Others) -> Change:
    """Give the table another name."""
    new = f"{table.name}r"
    sql = f"ALTER TABLE {table.name} RENAME TO {new.partition('.')[2]}"
    return Change(sql, table.rows(), table.shape, name=new)


def replace_table(table: ModelledTable, _others: Others) -> Change:
    """Replace this table by another: with other columns, another arrangement, with rows or without."""
    draw = table.draw
    shape = table.shape if draw.often(0.3) else drawn_shape(draw)
    shape = TableShape(
        tuple(column._replace(default=None) for column in shape.columns),
        tuple(part._replace(default=None) for part in shape.parts),
    )
    layout = drawn_layout(draw, shape)
    if draw.often(0.5):
        sql = layout.create(table.name, table.format, "CREATE OR REPLACE TABLE")
        rows = ", ".join(f"CAST(NULL AS {column.type}) AS {identifier(column.name)}" for column in shape.all)
        return Change(sql, f"SELECT {rows} WHERE false", shape, replaces=True)
    query = table.new_rows(draw.choice([1, 10]), shape=shape)
    sql = layout.create_as(table.name, table.format, query, "CREATE OR REPLACE TABLE")
    return Change(sql, query, shape, replaces=True)
