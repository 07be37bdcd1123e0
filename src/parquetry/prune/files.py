"""The one rule of pruning a file: what its partition's values and its statistics say about a condition.

Prepared once for the columns of the conditions, entered once per partition, asked once per file. Which files
are asked about is for `select` and `whole` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from parquetry.layout.bounds import bounds_reader
from parquetry.metastore.model import DataFile, TableMetadata
from parquetry.predicate.match import Bounds, Match, match_bounds
from parquetry.predicate.nodes import Predicate
from parquetry.types import Value


class FileMatcher:
    """Judges conditions over the files of one table.

    A partition column has one known value in all rows of a file; a data column has the bounds that the file's
    statistics give; any other column may hold anything.
    """

    def __init__(self, metadata: TableMetadata, names: Iterable[str]) -> None:
        """Prepare for conditions over the columns of these names, as the table spells them."""
        wanted = set(names)
        self._partition_by = metadata.partition_by
        self._readers = {
            column.name: bounds_reader(column) for column in metadata.data_columns if column.name in wanted
        }

    def enter(self, values: Sequence[Value]) -> Callable[[Predicate, DataFile], Match]:
        """Return the rule for the files of the partition of these values."""
        known = {name: _one_value(value) for name, value in zip(self._partition_by, values, strict=True)}
        readers = self._readers

        def match(predicate: Predicate, file: DataFile) -> Match:
            def bounds(name: str) -> Bounds | None:
                if name in known:
                    return known[name]
                reader = readers.get(name)
                return None if reader is None else reader(file)

            return match_bounds(predicate, bounds)

        return match

    def without_statistics(self, files: Iterable[DataFile]) -> list[str]:
        """Return the prepared data columns of which no file has a bound."""
        return [
            name
            for name, read in self._readers.items()
            if not any((found := read(file)) and (found.all_null or found.min is not None) for file in files)
        ]


def _one_value(value: Value) -> Bounds | None:
    if value is None:
        return Bounds(None, None, nulls=None, rows=None, all_null=True)
    # Bounds of floats leave NaN out, so a partition of NaN has none.
    return None if value != value else Bounds(value, value, nulls=0, rows=None)
