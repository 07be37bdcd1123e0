"""Read footers for a sync: of the files that it adopts, and again of files with outdated records.

A record is outdated if it was made before statistics had a trust (`data_files.records`). So it is if it says
nothing of the field ids of a foreign file, or of fields of structs. It says what an earlier version believed.
Until it is made anew, its statistics may leave the file out of a query, but answer nothing and prove nothing.
Rows, cells and buckets do not change.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from parquetry.adoption.compare import Difference
from parquetry.adoption.discover import DiscoveredPartition
from parquetry.data_files import (
    FileRecord,
    FooterReader,
    FooterVisitor,
    ParquetFooter,
    Trust,
    ids_in_footer,
    unfit_columns,
    unfit_statistics,
)
from parquetry.errors import FileMissingError, UnsupportedError
from parquetry.identifiers import is_field
from parquetry.locations import is_absolute, is_any_own, join_relative
from parquetry.metastore import PartitionSnapshot, TableMetadata, Transaction, row_sum
from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.progress import Progress, track

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
        batch = [self._waiting.popleft()]
        files = len(batch[0][1])
        while (
            self._waiting
            and not is_absolute(batch[0][0])
            and not is_absolute(self._waiting[0][0])
            and files + len(self._waiting[0][1]) <= _FILES_PER_CALL
        ):
            batch.append(self._waiting.popleft())
            files += len(batch[-1][1])
        return batch

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
        owners: dict[str, list[tuple[int, str]]] = defaultdict(
            list
        )  # several partitions may have one location
        for number, (folder, paths) in enumerate(partitions):
            for path in paths:
                owners[path if alone else join_relative(folder, path)].append((number, path))
        visitor = FooterVisitor(look)
        files = read_records(self._footers, metadata, root, list(owners), visitor)
        if metadata.format != "parquet":  # ORC readers do not pass footers to a visitor
            for file in files:
                if sentences := list(unfit_statistics(file, metadata.data_columns)):
                    unfit[file.path] = sentences
        results = [ReadFooters() for _ in partitions]
        for file in files:
            recorded = metadata.keep_record(file)
            for number, path in owners[file.path]:
                results[number].files.append(msgspec.structs.replace(recorded, path=path))
        for whole, positions in owners.items():
            for number, path in positions:
                if whole in visitor.broken:
                    results[number].broken[path] = visitor.broken[whole]
                if whole in unfit:
                    results[number].unfit[path] = unfit[whole]
                if whole in encrypted:
                    results[number].encrypted.append(path)
        return results


def read_records(
    footers: FooterReader,
    metadata: TableMetadata,
    root: str,
    paths: Sequence[str],
    visitor: FooterVisitor,
) -> list[FileRecord]:
    """Return the records of files of others, with what is known of the field ids in them.

    Args:
        footers: reads footers.
        metadata: of the table.
        root: the folder of the files.
        paths: of the files, below it.
        visitor: sees the footers of Parquet files, and takes the files that cannot be read.
    """
    ids, ids_in_files = metadata.ids_by_path, dict[str, int]()

    def look(path: str, footer: ParquetFooter) -> None:
        ids_in_files[path] = ids_in_footer(footer, ids)
        if visitor.look is not None:
            visitor.look(path, footer)

    files = footers.data_files(metadata.format, root, paths, visitor=FooterVisitor(look, visitor.broken))
    return [
        msgspec.structs.replace(file, field_ids=ids_in_files.get(file.path, file.field_ids)) for file in files
    ]


def read_again(
    transaction: Transaction, footers: FooterReader, condition: Filter | None, progress: Progress
) -> Iterator[Difference]:
    """Make a transaction replace the outdated records of files by what their footers say.

    Args:
        transaction: skips partitions that it changes otherwise; the next sync takes these.
        footers: reads footers. A table in a format that it cannot read is left out.
        condition: selects partitions, or None for all.
        progress: called with the number of partitions read, and of all outdated ones.
    """
    snapshot = transaction.base
    is_outdated = outdated_records(snapshot.metadata)
    outdated = [
        partition
        for partition in snapshot.partitions()
        if partition.key not in transaction.changes
        and any(map(is_outdated, partition.files))
        and (condition is None or _holds(condition, snapshot.metadata.partition_by, partition))
    ]
    for partition in track(progress, "Reading footers again", outdated):
        files = partition.files
        old = [file for file in files if is_outdated(file)]
        try:
            new = _records(transaction, footers, partition, old)
        except (FileMissingError, UnsupportedError):
            continue
        if not new:
            continue
        transaction.replace(
            partition.values,
            [new.get(file.path, file) for file in files],
            partition.entry.location,
            partition.arrangement,
        )
        name = snapshot.describe(partition.key) if partition.values else None
        size = sum(file.bytes for file in files)
        detail = f"{len(new)} read again: an earlier version recorded their statistics"
        yield Difference("changed", name, len(files), row_sum(list(files)), size, detail)


def outdated_records(metadata: TableMetadata) -> Callable[[FileRecord], bool]:
    """Return the test whether a record is from before trust, field ids, or fields of structs."""
    structs = metadata.structs_with_statistics

    def is_outdated(file: FileRecord) -> bool:
        known = file.columns or {}
        return (
            (file.field_ids is None and not is_any_own(file.path))
            or any(statistics.trust == Trust.UNKNOWN for statistics in known.values())
            or not (structs.isdisjoint(known) or any(map(is_field, known)))
        )

    return is_outdated


def _records(
    transaction: Transaction, footers: FooterReader, partition: PartitionSnapshot, files: Sequence[FileRecord]
) -> dict[str, FileRecord]:
    """Return new records of some files of a partition by their paths, without unreadable files."""
    metadata = transaction.base.metadata
    new_records: dict[str, FileRecord] = {}
    for root, paths in _by_folder(partition.location, files).items():
        read = read_records(footers, metadata, root, list(paths), FooterVisitor())
        new_records |= {paths[file.path]: file for file in read}
    recorded = {file.path: file for file in files}
    made = {
        path: msgspec.structs.replace(
            recorded[path],
            rows=file.rows,
            columns=metadata.keep_record(file).columns,
            field_ids=file.field_ids,
        )
        for path, file in new_records.items()
        if file.bytes == recorded[path].bytes
    }
    return {path: file for path, file in made.items() if file != recorded[path]}


def _by_folder(location: str, files: Sequence[FileRecord]) -> dict[str, dict[str, str]]:
    """Return the recorded paths of files by a folder and their paths below it."""
    folders: dict[str, dict[str, str]] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/") if is_absolute(file.path) else (location, "", file.path)
        folders.setdefault(folder, {})[name] = file.path
    return folders


def _holds(condition: Filter, names: Sequence[str], partition: PartitionSnapshot) -> bool:
    return bool(match(condition, KnownValues(names, [partition.values]))[0] == Match.MUST)
