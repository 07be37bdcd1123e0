"""Results of a crash during an operation, on any store: the old state or the new one, and nothing for good.

A client stops at one of the rows that it writes; then others read the store. Nothing here knows which store
it is: `test_metastore_crashes` and the tests of HBase bring one.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.errors import CommitUnknownError, StoreError
from parquetry.metastore import FileRecord, Metastore, TableMetadata, TableSnapshot, Transaction, branches_of
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.operations.history import history
from parquetry.metastore.storage.head import decode_head
from parquetry.metastore.storage.keyspace import (
    DATABASES,
    FORMAT,
    PARTITIONS,
    RESTORING,
    UPKEEP,
    chunk_key,
    commit_key,
    head_key,
    index_prefix,
    metadata_key,
    name_key,
    removed_files_prefix,
    summary_key,
    ticket_of,
)
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.metastore.versions.snapshot import load
from parquetry.scan.plan import IndexOrder, KeyScan, ScanPlan
from parquetry.store import MemoryStore, Store
from tests.support.effort import sampled
from tests.support.stores.crash_world import CrashWorld, Operation, Rows, fill
from tests.support.stores.failing_client import Client, How
from tests.support.stores.metastores import Crash

State = dict[str, Any]
_KNOWN: dict[bytes, list[Any]] = {}
"""States of tables by their digest: a crash touches one of several tables."""


def copied(store: Store) -> MemoryStore:
    """Return a copy of a store's rows, which is read faster."""
    copy = MemoryStore()
    copy.put_many(store.scan(b"", None))
    return copy


def state(world: CrashWorld, store: Store) -> State:
    """Return what a client finds: databases, tables, and each version of them that can be read."""
    metastore = world.open(store)
    rows = list(store.scan(b"", None))
    found: State = {}
    for database in metastore.databases():
        found[database] = metastore.database(database).properties
        for name in metastore.tables(database):
            newest = metastore.table(database, name)
            own = _digest(database, name, newest.id, rows)
            if own not in _KNOWN:
                _KNOWN[own] = _versions(metastore, newest)
            found[f"{database}.{name}"] = _KNOWN[own]
            for branch in branches_of(newest):
                found[f"{database}.{name}/{branch.name}"] = _versions(
                    metastore, metastore.table(database, name, version=branch.name)
                )
    return found


def _versions(metastore: Metastore, newest: TableSnapshot) -> list[Any]:
    """Return each version of a table that can be read."""
    versions = []
    for each in history(newest):
        table = metastore.table(newest.database, newest.name, version=each.version)
        told = (each.version, each.operation, each.summary, each.totals)
        out = {(_idless(table, file.path), file.record) for file in files_removed(table)}
        versions.append((told, _nameless(table.metadata), content(table), out))
    return versions


