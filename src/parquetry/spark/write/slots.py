"""Add the number of each row's slot as a column. A slot is a cell, a bucket, or a bucket of a cell.

The writer of files uses the number as a last partition column, so a task gets the rows of each slot together.
The bridge (`DirectCommitProtocol`) replaces the level `parquetry.slot=3` of a path by the cell's directory,
and puts the bucket into the file's name. The slots of one cell have consecutive numbers, one for each bucket.

Example: a table has a directory for `x = 10`, and 4 buckets by `id`.

| slots | rows |
|---|---|
| 0 | without a slot |
| 1 to 4 | buckets 0 to 3 of all other values of `x` |
| 5 to 8 | buckets 0 to 3 of `x = 10` |

A row with `x = 10` and an `id` in bucket 2 gets slot 5 + 2 = 7.

A CASE over the cells of the table's map computes the number. If partitions have arrangements of their own, a
join gives their rows the numbers. Values are compared by SQL's `<=>`: NULL equals NULL, and NaN equals NaN.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as sf

from parquetry.identifiers import quote_part
from parquetry.layout import REST, ArrangementSpec, BucketSpec, SkewMap, cell_location
from parquetry.metastore import TableSnapshot
from parquetry.planner import Destinations
from parquetry.spark.write.buckets import RowBuckets
from parquetry.spark.write.values import comparable, key_column, text_of, value_column
from parquetry.types import ColumnType

_SLOT_COLUMN = "parquetry.slot"
"""The column of numbers, and the beginning of helper columns' names; longer if a table has such a column."""
_NO_SLOT = 0
"""The number for rows without a slot. Their files record neither a cell nor a bucket."""

_Sort = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class _Layout:
    """The parts of an arrangement that divide rows into slots.

    Attributes:
        skew: the map, or None if it has no directories.
        buckets: the buckets, or None if there are none.
    """

    skew: SkewMap | None
    buckets: BucketSpec | None

    @property
    def buckets_of_cell(self) -> int:
        """Return the number of slots in each cell."""
        return 1 if self.buckets is None else self.buckets.count

    @property
    def slots(self) -> int:
        """Return the number of slots, including the slots of the rest."""
        return self.buckets_of_cell * (1 if self.skew is None else 1 + len(self.skew.cells))

    @property
    def sort(self) -> _Sort:
        """Return the columns that each slot is sorted by, each with whether the order is descending."""
        return (
            ()
            if self.buckets is None
            else tuple((each.column, each.descending) for each in self.buckets.sort)
        )


@dataclass(frozen=True, slots=True)
class SlotDirectory:
    """The directory of a cell, and the consecutive numbers of its slots.

    Attributes:
        first: the number of the first slot.
        directory: below the partition, or absolute.
        layout: the layout of the slots, or None for rows without a slot.
        cell: the cell of all the rows, or None if it is unknown.
    """

    first: int
    directory: str
    layout: _Layout | None = None
    cell: int | None = None

    @property
    def slots(self) -> range:
        """Return the numbers of the slots."""
        return range(self.first, self.first + (1 if self.layout is None else self.layout.buckets_of_cell))

    @property
    def bucketed(self) -> bool:
        """Return whether each slot is a bucket."""
        return self.layout is not None and self.layout.buckets is not None

    def bucket(self, slot: int) -> int | None:
        """Return the bucket of a slot, or None if slots are not buckets."""
        return slot - self.first if self.bucketed else None


