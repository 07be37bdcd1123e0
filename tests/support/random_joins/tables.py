"""Tables whose partitions are arranged in different ways, beside tables of Spark's own with the same rows."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from tests.support.random_histories.tables.layouts import WRITERS
from tests.support.tables.bucketed_tables import Twins, local_frame

Row = tuple[Any, ...]
KEYS = ("k", "j", "s", "v", "c", "m", "d", "t", "f")
"""The columns that tables are bucketed by and joined on. `n` numbers the rows, and `p` is the partition."""
STORED_ROWS = "k bigint, j int, s string, v string, c string, m decimal(9,2), d date, t timestamp, f double, n int, p int"
"""The columns of rows before they are written: Spark makes no frame with a char."""
_TEXTS = ("", "a", "ab", "é", "b c", "abcd", "ab  ")
_COUNTS = (1, 2, 4, 4, 4, 6, 12)
_HOT_VALUES = dict(
    zip(
        KEYS,
        (
            7,
            1,
            "a",
            "a",
            "ab",
            Decimal("1.75"),
            dt.date(2024, 2, 25),
            dt.datetime(2024, 2, 25, tzinfo=dt.UTC),
            2.0,
        ),
        strict=True,
    )
)
"""The values of the bucket columns that most rows of a hot table have, and a few of the others."""
_EDGE_DAYS = tuple(
    dt.date.fromisoformat(day)
    for day in (
        *("0001-01-01", "0001-01-02", "1500-02-28", "1582-10-04", "1582-10-05", "1582-10-10", "1582-10-14"),
        *("1582-10-15", "1582-10-16", "1899-12-31", "1969-12-31", "1970-01-01", "9999-12-30", "9999-12-31"),
    )
)
"""Days at which calendars begin, end, or have a gap: October 1582 lost ten days."""
_EDGE_TIMES = (dt.time(), dt.time(0, 0, 0, 1), dt.time(12), dt.time(23, 59, 59, 500_000), dt.time.max)
_SKEWED = (
    "SKEWED BY (k) ON (7, 3) STORED AS DIRECTORIES",
    "SKEWED BY (k) ON AUTO STORED AS DIRECTORIES",
    "SKEWED BY (k, j) ON ((7, 1), (3, 2)) STORED AS DIRECTORIES",
    "SKEWED BY (s) ON ('a') STORED AS DIRECTORIES",
    "SKEWED BY (k) ON (7)",
)


class Family(NamedTuple):
    """Common properties of the tables of one seed, so that many of them meet in the same buckets.

    Attributes:
        columns: the bucket columns of most.
        version: the hash of most.
        types: the types of all columns in most.
        count: the number of buckets of tables that are in the buckets of the family throughout.
        hot: whether most rows of the first table are in one bucket. Then more tables are in these buckets.
        edges: whether half of the days and times are at the edges of calendars, and decimals are ties that
            round.
    """

    columns: tuple[str, ...]
    version: str
    types: dict[str, str]
    count: int
    hot: bool
    edges: bool = False


class MixedTable:
    """A table under construction, and Spark's own table beside it.

    Attributes:
        twins: the names of both.
        format: of our table's files. Spark's own table is in Parquet, or with edges in the same format, as
            ORC's calendar lacks some days.
        statements: the statements that made and filled it, for a report of a wrong answer.
    """

    def __init__(
        self, spark: SparkSession, name: str, chance: random.Random, family: Family, *, may_be_hot: bool
    ) -> None:
        self._spark, self._chance, self._family = spark, chance, family
        self.twins = Twins(f"lake.{name}", f"spark_catalog.{name}")
        self.statements: list[str] = []
        # in the buckets of the family throughout, and in as many
        self._alike = chance.random() < (0.6 if family.hot else 0.2)
        self._types = family.types if self._alike or chance.random() < 0.7 else random_types(chance)
        # in the buckets of the family, but for one partition
        self._mixed = not self._alike and chance.random() < 0.4
        self._partitioned = self._mixed or chance.random() < 0.6
        self._numbers = 0
        self._hot = family.hot and may_be_hot
        self._create()
        self._fill()

    def _create(self) -> None:
        columns = ", ".join(f"{column} {kind}" for column, kind in self._types.items())
        self.format = self._chance.choice(["parquet", "parquet", "orc"])
        properties = {"list-bucketing-rules": "relaxed"}
        clauses = ["PARTITIONED BY (p)"] if self._partitioned else []
        fits = self._mixed or self._alike
        self._clustered = fits or self._chance.random() < 0.85
        if self._clustered:
            clauses.append(f"CLUSTERED BY {self._buckets(common=fits)}")
            common = fits or self._chance.random() < 0.75
            properties["bucketing-version"] = (
                self._family.version if common else self._chance.choice(["1", "2", "spark"])
            )
        if self._chance.random() < 0.35:
            clauses.append(self._chance.choice(_SKEWED))
        if self._chance.random() < 0.2:
            properties["bucket-join"] = "larger"
        if self._chance.random() < 0.1:
            properties.update([self._chance.choice(WRITERS)])
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self._run(
            f"CREATE TABLE {self.twins.table} ({columns}) USING {self.format} {' '.join(clauses)} TBLPROPERTIES ({listed})"
        )
        stock = self.format if self._family.edges else "parquet"
        self._spark.sql(f"CREATE TABLE {self.twins.view} ({columns}) USING {stock}")

    def _buckets(self, *, common: bool = False) -> str:
        common = common or self._chance.random() < 0.75
        columns = self._family.columns if common else some_columns(self._chance)
        order = self._chance.choice(["none", "same", "same", "turned", "more", "down", "others"])
        sorted_by = {
            "none": [],
            "same": list(columns),
            "turned": [*reversed(columns)],
            "more": [
                *columns,
                *(["n"] if self._chance.random() < 0.5 else ["j"] if "j" not in columns else []),
            ],
            "down": [f"{columns[0]} DESC", *columns[1:]],
            "others": self._chance.sample(KEYS, 2),
        }[order]
        sort = f"SORTED BY ({', '.join(sorted_by)}) " if sorted_by else ""
        count = self._family.count if self._alike else self._chance.choice(_COUNTS)
        return f"({', '.join(columns)}) {sort}INTO {count} BUCKETS"

    def _fill(self) -> None:
        """Write rows by several statements, with other buckets between them, and delete some."""
        size = self._chance.choice([0, 3, 40, 60, 90]) if not self._hot else 70
        if self._mixed:
            size = max(size, 40)
            self._insert(size, [0, 1, 2])
            self._rearrange()
            self._insert(size // 4, [3])
        else:
            self._fill_at_random(size)
        if size and self._chance.random() < 0.15:
            rest = self._chance.randint(0, 6)
            self._run(f"DELETE FROM {self.twins.table} WHERE n % 7 = {rest}")
            left = self._spark.sql(f"SELECT * FROM {self.twins.view} WHERE n % 7 <> {rest}")
            copy = self._spark.createDataFrame(left.toArrow(), left.schema)
            copy.createOrReplaceTempView("remaining_rows")
            self._spark.sql(f"INSERT OVERWRITE {self.twins.view} SELECT * FROM remaining_rows")
        if size and self._chance.random() < 0.1:
            procedures = ["compact", "rebucket"] if self._clustered else ["compact"]
            name = self.twins.table.split(".", 1)[1]
            self._run(f"CALL lake.system.{self._chance.choice(procedures)}(table => '{name}')")

    def _fill_at_random(self, size: int) -> None:
        statements = self._chance.choice([1, 1, 2, 3, 4])
        partitions = [0, 1, 2, 3] if statements == 1 else [0, 1]
        for position in range(statements if size else 0):
            if position and not self._alike and self._chance.random() < 0.6:
                self._rearrange()  # for partitions that are new: others keep their buckets
            if position:
                partitions = self._chance.sample([0, 1, 2, 3][: position + 2], self._chance.choice([1, 2]))
            self._insert(max(size // statements, 1), partitions)

    def _rearrange(self) -> None:
        change = self._chance.choice(["NOT CLUSTERED", "CLUSTERED BY", "CLUSTERED BY", "version"])
        if change == "version":
            change = f"SET TBLPROPERTIES ('bucketing-version' = '{self._chance.choice(['1', '2', 'spark'])}')"
        elif change == "CLUSTERED BY":
            change += f" {self._buckets()}"
            self._clustered = True
        else:
            self._clustered = False
        self._run(f"ALTER TABLE {self.twins.table} {change}")

    def _insert(self, count: int, partitions: Sequence[int]) -> None:
        rows = [self._row(partitions) for _ in range(count)]
        local_frame(self._spark, rows, STORED_ROWS).createOrReplaceTempView("some_rows")
        self._run(f"INSERT INTO {self.twins.table} SELECT * FROM some_rows")
        self._spark.sql(f"INSERT INTO {self.twins.view} SELECT * FROM some_rows")

    def _row(self, partitions: Sequence[int]) -> Row:
        chance = self._chance
        self._numbers += 1
        number = chance.randint(0, 24)
        row: list[Any] = [
            chance.randint(-3, 24),
            chance.randint(0, 5),
            chance.choice(_TEXTS),
            chance.choice(_TEXTS),
            chance.choice(_TEXTS).rstrip(),
            Decimal(chance.randint(-4, 24)) / 4,
            dt.date(2024, 2, 20) + dt.timedelta(chance.randint(0, 20)),
            dt.datetime(2024, 2, 20, tzinfo=dt.UTC) + dt.timedelta(hours=12 * number),
            chance.choice([0.0, -0.0, float("nan"), 1.0, 2.0, 2.5, float(number)]),
        ]
        if self._family.edges:
            self._move_to_edges(row)
        row = [None if chance.random() < 0.08 else value for value in row]
        if chance.random() < (0.85 if self._hot else 0.04):
            for column in self._family.columns:
                row[KEYS.index(column)] = _HOT_VALUES[column]
        return (*row, self._numbers, chance.choice(partitions))

    def _move_to_edges(self, row: list[Any]) -> None:
        """Give a row a decimal that rounds, and maybe a day and a time at an edge."""
        chance = self._chance
        row[KEYS.index("m")] = Decimal(chance.randint(-30, 30)) / 20
        if chance.random() < 0.5:
            row[KEYS.index("d")] = chance.choice(_EDGE_DAYS)
            day, time = chance.choice(_EDGE_DAYS), chance.choice(_EDGE_TIMES)
            row[KEYS.index("t")] = dt.datetime.combine(day, time, dt.UTC)

    def _run(self, statement: str) -> None:
        self.statements.append(statement)
        self._spark.sql(statement)


def random_family(chance: random.Random) -> Family:
    """Return what the tables of a seed have in common."""
    version = chance.choice(["1", "2", "2", "spark"])
    count, hot = chance.choice(_COUNTS[1:]), chance.random() < 0.6
    return Family(some_columns(chance), version, random_types(chance), count, hot)


def some_columns(chance: random.Random) -> tuple[str, ...]:
    """Return one to three bucket columns."""
    kind = chance.random()
    if kind < 0.35:
        return ("k",)
    columns = chance.sample(KEYS, chance.choice([1, 1, 2, 2, 3]))
    return tuple(dict.fromkeys(["k", *columns[1:]] if kind < 0.6 else columns))


def random_types(chance: random.Random) -> dict[str, str]:
    """Return a type for each column."""
    return {
        "k": chance.choice(["bigint", "bigint", "int"]),
        "j": chance.choice(["int", "int", "bigint", "smallint"]),
        "s": "string",
        "v": chance.choice(["varchar(6)", "varchar(6)", "varchar(9)", "string"]),
        "c": chance.choice(["char(4)", "char(4)", "char(6)", "varchar(6)"]),
        "m": chance.choice(["decimal(9,2)", "decimal(9,2)", "decimal(12,3)"]),
        "d": "date",
        "t": chance.choice(["timestamp", "timestamp", "date"]),
        "f": chance.choice(["double", "double", "float"]),
        "n": "int",
        "p": "int",
    }
