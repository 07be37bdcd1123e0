"""Which bucket each row is of, by each of the few ways in which partitions have their rows spread, as columns of numbers.

The bridge hashes (`BucketColumns`), by the types that the columns have in the table: of char and varchar Spark's own expressions
say no more than that they are strings. Values that are equal come into one bucket, whatever the hash would say of them: -0.0
counts as 0.0, and any NaN as any other.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from parquetry.identifiers import quoted
from parquetry.layout import BucketSpec, physical_schema
from parquetry.metastore.versions import TableSnapshot

NO_BUCKETS = -1
"""The number of no way of spreading rows."""


class RowBuckets:
    """The buckets of the rows of one write.

    Args:
        snapshot: of the table.
        prefix: what the names of the columns begin with, which no column of the table does.
    """

    def __init__(self, snapshot: TableSnapshot, prefix: str) -> None:
        self._fields = {
            field["name"]: field for field in physical_schema(snapshot.metadata.columns)["fields"]
        }
        self._prefix = prefix
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(self, spec: BucketSpec | None) -> int:
        """Return the number of a way of spreading rows: specs that differ in nothing but their order have one."""
        if spec is None:
            return NO_BUCKETS
        return self._numbers.setdefault((spec.columns, spec.version, spec.count), len(self._numbers))

    def add(self, rows: DataFrame) -> DataFrame:
        """Return rows beside a column for each number that was given, with the bucket of each row."""
        if not self._numbers:
            return rows
        asked = [
            {
                "name": self._name(number),
                "version": str(version),
                "count": count,
                "columns": columns,
                "types": {"type": "struct", "fields": [self._fields[name] for name in columns]},
            }
            for (columns, version, count), number in self._numbers.items()
        ]
        spark = rows.sparkSession
        door = spark._jvm.org.apache.spark.sql.parquetry.hash.BucketColumns
        return DataFrame(door.add(rows._jdf, json.dumps(asked)), spark)

    def bucket(self, number: int) -> Column:
        """Return the bucket of a row that `add` was given, 0 where rows are not spread."""
        return sf.lit(0) if number == NO_BUCKETS else sf.col(quoted(self._name(number)))

    def chosen(self, number: Column) -> Column:
        """Return the bucket of a row in the way whose number stands beside it."""
        chosen = None
        for each in self._numbers.values():
            chosen = (sf if chosen is None else chosen).when(number == each, self.bucket(each))
        return sf.lit(0) if chosen is None else chosen.otherwise(sf.lit(0))

    def _name(self, number: int) -> str:
        return f"{self._prefix}.{number}"
