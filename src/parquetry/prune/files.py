"""What is known of files: their partitions' values, and what their statistics say of the other columns.

The columns that a condition is about are looked at once for all files, and no others. Which files are asked about is
for `file_rule` and `whole` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parquetry.layout.bounds import bounds_in_files, bounds_reader
from parquetry.metastore.model import TableMetadata
from parquetry.predicate.knowledge import Bounds, Knowledge
from parquetry.prune.rule import PartitionFiles


class FileKnowledge(Knowledge):
    """What is known of the files of some partitions, in their order.

    A partition column has one known value in all rows of a file; a data column has the bounds that the file's
    statistics give; any other column may hold anything.
    """

    def __init__(self, metadata: TableMetadata, parts: Sequence[PartitionFiles]) -> None:
        self._partition_by = metadata.partition_by
        self._columns = {column.name: column for column in metadata.data_columns}
        self._parts = parts
        self._files = [file for part in parts for file in part.files]
        self._found: dict[str, Bounds | None] = {}
        self.count = len(self._files)

    def bounds(self, column: str) -> Bounds | None:
        """Return what is known of a column in each of the files."""
        if column not in self._found:
            self._found[column] = self._bounds(column)
        return self._found[column]

    def _bounds(self, name: str) -> Bounds | None:
        if name in self._partition_by:
            place = self._partition_by.index(name)
            return Bounds.of_values(
                [part.partition.values[place] for part in self._parts for _ in part.files]
            )
        return bounds_in_files(self._columns[name], self._files) if name in self._columns else None

    def without_statistics(self, names: Iterable[str]) -> list[str]:
        """Return the data columns among some of which no file has a bound, in alphabetical order."""
        readers = {
            name: bounds_reader(self._columns[name]) for name in sorted(names) if name in self._columns
        }
        return [
            name
            for name, read in readers.items()
            if not any(
                (found := read(file)) and (found.all_null or found.min is not None) for file in self._files
            )
        ]
