"""Add the number of each row's slot as a column. `layout.slots` numbers the slots, and has an example.

The writer of files uses the number as a last partition column, so a task gets the rows of each slot together.
The bridge (`DirectCommitProtocol`) replaces the level `parquetry.slot=3` of a path by the slot's directory,
and puts the bucket into the file's name.

A CASE over the cells of the table's map computes the number of the cell's first slot. The row's bucket is
added. If partitions have arrangements of their own, a join gives their rows the numbers. Values are compared
by SQL's `<=>`: NULL equals NULL, and NaN equals NaN. A new kind of part needs its expression here (`_case`).

The bucket of each row is a column of numbers, too: one column for each bucket specification in use.

Partitions of one table may be bucketed in a few different ways. Each way has a number here. The bridge
computes the hash (`BucketColumns`) by the columns' types in the table, because Spark's expressions know char
and varchar only as strings. Equal values belong to one bucket: -0.0 is hashed as 0.0, and all NaNs as one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, functions as sf

from parquetry.data_files import FileRecord
from parquetry.identifiers import quote_part
from parquetry.layout import (
    NO_SLOT,
    ArrangementSpec,
    BucketSpec,
    SkewMap,
    SlotLayout,
    SlotNumbers,
    SortColumn,
    physical_schema,
)
from parquetry.metastore import TableSnapshot
from parquetry.planner import Destinations
from parquetry.spark.active import bridge_class
from parquetry.spark.write.values import comparable, key_column, text_of, value_column
from parquetry.types import ColumnType

_SLOT_COLUMN = "parquetry.slot"
"""The column of numbers, and the beginning of helper columns' names; longer if a table has such a column."""

_Sort = tuple[tuple[str, bool], ...]


