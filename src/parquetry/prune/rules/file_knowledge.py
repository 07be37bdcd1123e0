"""Statistics of files: their partitions' values, and the bounds of data columns.

Only the columns of a condition are decoded, each once for all files. `files` and `whole_partitions` choose
the files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from parquetry.data_files import BoundsInFiles, bounds_in_files
from parquetry.metastore import FileBlock, PartitionSnapshot, RangedPartitions, TableMetadata
from parquetry.predicate import Bounds, Knowledge

_BY_POSITION = ContextVar("by_position", default=False)


@contextmanager
def reading_by_position(active: bool) -> Iterator[None]:
    """Have ORC files be read by the position of columns, or not, while a question is answered.

    With Hadoop's setting `orc.force.positional.evolution`, Spark's ORC reader ignores the names of columns.
    It takes a table's first column for a file's first column. Statistics are recorded by name, so they say
    nothing then.
    """
    token = _BY_POSITION.set(active)
    try:
        yield
    finally:
        _BY_POSITION.reset(token)


def names_identify_columns(metadata: TableMetadata) -> bool:
    """Return whether a column of a table is the column of the same name in its files."""
    return metadata.format != "orc" or not _BY_POSITION.get()


class FileKnowledge(Knowledge):
    """The statistics of files.

    A partition column has one known value in all rows of a file. A data column has the bounds of the file's
    statistics. Any other column may have any value.

    Args:
        metadata: the table's metadata.
        partitions: the partitions of the files.
        block: the files, or records that each summarise all files of a manifest chunk.
        without_nan: columns whose rows with NaN are of no interest (see `Bounds.no_nan`).
    """

    def __init__(
        self,
        metadata: TableMetadata,
        partitions: Sequence[PartitionSnapshot],
        block: FileBlock,
        without_nan: Collection[str] = (),
    ) -> None:
        self._partition_by = metadata.partition_by
        self._columns = metadata.in_files if names_identify_columns(metadata) else {}
        self._partitions = partitions
        self._block = block
        self._without_nan = without_nan
        self._bounds: dict[str, BoundsInFiles | None] = {}
        self.count = block.count

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds of a column in each of the files, or None if it has no statistics."""
        if column in self._partition_by:
            return self._values(self._partition_by.index(column))
        found = self._bounds_in_files(column)
        if found is None:
            return None
        return found.bounds.without_nan() if column in self._without_nan else found.bounds

    def _values(self, position: int) -> Bounds:
        parts = self._block.parts.tolist()
        used = list(set(parts))
        partitions = (
            self._partitions.take(used)
            if isinstance(self._partitions, RangedPartitions)
            else [self._partitions[part] for part in used]
        )
        rows = PartitionSnapshot.all_values(partitions)
        values = {part: row[position] for part, row in zip(used, rows, strict=True)}
        return Bounds.from_values([values[part] for part in parts])

    def _bounds_in_files(self, name: str) -> BoundsInFiles | None:
        if name not in self._columns:
            return None
        if name not in self._bounds:
            self._bounds[name] = bounds_in_files(self._columns[name], self._block.files)
        return self._bounds[name]

    def with_statistics(self, names: Iterable[str]) -> set[str]:
        """Return the columns among `names` that have a bound, or only NULL, in at least one file."""
        return {name for name in names if (bounds := self._bounds_in_files(name)) is not None and bounds.some}


def spelled(metadata: TableMetadata, names: Iterable[str]) -> frozenset[str]:
    """Return the data columns among `names`, in the spelling that files use."""
    wanted = list(names)
    return spelled_by(metadata.spellings, wanted) if wanted else frozenset()


def spelled_by(spelling: Mapping[str, str], names: Iterable[str]) -> frozenset[str]:
    """Return the data columns among `names`, in the spelling that files use, by the table's `spellings`."""
    return frozenset(spelling[lower] for name in names if (lower := name.lower()) in spelling)
