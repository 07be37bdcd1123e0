"""Add the bucket of each row as a column of numbers: one column for each bucket specification in use.

Partitions of one table may be bucketed in a few different ways. Each way has a number here. The bridge
computes the hash (`BucketColumns`) by the columns' types in the table, because Spark's expressions know char
and varchar only as strings. Equal values belong to one bucket: -0.0 is hashed as 0.0, and all NaNs as one.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import Column, DataFrame, functions as sf

from parquetry.identifiers import quote_part
from parquetry.layout import BucketSpec, physical_schema
from parquetry.metastore import TableSnapshot
from parquetry.spark.active import bridge_class

NO_BUCKETS = -1
"""The number for rows without buckets."""


class RowBuckets:
    """The buckets of the rows of one write.

    Args:
        snapshot: of the table.
        prefix: the beginning of the new columns' names. No column of the table begins with it.
    """

    def __init__(self, snapshot: TableSnapshot, prefix: str) -> None:
        self._fields = {
            field["name"]: field for field in physical_schema(snapshot.metadata.columns)["fields"]
        }
        self._prefix = prefix
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(self, spec: BucketSpec | None) -> int:
        """Return the number of a bucket specification. The sort order of a bucket does not matter for it."""
        if spec is None:
            return NO_BUCKETS
        return self._numbers.setdefault((spec.columns, spec.version, spec.count), len(self._numbers))

    def add(self, rows: DataFrame) -> DataFrame:
        """Return rows with one more column for each number in use: the bucket of each row."""
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
        door = bridge_class(spark._jvm, "hash.BucketColumns")
        return DataFrame(door.add(rows._jdf, json.dumps(asked)), spark)

    def bucket(self, number: int) -> Column:
        """Return the column with the buckets of a number, or 0 for rows without buckets."""
        return sf.lit(0) if number == NO_BUCKETS else sf.col(quote_part(self._name(number)))

    def choose(self, number: Column) -> Column:
        """Return the bucket of each row, by a column with the number of its bucket specification."""
        chosen = None
        for each in self._numbers.values():
            chosen = (sf if chosen is None else chosen).when(number == each, self.bucket(each))
        return sf.lit(0) if chosen is None else chosen.otherwise(sf.lit(0))

    def _name(self, number: int) -> str:
        return f"{self._prefix}.{number}"
