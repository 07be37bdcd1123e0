"""Statements about partitions, arrangement and versions; most of them leave the rows unchanged."""

from __future__ import annotations

from tests.support.random_histories.conditions import Others
from tests.support.random_histories.tables.layouts import WRITERS, bucket_clause, skew_clause
from tests.support.random_histories.tables.shapes import RandomColumn, identifier
from tests.support.random_histories.tables.tables import Change, ModelledTable
from tests.support.random_histories.tables.values import FLOATS, INTERVALS, TEXTS, text


def _same_value(column: RandomColumn, constant: str) -> str:
    """Return whether a partition column has a value that a clause names by a constant."""
    value = f"CAST(CAST({constant} AS STRING) AS {column.type})"
    if column.type in TEXTS:
        value = f"nullif({value}, '')"
    elif column.type == "BINARY":
        value = f"IF({value} = X'', NULL, {value})"
    return f"{identifier(column.name)} <=> {value}"


def _named_partition(table: ModelledTable) -> tuple[str, str] | None:
    """Return a clause PARTITION that names the first column, and the condition that means the same."""
    first = table.shape.parts[:1]
    if not first or first[0].type in INTERVALS:
        return None
    constant = table.draw.constant(first[0].type, of_partition=True)
    return f"PARTITION ({identifier(first[0].name)} = {constant})", _same_value(first[0], constant)


def drop_partition(table: ModelledTable, _others: Others) -> Change | None:
    """Drop the partitions of a value of the first column."""
    found = _named_partition(table)
    if found is None:
        return None
    sql = f"ALTER TABLE {table.name} DROP IF EXISTS {found[0]}"
    return table.changed(sql, f"{table.rows()} WHERE NOT ({found[1]})")


def truncate(table: ModelledTable, _others: Others) -> Change | None:
    """Empty the table, or what a clause names of it."""
    found = _named_partition(table)
    if found is None or table.draw.often(0.3):
        return table.changed(f"TRUNCATE TABLE {table.name}", f"{table.rows()} WHERE false")
    return table.changed(f"TRUNCATE TABLE {table.name} {found[0]}", f"{table.rows()} WHERE NOT ({found[1]})")


def rename_partition(table: ModelledTable, _others: Others) -> Change | None:
    """Change the partition values of a partition's rows, if it exists and no other has the new values."""
    parts = table.shape.parts
    if not parts or any(part.type in INTERVALS for part in parts):
        return None
    old = [table.draw.constant(part.type, of_partition=True) for part in parts]
    new = [table.draw.constant(part.type, of_partition=True) for part in parts]
    names = [identifier(part.name) for part in parts]

    def clause(values: list[str]) -> str:
        return (
            f"PARTITION ({', '.join(f'{name} = {value}' for name, value in zip(names, values, strict=True))})"
        )

    same = " AND ".join(_same_value(part, value) for part, value in zip(parts, old, strict=True))
    kept = [identifier(column.name) for column in table.shape.columns]
    moved = [
        f"IF({same}, CAST(CAST({value} AS STRING) AS {part.type}), {name}) AS {name}"
        for part, name, value in zip(parts, names, new, strict=True)
    ]
    sql = f"ALTER TABLE {table.name} {clause(old)} RENAME TO {clause(new)}"
    return table.changed(sql, f"SELECT {', '.join([*kept, *moved])} FROM {table.view}")


def change_skew(table: ModelledTable, _others: Others) -> Change:
    """Have other values be heavy, or none."""
    clauses = [skew_clause(table.draw, table.shape), "NOT SKEWED", "NOT STORED AS DIRECTORIES"]
    return table.changed(f"ALTER TABLE {table.name} {table.draw.choices(clauses, [4, 1, 1])[0]}")


def change_buckets(table: ModelledTable, _others: Others) -> Change:
    """Have other buckets, or none, or another hash."""
    version = table.draw.choice(["1", "2", "spark"])
    clauses = [
        bucket_clause(table.draw, table.shape),
        "NOT CLUSTERED",
        f"SET TBLPROPERTIES ('bucketing-version' = '{version}')",
    ]
    return table.changed(f"ALTER TABLE {table.name} {table.draw.choices(clauses, [3, 1, 1])[0]}")


def change_order(table: ModelledTable, _others: Others) -> Change:
    """Sort files by another column, or by none."""
    column = table.draw.choice(table.shape.scalars())
    clause = table.draw.choice([f"CLUSTER BY ({column})", "CLUSTER BY NONE"])
    return table.changed(f"ALTER TABLE {table.name} {clause}")


def change_files(table: ModelledTable, _others: Others) -> Change:
    """Have other files be written from now on: smaller ones, with Bloom filters, or without statistics."""
    column = table.draw.choice(table.shape.scalars(without=(*FLOATS, *INTERVALS)))
    pair = table.draw.choice(
        [
            ("bloom-filter-columns", column),
            ("target-file-size", "1b"),
            ("target-file-size", "1mb"),
            ("distribution", "none"),
            table.draw.choice(WRITERS),
        ]
    )
    return table.changed(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({text(pair[0])} = {text(pair[1])})")


def _call(table: ModelledTable, procedure: str, more: str = "") -> Change:
    return table.changed(f"CALL lake.system.{procedure}(table => {text(table.plain)}{more})")


def compact(table: ModelledTable, _others: Others) -> Change:
    """Write small files anew."""
    return _call(table, "compact")


def rebucket(table: ModelledTable, _others: Others) -> Change:
    """Write what is not in the table's buckets anew."""
    return _call(table, "rebucket")


def compact_metadata(table: ModelledTable, _others: Others) -> Change:
    """Write the lists of files anew."""
    return _call(table, "compact_metadata")


def vacuum(table: ModelledTable, _others: Others) -> Change:
    """Delete all versions but the newest."""
    change = _call(table, "vacuum", ", older_than => current_timestamp(), allow_recent => true")
    return Change(change.sql, change.model, change.shape, forgets=True)


def index(table: ModelledTable, _others: Others) -> Change | None:
    """Index the partitions by their last column."""
    if len(table.shape.parts) < 2:
        return None
    return _call(table, "create_partition_index", f", columns => array({text(table.shape.parts[-1].name)})")


def rollback(table: ModelledTable, _others: Others) -> Change | None:
    """Have the rows and columns of an earlier version again."""
    if not table.versions:
        return None
    version = table.draw.choice(table.versions)
    change = _call(table, "rollback", f", version => {version.number}")
    model = f"SELECT {version.shape.names()} FROM {version.view}"
    return Change(change.sql, model, version.shape)
