"""Which slot of its partition's arrangement each row belongs in, as a column of numbers: a cell, a bucket, or both.

The writer of files takes the number for a last partition column, so that a task comes upon the rows of each slot
together; the level `parquetry.slot=3` in a path then becomes the cell's own directory, and the bucket a part of the file's name
(`DirectCommitProtocol`). Slots of one cell follow each other, one for each bucket. Example, of a table with a directory
for `x = 10`, in 4 buckets by `id`: 0 is no slot, 1 to 4 are the buckets of the rest, and 5 to 8 those of `x = 10`, so a row
with `x = 10` whose `id` is of bucket 2 gets 5 + 2.

The table's map is a CASE over its cells; where partitions have arrangements of their own, the numbers are joined to
the rows. Two values are equal as SQL's `<=>` has it: NULL is a value, and so is NaN.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from parquetry.identifiers import quoted
from parquetry.layout import REST, ArrangementSpec, BucketSpec, SkewMap, cell_location
from parquetry.metastore.versions import TableSnapshot
from parquetry.planner.writes import Destinations
from parquetry.spark.write.buckets import RowBuckets
from parquetry.spark.write.values import comparable, key_column, text_of, value_column
from parquetry.types import ColumnType

_SLOT_COLUMN = "parquetry.slot"
"""The column of numbers, and what names beside it begin with; longer where a table has such a column."""
_NO_SLOT = 0
"""The number of rows of which nothing is told."""

_Sort = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class _Layout:
    """What of an arrangement gives rows their places in it.

    Attributes:
        skew: the map, if it has directories.
        buckets: the buckets.
    """

    skew: SkewMap | None
    buckets: BucketSpec | None

    @property
    def buckets_of_cell(self) -> int:
        """Return how many slots follow each other, of each cell."""
        return 1 if self.buckets is None else self.buckets.count

    @property
    def slots(self) -> int:
        """Return how many slots there are, those of the rest among them."""
        return self.buckets_of_cell * (1 if self.skew is None else 1 + len(self.skew.cells))

    @property
    def sort(self) -> _Sort:
        """Return by which columns each slot is sorted, and whether downwards."""
        return (
            ()
            if self.buckets is None
            else tuple((each.column, each.descending) for each in self.buckets.sort)
        )


@dataclass(frozen=True, slots=True)
class SlotDirectory:
    """Slots that follow each other: those of one cell.

    Attributes:
        first: the number of the first.
        directory: below the partition, or absolute.
        layout: of which they are; None: nothing is told of the rows.
        cell: which all the rows are of; None: not known.
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
        """Return the bucket that a slot of these is."""
        return slot - self.first if self.bucketed else None


