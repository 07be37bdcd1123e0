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

from parquetry.data_files import FileRecord, Row, StatedTuples
from parquetry.layout import (
    REST,
    ArrangementSpec,
    Counted,
    Measuring,
    SkewMap,
    cell_key,
    choose,
    earlier_rest,
    least_count,
)
from parquetry.metastore import PartitionSnapshot, TableMetadata, row_sum

WEIGHT_OF_KEPT_VALUES = 2
"""Factor for the rows of a value that has a directory: it keeps the directory down to a half of the share."""

Look: TypeAlias = Callable[[Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]]], dict[bytes, Counted]]
"""Counts values: takes pairs of a partition and its files, and returns the counts by the partitions' keys."""


@dataclass(frozen=True, slots=True)
class Recutting:
    """Decides which values of a table's partitions get or lose a directory.

    Attributes:
        measuring: how the table measures heavy values.
        stated: finds values in the statistics of the skewed columns.
    """

    measuring: Measuring
    stated: StatedTuples

    @classmethod
    def for_table(cls, metadata: TableMetadata) -> Recutting | None:
        """Return the `Recutting` of a table, or None if its heavy values are not found automatically."""
        measuring = Measuring.from_table(metadata.arrangement, metadata.columns)
        if measuring is None or not measuring.skew.directories:
            return None
        return cls(measuring, StatedTuples(measuring.columns))

    def follows(self, partition: PartitionSnapshot) -> bool:
        """Return whether a partition's map follows the partition's rows, whose number is known."""
        return partition.entry.rows is not None and self.measuring.follows(partition.arrangement)

    def is_looked_at(
        self, own: ArrangementSpec, files: Sequence[FileRecord], anew: Sequence[FileRecord]
    ) -> bool:
        """Return whether to count a partition's rows; see the module.

        Args:
            own: the partition's arrangement.
            files: the partition's files.
            anew: the files among them that are rewritten in any case.
        """
        least = least_count(row_sum(files) or 0, self.measuring.auto.share)
        if (row_sum(rest_files(anew)) or 0) >= least:
            return True
        there = _map(own).numbers()
        counts = self.stated.counts(rest_files(files))
        return any(count >= least and cell_key(cell) not in there for cell, count in counts.items())

    def new_arrangement(
        self, own: ArrangementSpec, files: Sequence[FileRecord], counted: Counted | None
    ) -> ArrangementSpec:
        """Return the arrangement that a partition has after its compaction.

        Args:
            own: the partition's arrangement before.
            files: the partition's files.
            counted: how often values occur in files without a heavy value, or None if they were not counted.
                Then no value gets a directory, and a value loses its directory only if these files cannot
                have rows with it.
        """
        if counted is None and any(file.cell is None for file in files):
            return own
        skew, types = _map(own), self.measuring.types
        counts = dict.fromkeys(skew.values(types), 0)
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
        chosen = choose(weights, row_sum(files) or 0, self.measuring.auto, skew.columns, types)
        staying = {cell_key(cell) for cell in chosen}
        kept = [number for number, cell in enumerate(skew.cells) if cell_key(cell) in staying]
        locations = tuple(skew.locations[number] for number in kept) if skew.locations else ()
        kept_map = SkewMap(skew.columns, tuple(skew.cells[number] for number in kept), True, locations)
        now = kept_map.with_cells([cell for cell in chosen if cell_key(cell) not in numbers])
        return msgspec.structs.replace(own, skew=now)

    def without_empty_cells(
        self, own: ArrangementSpec, files: Sequence[FileRecord]
    ) -> tuple[ArrangementSpec, list[FileRecord]] | None:
        """Return a partition without the heavy values that no file of it is of, or None if nothing changes.

        Without directories, or with a file of an unknown value, each value may have rows.

        Args:
            own: the partition's arrangement, which follows its rows.
            files: the partition's files.
        """
        skew = _map(own)
        used = {file.cell for file in files}
        kept = [number for number in range(len(skew.cells)) if number in used]
        if None in used or len(kept) == len(skew.cells):
            return None
        locations = tuple(skew.locations[number] for number in kept) if skew.locations else ()
        smaller = SkewMap(skew.columns, tuple(skew.cells[number] for number in kept), True, locations)
        now = msgspec.structs.replace(own, skew=smaller)
        return now, self.reassign_cells(files, own, now)

    def reassign_cells(
        self, files: Sequence[FileRecord], before: ArrangementSpec, after: ArrangementSpec
    ) -> list[FileRecord]:
        """Return a partition's files with their cells in a new map.

        A file of a value that is no longer heavy belongs to the rest, but is still in a directory of its own.

        Args:
            files: the partition's files.
            before: the partition's arrangement before.
            after: its new one, from `new_arrangement`.
        """
        numbers, there = _map(after).numbers(), _map(before).numbers()
        old = [numbers.get(key) for key in there]
        staying = sum(number is not None for number in old)
        added: list[Row] = list(_map(after).values(self.measuring.types)[staying:])

        def in_new_map(file: FileRecord) -> FileRecord:
            if file.cell is None:
                of = sum(number is not None for number in old[: file.rest_of or 0])
                return earlier_rest(file, of)
            if file.cell == REST:
                return earlier_rest(file, staying) if self.stated.possible(file, added) else file
            number = old[file.cell]
            return msgspec.structs.replace(file, cell=REST if number is None else number)

        return list(map(in_new_map, files))


def _map(arrangement: ArrangementSpec) -> SkewMap:
    """Return the map of a partition whose map follows its rows."""
    assert arrangement.skew is not None  # else `follows` is false
    return arrangement.skew


def rest_files(files: Sequence[FileRecord]) -> list[FileRecord]:
    """Return the files that do not belong to a heavy value."""
    return [file for file in files if file.cell is None or file.cell == REST]
