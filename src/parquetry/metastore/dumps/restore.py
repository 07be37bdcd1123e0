"""Restore a dump into an empty metastore, in any store.

The whole dump is checked before anything is written. Names are written last: until then no table is visible,
and an interrupted restore can be run again. A row of its own marks a metastore with an unfinished restore.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parquetry.errors import (
    ForeignWarehouseError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
    WarehouseError,
)
from parquetry.metastore.check.manifest_check import ColumnTypesByTicket
from parquetry.metastore.commits.removed_files import encode_removed
from parquetry.metastore.dumps.format import (
    MANIFEST,
    TABLES,
    DumpedTable,
    Manifest,
    entry_from_json,
    files_from_json,
    metadata_from_json,
    read_manifest,
)
from parquetry.metastore.followers import notify_followers
from parquetry.metastore.manifest.chunks import chunk_rows
from parquetry.metastore.manifest.entries import TOMBSTONE, encode_entry
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.ownership.handover import Source, receive
from parquetry.metastore.partition_rows.indexes import entry_rows
from parquetry.metastore.storage.format import FORMAT_VERSION, TAGGED, require_format
from parquetry.metastore.storage.head import Head, Kind, Tag, swap
from parquetry.metastore.storage.keyspace import (
    DATABASES,
    NAMES,
    RESTORING,
    TABLE_ID_BYTES,
    commit_key,
    complement,
    delete_in_batches,
    fields_of,
    head_key,
    metadata_key,
    name_key,
    partition_prefix,
    prefix_range,
    removed_files_prefix,
)
from parquetry.metastore.storage.model import CommitRecord, FileChunk, PartitionIndex, RemovedFileRecord
from parquetry.metastore.storage.valid_names import DEFAULT_DATABASE, normalise_name
from parquetry.metastore.storage.wire import encode
from parquetry.progress import Progress, silent
from parquetry.store import Store, in_batches

_ROWS_PER_BATCH = 5000
Rows = Iterator[tuple[bytes, bytes]]


def look_into(source: Path) -> tuple[Manifest, bytes]:
    """Return a dump's manifest, decoded and as bytes.

    Raises:
        WarehouseError: the folder is no dump, or is damaged.
        MetastoreVersionError: the dump has a version that cannot be read.
    """
    try:
        text = (source / MANIFEST).read_bytes()
    except OSError as error:
        raise _unreadable(source, error) from None
    return read_manifest(text, str(source)), text


def _unreadable(source: Path, error: OSError) -> WarehouseError:
    return WarehouseError(f"{source} cannot be read as a dump: {error}; name a directory that `dump` made.")


def restore(
    metastore: Metastore,
    folder: str | os.PathLike[str],
    progress: Progress = silent,
    *,
    claims: bool = False,
) -> Manifest:
    """Write the databases, tables and versions of a dump into a metastore without tables.

    Tables keep their ids. Locations below the old warehouse become locations below this metastore's
    warehouse; all others stay. From then on the warehouse belongs to this metastore, and the dumped one may
    only be read, if it has the same warehouse.

    Args:
        metastore: the metastore to fill.
        folder: a directory that `dump` made.
        progress: called for each table.
        claims: whether to take the warehouse from any metastore that has it, and not only from the dumped
            one.

    Returns:
        The dump's manifest.

    Raises:
        WarehouseError: the dump is damaged, or the metastore is in use.
        ForeignWarehouseError: the warehouse belongs to another metastore than the dumped one.
        MetastoreVersionError: the dump has a version that cannot be read.
        StoreError: the store fails; run it again.
    """
    source = Path(folder)
    manifest, text = look_into(source)
    try:
        verify_names(source, manifest)
        for table in manifest.tables:
            _verify(source, table)
    except OSError as error:
        raise _unreadable(source, error) from None
    _require_empty(metastore, hashlib.sha256(text).digest())
    if metastore.ownership is None or metastore.ownership.is_guest:
        _write(metastore, source, manifest, text, progress, lambda: None)
        _notify(metastore)
        return manifest
    dumped = Source(manifest.metastore or None, manifest.store or None, manifest.warehouse, manifest.shared)
    with receive(metastore.ownership, dumped, metastore.tables_shared_with, claims=claims) as take:
        _write(metastore, source, manifest, text, progress, take)
    _notify(metastore)
    return manifest


def _notify(metastore: Metastore) -> None:
    """Tell what follows the commits of tables. A Delta log may have commits that are not in the dump."""
    for database in metastore.databases():
        for name in metastore.tables(database):
            with contextlib.suppress(TableNotFoundError):  # dropped since
                notify_followers(metastore.table(database, name))


def _write(
    metastore: Metastore,
    source: Path,
    manifest: Manifest,
    text: bytes,
    progress: Progress,
    take: Callable[[], None],
) -> None:
    """Write all rows of a dump.

    Args:
        metastore: the metastore to fill.
        source: the dump.
        manifest: its manifest.
        text: the manifest's bytes.
        progress: called for each table.
        take: gives the warehouse to the metastore, before its tables become visible.
    """
    store = metastore.store
    mark = hashlib.sha256(text).digest()
    _claim(metastore, mark)
    require_format(store, FORMAT_VERSION)  # like any new store; no one else uses it yet
    heads = []
    for done, table in enumerate(manifest.tables):
        progress(f"{table.database}.{table.name}", done, len(manifest.tables))
        heads.append(_restore_table(store, source, table))
    if any(head.tags for head in heads):
        require_format(store, TAGGED)
    names = []
    for table, head in zip(manifest.tables, heads, strict=True):
        id = bytes.fromhex(table.id)
        if store.get(head_key(id)) is None and not swap(store, head_key(id), None, encode(head)):
            raise StoreError(f"Table {table.database}.{table.name} was made by someone else meanwhile.")
        names.append((table, id + head.token))
    try:
        take()
    except ForeignWarehouseError:  # so that another dump can be restored here
        delete_in_batches(store, (key for key, _ in store.scan(DATABASES, None)))
        store.delete_many([RESTORING])
        raise
    _write_names(metastore, manifest, names)
    store.delete_many([RESTORING])
    progress("", len(manifest.tables), len(manifest.tables))


def _write_names(
    metastore: Metastore, manifest: Manifest, names: Sequence[tuple[DumpedTable, bytes]]
) -> None:
    store = metastore.store
    known = set(metastore.databases()) - {DEFAULT_DATABASE}
    for database in manifest.databases:
        if database.name == DEFAULT_DATABASE:
            if database.properties:
                metastore.alter_database(database.name, database.properties)
        elif database.name not in known:
            metastore.create_database(database.name, database.properties)
    for table, row in names:  # by compare-and-set: a late put would undo a later DROP or RENAME
        key = name_key(table.database, table.name)
        if store.get(key) != row and not swap(store, key, None, row):
            raise StoreError(f"Table {table.database}.{table.name} was made by someone else meanwhile.")


def verify_names(source: Path, manifest: Manifest) -> None:
    """Make sure that the ids, names and files of a manifest are such as `dump` writes.

    Raises:
        WarehouseError: one of them is not.
    """
    ids = Counter(table.id for table in manifest.tables)
    names = Counter((table.database, table.name) for table in manifest.tables)
    for table in manifest.tables:
        if not (
            re.fullmatch(f"[0-9a-f]{{{2 * TABLE_ID_BYTES}}}", table.id)
            and table.file == f"{TABLES}/{table.id}.jsonl"
            and _is_name("database", table.database)
            and _is_name("table", table.name)
            and ids[table.id] == names[table.database, table.name] == 1
        ):
            raise WarehouseError(
                f"{source / MANIFEST} is damaged: table {table.database!r}.{table.name!r} with id {table.id!r} and file "
                f"{table.file!r} is none that `dump` wrote; make another dump."
            )
    for database in manifest.databases:
        if not _is_name("database", database.name):
            raise WarehouseError(
                f"{source / MANIFEST} is damaged: {database.name!r} is no name of a database; make another dump."
            )


def _is_name(kind: str, name: str) -> bool:
    try:
        return normalise_name(kind, name) == name
    except ParquetryError:
        return False


def _verify(source: Path, table: DumpedTable) -> None:
    digest, lines = hashlib.sha256(), 0
    with (source / table.file).open("rb") as file:
        for line in file:
            digest.update(line)
            lines += 1
    if lines != table.lines or digest.hexdigest() != table.sha256:
        raise WarehouseError(f"{source / table.file} is not as it was written; make another dump.")
    with _damage_errors(source, table):
        lines_of_table = _TableLines(bytes.fromhex(table.id))
        with (source / table.file).open("rb") as file:
            for _ in lines_of_table.rows(iter(file)):
                pass
        encode(lines_of_table.head(table))


@contextlib.contextmanager
def _damage_errors(source: Path, table: DumpedTable) -> Iterator[None]:
    """Say that a table's file is damaged, for any error of its lines. A person may have made the file."""
    try:
        yield
    except (ParquetryError, OSError):
        raise
    except Exception as error:  # noqa: BLE001
        raise WarehouseError(f"{source / table.file} is damaged ({error!r}); make another dump.") from None