class RowSlots:
    """The slots of the rows of one write.

    Args:
        snapshot: of the table.
        destinations: of the rows.

    Attributes:
        destinations: of the rows.
        directories: the directories, in the order of their slots. The first is for rows without a slot. If it
            is the only one, no row has a slot.
        column: the name of the column of numbers.
        bucketed: whether any slot is a bucket.
    """

    def __init__(self, snapshot: TableSnapshot, destinations: Destinations) -> None:
        self.destinations = destinations
        self.directories = [SlotDirectory(_NO_SLOT, "")]
        self._snapshot = snapshot
        self._types = {column.physical: column.column_type for column in snapshot.metadata.columns}
        self.column = _SLOT_COLUMN
        while any(name.lower().startswith(self.column) for name in self._types):
            self.column += "_"
        self._end = _NO_SLOT + 1
        self._first: dict[_Layout, int] = {}
        self._buckets = RowBuckets(snapshot, f"{self.column}.bucket")
        self._default = self._number_slots(destinations.default)
        self._own = {key: self._number_slots(each) for key, each in destinations.own.items()}
        self._firsts = [directory.first for directory in self.directories]
        self.bucketed = any(directory.bucketed for directory in self.directories)

    def add(self, rows: DataFrame) -> DataFrame:
        """Return rows, which have the columns of the files, with one more column for their slots, if any."""
        if len(self.directories) == 1:
            return rows
        names = [rows[quote_part(name)] for name in rows.columns]
        rows = self._buckets.add(rows)
        first = sf.lit(_NO_SLOT) if self._default is None else self._case(rows, self._default)
        spread = self._bucket_number(self._default)
        bucket = self._buckets.bucket(spread)
        if self._own:
            rows, own_first, own_spread = self._join_own_slots(rows)
            first = sf.coalesce(own_first, first)
            bucket = self._buckets.choose(sf.coalesce(own_spread, sf.lit(spread)))
        return rows.select(*names, (first.cast("bigint") + bucket).alias(self.column))

    def order(self) -> list[Column]:
        """Return the sort order of rows within a slot: the sort columns of their buckets."""
        if len(self.directories) == 1:
            return []
        runs: list[tuple[_Sort, int, int]] = []  # consecutive slots with one sort order
        for layout, first in self._first.items():
            sort, last = layout.sort, first + layout.slots - 1
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

    def directory(self, slot: int) -> SlotDirectory:
        """Return the directory of a slot."""
        return self.directories[bisect_right(self._firsts, slot) - 1]

    def file_position(self, key: bytes, slot: int) -> tuple[int | None, int | None, bool]:
        """Return the cell and the bucket of a file, and whether it is sorted, for its record.

        Args:
            key: of the file's partition.
            slot: of its rows.
        """
        directory, arrangement = self.directory(slot), self.destinations.arrangement(key)
        if directory.layout is None or arrangement is None or _layout(arrangement) != directory.layout:
            return None, None, False
        return directory.cell, directory.bucket(slot), bool(directory.layout.sort)

    @property
    def _may_be_unassigned(self) -> bool:
        """Return whether some rows may have no slot."""
        return self._default is None or None in self._own.values()

    def _bucket_number(self, layout: _Layout | None) -> int:
        return self._buckets.number(None if layout is None else layout.buckets)

    def _number_slots(self, arrangement: ArrangementSpec | None) -> _Layout | None:
        """Number the slots of an arrangement, first the rest's. Return the layout, or None without slots."""
        layout = None if arrangement is None else _layout(arrangement)
        if layout is None or (layout.skew is None and layout.buckets is None):
            return None
        if layout not in self._first:
            self._first[layout] = self._end
            if layout.skew is None:
                self._extend(layout, "", None)
            else:
                types = self._types_of(layout.skew)
                for cell in (REST, *range(len(layout.skew.cells))):
                    self._extend(layout, cell_location(layout.skew, types, cell), cell)
            self._bucket_number(layout)
        return layout

    def _extend(self, layout: _Layout, directory: str, cell: int | None) -> None:
        self.directories.append(SlotDirectory(self._end, directory, layout, cell))
        self._end += layout.buckets_of_cell

    def _types_of(self, skew: SkewMap) -> list[ColumnType]:
        return [self._types[name] for name in skew.columns]

    def _case(self, rows: DataFrame, layout: _Layout) -> Column:
        """Return the first slot of the cell of each row."""
        first, skew = self._first[layout], layout.skew
        number = None
        if skew is not None:
            types = self._types_of(skew)
            for cell, values in enumerate(skew.values(types), 1):
                equal = [
                    self._comparable(rows, name).eqNullSafe(value_column(type, sf.lit(text_of(type, value))))
                    for name, type, value in zip(skew.columns, types, values, strict=True)
                ]
                slot = sf.lit(first + cell * layout.buckets_of_cell)
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
            first = _NO_SLOT if layout is None else self._first[layout]
            rest.append((*texts, first, self._bucket_number(layout)))
            if layout is None or layout.skew is None:
                continue
            kinds = self._types_of(layout.skew)
            for cell, heavy in enumerate(layout.skew.values(kinds), 1):
                of_cell = (text_of(kind, value) for kind, value in zip(kinds, heavy, strict=True))
                slot = first + cell * layout.buckets_of_cell
                cells[layout.skew.columns].append((*texts, *of_cell, slot))
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


def _layout(arrangement: ArrangementSpec) -> _Layout:
    skew = arrangement.skew
    return _Layout(skew if skew is not None and skew.directories else None, arrangement.buckets)


def _sort_order(values: Column, descending: bool) -> Column:
    return values.desc() if descending else values.asc()  # NULL is the least


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__and__, conditions)


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__or__, conditions)
