"""Statements that change rows, and the rows that there are after them."""

from __future__ import annotations

from tests.support.random_histories.conditions import Others
from tests.support.random_histories.tables.shapes import RandomColumn, identifier
from tests.support.random_histories.tables.tables import Change, ModelledTable
from tests.support.random_histories.tables.values import SCALARS, text


def delete(table: ModelledTable, others: Others) -> Change:
    """Delete the rows that satisfy a condition."""
    condition = table.conditions("a", others).tree(2)
    names = table.shape.names()
    model = f"SELECT *, coalesce({condition}, false) AS __c FROM {table.view} a"
    sql = f"DELETE FROM {table.name} AS a WHERE {condition}"
    return Change(sql, f"SELECT {names} FROM ({model}) WHERE NOT __c", table.shape, computes=True)


def update(table: ModelledTable, others: Others) -> Change:
    """Change some columns: to constants, to other columns, or to values that depend on a condition."""
    draw, columns = table.draw, table.shape.all
    conditions = table.conditions("a", others)
    condition, single = conditions.tree(2), table.conditions("a")
    new = {}
    for column in draw.sample(columns, draw.randint(1, min(4, len(columns)))):
        like = [term for term, type in conditions.of if type == column.type]
        literal = draw.literal(column.type)
        otherwise = f"a.{identifier(column.name)}"
        new[column.name] = draw.choice(
            [literal, draw.choice(like), f"CASE WHEN {single.leaf()} THEN {literal} ELSE {otherwise} END"]
        )
    sets = ", ".join(f"{identifier(name)} = {value}" for name, value in new.items())
    sql = f"UPDATE {table.name} AS a SET {sets} WHERE {condition}"
    values = ", ".join(
        f"IF(__c, {new[column.name]}, a.{name}) AS {name}" if column.name in new else f"a.{name}"
        for column in columns
        for name in [identifier(column.name)]
    )
    met = f"SELECT *, coalesce({condition}, false) AS __c FROM {table.view} a"
    return Change(sql, f"SELECT {values} FROM ({met}) a", table.shape, computes=True)


def merge(table: ModelledTable, _others: Others) -> Change | None:
    """Change, delete and add rows by a key that no two rows of the source have."""
    draw, shape = table.draw, table.shape
    key = shape.columns[0]
    if key.name != "k":
        return None
    values = SCALARS[key.type]
    keys = [f"CAST({text(value)} AS {key.type})" for value in draw.sample(values, draw.randint(1, 8))]
    null_safe = draw.often(0.3)
    if null_safe:
        keys.append(f"CAST(NULL AS {key.type})")
    source = table.new_rows(len(keys), keys)
    conditions = table.conditions("t")
    on = f"t.k {'<=>' if null_safe else '='} s.k"
    if draw.often(0.25):
        on += f" AND {conditions.leaf()}"
    deleted = conditions.leaf() if draw.often(0.4) else "false"
    updated = conditions.tree(1) if draw.often(0.8) else "true"
    added = table.conditions("s").leaf() if draw.often(0.2) else "true"
    inserts = draw.often(0.8)
    gone = conditions.leaf() if draw.often(0.2) else "false"
    changed = draw.some([column.name for column in shape.all], len(shape.all))
    names = [identifier(column.name) for column in shape.all]
    sets = ", ".join(f"t.{identifier(name)} = s.{identifier(name)}" for name in changed)
    clauses = [
        f"MERGE INTO {table.name} t USING ({source}) s ON {on}",
        *([f"WHEN MATCHED AND {deleted} THEN DELETE"] if deleted != "false" else []),
        f"WHEN MATCHED {f'AND {updated} ' if updated != 'true' else ''}THEN UPDATE SET {sets}",
    ]
    if inserts:
        only = f"AND {added} " if added != "true" else ""
        clauses.append(f"WHEN NOT MATCHED {only}THEN INSERT ({shape.names()}) VALUES ({shape.names('s.')})")
    if gone != "false":
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND {gone} THEN DELETE")
    marked = f"(SELECT *, 1 AS __one FROM ({source}))"
    theirs = ", ".join(
        f"s.{name} AS {_theirs(column)}" for name, column in zip(names, shape.all, strict=True)
    )
    met = (
        f"SELECT {shape.names('t.')}, {theirs}, s.__one IS NOT NULL AS __m, coalesce({updated}, false) AS __c, "
        f"coalesce({deleted}, false) AS __d, coalesce({gone}, false) AS __b "
        f"FROM {table.view} t LEFT JOIN {marked} s ON {on}"
    )
    kept = ", ".join(
        f"IF(__m AND __c, {_theirs(column)}, {name}) AS {name}" if column.name in changed else name
        for name, column in zip(names, shape.all, strict=True)
    )
    model = f"SELECT {kept} FROM ({met}) WHERE NOT (__m AND __d) AND NOT (NOT __m AND __b)"
    if inserts:
        new = f"SELECT {shape.names('s.')} FROM {marked} s LEFT ANTI JOIN {table.view} t ON {on}"
        model += f" UNION ALL SELECT {shape.names('s.')} FROM ({new}) s WHERE {added}"
    return Change(" ".join(clauses), model, shape, computes=True)


def _theirs(column: RandomColumn) -> str:
    return identifier(f"s_{column.name}")