def _require_empty(metastore: Metastore, mark: bytes) -> bool:
    """Make sure that a metastore is empty. Return whether a restore of this dump was begun in it.

    Raises:
        WarehouseError: it is in use, or another dump is being restored into it.
    """
    store = metastore.store
    restoring = store.get(RESTORING)
    if restoring == mark:
        return True
    if restoring is not None:
        raise WarehouseError(
            "Restoring another dump into this metastore was cut short; run that again, or take an empty one."
        )
    if any(True for tag in (DATABASES, NAMES) for _ in store.scan(*prefix_range(tag), limit=1)):
        raise WarehouseError(
            f"The metastore of {metastore.warehouse} holds tables or databases, which would be mixed with "
            "the tables of the dump; restore into an empty one."
        )
    return False


def _claim(metastore: Metastore, mark: bytes) -> None:
    """Mark the metastore: this dump is being restored into it.

    Raises:
        WarehouseError: it is in use, or another dump is being restored into it.
    """
    if not _require_empty(metastore, mark) and not swap(metastore.store, RESTORING, None, mark):
        raise WarehouseError("Someone else is restoring into this metastore.")


def _restore_table(store: Store, source: Path, table: DumpedTable) -> Head:
    """Write the rows of a table, except its head. Return the head."""
    lines = _TableLines(bytes.fromhex(table.id))
    with _damage_errors(source, table):
        with (source / table.file).open("rb") as file:
            for batch in in_batches(lines.rows(iter(file)), _ROWS_PER_BATCH):
                store.put_many(batch, fields_of)
        return lines.head(table)


