"""Compaction finds the heavy values of a partition again, if its table's are found by themselves (`SKEWED BY … ON AUTO`).

What a partition's metastore entry tells costs nothing: how many rows each directory has, and what statistics say of the
files in the default one. Its rows are counted (the skewed columns are read, of files whose cell is not a heavy value) only if

- the files that compaction writes anew anyhow have, of such rows, at least the share that makes a value heavy, or
- statistics prove that a value without a directory has that share.

So what is read is at most 1 / share times the rows that are written anew, or leads to a directory for certain. Example, with a
share of 0.05 and a map of 10, 20 and 30, of 1,000 rows:

    rows with 10    400     stays
    rows with 20    30      stays: it loses its directory below 25, half of the share, so that it does not come and go
    rows with 30    20      returns to the default directory
    rows with 40    60      gets a directory
    rows with 50    40      does not
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
from parquetry.metastore.manifest import row_sum
from parquetry.metastore.storage import TableMetadata
from parquetry.metastore.versions import PartitionSnapshot
from parquetry.types import ColumnType

WEIGHT_OF_KEPT_VALUES = 2
"""How many times its rows count of a value that has a directory."""

Look: TypeAlias = Callable[[Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]]], dict[bytes, Counted]]
"""Given files by partition, returns how often values occur in them, by the partitions' keys."""


@dataclass(frozen=True, slots=True)
class Recutting:
    """How partitions of a table are cut anew.

    Attributes:
        table: the table's map.
        auto: what is heavy enough.
        columns: of the map.
        stated: what statistics say of these.
    """

    table: SkewMap
    auto: AutoSkew
    columns: Sequence[TableColumn]
    stated: StatedTuples

    @classmethod
    def for_table(cls, metadata: TableMetadata) -> Recutting | None:
        """Return how partitions of a table are cut anew, or None if its heavy values are not found by themselves."""
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
        """Return the map of a partition that follows its rows, if it is known how many these are."""
        follows = is_measured_by(partition.arrangement, self.table, self.columns)
        return partition.arrangement.skew if follows and partition.entry.rows is not None else None

    def is_looked_at(self, skew: SkewMap, files: Sequence[FileRecord], anew: Sequence[FileRecord]) -> bool:
        """Return whether rows of a partition are counted; see the module.

        Args:
            skew: the partition's map.
            files: of the partition.
            anew: the files among them that are written anew anyhow.
        """
        least = least_count(row_sum(files) or 0, self.auto.share)
        if (row_sum(unplaced(anew)) or 0) >= least:
            return True
        there = skew.numbers()
        counts = self.stated.counts(unplaced(files))
        return any(count >= least and cell_key(cell) not in there for cell, count in counts.items())

    def new_map(self, skew: SkewMap, files: Sequence[FileRecord], counted: Counted | None) -> SkewMap:
        """Return the map that a partition has when it was compacted.

        Args:
            skew: its map.
            files: of the partition.
            counted: how often values occur in its files without a heavy value, or None if these were not counted. Then no
                value gets a directory, and none loses it if these files may have rows with it.
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
        places = tuple(skew.locations[number] for number in kept) if skew.locations else ()
        kept_map = SkewMap(skew.columns, tuple(skew.cells[number] for number in kept), True, places)
        return kept_map.with_cells([cell for cell in chosen if cell_key(cell) not in numbers])

    def reassigned(self, files: Sequence[FileRecord], before: SkewMap, after: SkewMap) -> list[FileRecord]:
        """Return the files of a partition with what is known of their cells in another map.

        A file of a value that is no longer heavy is of the rest, in a directory of its own.

        Args:
            files: of the partition.
            before: its map.
            after: its map as `new_map` returned it.
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


def unplaced(files: Sequence[FileRecord]) -> list[FileRecord]:
    """Return the files that are not of a heavy value."""
    return [file for file in files if file.cell is None or file.cell == REST]