def _digest(database: str, name: str, id: bytes, rows: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return a digest of a table's name and of all rows with its id in their keys: only they describe it."""
    digest = hashlib.blake2b(f"{database}.{name}".encode() + b"\0" + id)
    for key, value in rows:
        if id in key:
            digest.update(b"%d %d " % (len(key), len(value)) + key + value)
    return digest.digest()


def content(table: TableSnapshot) -> State:
    """Return the partitions of a version with all they hold; any index leads to the same ones."""
    parts = list(table.partitions())
    for index in table.metadata.indexes:
        if index.ready:
            order = IndexOrder(index.name, index.id, index.order)
            by_index = table.partitions(ScanPlan((KeyScan("index", b"", None, None),), order))
            assert [(p.key, p.ticket) for p in by_index] == [(p.key, p.ticket) for p in parts]
    return {repr(p.values): (p.location, p.arrangement, _nameless_files(table, p.files)) for p in parts}


def _nameless_files(table: TableSnapshot, files: Sequence[FileRecord]) -> list[FileRecord]:
    """Return files under names that do not tell the table's id, which is random."""
    return [msgspec.structs.replace(file, path=_idless(table, file.path)) for file in files]


def _idless(table: TableSnapshot, path: str) -> str:
    """Return a path without the id of the table, or of one whose place it took."""
    return re.sub("pq-[0-9a-f]{16}-", lambda name: "own-" if table.owner.hex() in name[0] else "other-", path)


def _nameless(metadata: TableMetadata) -> TableMetadata:
    """Return metadata without the ids of indexes and of replacements, which are random."""
    indexes = tuple(msgspec.structs.replace(index, id="") for index in metadata.indexes)
    return msgspec.structs.replace(
        metadata, indexes=indexes, replacement="" if not metadata.replacement else "some"
    )


def leftovers(store: Store) -> list[str]:
    """Return the rows of a metastore that belong to no table, or to no version of one that can be read."""
    copy = copied(store)
    rows = dict(copy.scan(b"", None))
    metastore = Metastore(copy, "/")
    needed = {FORMAT, *(key for key in rows if key.startswith(DATABASES))}
    for database in metastore.databases():
        for name in metastore.tables(database):
            table = metastore.table(database, name)
            needed |= _needed(table, rows)
            for branch in branches_of(table):
                needed |= _needed(metastore.table(database, name, version=branch.name), rows)
    return [key.hex() for key in rows if key not in needed]


def _needed(table: TableSnapshot, rows: Rows) -> set[bytes]:
    """Return the keys of the rows that the versions of a table need."""
    id, head = table.id, decode_head(rows[head_key(table.id)])
    if head.pending or head.renaming:
        return set()
    needed = {head_key(id), name_key(table.database, table.name), UPKEEP + id}
    indexes = set()
    for each in table.history():
        if each.version < head.oldest:
            break
        version = load(table.store, id, head, each)
        needed |= {commit_key(id, each.version), metadata_key(id, each.metadata)}
        indexes |= {index.id for index in version.metadata.indexes}
        for part in version.partitions():
            for chunk in part.entry.chunks:
                needed |= {key(id, chunk.ticket, chunk.number) for key in (chunk_key, summary_key)}
    for key in rows:
        tags = PARTITIONS + id, removed_files_prefix(id), *(index_prefix(id, index) for index in indexes)
        ours = key.startswith(tags)
        if ours and head.is_committed(ticket_of(key)):
            needed.add(key)
    return needed


# -- a crash, and what it must not do

FAILURES = CommitUnknownError, StoreError, Crash
"""How a client learns, or does not, that it was stopped."""


@dataclass(frozen=True)
class Expected:
    """The effect of an operation without an interruption.

    Attributes:
        world: that it begins in.
        states: what others see, one after the other.
        calls: the numbers of the rows that it writes, together for each call to the store.
    """

    world: CrashWorld
    states: list[State]
    calls: list[range]

    @property
    def writes(self) -> int:
        """Return the number of rows."""
        return self.calls[-1].stop


def expect(world: CrashWorld, operation: Operation) -> Expected:
    """Run an operation, in memory, and look at the metastore before each row that it writes."""
    world, store = operation.begin(world), MemoryStore()
    world.enter(store)
    client = Client(store)
    states: list[State] = []

    def look() -> None:
        found = state(world, store)
        if not states or found != states[-1]:
            states.append(found)

    client.before_write = look
    operation.run(Metastore(client, str(world.folder)), world)
    look()
    assert len(states) == operation.steps
    starts = [0, *(last + 1 for last in client.calls)]
    return Expected(world, states, [range(*ends) for ends in itertools.pairwise(starts)])


def stops(expected: Expected, how: How, *case: str, whole_calls: bool = False) -> Sequence[int]:
    """Return the rows at which a client is to be stopped; after a row is before the next.

    Args:
        expected: of the operation.
        how: it stops.
        case: what tells this test from others, which are to be stopped at other rows where a sample is tried.
        whole_calls: only at the last row of each call.
    """
    if whole_calls:
        return sampled([call[-1] for call in expected.calls], how, *case)
    return sampled(range(expected.writes - 1 if how == "after" else 0, expected.writes), how, *case)


def crash(
    operation: Operation, expected: Expected, store: Store, stop: int, how: How, backwards: bool = False
) -> bool:
    """Stop an operation at a row; return whether it said that it was done."""
    client = Client(store, stop, how, backwards)
    try:
        operation.run(Metastore(client, str(expected.world.folder), create=False), expected.world)
    except FAILURES:
        return False
    return True


def check(
    operation: Operation, expected: Expected, store: Store, *, done: bool, clear_copy: bool = False
) -> None:
    """Check the state after a crash: the old one or the new one, and others can go on with it.

    Args:
        operation: that was stopped.
        expected: of it.
        store: to look at.
        done: whether it said that it was done.
        clear_copy: whether a copy of the rows is cleared up instead, which is faster.
    """
    world, states = expected.world, expected.states
    found = state(world, copied(store))
    if done:
        assert found == states[-1]
    elif operation.at_once:
        assert found in states
    else:
        for name in {name for each in (found, *states) for name in each}:
            assert found.get(name) in [each.get(name) for each in states]
    if operation.again and (found != states[-1] or store.get(RESTORING) is not None):
        operation.run(world.open(store), world)
        found = state(world, copied(store))
        assert found == states[-1]
    metastore = world.open(store)
    assert metastore.databases() == [name for name in sorted(found) if "." not in name]
    for database in metastore.databases():
        names = [name.split(".")[1] for name in sorted(found) if name.startswith(f"{database}.")]
        assert metastore.tables(database) == [name for name in names if "/" not in name]
    tables = [name for name in found if "." in name]
    touched = [name for name in tables if any(each.get(name) != found[name] for each in states)]
    for name in touched or tables[:1]:
        check_next_commit(metastore, name, found[name])
    if clear_copy:
        store = copied(store)
        metastore = world.open(store)
    for name in [name for name in touched if "/" not in name] or tables[:1]:
        table = metastore.table(*name.split("."))
        vacuum(table, older_than=0)
        assert {finding.kind for finding in fsck(table, footers=False)} <= operation.allowed_findings
    assert leftovers(store) == []


def check_next_commit(metastore: Metastore, name: str, found: list[Any]) -> None:
    """A table is read, and takes a commit."""
    database, name = name.split(".")
    table = metastore.table(database, name)
    before = content(table)
    assert before == found[0][2]
    transaction = Transaction(table, "next")
    fill(transaction, ((9, "z"), "z"))
    table = commit(transaction)
    after = content(table)
    assert len(after.pop("(9, 'z')")[2]) == 1
    assert after == before
