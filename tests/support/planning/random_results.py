"""Random tables, and random queries that need only some of their rows, or a summary.

A table's files have few rows each. INSERT writes them, and PyArrow some, with statistics or without. Between,
columns are renamed, widened and added, and rows are deleted.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

Row = dict[str, Any]

TYPES = {
    "id": "int",
    "v": "int",
    "few": "int",
    "f": "double",
    "s": "string",
    "c": "char(3)",
    "d": "date",
    "t": "timestamp",
    "m": "decimal(10,2)",
}
"""The columns of a table's files, by their first names."""
ARROW = {
    "id": pa.int32(),
    "v": pa.int32(),
    "few": pa.int32(),
    "f": pa.float64(),
    "s": pa.string(),
    "c": pa.string(),
    "d": pa.date32(),
    "t": pa.timestamp("us", tz="UTC"),
    "m": pa.decimal128(10, 2),
}
_TEXTS = ["", "a", "a\t", "b", "ab", "B", "é", "\U0001f600", "x" * 70, "x" * 70 + "z"]
_FLOATS = ["0.0D", "-0.0D", "1.5D", "-1.5D", "double('NaN')", "double('Infinity')", "3.0D"]
_LAYOUTS = [
    "",
    "",
    "",
    "CLUSTERED BY (few) SORTED BY (v) INTO 2 BUCKETS",
    "SKEWED BY (few) ON (1) STORED AS DIRECTORIES",
]


_SMALL_ROW_GROUPS = (
    "'parquet.block.size' = '64', 'parquet.page.size' = '64', 'parquet.block.size.row.check.min' = '1', "
    "'parquet.page.size.row.check.min' = '1'"
)
"""Row groups of one row or a few, so that readers skip some."""


class Query(NamedTuple):
    """A query of `{}`, a table, and whether any rows of the table will do."""

    text: str
    any_rows: bool = False
    every: str = ""


class RandomTable:
    """A table under construction, and the names that its columns have now."""

    def __init__(self, spark: SparkSession, name: str, chance: random.Random) -> None:
        self._spark, self.name, self._chance = spark, name, chance
        self._ids = 0
        self.names = {column: column for column in TYPES}
        self.added: list[str] = []
        self._base = chance.choice([0, 0, 10])
        self.layout = chance.choice(_LAYOUTS)
        self.format = chance.choice(["parquet", "parquet", "orc"])
        columns = ", ".join(f"{column} {kind}" for column, kind in TYPES.items())
        properties = []
        if "SKEWED" in self.layout:
            properties.append("'list-bucketing-rules' = 'relaxed'")  # appends to such directories
        if self.format == "parquet" and chance.random() < 0.4:
            properties.append(_SMALL_ROW_GROUPS)
        clause = f" TBLPROPERTIES ({', '.join(properties)})" if properties else ""
        spark.sql(
            f"CREATE TABLE {name} ({columns}, p int) USING {self.format} PARTITIONED BY (p) {self.layout}{clause}"
        )

    def fill(self) -> None:
        """Write some files, and change the table between them."""
        steps = [self._insert] * self._chance.randint(3, 5)
        steps += self._chance.sample([self._rename, self._widen, self._add, self._delete], 2)
        if not self.layout and self.format == "parquet":
            steps.append(self._write_foreign_file)
        self._chance.shuffle(steps)
        self._insert()
        for step in steps:
            step()

    def _rows(self) -> list[Row]:
        chance = self._chance
        low = chance.choice([0, 0, 5, 10]) + self._base
        apart = chance.random() < 0.7
        rows = []
        for _ in range(chance.randint(1, 6)):
            self._ids += 1
            number = low + chance.randint(0, 4) if apart else chance.randint(-5, 25)
            row = {
                "id": self._ids,
                "v": number,
                "few": chance.choice([0, 1, 1, 2]),
                "f": chance.choice(_FLOATS),
                "s": chance.choice(_TEXTS),
                "c": chance.choice(["", "a", "a\t", "b", "ab"]),
                "d": dt.date(2024, 1, 1) + dt.timedelta(number),
                "t": dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC) + dt.timedelta(hours=number),
                "m": number / 4,
            }
            for column in row:
                if column != "id" and chance.random() < 0.15:
                    row[column] = None
            rows.append(row)
        return rows

    def _insert(self) -> None:
        rows, part = self._rows(), self._chance.choice([0, 0, 1])
        columns = [*(self.names[column] for column in TYPES), *self.added, "p"]
        values = [
            ", ".join(
                [*(_literal(column, row[column]) for column in TYPES), *self._added_values(), str(part)]
            )
            for row in rows
        ]
        self._spark.sql(
            f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES {', '.join(f'({row})' for row in values)}"
        )

    def _added_values(self) -> list[str]:
        return [self._chance.choice(["NULL", "1", "5", "9"]) for _ in self.added]

    def _write_foreign_file(self) -> None:
        rows = self._rows()
        for row in rows:
            row["f"] = None if row["f"] is None else self._chance.choice([0.0, 2.5, float("nan")])
        arrays = {
            column: pa.array([None if column == "m" else row[column] for row in rows], type=ARROW[column])
            for column in TYPES
        }
        folder = self._spark.sql(f"DESCRIBE TABLE EXTENDED {self.name}").where("col_name = 'Location'")
        location = folder.collect()[0]["data_type"].removeprefix("file:")
        path = Path(location) / "p=1" / f"foreign-{self._ids}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(arrays), path, write_statistics=self._chance.random() < 0.4)
        catalog, database, table = self.name.split(".")
        self._spark.sql(f"CALL {catalog}.system.sync(table => '{database}.{table}')")

    def _rename(self) -> None:
        column = self._chance.choice(["s", "d", "t", "f"])
        if self.names[column] == column:
            self._spark.sql(f"ALTER TABLE {self.name} RENAME COLUMN {column} TO {column}_now")
            self.names[column] = f"{column}_now"

    def _widen(self) -> None:
        if "SORTED BY" not in self.layout:
            self._spark.sql(f"ALTER TABLE {self.name} ALTER COLUMN v TYPE bigint")

    def _add(self) -> None:
        default = "DEFAULT 5" if self._chance.random() < 0.7 else ""
        name = f"added_{len(self.added)}"
        self._spark.sql(f"ALTER TABLE {self.name} ADD COLUMN {name} int {default}")
        self.added.append(name)

    def _delete(self) -> None:
        self._spark.sql(f"DELETE FROM {self.name} WHERE id = {self._chance.randint(1, self._ids)}")

    def query(self) -> Query:
        """Return a random query of the table as it is now."""
        return _RandomQuery(self._chance, self.names, self.added).query()