class RowSlots:
    """The slots that the rows of one write may belong in.

    Args:
        snapshot: of the table.
        destinations: of the rows.

    Attributes:
        destinations: of the rows.
        directories: where the slots are, in their order; the first is that of rows of which nothing is told. No more than that:
            there are no slots.
        column: the name of the column of numbers.
        bucketed: whether any of them is a bucket.
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
        self._default = self._numbered(destinations.default)
        self._own = {key: self._numbered(each) for key, each in destinations.own.items()}
        self._firsts = [directory.first for directory in self.directories]
        self.bucketed = any(directory.bucketed for directory in self.directories)

    def add(self, rows: DataFrame) -> DataFrame:
        """Return rows, with the columns of the files, and the slot of each in one column more, if there are slots."""
        if len(self.directories) == 1:
            return rows
        names = [rows[quoted(name)] for name in rows.columns]
        rows = self._buckets.add(rows)
        first = sf.lit(_NO_SLOT) if self._default is None else self._case(rows, self._default)
        spread = self._spread(self._default)
        bucket = self._buckets.bucket(spread)
        if self._own:
            rows, own_first, own_spread = self._joined(rows)
            first = sf.coalesce(own_first, first)
            bucket = self._buckets.chosen(sf.coalesce(own_spread, sf.lit(spread)))
        return rows.select(*names, (first.cast("bigint") + bucket).alias(self.column))

    def order(self) -> list[Column]:
        """Return what rows are sorted by that belong in one slot: the columns that their buckets are sorted by."""
        if len(self.directories) == 1:
            return []
        runs: list[tuple[_Sort, int, int]] = []  # slots that follow each other and have one order
        for layout, first in self._first.items():
            sort, last = layout.sort, first + layout.slots - 1
            if runs and runs[-1][0] == sort:
                runs[-1] = sort, runs[-1][1], last
            else:
                runs.append((sort, first, last))
        if len(runs) == 1 and not self._may_be_unassigned:
            return [_sorted(sf.col(quoted(name)), descending) for name, descending in runs[0][0]]
        slot = sf.col(quoted(self.column))
        return [
            _sorted(
                sf.when(
                    _any(slot.between(first, last) for its, first, last in runs if its == sort),
                    sf.col(quoted(name)),
                ),
                descending,
            )
            for sort in dict.fromkeys(sort for sort, _, _ in runs)
            for name, descending in sort
        ]

    def directory(self, slot: int) -> SlotDirectory:
        """Return where a slot is."""
        return self.directories[bisect_right(self._firsts, slot) - 1]

    def file_position(self, key: bytes, slot: int) -> tuple[int | None, int | None, bool]:
        """Return what the record of a file says: its cell and its bucket, and whether it is sorted.

        Args:
            key: of the partition that it turned out to be of.
            slot: of its rows.
        """
        directory, arrangement = self.directory(slot), self.destinations.arrangement(key)
        if directory.layout is None or arrangement is None or _layout(arrangement) != directory.layout:
            return None, None, False
        return directory.cell, directory.bucket(slot), bool(directory.layout.sort)

    @property
    def _may_be_unassigned(self) -> bool:
        """Return whether there may be rows of which nothing is told."""
        return self._default is None or None in self._own.values()

    def _spread(self, layout: _Layout | None) -> int:
        return self._buckets.number(None if layout is None else layout.buckets)

    def _numbered(self, arrangement: ArrangementSpec | None) -> _Layout | None:
        """Give the slots of an arrangement their numbers: first those of the rest, then of each cell. Return what has slots."""
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
            self._spread(layout)
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

    def _joined(self, rows: DataFrame) -> tuple[DataFrame, Column, Column]:
        """Return rows beside what their partitions have of their own, which is NULL where they have nothing.

        Returns:
            the rows, the first slot of the cell of each, and the number of how its partition's are spread over buckets.
        """
        types = list(self._snapshot.partition_types)
        rest: list[tuple[str | int | None, ...]] = []
        cells: dict[tuple[str, ...], list[tuple[str | int | None, ...]]] = defaultdict(list)
        for key, layout in self._own.items():
            values = self._snapshot.placement.values_of(key)
            texts = [text_of(type, value) for type, value in zip(types, values, strict=True)]
            first = _NO_SLOT if layout is None else self._first[layout]
            rest.append((*texts, first, self._spread(layout)))
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
        """Return rows beside numbers of their own, NULL where they have none, and these.

        Args:
            rows: with the columns of the files.
            columns: by whose values, beside those of partitions, a row has its numbers.
            numbers: the values as text, and the numbers.
            prefix: for the names of what is joined.
            count: how many numbers there are of each.
        """
        partition_by = [column.physical for column in self._snapshot.metadata.partition_columns]
        types = list(self._snapshot.partition_types)
        names = [quoted(f"{prefix}.{i}") for i in range(len(partition_by) + len(columns) + count)]
        texts, found = names[:-count], names[-count:]
        schema = ", ".join([*(f"{name} string" for name in texts), *(f"{name} bigint" for name in found)])
        side = rows.sparkSession.createDataFrame(numbers, schema)
        equal = [
            key_column(type, rows[quoted(name)]).eqNullSafe(value_column(type, sf.col(text)))
            for name, type, text in zip(partition_by, types, texts, strict=False)
        ]
        equal += [
            self._comparable(rows, name).eqNullSafe(value_column(self._types[name], sf.col(text)))
            for name, text in zip(columns, texts[len(partition_by) :], strict=True)
        ]
        return rows.join(sf.broadcast(side), _all(equal), "left"), [sf.col(name) for name in found]

    def _comparable(self, rows: DataFrame, name: str) -> Column:
        return comparable(self._types[name], rows[quoted(name)])


def _layout(arrangement: ArrangementSpec) -> _Layout:
    skew = arrangement.skew
    return _Layout(skew if skew is not None and skew.directories else None, arrangement.buckets)


def _sorted(values: Column, descending: bool) -> Column:
    return values.desc() if descending else values.asc()  # NULL is the least


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__and__, conditions)


def _any(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__or__, conditions)
