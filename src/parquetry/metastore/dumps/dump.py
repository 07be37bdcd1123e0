"""Dump a metastore into a directory, as a backup or to restore it into another store.

A dump has databases, tables and all readable versions. Data files stay where they are. Locations below the
warehouse are written relative to it, so that a dump can be restored for a warehouse elsewhere. Others may go
on working: each table is written as one head shows it. `format` describes the format.

Branches are left out, and a warning names them.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from parquetry._version import __version__
from parquetry.errors import NamespaceNotFoundError, TableNotFoundError, WarehouseError
from parquetry.metastore.cleanup.retention import Need, commit_rows, oldest_commit, stored_rows
from parquetry.metastore.commits.removed_files import decode_removed
from parquetry.metastore.dumps.format import (
    FORMAT,
    MANIFEST,
    TABLES,
    VERSION,
    DumpedDatabase,
    DumpedTable,
    Manifest,
    entry_to_json,
    files_to_json,
    metadata_to_json,
    write_manifest,
)
from parquetry.metastore.manifest.chunks import chunk_files, chunk_position
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.ownership.mark import read_identity
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.model import CommitRecord, Database, TableMetadata
from parquetry.metastore.storage.owner import is_tag_of_dead, process_tag
from parquetry.metastore.storage.wire import decoder
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.metastore.warehouse_store import WarehouseStore
from parquetry.progress import Progress, silent

_LOG = logging.getLogger("parquetry")
MAX_READ_ATTEMPTS = 5
"""Attempts to read a table that others drop or vacuum meanwhile, and names that others change."""
_UNFINISHED = ".parquetry-dump-"
_UNFINISHED_NAME = re.compile(r"\..*\.parquetry-dump-([0-9a-f]{12}-\d+-\d+)\.\w+")
"""The name of a folder that a dump is written into, with the process that writes it."""
_MAX_DUMP_SECONDS = 7 * 24 * 60 * 60
MAX_PASSES = 100
"""Passes over the metastore's tables; each pass writes tables that were created during the last one."""


def dump(metastore: Metastore, folder: str | os.PathLike[str], progress: Progress = silent) -> Manifest:
    """Write databases, tables, views and versions into a new directory, which appears when it is complete.

    Args:
        metastore: the metastore.
        folder: the directory, which must not exist.
        progress: called before each table, with its name.

    Returns:
        The dump's manifest.

    Raises:
        WarehouseError: the directory exists, or cannot be written.
    """
    target = Path(folder).absolute()
    if target.exists() or target.is_symlink():
        raise WarehouseError(f"{target} exists already; name a directory that does not exist, or remove it.")
    work: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_unfinished(target.parent)
        work = Path(
            tempfile.mkdtemp(prefix=f".{target.name}{_UNFINISHED}{process_tag()}.", dir=target.parent)
        )
        (work / TABLES).mkdir()
        manifest, text = write_manifest(_write(metastore, work, progress))
        _write_file(work / MANIFEST, [text])
        work.chmod(0o755 & ~_umask())
        os.rename(work, target)
    except OSError as error:
        raise WarehouseError(f"The dump cannot be written to {target}: {error}.") from None
    finally:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
    return manifest


def remove_unfinished(folder: Path) -> None:
    """Delete what killed dumps into a folder left. A dump of another machine counts so after a week."""
    for path in folder.glob(f".*{_UNFINISHED}*"):
        if (name := _UNFINISHED_NAME.fullmatch(path.name)) is None:
            continue
        is_dead = is_tag_of_dead(name[1])
        with contextlib.suppress(OSError):  # another dump deletes it, too
            if is_dead is None:
                is_dead = time.time() - path.stat().st_mtime > _MAX_DUMP_SECONDS
            if is_dead:
                shutil.rmtree(path)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write(metastore: Metastore, work: Path, progress: Progress) -> Manifest:
    tables = _write_tables(metastore, work, progress)
    databases, tables = _with_names(metastore, tables)
    for path in (work / TABLES).iterdir():
        if all(path != work / table.file for table in tables):
            path.unlink()
    progress("", len(tables), len(tables))
    identity = read_identity(metastore.store.rows)
    return Manifest(
        FORMAT,
        VERSION,
        __version__,
        metastore.warehouse,
        [DumpedDatabase(each.name, _kept_properties(metastore, each.properties)) for each in databases],
        tables,
        "" if identity is None else identity.id,
        "" if metastore.ownership is None or metastore.ownership.is_guest else metastore.ownership.store,
        [] if identity is None else list(identity.shared),
    )


