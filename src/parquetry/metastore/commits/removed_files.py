"""Records of foreign files that a table removed on purpose, so that a later sync does not adopt them again.

A file that is overwritten, deleted or dropped stays on disk for the earlier versions. The table recognises
its own files by their names. Files of other writers need a record: the commit that removes them writes a row
for each file. The row's key is the file's path below the table's location and the ticket, so that it belongs
to the same versions as the commit's partitions.

Example: `DELETE FROM t WHERE p = 1` in version 5 writes the record `p=1/a.parquet` with the file's size and
time. A later tombstone says that the file is live again, or is another file now.

A live file stays live even if it has a record. The code that adopts files decides what to do about records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.locations import is_own, join_location, path_below
from parquetry.metastore.manifest.entries import TOMBSTONE, read_listed
from parquetry.metastore.partition_rows.visible_rows import entry_of
from parquetry.metastore.storage.keyspace import ticket_of
from parquetry.metastore.storage.model import ListedFile, PartitionEntry, RemovedFileRecord
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.metastore.transactions.changes import Append, Drop, FileChange, Move, Recut
from parquetry.metastore.transactions.prepared import PreparedCommit
from parquetry.metastore.versions.partition import TablePlacement
from parquetry.metastore.versions.snapshot import TableSnapshot

_RECORD = b"\x01"


class RemovedFile(NamedTuple):
    """A removed file: its path below the table's location, its record, and the ticket of the commit."""

    path: str
    record: RemovedFileRecord
    ticket: int


def encode_removed(record: RemovedFileRecord) -> bytes:
    """Return the value of a record's row."""
    return _RECORD + encode(record)


def decode_removed(value: bytes) -> RemovedFileRecord:
    """Return the record in the value of a row that is not a tombstone."""
    record: RemovedFileRecord = decoder(RemovedFileRecord).decode(memoryview(value)[1:])
    return record


def files_removed(snapshot: TableSnapshot) -> Iterator[RemovedFile]:
    """Yield the removed files that a version of a table has records of, in the order of their paths.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired this version.
    """
    for key, age, value in snapshot.visible.removed_file_records().scan([(b"", None)]):
        yield RemovedFile(key.decode(), decode_removed(value), ticket_of(age))
    snapshot.check_kept()


def live_files(snapshot: TableSnapshot) -> Iterator[tuple[str, ListedFile]]:
    """Yield the absolute paths of all files of a version, with their records."""
    for partition in snapshot.partitions():
        for file in read_listed(snapshot.store, snapshot.id, partition.entry):
            yield join_location(partition.location, file.path), file


def records_of(prepared: PreparedCommit) -> dict[bytes, bytes]:
    """Return the keys, without tickets, and values of the records that a commit writes.

    They follow from the transaction's base alone: a change that removes files needs its partition as it was
    there.
    """
    transaction, base = prepared.transaction, prepared.base
    rows: dict[str, RemovedFileRecord | None] = {}
    for key, change in prepared.changes.items() if transaction.records else ():
        there = _base_entry(prepared, key)
        # An append or another form of the list removes no file, and a rename leaves the files in the table.
        if there is None or isinstance(change, Append | Move | Recut) or change == Drop(moves=True):
            continue
        for path, file in _foreign(base.owner, base.placement, key, there.location, _readable(base, there)):
            rows[path] = RemovedFileRecord(file.bytes, file.modified)
    if rows or not (prepared.no_records or _has_no_records(base)):
        incoming = _incoming(prepared)
        for path in incoming:
            rows.pop(path, None)
        rows.update(dict.fromkeys(_recorded_paths(base, incoming)))
    rows.update(transaction.removed_files)
    return {p.encode(): TOMBSTONE if r is None else encode_removed(r) for p, r in rows.items()}


def _has_no_records(base: TableSnapshot) -> bool:
    return not base.visible.removed_file_records().keys([(b"", None)], 1)[0]


def _base_entry(prepared: PreparedCommit, key: bytes) -> PartitionEntry | None:
    """Return a partition's entry in the base, or None if it is damaged and nothing of the base is kept."""
    try:
        return entry_of(prepared.before.get(key))
    except MetastoreDamagedError:
        if prepared.transaction.successor is None:
            raise
        return None


def _incoming(prepared: PreparedCommit) -> set[str]:
    """Return the foreign files that a commit adopts. Restored partitions bring their records with them."""
    incoming: set[str] = set()
    for key, change in prepared.changes.items():
        if isinstance(change, FileChange):
            there = prepared.base_entry(key)
            location = change.location or (None if there is None else there.location)
            placement = prepared.transaction.placement
            files = _foreign(prepared.base.owner, placement, key, location, change.files)
            incoming.update(path for path, _ in files)
    return incoming


def _readable(base: TableSnapshot, entry: PartitionEntry) -> Sequence[ListedFile]:
    """Return the files of an entry, or none if their list is lost; then a sync adopts them again."""
    try:
        return read_listed(base.store, base.id, entry)
    except (TableNotFoundError, MetastoreDamagedError):  # a table that was dropped fails the commit later
        return ()


def _foreign(
    table: bytes,
    placement: TablePlacement,
    key: bytes,
    location: str | None,
    files: Iterable[ListedFile | FileRecord],
) -> Iterator[tuple[str, ListedFile | FileRecord]]:
    """Yield the foreign files of a partition below the table's location, with their paths there."""
    folder: str | None = None
    for file in files:
        if is_own(file.path, table):
            continue
        if folder is None:
            folder = (location or placement.location_of(key)).rstrip("/")
        path = path_below(placement.metadata.location, join_location(folder, file.path))
        if path is not None:
            yield path, file


def _recorded_paths(base: TableSnapshot, paths: set[str]) -> list[str]:
    """Return the paths that have a record."""
    rows = base.visible.removed_file_records().newest(path.encode() for path in paths)
    return [key.decode() for key, row in rows.items() if not row.is_tombstone]
