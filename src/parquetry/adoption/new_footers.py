"""Read the footers of the files that a sync adopts, of many partitions at a time."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from parquetry.adoption.discover import DiscoveredPartition
from parquetry.data_files import (
    FileRecord,
    FooterReader,
    FooterVisitor,
    ParquetFooter,
    unfit_columns,
    unfit_statistics,
    without_table_types,
)
from parquetry.locations import is_absolute, join_relative
from parquetry.metastore import TableMetadata

_FILES_PER_CALL = 1024
"""Files whose footers are read together. Executors read them if there are more than a few hundred."""


@dataclass(slots=True)
class ReadFooters:
    """The facts in the footers of a partition's new files.

    Attributes:
        files: the records of the whole files, with paths relative to the partition.
        broken: the reasons why the others cannot be read, by their paths.
        unfit: sentences about columns that do not fit the table's columns, by the files' paths.
        encrypted: the paths of files that readers need keys for. They are among `files`, without statistics.
    """

    files: list[FileRecord] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    unfit: dict[str, list[str]] = field(default_factory=dict)
    encrypted: list[str] = field(default_factory=list)


class NewFooters:
    """Reads the footers of new files, partition by partition for the caller, and ahead for the storage.

    Args:
        footers: reads footers.
        metadata: of the table.
        partitions: the partitions with the paths of their new files. The caller asks in this order, once for
            each.
    """

    def __init__(
        self,
        footers: FooterReader,
        metadata: TableMetadata,
        partitions: Iterable[tuple[DiscoveredPartition, Sequence[str]]],
    ) -> None:
        self._footers = footers
        self._metadata = metadata
        self._waiting = deque((partition.relative_path, paths) for partition, paths in partitions)
        self._ready: deque[ReadFooters] = deque()

    def read_next(self) -> ReadFooters:
        """Return the facts in the footers of the next partition's new files.

        Raises:
            FileMissingError: a file of this partition, or of one that is read with it, is gone.
        """
        if not self._ready:
            self._ready.extend(self._read(self._next()))
        return self._ready.popleft()

    def _next(self) -> list[tuple[str, Sequence[str]]]:
        """Take the next partitions whose files are read together: all below the table, or one elsewhere."""
        taken = [self._waiting.popleft()]
        files = len(taken[0][1])
        while (
            self._waiting
            and not is_absolute(taken[0][0])
            and not is_absolute(self._waiting[0][0])
            and files + len(self._waiting[0][1]) <= _FILES_PER_CALL
        ):
            taken.append(self._waiting.popleft())
            files += len(taken[-1][1])
        return taken

    def _read(self, partitions: Sequence[tuple[str, Sequence[str]]]) -> list[ReadFooters]:
        metadata = self._metadata
        unfit: dict[str, list[str]] = {}
        encrypted: set[str] = set()

        def look(path: str, footer: ParquetFooter) -> None:
            if footer.has_encrypted_columns:
                encrypted.add(path)
            if sentences := list(unfit_columns(footer, metadata.data_columns)):
                unfit[path] = sentences

        alone = is_absolute(partitions[0][0])
        root = partitions[0][0] if alone else metadata.location
        owners: dict[str, list[tuple[int, str]]] = defaultdict(list)  # several partitions may be at one place
        for number, (place, paths) in enumerate(partitions):
            for path in paths:
                owners[path if alone else join_relative(place, path)].append((number, path))
        visitor = FooterVisitor(look)
        files = self._footers.data_files(metadata.format, root, list(owners), visitor=visitor)
        if metadata.format != "parquet":  # ORC readers do not pass footers to a visitor
            for file in files:
                if sentences := list(unfit_statistics(file, metadata.data_columns)):
                    unfit[file.path] = sentences
        found = [ReadFooters() for _ in partitions]
        for file in files:
            recorded = without_table_types(file, metadata.data_columns)
            for number, path in owners[file.path]:
                found[number].files.append(msgspec.structs.replace(recorded, path=path))
        for whole, each in owners.items():
            for number, path in each:
                if whole in visitor.broken:
                    found[number].broken[path] = visitor.broken[whole]
                if whole in unfit:
                    found[number].unfit[path] = unfit[whole]
                if whole in encrypted:
                    found[number].encrypted.append(path)
        return found
