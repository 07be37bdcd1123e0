"""Random tables for readers: columns and partitions of all types, with the values where readers differ."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from parquetry.metastore import TableSnapshot
from tests.support.readers.python_tables import PythonLake

INFINITY = float("inf")
VALUES: Mapping[str, Sequence[Any]] = {
    "boolean": [True, False],
    "byte": [-128, 127, 0, 1],
    "short": [-32768, 32767, 5],
    "integer": [-(2**31), 2**31 - 1, 0, 7],
    "long": [-(2**63), 2**63 - 1, 0, 2**53 + 1],
    "float": [0.0, -0.0, 1.5, float("nan"), INFINITY, -INFINITY, 3.4028234663852886e38],
    "double": [0.0, -0.0, 0.1, float("nan"), INFINITY, -INFINITY, 1e300, -5e-324],
    "string": ["", "a", "A", "a ", "é", "\U0001f600", "\uffff", "z" * 70, "a\\b", "it's", 'q"q', "%_", "null", "a/b=c", "1"],
    "varchar(80)": ["", "abc", "é"],
    "date": [dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(1969, 12, 31), dt.date(9999, 12, 31)],
    "timestamp": [
        dt.datetime(1900, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC),
        dt.datetime(2026, 11, 28, 1, 2, 3, 456_789, dt.UTC),
    ],
    "timestamp_ntz": [dt.datetime(1960, 1, 1), dt.datetime(2026, 1, 1, 0, 0, 0, 1), dt.datetime(9999, 12, 31, 23, 59)],
    "decimal(5,2)": [Decimal("-999.99"), Decimal("0.00"), Decimal("1.50")],
    "decimal(20,3)": [Decimal("-12345678901234567.123"), Decimal("0.001"), Decimal("5.000")],
    "decimal(38,0)": [Decimal(10) ** 37, Decimal(-1), Decimal("-12345678901234567890123456789012345678")],
    "binary": [b"", b"\0\xff", b"abc"],
}  # fmt: skip
PARTITION_TYPES = (
    "integer", "long", "string", "date", "boolean", "short", "timestamp", "decimal(5,2)", "timestamp_ntz",
)  # fmt: skip
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


def make_table(lake: PythonLake, name: str, choice: random.Random) -> TableSnapshot:
    """Make a table of a few files, some of them empty, and return it."""
    partitions = {f"p{n}": choice.choice(PARTITION_TYPES) for n in range(choice.choice([0, 1, 1, 2]))}
    columns = {f"c{n}": choice.choice(list(VALUES)) for n in range(choice.randint(1, 4))}
    lake.create(name, {**partitions, **columns}, list(partitions))
    for number in range(choice.randint(1, 4)):
        folders = [
            f"{each}={_folder(choice.choice([*VALUES[kind], None]))}/" for each, kind in partitions.items()
        ]
        nulls = choice.random()
        rows = [
            {
                each: None if choice.random() < nulls else choice.choice(VALUES[kind])
                for each, kind in columns.items()
            }
            for _ in range(choice.randint(0, 5))
        ]
        lake.write(name, f"{''.join(folders)}{number}.parquet", rows)
    return lake.table(name)


def _folder(value: Any) -> str:
    """Return a partition value as a folder has it. Unlike Spark, it escapes all longer characters."""
    match value:
        case None | "":
            return NULL_FOLDER
        case bool():
            return str(value).lower()
        case dt.datetime():
            return quote(value.replace(tzinfo=None).isoformat(" "), safe=" ")
    return quote(str(value), safe=" ")