class RowSlots:
    """The slots of the rows of one write.

    Args:
        snapshot: of the table.
        destinations: of the rows.

    Attributes:
        destinations: of the rows.
        numbers: the numbers of the slots.
        column: the name of the column of numbers.
    """

    def __init__(self, snapshot: TableSnapshot, destinations: Destinations) -> None:
        self.destinations = destinations
        self._snapshot = snapshot
        self._types = {column.physical: column.column_type for column in snapshot.metadata.columns}
        self.numbers = SlotNumbers(self._types)
        self.column = _SLOT_COLUMN
        while any(name.lower().startswith(self.column) for name in self._types):
            self.column += "_"
        self._buckets = RowBuckets(snapshot, f"{self.column}.bucket")
        self._default = self.numbers.add(destinations.default)
        for each in _grouped_by_sort(destinations.own.values()):
            self.numbers.add(each)
        self._own = {key: self.numbers.add(each) for key, each in destinations.own.items()}
        for layout in self.numbers.firsts:
            self._bucket_number(layout)

    @property
    def has_slots(self) -> bool:
        """Return whether any row has a slot."""
        return bool(self.numbers.firsts)

    @property
    def one_file_per_slot(self) -> bool:
        """Return whether the rows of some slot are to be in one file, as a bucket's are."""
        return any(layout.one_file_per_slot for layout in self.numbers.firsts)

    def add(self, rows: DataFrame) -> DataFrame:
        """Return rows, which have the columns of the files, with one more column for their slots, if any."""
        if not self.has_slots:
            return rows
        names = [rows[quote_part(name)] for name in rows.columns]
        rows = self._buckets.add(rows)
        first = sf.lit(NO_SLOT) if self._default is None else self._case(rows, self._default)
        spread = self._bucket_number(self._default)
        bucket = self._buckets.bucket(spread)
        if self._own:
            rows, own_first, own_spread = self._join_own_slots(rows)
            first = sf.coalesce(own_first, first)
            bucket = self._buckets.choose(sf.coalesce(own_spread, sf.lit(spread)))
        return rows.select(*names, (first.cast("bigint") + bucket).alias(self.column))

    def order(self, *, light_sorted: bool = False) -> list[Column]:
        """Return the sort order of rows within a slot: the order of the slot's layout.

        Args:
            light_sorted: whether rows in the directory of all values that are not heavy are sorted by the
                skewed columns, where the layout has no order of its own.
        """
        if not self.has_slots:
            return []
        runs: list[tuple[_Sort, int, int]] = []  # consecutive slots with one sort order: two of each, at most
        for layout, first in self.numbers.firsts.items():
            sort, last = _sort(layout, light_sorted=light_sorted), first + layout.count - 1
            if runs and runs[-1][0] == sort:
                runs[-1] = sort, runs[-1][1], last
            else:
                runs.append((sort, first, last))
        if len(runs) == 1 and not self._may_be_unassigned:
            return [_sort_order(sf.col(quote_part(name)), descending) for name, descending in runs[0][0]]
        slot = sf.col(quote_part(self.column))
        return [
            _sort_order(
                sf.when(
                    _any(slot.between(first, last) for its, first, last in runs if its == sort),
                    sf.col(quote_part(name)),
                ),
                descending,
            )
            for sort in dict.fromkeys(sort for sort, _, _ in runs)
            for name, descending in sort
        ]

    def record(self, file: FileRecord, key: bytes, number: int) -> FileRecord:
        """Return the record of a file with its slot.

        Args:
            file: the file's record.
            key: of the file's partition.
            number: of the slot of its rows.
        """
        return self.numbers.record(file, number, self.destinations.arrangement(key))

    @property
    def _may_be_unassigned(self) -> bool:
        """Return whether some rows may have no slot."""
        return self._default is None or None in self._own.values()

    def _bucket_number(self, layout: SlotLayout | None) -> int:
        """Return the number of a layout's buckets in `RowBuckets`."""
        return self._buckets.number(None if layout is None else layout.part(BucketSpec))

    def _types_of(self, skew: SkewMap) -> list[ColumnType]:
        return [self._types[name] for name in skew.columns]

    def _case(self, rows: DataFrame, layout: SlotLayout) -> Column:
        """Return the first slot of the cell of each row."""
        first, skew = self.numbers.firsts[layout], layout.part(SkewMap)
        number = None
        if skew is not None:
            types = self._types_of(skew)
            for cell, values in enumerate(skew.values(types), 1):
                equal = [
                    self._comparable(rows, name).eqNullSafe(value_column(type, sf.lit(text_of(type, value))))
                    for name, type, value in zip(skew.columns, types, values, strict=True)
                ]
                slot = sf.lit(first + cell * layout.slots_of_directory)
                number = (sf if number is None else number).when(_all(equal), slot)
        return sf.lit(first) if number is None else number.otherwise(sf.lit(first))

    def _join_own_slots(self, rows: DataFrame) -> tuple[DataFrame, Column, Column]:
        """Join rows with the numbers of their partitions' own arrangements, or NULL for other partitions.

        Returns:
            The rows, the first slot of each row's cell, and the number of its partition's buckets.
        """
        types = list(self._snapshot.partition_types)
        rest: list[tuple[str | int | None, ...]] = []
        cells: dict[tuple[str, ...], list[tuple[str | int | None, ...]]] = defaultdict(list)
        for key, layout in self._own.items():
            values = self._snapshot.placement.values_of(key)
            texts = [text_of(type, value) for type, value in zip(types, values, strict=True)]
            first = NO_SLOT if layout is None else self.numbers.firsts[layout]
            rest.append((*texts, first, self._bucket_number(layout)))
            if layout is None or (skew := layout.part(SkewMap)) is None:
                continue
            kinds = self._types_of(skew)
            for cell, heavy in enumerate(skew.values(kinds), 1):
                of_cell = (text_of(kind, value) for kind, value in zip(kinds, heavy, strict=True))
                slot = first + cell * layout.slots_of_directory
                cells[skew.columns].append((*texts, *of_cell, slot))
        slots: list[Column] = []
        for columns, numbers in cells.items():
            rows, (slot,) = self._beside(rows, columns, numbers, f"{self.column}.{len(slots)}", 1)
            slots.append(slot)
        rows, (slot, spread) = self._beside(rows, (), rest, f"{self.column}.rest", 2)
        return rows, sf.coalesce(*slots, slot), spread

    def _beside(
        self,
        rows: DataFrame,
        columns: Sequence[str],
        numbers: Sequence[tuple[str | int | None, ...]],
        prefix: str,
        count: int,
    ) -> tuple[DataFrame, list[Column]]:
        """Join rows with numbers by their values. Return the rows, and the columns with the numbers, or NULL.

        Args:
            rows: with the columns of the files.
            columns: to join by, besides the partition columns.
            numbers: tuples of the values as text and the numbers.
            prefix: for the names of the joined columns.
            count: how many numbers each tuple has.
        """
        partition_by = [column.physical for column in self._snapshot.metadata.partition_columns]
        types = list(self._snapshot.partition_types)
        names = [quote_part(f"{prefix}.{i}") for i in range(len(partition_by) + len(columns) + count)]
        texts, number_names = names[:-count], names[-count:]
        schema = ", ".join(
            [*(f"{name} string" for name in texts), *(f"{name} bigint" for name in number_names)]
        )
        side = rows.sparkSession.createDataFrame(numbers, schema)
        equal = [
            key_column(type, rows[quote_part(name)]).eqNullSafe(value_column(type, sf.col(text)))
            for name, type, text in zip(partition_by, types, texts, strict=False)
        ]
        equal += [
            self._comparable(rows, name).eqNullSafe(value_column(self._types[name], sf.col(text)))
            for name, text in zip(columns, texts[len(partition_by) :], strict=True)
        ]
        return rows.join(sf.broadcast(side), _all(equal), "left"), [sf.col(name) for name in number_names]

    def _comparable(self, rows: DataFrame, name: str) -> Column:
        return comparable(self._types[name], rows[quote_part(name)])


def _grouped_by_sort(arrangements: Iterable[ArrangementSpec]) -> list[ArrangementSpec]:
    """Return arrangements so that those whose slots have the same order are next to each other.

    Partitions may alternate between two orders. Then the condition that a slot has one of them would grow
    with the partitions.
    """
    groups: dict[tuple[SortColumn, ...], list[ArrangementSpec]] = defaultdict(list)
    for each in dict.fromkeys(arrangements):
        layout = SlotLayout.from_arrangement(each)
        groups[() if layout is None else layout.sort].append(each)
    return [each for group in groups.values() for each in group]


def _sort(layout: SlotLayout, *, light_sorted: bool) -> _Sort:
    """Return the sort order of a layout's slots.

    Light values are sorted by the skewed columns. The rows of a heavy value are equal there, so the order may
    hold for them, too.
    """
    skew = layout.part(SkewMap)
    if layout.sort or skew is None or not light_sorted:
        return tuple((each.column, each.descending) for each in layout.sort)
    return tuple((name, False) for name in skew.columns)


def _sort_order(values: Column, descending: bool) -> Column:
    return values.desc() if descending else values.asc()  # NULL is the least


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__and__, conditions)


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__or__, conditions)


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