def _literal(column: str, value: Any) -> str:
    if value is None:
        return "NULL"
    if column in ("s", "c"):
        return f"'{value}'"
    if column in ("d", "t"):
        return f"{'DATE' if column == 'd' else 'TIMESTAMP'}'{value}'"
    return f"{value}BD" if column == "m" else str(value)


class _RandomQuery:
    """Makes queries of a table's columns."""

    def __init__(self, chance: random.Random, names: dict[str, str], added: Sequence[str]) -> None:
        self._chance = chance
        self._names = names
        numbers = ["v", "few", "id", "m", "p", *added]
        self._keys = [
            *("v", "v", "few", "m", "p", *added, *(names[column] for column in ("f", "s", "c", "d", "t"))),
            *("v + 1", "-v", "few * 2", "abs(v)", "coalesce(v, 3)", "v + few", "double(v)", "v % 7"),
            f"date_trunc('DAY', {names['t']})",
            f"date_add({names['d']}, 2)",
            f"{names['f']} + 1",
            f"substring({names['s']}, 1, 1)",
        ]
        self._conditions = [
            *(f"{column} > {chance.randint(-2, 16)}" for column in numbers),
            *(f"{column} <= {chance.randint(-2, 20)}" for column in numbers),
            f"v BETWEEN {chance.randint(0, 9)} AND {chance.randint(8, 20)}",
            f"few IN (1, {chance.randint(0, 3)})",
            f"{names['f']} < {chance.choice(['2', '0.0', '9'])}",
            f"{names['f']} >= {chance.choice(['-1', '0.0'])}",
            f"{names['s']} >= '{chance.choice(['', 'a', 'b', 'x'])}'",
            f"c = '{chance.choice(['a', 'b', 'ab'])}'",
            f"{names['d']} > DATE'2024-01-{chance.randint(1, 16):02}'",
            *(f"{column} IS NOT NULL" for column in ("v", "few", names["s"])),
            "v IS NULL",
            f"id % {chance.choice([2, 3])} = 1",
            f"(few = {chance.randint(0, 2)} OR v > {chance.randint(0, 15)})",
        ]

    def query(self) -> Query:
        """Return a query."""
        make = self._chance.choice(
            [
                self._limit,
                self._order,
                self._order,
                self._order,
                self._aggregate,
                self._ranks,
                self._groups,
                self._join,
            ]
        )
        return make()

    def _where(self) -> str:
        some = self._chance.sample(self._conditions, self._chance.choice([0, 1, 1, 2]))
        return f" WHERE {' AND '.join(some)}" if some else ""

    def _count(self) -> int:
        return self._chance.choice([1, 1, 2, 3, 5, 9])

    def _sort(self, key: str) -> str:
        return key + self._chance.choice(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])

    def _limit(self) -> Query:
        where = self._where()
        offset = self._chance.choice(["", "", " OFFSET 2"])
        limit = f"LIMIT {self._count()}{offset}"
        every = f"SELECT id, v FROM {{0}}{where}"
        if self._chance.random() < 0.3:
            every += f" UNION ALL SELECT id, v FROM {{0}}{self._where()}"
        return Query(f"SELECT * FROM ({every}) {limit}", True, every)

    def _order(self) -> Query:
        key = self._chance.choice(self._keys)
        limit = f"LIMIT {self._count()}{self._chance.choice(['', '', ' OFFSET 1'])}"
        where = self._where()
        shape = self._chance.choice(["key", "id", "union"])
        if shape == "key":
            return Query(f"SELECT {key} AS k FROM {{0}}{where} ORDER BY {self._sort(key)} {limit}")
        if shape == "id":
            return Query(
                f"SELECT {key} AS k, id FROM {{0}}{where} ORDER BY {self._sort(key)}, {self._sort('id')} {limit}"
            )
        both = (
            f"SELECT {key} AS k, id FROM {{0}}{where} UNION ALL SELECT {key}, -id FROM {{0}}{self._where()}"
        )
        return Query(f"SELECT * FROM ({both}) ORDER BY {self._sort('k')}, id {limit}")

    def _aggregate(self) -> Query:
        keys = self._chance.sample(self._keys, 2)
        what = self._chance.choice(
            [
                "max(id)",
                "min(id), count(*)",
                f"max({keys[0]})",
                f"min({keys[0]})",
                f"count({keys[0]}), max({keys[0]}), min({keys[1]})",
                f"max_by(v, id), count({keys[1]})",
                "max_by(v, id)",
                "min_by(v, -id), max(v)",
                "max_by(few, id), max(id)",
            ]
        )
        return Query(f"SELECT {what} FROM {{0}}{self._where()}")

    def _ranks(self) -> Query:
        function = self._chance.choice(["rank()", "dense_rank()", "row_number()"])
        key = self._sort(self._chance.choice(self._keys))
        order = f"{key}, id" if function == "row_number()" else key
        rows = f"SELECT id, {function} OVER (ORDER BY {order}) AS r FROM {{0}}{self._where()}"
        return Query(f"SELECT * FROM ({rows}) WHERE r <= {self._count()} ORDER BY r, id")

    def _groups(self) -> Query:
        key = self._chance.choice(self._keys)
        what = self._chance.choice(["count(*)", "max(id)", "count(DISTINCT few)", "sum(id), min(v)"])
        return Query(
            f"SELECT {key} AS k, {what} FROM {{0}}{self._where()} GROUP BY {key} ORDER BY {self._sort('k')} LIMIT {self._count()}"
        )

    def _join(self) -> Query:
        key = self._chance.choice(self._keys)
        join = self._chance.choice(["LEFT JOIN", "JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "FULL JOIN"])
        small = "(VALUES (0, 'x'), (1, 'y'), (1, 'z'), (4, 'w')) AS small(k0, n)"
        on = self._chance.choice(["few = k0", "v = k0", "id % 5 = k0"])
        n = "" if "LEFT S" in join or "ANTI" in join else ", n"
        limit = f"LIMIT {self._count()}"
        return Query(
            f"SELECT {key} AS k, id{n} FROM {{0}} {join} {small} ON {on}{self._where()} "
            f"ORDER BY {self._sort(key)}, id{n} {limit}"
        )