def _write_tables(metastore: Metastore, work: Path, progress: Progress) -> list[DumpedTable]:
    """Write all tables, and then tables that were created meanwhile, until no new table is found.

    Tables are found by their ids, so that a table that is renamed meanwhile is not missed.
    """
    tables: list[DumpedTable] = []
    looked_at: set[bytes] = set()
    for _ in range(MAX_PASSES):
        remaining = sorted(
            (table.database, table.metadata.kind, table.name, table.id)
            for id in metastore.ids() - looked_at
            if (table := metastore.table_of(id)) is not None
        )
        if not remaining:
            return tables
        of = len(looked_at) + len(remaining)
        for done, (database, _, name, id) in enumerate(remaining, len(looked_at)):
            progress(f"{database}.{name}", done, of)
            if (dumped := _write_table(metastore, id, work)) is not None:
                tables.append(dumped)
            looked_at.add(id)
    raise WarehouseError("Tables are made faster than they can be dumped; run the dump again.")


def _with_names(metastore: Metastore, tables: list[DumpedTable]) -> tuple[list[Database], list[DumpedTable]]:
    """Return the databases, and the tables with unique names, each in an existing database.

    If two tables have one name, at least one was renamed or dropped since it was written. Its present name is
    read, and a dropped table is left out.
    """
    for _ in range(MAX_READ_ATTEMPTS):
        databases = [database for name in metastore.databases() if (database := _database(metastore, name))]
        there = {database.name for database in databases}
        count = Counter((table.database, table.name) for table in tables)
        odd = [t for t in tables if count[t.database, t.name] > 1 or t.database not in there]
        if not odd:
            return databases, sorted(tables, key=lambda table: (table.database, table.name))
        for table in odd:
            tables.remove(table)
            if (now := metastore.table_of(bytes.fromhex(table.id))) is not None:
                tables.append(msgspec.structs.replace(table, database=now.database, name=now.name))
    raise WarehouseError("Tables are renamed too often to be dumped; run the dump again.")


def _database(metastore: Metastore, name: str) -> Database | None:
    try:
        return metastore.database(name)
    except NamespaceNotFoundError:  # dropped since it was listed
        return None


def _kept_properties(metastore: Metastore, properties: dict[str, str]) -> dict[str, str]:
    kept = metastore.store.below.stored_form
    return {name: kept(text) if name == "location" else text for name, text in properties.items()}


def _write_table(metastore: Metastore, id: bytes, work: Path) -> DumpedTable | None:
    """Write a table. Return None if it was dropped since it was found."""
    file, label = f"{TABLES}/{id.hex()}.jsonl", ""
    for _ in range(MAX_READ_ATTEMPTS):
        snapshot = metastore.table_of(id)
        if snapshot is None:
            return None
        label = snapshot.label
        digest = hashlib.sha256()
        try:
            lines = _write_file(work / file, _lines(metastore.store, snapshot), digest.update)
        except TableNotFoundError:  # dropped or vacuumed while it was read
            (work / file).unlink(missing_ok=True)
            continue
        return DumpedTable(id.hex(), snapshot.database, snapshot.name, file, lines, digest.hexdigest())
    raise WarehouseError(f"Table {label} changes too often to be read as a whole; run the dump again.")