class _TableLines:
    """Turns the lines of a table's dump into rows, one after another.

    Args:
        id: the table's id.
    """

    def __init__(self, id: bytes) -> None:
        self._id = id
        self._first: dict[str, Any] = {}
        self._last: CommitRecord | None = None
        self._kind: Kind = "table"
        self._indexes: dict[str, PartitionIndex] = {}
        self._chunks: dict[tuple[int, int], FileChunk] = {}
        self._known = ColumnTypesByTicket()

    def rows(self, lines: Iterator[bytes]) -> Rows:
        """Yield the rows of lines.

        Raises:
            KeyError, TypeError, ValueError, msgspec.MsgspecError: a line is damaged.
        """
        for line in lines:
            ((kind, fields),) = msgspec.json.decode(line, type=dict[str, dict[str, Any]]).items()
            if kind == "table":
                self._first.update(fields)
            elif kind == "commit":
                yield from self._commit(fields)
            elif kind == "metadata":
                yield self._metadata(fields)
            elif kind == "files":
                files = files_from_json(fields["value"])
                position = fields["ticket"], fields["number"]
                self._chunks[position], *both = chunk_rows(
                    self._id, *position, files, self._known.types_at(position[0])
                )
                yield from both
            elif kind == "partition":
                yield from self._partition(fields)
            elif kind == "taken_out":
                value = fields["value"]
                row = TOMBSTONE if value is None else encode_removed(RemovedFileRecord(**value))
                path = fields["path"].encode()
                yield removed_files_prefix(self._id) + path + complement(fields["ticket"]), row
            else:
                raise KeyError(kind)

    def _commit(self, fields: dict[str, Any]) -> Rows:
        commit = msgspec.convert(fields, CommitRecord)
        if self._last is not None:  # the newest commit is in the head only
            yield commit_key(self._id, self._last.version), encode(self._last)
        self._last = commit

    def _metadata(self, fields: dict[str, Any]) -> tuple[bytes, bytes]:
        metadata = metadata_from_json(fields["value"])
        self._kind = metadata.kind
        self._known.add(fields["ticket"], metadata)
        self._indexes.update((index.id, index) for index in metadata.indexes)
        return metadata_key(self._id, fields["ticket"]), encode(metadata)

    def _partition(self, fields: dict[str, Any]) -> Rows:
        value = fields["value"]
        row = TOMBSTONE if value is None else encode_entry(entry_from_json(value, self._chunks))
        key, age = bytes.fromhex(fields["key"]), complement(fields["ticket"])
        yield partition_prefix(self._id) + key + age, row
        yield from entry_rows(self._id, self._indexes.values(), [(key, age, row)])

    def head(self, table: DumpedTable) -> Head:
        """Return the table's head, after `rows` has yielded all rows.

        Raises:
            KeyError, TypeError, ValueError, IndexError: a line or a field is missing.
        """
        hidden = tuple((int(start), int(end)) for start, end in self._first["hidden"])
        if self._last is None:
            raise IndexError("no commit")
        token = hashlib.sha256(self._id + b"restored").digest()[:8]
        return Head(
            state="live",
            database=table.database,
            name=table.name,
            token=token,
            next_ticket=self._first["next_ticket"],
            pending={},
            aborted=hidden,
            commit=self._last,
            oldest=self._first["oldest"],
            kind=self._kind,
            tags=msgspec.convert(self._first.get("tags", {}), dict[str, Tag]),
        )
