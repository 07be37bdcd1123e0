"""The metastore against a model: a list of versions, each a dict of partitions."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from parquetry.errors import CommitConflictError, PartitionExistsError, PartitionNotFoundError
from parquetry.keys import encode_prefix, successor
from parquetry.metastore import (
    Column,
    DataFile,
    Metastore,
    TableMetadata,
    TableSnapshot,
    Transaction,
    entries,
)
from parquetry.scan.plan import KeyScan, ScanPlan
from parquetry.store import MemoryStore, Store

Key = tuple[int | None, str | None]
KEYS: list[Key] = [(None, "a"), (-1, "a"), (1, None), (1, "a"), (1, "b"), (2, "\x00"), (2, "é")]
keys = st.sampled_from(KEYS)


@dataclass(frozen=True)
class State:
    """A partition in the model: its files, and the number of the commit that changed it last."""

    files: tuple[str, ...]
    changed: int


Version = dict[Key, State]


@dataclass
class Pending:
    """A transaction, and what it is expected to do."""

    transaction: Transaction
    base: int
    changes: dict[Key, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    scopes: list[int | None] = field(default_factory=list)


class Commits(RuleBasedStateMachine):
    """Several transactions at a time on one table, in any order, on any base."""

    transactions: Bundle[Pending] = Bundle("transactions")

    def make_store(self) -> Store:
        return MemoryStore()

    @initialize()
    def start(self) -> None:
        self.store = self.make_store()
        self.metastore = Metastore(self.store, "/lake")
        columns = (Column("x", "long"), Column("d", "integer"), Column("s", "string"))
        self.metastore.create_table("default", "t", TableMetadata(columns, ("d", "s"), "parquet", "/lake/t"))
        self.versions: list[Version] = [{}]
        self.files = 0

    def table(self, version: int | None = None) -> TableSnapshot:
        return self.metastore.table("default", "t", version=version)

    @rule(target=transactions, back=st.integers(0, 2))
    def begin(self, back: int) -> Pending:
        base = max(0, len(self.versions) - 1 - back)
        return Pending(self.table(base).begin("change"), base)

    def new_files(self, count: int) -> tuple[str, ...]:
        self.files += count
        return tuple(f"f{n}" for n in range(self.files - count, self.files))

    @rule(pending=transactions, key=keys, count=st.integers(0, 3))
    def append(self, pending: Pending, key: Key, count: int) -> None:
        files = self.new_files(count)
        kind, before = pending.changes.get(key, ("append", ()))
        if kind == "move" or (kind == "drop" and before == ("moved",)):
            return
        pending.transaction.append(key, [DataFile(name, 1, 1) for name in files])
        if kind == "drop":
            pending.changes[key] = ("replace", files)
        else:
            pending.changes[key] = (kind, before + files)

    @rule(pending=transactions, key=keys, count=st.integers(0, 2))
    def replace(self, pending: Pending, key: Key, count: int) -> None:
        files = self.new_files(count)
        kind, before = pending.changes.get(key, ("replace", ()))
        if kind == "move" or (kind == "drop" and before == ("moved",)):
            return
        pending.transaction.replace(key, [DataFile(name, 1, 1) for name in files])
        pending.changes[key] = ("add" if kind == "add" else "replace", files)

    @rule(pending=transactions, key=keys)
    def add(self, pending: Pending, key: Key) -> None:
        if key in pending.changes:
            return
        pending.transaction.add(key)
        pending.changes[key] = ("add", ())

    @rule(pending=transactions, key=keys)
    def drop(self, pending: Pending, key: Key) -> None:
        if key in pending.changes:
            return
        pending.transaction.drop(key)
        pending.changes[key] = ("drop", ())

    @rule(pending=transactions, old=keys, new=keys)
    def rename(self, pending: Pending, old: Key, new: Key) -> None:
        if old == new or old in pending.changes or new in pending.changes:
            return
        pending.transaction.rename(old, new)
        state = self.versions[pending.base].get(old)
        pending.changes[old] = ("drop", ("moved",))
        pending.changes[new] = ("move", state.files if state else ())

    @rule(pending=transactions, day=st.sampled_from([None, 1, 2]))
    def replace_where(self, pending: Pending, day: int | None) -> None:
        plan = None
        if day is not None:
            prefix = encode_prefix(pending.transaction.base.partition_types, (day,))
            plan = ScanPlan((KeyScan("range", prefix, successor(prefix), None),))
        pending.transaction.replace_where(plan)
        pending.scopes.append(day)

    @rule(pending=consumes(transactions))
    def commit(self, pending: Pending) -> None:
        base, now = self.versions[pending.base], self.versions[-1]
        changes = dict(pending.changes)
        scopes = [
            {key for key in KEYS if day is None or key[0] == day} if day is not None else set(KEYS)
            for day in pending.scopes
        ]
        for scope in scopes:
            for key in scope & base.keys():
                kind, files = changes.setdefault(key, ("drop", ()))
                if kind == "append":
                    changes[key] = ("replace", files)
        absent = any(kind == "drop" and key not in base for key, (kind, _) in changes.items())
        present = any(kind in ("add", "move") and key in base for key, (kind, _) in changes.items())
        if absent or present:
            with pytest.raises((PartitionNotFoundError, PartitionExistsError)):
                pending.transaction.commit()
            return
        if not changes:
            assert pending.transaction.commit().version == pending.base
            return

        def differs(key: Key) -> bool:
            return base.get(key) != now.get(key)

        strict = {key for key, (kind, _) in changes.items() if kind != "append"}
        if any(map(differs, strict.union(*scopes))):
            with pytest.raises(CommitConflictError):
                pending.transaction.commit()
            return
        after = dict(now)
        number = len(self.versions)
        for key, (kind, files) in changes.items():
            if kind == "drop":
                del after[key]
            else:
                before = now[key].files if kind == "append" and key in now else ()
                after[key] = State(before + files, number)
        self.versions.append(after)
        assert pending.transaction.commit().version == number

    @rule(back=st.integers(0, 5))
    def look_back(self, back: int) -> None:
        version = max(0, len(self.versions) - 1 - back)
        self.check(self.table(version), self.versions[version])

    @invariant()
    def newest(self) -> None:
        if hasattr(self, "versions"):
            self.check(self.table(), self.versions[-1])

    def check(self, table: TableSnapshot, model: Version) -> None:
        found = {
            part.values: tuple(file.path.rpartition("/")[2] for file in part.files)
            for part in table.partitions()
        }
        assert found == {key: state.files for key, state in model.items()}
        assert list(found) == sorted(found, key=lambda key: (key[0] is not None, key[0], key[1] or ""))
        files = sum(map(len, found.values()))
        totals = table.totals
        assert (totals.partitions, totals.files, totals.rows, totals.bytes) == (
            len(found),
            files,
            files,
            files,
        )


class SmallChunks(Commits):
    """The same with long lists of files."""

    def make_store(self) -> Store:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(entries, "INLINE_BYTES", 20)
        self.patch.setattr(entries, "CHUNK_BYTES", 20)
        return MemoryStore()

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()


Commits.TestCase.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
SmallChunks.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


class TestCommits(Commits.TestCase):  # type: ignore[misc,valid-type]
    """A table behaves as the model does, whatever is committed on top of whatever."""


class TestSmallChunks(SmallChunks.TestCase):  # type: ignore[misc,valid-type]
    """So does one whose lists of files are split up."""
