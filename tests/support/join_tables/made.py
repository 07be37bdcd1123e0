"""The tables of a table file: each is made once, at its first use, beside a view of the same rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tests.support.join_tables.reading import ALWAYS, expand, names_in, read
from tests.support.tables.bucketed_tables import PLAINLY, Twins, settings

JOINS = Path(__file__).parents[2] / "spark" / "bucket_joins" / "joins.table"
CATALOGS = ("lake", "spark_catalog")
_CHANGE = re.compile(r"(NOT )?CLUSTERED\b")


class MadeTables:
    """Tables by name and by the values of the variables in their declarations, in a database of their own.

    Args:
        spark: a session.
        path: of the file that declares them.
    """

    def __init__(self, spark: SparkSession, path: Path = JOINS) -> None:
        self._spark = spark
        self._file = read(path)
        self._made: dict[tuple[str, ...], str] = {}
        for catalog in CATALOGS:
            spark.sql(f"CREATE DATABASE {catalog}.joined")

    def __getitem__(self, name: str) -> Twins:
        """Return a table in its usual layout, and the view of its rows."""
        return self.of(name, {})

    def text(self, query: str) -> str:
        """Return a query with the names of tables."""
        return query.format(**{name: self[name].table for name in names_in(query)})

    def of(self, name: str, variables: Mapping[str, str]) -> Twins:
        """Return a table in the layout that variables choose, and the view of its rows."""
        table = self._file.tables[name]
        known = {**self._file.variables, **ALWAYS, **variables, **table.given}
        columns, values, layout = (
            expand(text, known, table.location) for text in (table.columns, table.values, table.layout)
        )
        rows = f"SELECT i, {values} FROM (SELECT CAST(id AS INT) AS i FROM range(0, {known['rows']}, 1, 1))"
        view = self._view(name, columns, rows)
        if layout == "view":
            return Twins(view, view)
        if "CLUSTERED BY" in layout and "TBLPROPERTIES" not in layout:
            layout += f" TBLPROPERTIES ('bucketing-version' = '{known['hash']}')"
        definition = f"({columns}) USING {known['format']} {layout}"
        key = (name, definition, rows)
        inserts = expand(table.inserts, known, table.location)
        if key not in self._made:
            self._made[key] = self._table(f"lake.joined.{name}_{len(self._made)}", definition, view, inserts)
        return Twins(self._made[key], view)

    def drop(self) -> None:
        """Drop the databases."""
        for catalog in CATALOGS:
            self._spark.sql(f"DROP DATABASE {catalog}.joined CASCADE")

    def _view(self, name: str, columns: str, values: str) -> str:
        """Make a view whose plan holds its rows, or a table of Spark's where Spark pads what it reads."""
        key = ("view", columns, values)
        if key in self._made:
            return self._made[key]
        texts = re.sub(r"\b(var)?char\(\d+\)", "string", columns)  # Spark makes no frame of them
        schema = StructType.fromDDL(texts)
        cast = ", ".join(
            f"CAST({each.name} AS {each.dataType.simpleString()}) {each.name}" for each in schema
        )
        rows = f"SELECT {cast} FROM ({values}) AS v(i, {', '.join(schema.names)})"
        view = f"rows_{len(self._made)}_{name}"
        with settings(self._spark, PLAINLY):
            frame = self._spark.sql(rows)
            local = self._spark.createDataFrame(frame.toArrow(), schema)
        local.createOrReplaceGlobalTempView(view)
        self._made[key] = f"global_temp.{view}"
        if re.search(r"\bchar\(", columns):
            self._made[key] = self._table(
                f"spark_catalog.joined.{view}", f"({columns}) USING parquet", f"global_temp.{view}"
            )
        return self._made[key]

    def _table(self, table: str, definition: str, view: str, inserts: str = "") -> str:
        """Make a table, and insert rows of a view by steps: conditions of rows, and changes of the layout."""
        self._spark.sql(f"CREATE TABLE {table} {definition}")
        if not self._spark.table(view).head(1):
            return table
        for step in map(str.strip, inserts.split(";")):
            if _CHANGE.match(step):
                self._spark.sql(f"ALTER TABLE {table} {step}")
            else:
                self._spark.sql(f"INSERT INTO {table} SELECT * FROM {view} WHERE {step or 'true'}")
        return table
