"""Find a partition's heavy values again during compaction, for tables that find them automatically.

These are tables `SKEWED BY … ON AUTO`. A partition's metastore entry shows, at no cost, how many rows each
directory has, and file statistics of the default directory. Compaction counts rows only in two cases:

- The files that it rewrites in any case have enough rows without a heavy value: at least the share that makes
  a value heavy.
- Statistics prove that a value without a directory has that share.

To count, it reads the skewed columns of all files that are not in a heavy value's directory. So it reads at
most 1 / share times the rows that are rewritten, or the count surely leads to a new directory.

For example, a partition of 1,000 rows has a map of 10, 20 and 30, and the share is 0.05:

    rows with 10    400     stays
    rows with 20    30      stays: it loses its directory only below 25, half of the share
    rows with 30    20      returns to the default directory
    rows with 40    60      gets a directory
    rows with 50    40      does not

The lower limit for values with a directory prevents a value from losing and regaining it again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from parquetry.data_files import FileRecord, Row, StatedTuples, TableColumn
from parquetry.layout import (
    REST,
    AutoSkew,
    Counted,
    SkewMap,
    cell_key,
    choose,
    earlier_rest,
    is_measured_by,
    least_count,
    skewed_columns,
)
from parquetry.metastore import PartitionSnapshot, TableMetadata, row_sum
from parquetry.types import ColumnType

WEIGHT_OF_KEPT_VALUES = 2
"""Factor for the rows of a value that has a directory: it keeps the directory down to a half of the share."""

Look: TypeAlias = Callable[[Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]]], dict[bytes, Counted]]
"""Counts values: takes pairs of a partition and its files, and returns the counts by the partitions' keys."""


@dataclass(frozen=True, slots=True)
class Recutting:
    """Decides which values of a table's partitions get or lose a directory.

    Attributes:
        table: the table's map of heavy values.
        auto: the limits that make a value heavy.
        columns: the skewed columns.
        stated: finds values in the statistics of these columns.
    """

    table: SkewMap
    auto: AutoSkew
    columns: Sequence[TableColumn]
    stated: StatedTuples

    @classmethod
    def for_table(cls, metadata: TableMetadata) -> Recutting | None:
        """Return the `Recutting` of a table, or None if its heavy values are not found automatically."""
        skew = metadata.arrangement.skew
        if skew is None or skew.auto is None or not skew.directories:
            return None
        columns = skewed_columns(metadata.columns, skew)
        return cls(skew, skew.auto, columns, StatedTuples(columns))

    @property
    def types(self) -> list[ColumnType]:
        """Return the types of the columns."""
        return [column.column_type for column in self.columns]

    def own(self, partition: PartitionSnapshot) -> SkewMap | None:
        """Return a partition's map if it follows the partition's rows, whose number is known, else None."""
        follows = is_measured_by(partition.arrangement, self.table, self.columns)
        return partition.arrangement.skew if follows and partition.entry.rows is not None else None

    def is_looked_at(self, skew: SkewMap, files: Sequence[FileRecord], anew: Sequence[FileRecord]) -> bool:
        """Return whether to count a partition's rows; see the module.

        Args:
            skew: the partition's map.
            files: the partition's files.
            anew: the files among them that are rewritten in any case.
        """
        least = least_count(row_sum(files) or 0, self.auto.share)
        if (row_sum(rest_files(anew)) or 0) >= least:
            return True
        there = skew.numbers()
        counts = self.stated.counts(rest_files(files))
        return any(count >= least and cell_key(cell) not in there for cell, count in counts.items())

    def new_map(self, skew: SkewMap, files: Sequence[FileRecord], counted: Counted | None) -> SkewMap:
        """Return the map that a partition has after its compaction.

        Args:
            skew: the partition's map before.
            files: the partition's files.
            counted: how often values occur in files without a heavy value, or None if they were not counted.
                Then no value gets a directory, and a value loses its directory only if these files cannot
                have rows with it.
        """
        if counted is None and any(file.cell is None for file in files):
            return skew
        counts = dict.fromkeys(skew.values(self.types), 0)
        cells = list(counts)
        numbers = {cell_key(cell): cell for cell in cells}
        for file in files:
            if file.cell is not None and file.cell != REST:
                counts[cells[file.cell]] += file.rows or 0
        for row, count in counted.counts.items() if counted is not None else ():
            cell = numbers.get(cell_key(row), row)
            counts[cell] = counts.get(cell, 0) + count
        weights = {
            cell: count * (WEIGHT_OF_KEPT_VALUES if cell_key(cell) in numbers else 1)
            for cell, count in counts.items()
        }
        chosen = choose(weights, row_sum(files) or 0, self.auto, skew.columns, self.types)
        staying = {cell_key(cell) for cell in chosen}
        kept = [number for number, cell in enumerate(skew.cells) if cell_key(cell) in staying]
        locations = tuple(skew.locations[number] for number in kept) if skew.locations else ()
        kept_map = SkewMap(skew.columns, tuple(skew.cells[number] for number in kept), True, locations)
        return kept_map.with_cells([cell for cell in chosen if cell_key(cell) not in numbers])

    def reassign_cells(
        self, files: Sequence[FileRecord], before: SkewMap, after: SkewMap
    ) -> list[FileRecord]:
        """Return a partition's files with their cells in a new map.

        A file of a value that is no longer heavy belongs to the rest, but is still in a directory of its own.

        Args:
            files: the partition's files.
            before: the partition's map before.
            after: its new map, from `new_map`.
        """
        numbers, there = after.numbers(), before.numbers()
        old = [numbers.get(key) for key in there]
        staying = sum(number is not None for number in old)
        added: list[Row] = list(after.values(self.types)[staying:])

        def in_new_map(file: FileRecord) -> FileRecord:
            if file.cell is None:
                of = sum(number is not None for number in old[: file.rest_of or 0])
                return earlier_rest(file, of)
            if file.cell == REST:
                return earlier_rest(file, staying) if self.stated.possible(file, added) else file
            number = old[file.cell]
            return msgspec.structs.replace(file, cell=REST if number is None else number)

        return list(map(in_new_map, files))


def rest_files(files: Sequence[FileRecord]) -> list[FileRecord]:
    """Return the files that do not belong to a heavy value."""
    return [file for file in files if file.cell is None or file.cell == REST]
