"""A query of a history: the tables that it read, its conditions and joins, and the files and bytes it took.

Records come from the reports of queries that have run, from Spark's event logs, and from lists of SQL. A list
of SQL has no counts.
"""

from __future__ import annotations

import msgspec


class ReadCount(msgspec.Struct, frozen=True):
    """How many of a kind were read, of how many that the table had."""

    read: int
    of: int


class QueryCondition(msgspec.Struct, frozen=True, omit_defaults=True):
    """One part of a WHERE that must hold, of one table.

    Attributes:
        text: the condition in SQL. With values kept it is whole (`day = '2026-01-01'`), and otherwise each
            value is a question mark (`day = ?`).
        columns: the columns that it names; fields of structs have dots.
        has_values: whether the text has its values.
        share: the part of the table's rows that satisfied it (0 to 1), as estimated or counted; None if
            nothing tells. It stands for the values where they are not kept.
    """

    text: str
    columns: tuple[str, ...]
    has_values: bool = True
    share: float | None = None


class QueryJoin(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column that was joined by equality with a column of another table."""

    column: str
    other_table: str | None
    other_column: str | None


class TableRead(msgspec.Struct, frozen=True, omit_defaults=True):
    """The read of one table by one query.

    Attributes:
        table: the table as statements name it in its catalog, such as `db.t`, or a folder of Parquet.
        version: the version that was read; None for tables that are not Parquetry's.
        conditions: all hold together (AND).
        joins: columns joined by equality.
        columns: the columns that were read; None if that is not known.
        partitions, files, bytes: read, of all that the version had; None if nothing counted them. Only the
            bytes of the query's columns count.
        rows: rows that the scan gave; None if unknown.
        estimated_rows: the rows that the planner foretold.
        left_out: what left files out, such as `partitions`, with the number of files.
        not_more: why no more was left out, in words.
    """

    table: str
    version: int | None = None
    conditions: tuple[QueryCondition, ...] = ()
    joins: tuple[QueryJoin, ...] = ()
    columns: tuple[str, ...] | None = None
    partitions: ReadCount | None = None
    files: ReadCount | None = None
    bytes: ReadCount | None = None
    rows: int | None = None
    estimated_rows: int | None = None
    left_out: tuple[tuple[str, int], ...] = ()
    not_more: tuple[str, ...] = ()


class QueryRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One query that has run, or is written in a list of queries.

    Attributes:
        reads: one for each scan of a table.
        time: when it ended, in milliseconds since 1970, UTC; None for a query of a list.
        door: how it came: `sql`, `dataframe`, `connect`, `thrift`, `scan`, `iceberg`, `hive`, `event-log`,
            `sql-file`.
        user: who asked; None if unknown.
        statement: its SQL; kept only where values are.
        seconds: how long it took.
        shuffles: the number of exchanges of the plan that ran.
        weight: how many equal queries this record stands for.
    """

    reads: tuple[TableRead, ...]
    time: int | None = None
    door: str = "sql"
    user: str | None = None
    statement: str | None = None
    seconds: float | None = None
    shuffles: int | None = None
    weight: int = 1
