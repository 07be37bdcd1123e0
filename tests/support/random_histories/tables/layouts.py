"""Random arrangements of tables: partitions, skew directories, buckets, order, filters, sizes, indexes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.support.random_histories.tables.shapes import TableShape, identifier
from tests.support.random_histories.tables.values import FLOATS, INTERVALS, Draw, text

WRITERS = [
    ("parquet.column.statistics.enabled", "false"),
    ("parquet.statistics.truncate.length", "1"),
    ("parquet.enable.dictionary", "false"),
    ("parquet.writer.version", "v2"),
    ("parquet.block.row.count.limit", "3"),
    ("orc.row.index.stride", "0"),
]
"""Properties that have writers leave out statistics or dictionaries, or make other pages and row groups."""


@dataclass(frozen=True)
class RandomLayout:
    """The part of CREATE TABLE behind the columns.

    Attributes:
        shape: the columns that it names.
        clauses: `SKEWED BY …`, `CLUSTERED BY …`; the least important last.
        properties: of the table.
        location: of an external table, or None.
    """

    shape: TableShape
    clauses: list[str]
    properties: dict[str, str]
    location: str | None = None

    def create(self, name: str, format: str, verb: str = "CREATE TABLE") -> str:
        """Return the statement that makes an empty table of it."""
        columns = ", ".join(f"{identifier(column.name)} {column.type}" for column in self.shape.all)
        return f"{verb} {name} ({columns}) {self._behind(format)}"

    def create_as(self, name: str, format: str, query: str, verb: str = "CREATE TABLE") -> str:
        """Return the statement that makes a table of the rows of a query."""
        return f"{verb} {name} {self._behind(format)} AS {query}"

    def _behind(self, format: str) -> str:
        parts = ", ".join(identifier(column.name) for column in self.shape.parts)
        properties = ", ".join(f"{text(key)} = {text(value)}" for key, value in self.properties.items())
        said = [f"USING {format}"]
        if parts:
            said.append(f"PARTITIONED BY ({parts})")
        said += self.clauses
        if self.location:
            said.append(f"LOCATION {text(self.location)}")
        return " ".join([*said, f"TBLPROPERTIES ({properties})"])

    def simpler(self) -> RandomLayout:
        """Return it with one clause less, and in the end without what else may not go together."""
        if self.clauses:
            return replace(self, clauses=self.clauses[:-1])
        return replace(self, properties={"list-bucketing-rules": self.properties["list-bucketing-rules"]})


def drawn_layout(draw: Draw, shape: TableShape) -> RandomLayout:
    """Return a random arrangement of a table of such columns."""
    scalars = shape.scalars()
    properties = {"list-bucketing-rules": "relaxed"}
    if draw.often(0.3):
        properties["target-file-size"] = draw.choice(["1kb", "4kb", "1b", "64mb"])
    if draw.often(0.3):
        properties["sort-by"] = ", ".join(draw.some(scalars, 2))
    if draw.often(0.25):
        properties["bloom-filter-columns"] = draw.choice(shape.scalars(without=(*FLOATS, *INTERVALS)))
    if draw.often(0.15):
        properties["distribution"] = "none"
    if shape.parts and draw.often(0.2):
        properties["partition-order"] = f"{identifier(shape.parts[0].name)} DESC"
    if len(shape.parts) > 1 and draw.often(0.3):
        properties["partition-indexes"] = identifier(shape.parts[-1].name)
    clauses = []
    if draw.often(0.35):
        clauses.append(skew_clause(draw, shape))
    if draw.often(0.35):
        clauses.append(bucket_clause(draw, shape))
        properties["bucketing-version"] = draw.choice(["1", "2", "spark"])
    if draw.often(0.2):
        properties.update([draw.choice(WRITERS)])
    return RandomLayout(shape, clauses, properties)


def skew_clause(draw: Draw, shape: TableShape) -> str:
    """Return a clause SKEWED BY, of one or two columns and up to three values of theirs, or AUTO."""
    columns = [column for column in shape.columns if column.scalar]
    chosen = draw.sample(columns, min(len(columns), draw.choice([1, 1, 2])))
    values = [
        ", ".join(draw.constant(column.type) for column in chosen) for _ in range(draw.choice([1, 2, 3]))
    ]
    distinct = list(dict.fromkeys(values))
    heavy = ", ".join(distinct if len(chosen) == 1 else [f"({value})" for value in distinct])
    on = "AUTO" if draw.often(0.15) else f"({heavy})"
    names = ", ".join(identifier(column.name) for column in chosen)
    return f"SKEWED BY ({names}) ON {on} STORED AS DIRECTORIES"


def bucket_clause(draw: Draw, shape: TableShape) -> str:
    """Return a clause CLUSTERED BY, of one or two columns, half of the time of the key, sometimes sorted."""
    scalars = shape.scalars(without=INTERVALS)
    columns = [scalars[0]] if draw.often(0.5) else draw.some(scalars, 2)
    order = f" SORTED BY ({draw.choice(scalars)}{draw.choice(['', ' DESC'])})" if draw.often(0.3) else ""
    return f"CLUSTERED BY ({', '.join(columns)}){order} INTO {draw.choice([1, 2, 3, 4, 8])} BUCKETS"