def _write_file(
    path: Path, lines: Iterator[bytes] | list[bytes], hashed: Callable[[bytes], None] | None = None
) -> int:
    count = 0
    with path.open("xb") as file:
        for line in lines:
            file.write(line)
            count += 1
            if hashed is not None:
                hashed(line)
        file.flush()
        os.fsync(file.fileno())
    return count


def _lines(store: WarehouseStore, snapshot: TableSnapshot) -> Iterator[bytes]:
    table = snapshot.id
    head = read_head(store, table)
    if head is None:
        raise TableNotFoundError("The table was dropped.")
    if head.branches:
        _LOG.warning(
            "The dump does not have the branches of table %s (%s): publish them before, if the dump is to have their rows.",
            snapshot.label, ", ".join(sorted(head.branches)),
        )  # fmt: skip
    oldest = oldest_commit(store, table, head)
    hidden = head.invisible()
    about = {"oldest": head.oldest, "next_ticket": head.next_ticket, "hidden": hidden}
    yield _line("table", id=table.hex(), **about, **({"tags": head.tags} if head.tags else {}))
    commits = [c for _, c in commit_rows(store, table) if oldest.version <= c.version < head.commit.version]
    commits.append(head.commit)
    for commit in commits:
        # what only upkeep needs is not dumped
        needed = msgspec.structs.replace(commit, ranges=b"", aborted=())
        yield _line("commit", **msgspec.to_builtins(needed))
    for ticket in sorted({commit.metadata for commit in commits}):
        value = store.get(keyspace.metadata_key(table, ticket))
        if value is None:
            raise TableNotFoundError("The table was dropped.")
        metadata: TableMetadata = decoder(TableMetadata).decode(store.make_relative(keyspace.METADATA, value))
        yield _line("metadata", ticket=ticket, value=metadata_to_json(metadata))
    lists: set[tuple[int, int]] = set()
    yield from _chunks(store, table, head, lists)
    complete = True
    for row in stored_rows(store, table, head, oldest):
        if row.need is Need.LIVE or row.need is Need.TOMBSTONE:
            entry = (
                None
                if is_tombstone(row.value)
                else decode_entry(store.make_relative(keyspace.PARTITIONS, row.value))
            )
            complete &= entry is None or lists.issuperset((c.ticket, c.number) for c in entry.chunks)
            value_ = None if entry is None else entry_to_json(entry)
            yield _line("partition", key=row.key.hex(), ticket=row.ticket, value=value_)
    for row in stored_rows(store, table, head, oldest, keyspace.removed_files_prefix(table)):
        if row.need is Need.LIVE or row.need is Need.TOMBSTONE:
            record = None if is_tombstone(row.value) else msgspec.structs.asdict(decode_removed(row.value))
            yield _line("taken_out", path=row.key.decode(), ticket=row.ticket, value=record)
    after = read_head(store, table)
    if after is None or after.state != "live" or after.oldest > head.oldest:
        raise TableNotFoundError("The table was dropped, replaced or vacuumed.")
    _require_all(commits, oldest)
    if not complete:
        raise WarehouseError(
            f"The list of a partition's files is missing in table {snapshot.label}; CALL system.fsck shows more."
        )


def _require_all(commits: list[CommitRecord], oldest: CommitRecord) -> None:
    if [commit.version for commit in commits] != list(range(oldest.version, oldest.version + len(commits))):
        raise WarehouseError("A version's commit is missing; CALL system.fsck shows more.")


def _chunks(store: WarehouseStore, table: bytes, head: Head, lists: set[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the lines of all committed chunks, and add the ticket and number of each chunk to `lists`."""
    start = keyspace.CHUNKS + table
    for key, value in store.scan(start, start + keyspace.number(head.next_ticket)):
        ticket, chunk = chunk_position(key)
        if head.is_committed(ticket):
            lists.add((ticket, chunk))
            files = chunk_files(store.make_relative(keyspace.CHUNKS, value)).records()
            yield _line("files", ticket=ticket, number=chunk, value=files_to_json(files))


def _line(kind: str, **fields: Any) -> bytes:
    return msgspec.json.encode({kind: fields}) + b"\n"
