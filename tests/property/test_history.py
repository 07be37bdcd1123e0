"""Several clients commit, read, roll back, clear up and die, in any order, on real files, against a model."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from parquetry.errors import (
    CommitConflictError,
    PartitionExistsError,
    PartitionNotFoundError,
    TableNotFoundError,
)
from parquetry.keys import successor
from parquetry.locations.uri import join_location
from parquetry.metastore import (
    ArrangementSpec,
    BucketSpec,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Totals,
    Transaction,
)
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.manifest import entries
from parquetry.metastore.operations.compact_metadata import compact_metadata
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.operations.indexes import create_index, drop_index
from parquetry.metastore.partition_rows import newest_rows as newest
from parquetry.metastore.partition_rows.visible_rows import VisibleRows
from parquetry.metastore.storage.keyspace import ticket_of
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.scan.plan import IndexOrder, KeyScan, ScanPlan
from parquetry.store import MemoryStore, SQLiteStore, Store, memory, sqlite, sqlite_layout
from tests.support.effort import STEP, examples
from tests.support.planning.keys import leading
from tests.support.stores.failing_client import Client
from tests.support.stores.metastores import Crash
from tests.support.stores.sqlite_files import check_values_apart
from tests.support.tables.table_model import KEYS, THEIRS, Key, Model, ModelVersion, Pending, State

CLIENTS = 3
keys = st.sampled_from(KEYS)
clients = st.integers(0, CLIENTS - 1)
ago = st.integers(0, 2)
Change = tuple[str, Key, Key, int]
kinds = [
    "append",
    "append",
    "append",
    "replace",
    "replace",
    "add",
    "drop",
    "rename",
    "replace where",
    "alter",
]
changes = st.tuples(st.sampled_from(kinds), keys, keys, st.integers(0, 2))
"""A change of a transaction: its kind, its partition, another partition if it is a rename, and how many
files.
"""


def in_buckets(count: int) -> ArrangementSpec:
    return ArrangementSpec(buckets=BucketSpec(("x",), count))


@dataclass
class Reading:
    """A version that a client reads, and what it has seen of it."""

    table: TableSnapshot
    number: int
    rest: Iterator[PartitionSnapshot]
    seen: list[PartitionSnapshot]


class History(RuleBasedStateMachine):
    """One table and three clients. No client knows what the others are doing."""

    transactions: Bundle[Pending] = Bundle("transactions")
    readings: Bundle[Reading] = Bundle("readings")

    def make_stores(self) -> list[Store]:
        """Return a store for each client, with the same rows."""
        return [MemoryStore()] * CLIENTS

    @initialize(
        inline=st.sampled_from([20, 200, 1 << 14]),
        indexed=st.booleans(),
        listed=st.sampled_from([0, 1, 4, 9]),
    )
    def start(self, inline: int, indexed: bool, listed: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(newest, "MIN_ROWS_PER_PARTITION", listed)
        self.patch.setattr(newest, "MAX_LIST_BYTES", 60)  # so that some partitions are not listed
        self.patch.setattr(newest, "MAX_LISTED_TOMBSTONES", 2)
        self.patch.setattr(entries, "MAX_INLINE_BYTES", inline)
        self.patch.setattr(entries, "MAX_CHUNK_FILES", 4)
        self.patch.setattr(memory, "ROWS_PER_BATCH", 3)  # so that a scan asks more than once
        self.patch.setattr(sqlite, "FIRST_BATCH_ROWS", 3)
        self.patch.setattr(sqlite_layout, "MAX_ROW_BYTES_IN_PAGE", 100)
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.stores = self.make_stores()
        self.ways = [Client(store) for store in self.stores]
        self.clients = [Metastore(way, str(self.root)) for way in self.ways]
        columns = (TableColumn("x", "long"), TableColumn("d", "integer"), TableColumn("s", "string"))
        # external, so that foreign files stay, even if a client commits while they would be deleted
        metadata = TableMetadata(
            columns, ("d", "s"), "parquet", str(self.root / "t"), external=True, comment=""
        )
        table = self.clients[0].create_table("default", "t", metadata)
        self.id = table.id
        self.model = Model()
        self.names = itertools.count()
        self.listed: set[str] = set()
        self.indexed = False
        if indexed:
            self.index(0)
        first = [("append", key, key, 1) for key in KEYS[::2]]
        self.commit(self.begin_with(0, 0, first))

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            with contextlib.suppress(AttributeError):
                self.check_soundness(0)
            for store in self.stores:
                store.close()
            self.folder.cleanup()
            self.patch.undo()

    def table(self, client: int = 0, number: int | None = None) -> TableSnapshot:
        return self.clients[client].table("default", "t", version=number)

    def number(self, back: int) -> int:
        """Return the number of a version that can be read, so many before the newest."""
        return max(self.model.oldest, self.model.number - back)

    # -- transactions

    @rule(target=transactions, client=clients, back=ago, wanted=st.lists(changes, min_size=1, max_size=5))
    def begin(self, client: int, back: int, wanted: list[Change]) -> Pending:
        return self.begin_with(client, back, wanted)

    def begin_with(self, client: int, back: int, wanted: list[Change]) -> Pending:
        base, operation = self.number(back), f"change {next(self.names)}"
        pending = Pending(Transaction(self.table(client, base), operation), base, operation)
        for change in wanted:
            self.change(pending, change)
        return pending

    @rule(pending=transactions, change=changes)
    def go_on(self, pending: Pending, change: Change) -> None:
        self.change(pending, change)

    def change(self, pending: Pending, change: Change) -> None:
        kind, key, other, count = change
        there = list(self.model.versions[pending.base].partitions)
        if kind in ("drop", "rename") and there and count:  # mostly a partition that exists
            key = there[KEYS.index(key) % len(there)]
        if kind in ("append", "replace"):
            if pending.can_change(key) and self.is_kept(pending):
                self.give_files(pending, kind, key, count)
        elif kind in ("add", "drop"):
            if key not in pending.changes:
                getattr(pending.transaction, kind)(key)
                pending.changes[key] = (kind, ())
        elif kind == "rename":
            if key != other and not {key, other} & pending.changes.keys():
                pending.transaction.rename(key, other)
                state = self.model.versions[pending.base].partitions.get(key)
                pending.changes[key] = ("drop", ("moved",))
                pending.changes[other] = ("move", state.files if state else ())
        elif kind == "replace where":
            self.replace_where(pending, key[0])
        else:
            pending.comment = "abc"[count]
            metadata = pending.transaction.base.metadata
            pending.transaction.set_metadata(msgspec.structs.replace(metadata, comment=pending.comment))

    def is_kept(self, pending: Pending) -> bool:
        return pending.base >= self.model.oldest

    def give_files(self, pending: Pending, kind: str, key: Key, count: int) -> None:
        """Write files to the partition's location, or its future one, and have the transaction list them."""
        base = pending.transaction.base
        part = base.partition(key)
        folder = Path(base.placement.default_location(key) if part is None else part.location)
        folder.mkdir(parents=True, exist_ok=True)
        numbers = itertools.islice(self.names, count)
        own = f"pq-{self.id.hex()}-"
        names = tuple(f"{own if n % 3 else THEIRS}{n}" for n in numbers)
        for name in names:
            (folder / name).write_bytes(b"x")
        if kind == "replace":  # each in another number of buckets, and all files in the last one
            buckets = next(self.names) % 5
            written = [FileRecord(name, 1, 1, bucket=buckets) for name in names]
            pending.transaction.replace(key, written, arrangement=in_buckets(buckets + 1))
        else:
            pending.transaction.append(key, [FileRecord(name, 1, 1) for name in names])
        before, files = pending.changes.get(key, (kind, ()))
        if kind == "replace":
            pending.changes[key] = ("add" if before == "add" else "replace", names)
        else:
            pending.changes[key] = ("replace", names) if before == "drop" else (before, files + names)

    def replace_where(self, pending: Pending, day: int | None) -> None:
        """Replace what has a day; all days for None."""
        plan = None
        if day is not None:
            prefix = leading(pending.transaction.base.key_schema, (day,))
            plan = ScanPlan((KeyScan("range", prefix, successor(prefix), None),))
        pending.transaction.replace_where(plan)
        pending.scopes.append(day)

    # -- commits

    def attempt(self, pending: Pending) -> int | str:
        """Commit; return the number of the version made, or why there is none."""
        try:
            after = commit(pending.transaction)
        except (PartitionNotFoundError, PartitionExistsError):
            return "not so in its base"
        except CommitConflictError:
            return "conflict"
        return "nothing to do" if after.operation != pending.operation else after.version

    def settle(self, pending: Pending, outcome: int | str, kept: bool) -> None:
        """Compare what came of a commit with the model, which follows."""
        expected = self.model.predict(pending) if kept else "conflict"
        if outcome == "conflict" and self.model.came_and_went(pending):
            return
        if isinstance(expected, ModelVersion):
            assert outcome == self.model.number + 1
            self.follow(expected)
        else:
            assert outcome == expected

    def follow(self, version: ModelVersion) -> None:
        self.model.versions.append(version)
        self.listed.update(name for state in version.partitions.values() for name in state.files)

    @rule(
        pending=consumes(transactions),
        other=consumes(transactions),
        how=st.sampled_from(["commit", "commit", "die", "commit meanwhile", "vacuum meanwhile"]),
        row=st.integers(0, 12),
        back=ago,
    )
    def end(self, pending: Pending, other: Pending, how: str, row: int, back: int) -> None:
        """Commit one transaction and then another; an event may come before a row of the first is written."""
        if how == "die":
            self.die(pending, row)
        elif how == "commit meanwhile" and pending.transaction.base.store is not other.transaction.base.store:
            self.between(pending, row, lambda: self.commit(other))
            return
        elif how == "vacuum meanwhile":
            client = next(n for n, way in enumerate(self.ways) if way is not pending.transaction.base.store)
            self.between(pending, row, lambda: self.vacuum(client, back))
        else:
            self.commit(pending)
        self.commit(other)

    def commit(self, pending: Pending) -> None:
        kept = self.is_kept(pending)
        self.settle(pending, self.attempt(pending), kept)

    def die(self, pending: Pending, row: int) -> None:
        """The client dies at a row of its commit; what it was about is done or not."""
        way = pending.transaction.base.store.rows  # type: ignore[attr-defined]  # below that of the warehouse
        assert isinstance(way, Client)
        kept = self.is_kept(pending)
        way.stop_after(row)
        try:
            outcome = self.attempt(pending)
        except Crash:
            way.begin_anew()
            if self.newest_operation() == pending.operation:
                self.settle(pending, self.model.number + 1, kept)
        else:
            way.begin_anew()
            self.settle(pending, outcome, kept)

    def newest_operation(self) -> str:
        return self.table().operation

    def between(self, pending: Pending, row: int, other: Callable[[], None]) -> None:
        """Commit; before a row of it is written, something else happens."""
        way = pending.transaction.base.store.rows  # type: ignore[attr-defined]  # below that of the warehouse
        assert isinstance(way, Client)
        kept, first, left = self.is_kept(pending), way.writes, True
        settled = False

        def hook() -> None:
            nonlocal kept, left, settled
            if way.writes - first < row or not left:
                return
            left = False
            if self.newest_operation() == pending.operation:
                self.settle(pending, self.model.number + 1, kept)
                settled = True
            other()
            if way.writes == first:  # it has no ticket yet
                kept = self.is_kept(pending)

        way.before_write = hook
        try:
            outcome = self.attempt(pending)
        finally:
            way.before_write = None
        if settled:
            assert isinstance(outcome, int)
            assert self.model.versions[outcome].operation == pending.operation
        else:
            self.settle(pending, outcome, kept)
        if left:
            other()

    # -- the past

    @rule(
        how=st.sampled_from(["roll back", "vacuum", "index", "check", "compact"]),
        client=clients,
        stale=ago,
        back=ago,
    )
    def maintain(self, how: str, client: int, stale: int, back: int) -> None:
        if how == "roll back":
            self.roll_back(client, stale, 3 * back)
        elif how == "vacuum":
            self.vacuum(client, 2 * back)
        elif how == "index":
            self.index(client)
        elif how == "compact":
            self.compact(client)
        else:
            self.check_soundness(client)

    def roll_back(self, client: int, stale: int, back: int) -> None:
        base, target = self.number(stale), self.number(back)
        current = self.table(client, base)
        pending = Pending(
            Transaction(current, "unused"), base, "rollback", self.model.going_back(base, target)
        )
        pending.comment = self.model.versions[target].comment
        pending.target = target
        expected = self.model.predict(pending)
        if isinstance(expected, ModelVersion):
            after = rollback(current, self.table(client, target))
            assert after.version == self.model.number + 1
            self.follow(expected)
        elif expected == "conflict":
            with pytest.raises(CommitConflictError):
                rollback(current, self.table(client, target))
        else:
            assert rollback(current, self.table(client, target)).version == base

    def vacuum(self, client: int, back: int) -> None:
        number = self.number(back)
        time = self.table(client, number).committed_at
        # Several commits may be of one millisecond: the newest of them is the first that is kept.
        versions = range(number, self.model.number + 1)
        last = max(n for n in versions if self.table(client, n).committed_at == time)
        planned = vacuum(self.table(client), older_than=time, dry_run=True)
        removed = vacuum(self.table(client), older_than=time)
        assert [row for row in removed if row.path] == [row for row in planned if row.path]
        self.model.oldest = last
        on_disk = {path.name for path in (self.root / "t").rglob("*") if path.is_file()}
        kept = self.model.versions[last:]
        needed = {name for version in kept for s in version.partitions.values() for name in s.files}
        theirs = {name for name in self.listed if name.startswith(THEIRS)}
        # others are of commits that were not made, or not yet
        assert needed | theirs == on_disk & self.listed

    def index(self, client: int) -> None:
        """An index comes or goes; this is a change of the metadata."""
        table = self.table(client)
        if self.indexed:
            drop_index(table, "s")
        else:
            create_index(table, ["s"])
        for operation in ["drop index"] if self.indexed else ["create index", "index built"]:
            newest, number = self.model.newest, self.model.number + 1
            self.model.versions.append(dataclasses.replace(newest, altered=number, operation=operation))
        self.indexed = not self.indexed

    def compact(self, client: int) -> None:
        """Rewrite lists of files in a commit that changes their partitions for others, and nothing else."""
        table = self.table(client)
        before = {part.values: part.ticket for part in table.partitions()}
        done = compact_metadata(table)
        after = self.table(client)
        changed = [part.values for part in after.partitions() if part.ticket != before[part.values]]
        assert len(changed) == done.partitions
        if changed:
            newest, number = self.model.newest, self.model.number + 1
            anew = {key: State(newest.partitions[key].files, number) for key in changed}
            self.follow(
                dataclasses.replace(newest, partitions={**newest.partitions, **anew}, operation="compact")
            )
        assert compact_metadata(after).partitions == 0

    # -- reading

    @rule(target=readings, client=clients, back=ago, count=st.integers(0, 3))
    def begin_to_read(self, client: int, back: int, count: int) -> Reading:
        number = self.number(back)
        table = self.table(client, number)
        rest = table.partitions()
        seen = list(itertools.islice(rest, min(count, len(self.model.versions[number].partitions))))
        return Reading(table, number, rest, seen)

    @rule(reading=consumes(readings))
    def go_on_reading(self, reading: Reading) -> None:
        """Who began before others changed the table reads on, unless his version is gone."""
        if reading.number >= self.model.oldest:
            reading.seen += reading.rest
            self.check_parts(reading.seen, self.model.versions[reading.number])
            self.check(reading.table, reading.number)
        else:
            with pytest.raises(TableNotFoundError):
                reading.seen += reading.rest
            with pytest.raises(TableNotFoundError):
                self.check(reading.table, reading.number)

    @rule(client=clients, number=st.integers(0, 30))
    def look_back(self, client: int, number: int) -> None:
        number %= len(self.model.versions)
        if number < self.model.oldest:
            oldest, newest = self.model.oldest, self.model.number
            there = f"version {oldest} only" if oldest == newest else f"versions {oldest} to {newest}"
            with pytest.raises(TableNotFoundError, match=f"[iI]t has {there}"):
                self.table(client, number)
            return
        table = self.table(client, number)
        self.check(table, number)
        then = self.clients[client].table("default", "t", as_of=table.committed_at)
        assert then.version >= number
        assert then.committed_at == table.committed_at

    def check_soundness(self, client: int) -> None:
        """Only what died on the way may be found to be wrong."""
        found = {finding.kind for finding in fsck(self.table(client), footers=False)}
        assert found <= {"dead commit", "journal", "unneeded file list", "unneeded index entry"}

    @invariant()
    def newest(self) -> None:
        if hasattr(self, "model"):
            for client in range(CLIENTS):
                self.check(self.table(client), self.model.number)

    def check(self, table: TableSnapshot, number: int) -> None:
        model = self.model.versions[number]
        parts = list(table.partitions())
        assert table.version == number
        uninformed = VisibleRows(table.store, table.id, table.commit)
        assert [(p.key, p.ticket) for p in parts] == [
            (key, ticket_of(age)) for key, age, _ in uninformed.scan([(b"", None)])
        ]
        self.check_parts(parts, model)
        assert table.metadata.comment == model.comment
        assert {file.path.rpartition("/")[2] for file in files_removed(table)} == model.taken_out
        files = sum(len(state.files) for state in model.partitions.values())
        totals = table.totals
        assert (totals.partitions, totals.files, totals.rows) == (len(parts), files, files)
        assert totals.bytes == files
        assert (
            totals.arrangements == sum((Totals().plus(part.entry) for part in parts), Totals()).arrangements
        )
        for index in table.metadata.indexes:
            if index.ready:
                order = IndexOrder(index.name, index.id, index.order)
                by_index = table.partitions(ScanPlan((KeyScan("index", b"", None, None),), order))
                assert [(p.key, p.ticket) for p in by_index] == [(p.key, p.ticket) for p in parts]

    def check_parts(self, parts: list[PartitionSnapshot], model: ModelVersion) -> None:
        found = {part.values: tuple(file.path.rpartition("/")[2] for file in part.files) for part in parts}
        assert found == {key: state.files for key, state in model.partitions.items()}
        assert list(found) == sorted(found, key=lambda key: (key[0] is not None, key[0], key[1] or ""))
        for part in parts:
            for file in part.files:
                assert file.bucket is None or part.arrangement == in_buckets(file.bucket + 1)
                assert Path(join_location(part.location, file.path)).exists()


class OnSQLite(History):
    """The same on SQLite, each client with a connection of its own."""

    def make_stores(self) -> list[Store]:
        return [SQLiteStore(self.root / "rows.sqlite") for _ in range(CLIENTS)]

    @invariant()
    def values_apart(self) -> None:
        if hasattr(self, "model"):
            assert check_values_apart(self.root / "rows.sqlite") > 0


_STEPS = 40 if STEP == 1 else 20
quietly = [HealthCheck.too_slow, HealthCheck.filter_too_much]
History.TestCase.settings = settings(
    max_examples=examples(120, least=5),
    stateful_step_count=_STEPS,
    deadline=None,
    suppress_health_check=quietly,
)
OnSQLite.TestCase.settings = settings(
    max_examples=examples(10, least=3),
    stateful_step_count=_STEPS,
    deadline=None,
    suppress_health_check=quietly,
)


class TestHistory(History.TestCase):  # type: ignore[misc,valid-type]
    """After any operation on any version by any client, the table and its files are as in the model."""


class TestHistoryOnSQLite(OnSQLite.TestCase):  # type: ignore[misc,valid-type]
    """So they are if the clients have nothing in common but a file."""
