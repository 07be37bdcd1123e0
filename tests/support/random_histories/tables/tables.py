"""A table and its model: the expected rows, as a view of rows in memory, of it and of its versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import SparkSession

from tests.support.random_histories.conditions import Conditions, Others, Term, terms
from tests.support.random_histories.tables.layouts import RandomLayout
from tests.support.random_histories.tables.shapes import RandomColumn, TableShape, identifier
from tests.support.random_histories.tables.values import TEXTS, Draw

RECORDS = (1, 3, 10, 20)
"""How many rows a statement may bring.

They are enough for files and partitions to differ, and few enough for joins of four tables.
"""


class RecordedVersion(NamedTuple):
    """A version of a table: its number, the view of its rows, and its columns."""

    number: int
    view: str
    shape: TableShape


class Source(NamedTuple):
    """A table, or a version of one, that queries may read."""

    ours: str
    model: str
    shape: TableShape


@dataclass(frozen=True)
class Change:
    """A statement, and its expected effect on the table.

    Attributes:
        sql: the statement.
        model: the query of the rows after it, over the view of the rows before it; its columns are `shape`'s.
        shape: the columns after it.
        settings: of Spark's, for this statement alone.
        computes: whether the statement computes the same as `model` does, so that both succeed or both fail.
        name: of the table afterwards, if it is another.
        forgets: whether no version before it can be read afterwards.
        replaces: whether it replaces this table by another, which may begin to count its versions anew.
        before: statements about Spark's own tables that come before it; without them there is no change.
    """

    sql: str
    model: str
    shape: TableShape
    settings: dict[str, str] = field(default_factory=dict)
    computes: bool = False
    name: str | None = None
    forgets: bool = False
    replaces: bool = False
    before: tuple[str, ...] = ()


class ModelledTable:
    """A table beside its model.

    Attributes:
        name: with catalog and database.
        draw: the source of chance.
        format: of the files.
        layout: as it was made.
        shape: its current columns.
        view: the view of the rows that it has to hold.
        versions: the versions that can be read, the newest last.
        gone: names that columns had once.
        count: of statements that the table has seen, for names that are new.
    """

    def __init__(self, name: str, draw: Draw, format: str, layout: RandomLayout, views: str) -> None:
        self.name, self.draw, self.format, self.layout = name, draw, format, layout
        self.shape = TableShape(())
        self.view = ""
        self.versions: list[RecordedVersion] = []
        self.gone: list[str] = []
        self.count = 0
        self._views = views

    @property
    def plain(self) -> str:
        """The table's name without its catalog, as procedures take it."""
        return self.name.partition(".")[2]

    def source(self) -> Source:
        """Return the table as it is now."""
        return Source(self.name, self.view, self.shape)

    def terms(self, alias: str) -> list[Term]:
        """Return its columns as a query names them by an alias."""
        return terms(self.shape.all, alias)

    def conditions(self, alias: str, others: Others = ()) -> Conditions:
        """Return what makes conditions on its columns by an alias."""
        return Conditions(self.draw, self.terms(alias), others)

    def rows(self) -> str:
        """Return the query of its rows."""
        return f"SELECT {self.shape.names()} FROM {self.view}"

    def keep(self, spark: SparkSession, query: str, shape: TableShape) -> None:
        """Make the rows of a query the expected rows of the table.

        An empty text, and no bytes, are NULL as the value of a partition.
        """
        self.count += 1
        kept = [identifier(column.name) for column in shape.columns]
        for column in shape.parts:
            name = identifier(column.name)
            if column.type in TEXTS:
                name = f"nullif({name}, '') AS {name}"
            elif column.type == "BINARY":
                name = f"IF({name} = X'', NULL, {name}) AS {name}"
            kept.append(name)
        view = f"{self._views}_{self.count}"
        spark.sql(f"SELECT {', '.join(kept)} FROM ({query})").localCheckpoint().createOrReplaceTempView(view)
        self.view, self.shape = view, shape

    def drop_views(self, spark: SparkSession) -> None:
        """Free the rows of all versions."""
        for number in range(1, self.count + 1):
            spark.catalog.dropTempView(f"{self._views}_{number}")

    def new_rows(self, count: int, keys: list[str] | None = None, shape: TableShape | None = None) -> str:
        """Return a query of so many random rows, of the table's columns or others.

        The values of the first column may be given.

        Most values are of a few that the rows share, so that there are heavy ones.
        """
        draw, shape = self.draw, shape or self.shape
        columns = shape.all

        def literal(column: RandomColumn) -> str:
            return draw.literal(column.type, of_partition=column in shape.parts)

        common = [[literal(column) for _ in range(draw.choice([1, 2, 4, 8]))] for column in columns]
        rows = []
        for number in range(count):
            row = [
                draw.choice(values) if draw.often(0.7) else literal(column)
                for column, values in zip(columns, common, strict=True)
            ]
            if keys is not None:
                row[0] = keys[number]
            rows.append(f"({', '.join(row)})")
        names = [identifier(column.name) for column in columns]
        cast = [
            f"CAST({name} AS {column.type}) AS {name}" for name, column in zip(names, columns, strict=True)
        ]
        return f"SELECT {', '.join(cast)} FROM VALUES {', '.join(rows)} AS v({', '.join(names)})"

    def changed(self, sql: str, model: str | None = None, shape: TableShape | None = None) -> Change:
        """Return a change of the table's arrangement or columns; without a model its rows stay the same."""
        return Change(sql, model or self.rows(), shape or self.shape)
