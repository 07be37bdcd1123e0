"""Files of others that a table took out on purpose, so that whoever adopts files passes over them.

A file that is overwritten, deleted or dropped stays on disk for the versions before. The table's own files are
known by their names; others' are recorded here, by the commit that takes them out: a row for each file, keyed
by its path below the table's location and the ticket, so that it belongs to the same versions as the commit's
partitions. Example: `DELETE FROM t WHERE p = 1` in version 5 writes `p=1/a.parquet` with its size and time. A
tombstone says that the file is live again, or no longer what was taken out.

Where a live file is recorded, it is live all the same. What to do about the files is the adopter's decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.locations import is_own, join_location, path_below
from parquetry.metastore.commits.changes import Append, Drop, FileChange, Move, Recut
from parquetry.metastore.commits.prepared import PreparedCommit
from parquetry.metastore.manifest import TOMBSTONE, read_listed
from parquetry.metastore.storage import (
    ListedFile,
    PartitionEntry,
    RemovedFileRecord,
    decoder,
    encode,
    ticket_of,
)
from parquetry.metastore.versions import TablePlacement, TableSnapshot, entry_of

_RECORD = b"\x01"


class RemovedFile(NamedTuple):
    """A file that was taken out: its path below the table's location, what it was, and the commit's ticket."""

    path: str
    record: RemovedFileRecord
    ticket: int


def encode_removed(record: RemovedFileRecord) -> bytes:
    """Return the value of a row."""
    return _RECORD + encode(record)


def decode_removed(value: bytes) -> RemovedFileRecord:
    """Return the record in the value of a row that is not a tombstone."""
    record: RemovedFileRecord = decoder(RemovedFileRecord).decode(memoryview(value)[1:])
    return record


def files_removed(snapshot: TableSnapshot) -> Iterator[RemovedFile]:
    """Yield the files that a version of a table knows as taken out, by their paths.

    Raises:
        TableNotFoundError: the table was dropped, or this version vacuumed away.
    """
    for key, age, value in snapshot.visible.removed_file_records().scan([(b"", None)]):
        yield RemovedFile(key.decode(), decode_removed(value), ticket_of(age))
    snapshot.check_kept()


def live_files(snapshot: TableSnapshot) -> Iterator[tuple[str, ListedFile]]:
    """Yield the absolute paths of all files of a version, with what they are."""
    for partition in snapshot.partitions():
        for file in read_listed(snapshot.store, snapshot.id, partition.entry):
            yield join_location(partition.location, file.path), file


def records_of(prepared: PreparedCommit) -> dict[bytes, bytes]:
    """Return the rows that a commit writes, without their tickets: keys and values.

    They follow from the transaction's base: what takes a file out needs its partition to be as it was there.
    """
    transaction, base = prepared.transaction, prepared.base
    rows: dict[str, RemovedFileRecord | None] = {}
    for key, change in prepared.changes.items() if transaction.records else ():
        there = _base_entry(prepared, key)
        # an append or another form of the list takes nothing out, and a rename leaves the files in the table
        if there is None or isinstance(change, Append | Move | Recut) or change == Drop(moves=True):
            continue
        for path, file in _foreign(base.id, base.placement, key, there.location, _readable(base, there)):
            rows[path] = RemovedFileRecord(file.bytes, file.modified)
    if rows or base.visible.removed_file_records().keys([(b"", None)], 1)[0]:
        incoming = _incoming(prepared)
        for path in incoming:
            rows.pop(path, None)
        rows.update(dict.fromkeys(_recorded_paths(base, incoming)))
    rows.update(transaction.removed_files)
    return {p.encode(): TOMBSTONE if r is None else encode_removed(r) for p, r in rows.items()}


def _base_entry(prepared: PreparedCommit, key: bytes) -> PartitionEntry | None:
    """Return a partition's entry in the transaction's base; None if it cannot be read, and nothing is left of the base."""
    try:
        return entry_of(prepared.before.get(key))
    except MetastoreDamagedError:
        if prepared.transaction.successor is None:
            raise
        return None


def _incoming(prepared: PreparedCommit) -> set[str]:
    """Return the files of others that a commit takes in; what it restores comes with the records of its version."""
    incoming: set[str] = set()
    for key, change in prepared.changes.items():
        if isinstance(change, FileChange):
            there = prepared.base_entry(key)
            location = change.location or (None if there is None else there.location)
            placement = prepared.transaction.placement
            files = _foreign(prepared.base.id, placement, key, location, change.files)
            incoming.update(path for path, _ in files)
    return incoming


def _readable(base: TableSnapshot, entry: PartitionEntry) -> Sequence[ListedFile]:
    """Return the files of an entry; none if a list of them is lost, so that a sync takes them in again."""
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
    """Yield those of a partition's files that are not the table's own and lie below its location."""
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
    """Return those paths that are recorded."""
    rows = base.visible.removed_file_records().newest(path.encode() for path in paths)
    return [key.decode() for key, row in rows.items() if not row.is_tombstone]
