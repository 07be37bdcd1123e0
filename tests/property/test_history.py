"""Commits, rollbacks and vacuums in any order, against a list of dicts, with real files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from parquetry.errors import TableNotFoundError
from parquetry.maintenance.fsck import fsck
from parquetry.maintenance.rollback import rollback
from parquetry.maintenance.vacuum import vacuum
from parquetry.metastore import Column, DataFile, Metastore, TableMetadata, TableSnapshot, entries
from parquetry.store import MemoryStore

KEYS = [(None, "a"), (1, "a"), (1, "b"), (2, "é")]
keys = st.sampled_from(KEYS)
Version = dict[tuple[int | None, str], tuple[str, ...]]
NOW = 1 << 50


class History(RuleBasedStateMachine):
    """One table; `versions` are those that were ever made, `oldest` the first that can be read."""

    @initialize(inline=st.sampled_from([20, 1 << 14]))
    def start(self, inline: int) -> None:
        self.inline, entries.INLINE_BYTES = entries.INLINE_BYTES, inline
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.metastore = Metastore(MemoryStore(), str(self.root))
        columns = (Column("x", "long"), Column("d", "integer"), Column("s", "string"))
        table = TableMetadata(columns, ("d", "s"), "parquet", str(self.root / "t"))
        self.id = self.metastore.create_table("default", "t", table).id
        self.versions: list[Version] = [{}]
        self.oldest = 0
        self.files = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            entries.INLINE_BYTES = self.inline
            self.folder.cleanup()

    def table(self, version: int | None = None) -> TableSnapshot:
        return self.metastore.table("default", "t", version=version)

    def write(self, table: TableSnapshot, key: tuple[int | None, str]) -> DataFile:
        self.files += 1
        name = f"pq-{self.id.hex()}-{self.files}"
        path = Path(table.default_location(key)) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        return DataFile(name, 1, 1)

    @rule(key=keys, kind=st.sampled_from(["append", "replace"]), count=st.integers(1, 2))
    def fill(self, key: tuple[int | None, str], kind: str, count: int) -> None:
        table = self.table()
        transaction = table.begin(kind)
        files = [self.write(table, key) for _ in range(count)]
        getattr(transaction, kind)(key, files)
        kept = self.versions[-1].get(key, ()) if kind == "append" else ()
        self.versions.append({**self.versions[-1], key: (*kept, *(file.path for file in files))})
        assert transaction.commit().version == len(self.versions) - 1

    @rule(key=keys)
    def drop(self, key: tuple[int | None, str]) -> None:
        if key not in self.versions[-1]:
            return
        transaction = self.table().begin("drop")
        transaction.drop(key)
        transaction.commit()
        self.versions.append({k: v for k, v in self.versions[-1].items() if k != key})

    @rule(back=st.integers(0, 6))
    def roll_back(self, back: int) -> None:
        version = max(self.oldest, len(self.versions) - 1 - back)
        after = rollback(self.table(), self.table(version))
        if after.version == len(self.versions):
            self.versions.append(self.versions[version])
        assert self.versions[-1] == self.versions[version]

    @rule(keep=st.integers(0, 4), dry_run=st.booleans())
    def vacuum(self, keep: int, dry_run: bool) -> None:
        version = max(self.oldest, len(self.versions) - 1 - keep)
        time = self.table(version).committed_at
        # Several commits may be of one millisecond: the newest of them is the first that is kept.
        last = max(v for v in range(version, len(self.versions)) if self.table(v).committed_at == time)
        vacuum(self.table(), older_than=time, dry_run=dry_run)
        if not dry_run:
            self.oldest = last
            on_disk = {path.name for path in (self.root / "t").rglob("*") if path.is_file()}
            listed = {f for v in self.versions[last:] for files in v.values() for f in files}
            assert on_disk == listed

    @invariant()
    def all_as_in_the_model(self) -> None:
        if not hasattr(self, "versions"):
            return
        for version in range(self.oldest, len(self.versions)):
            found = {p.values: tuple(f.path for f in p.files) for p in self.table(version).partitions()}
            assert found == self.versions[version]
            for partition in self.table(version).partitions():
                for file in partition.files:
                    assert (Path(partition.location) / file.path).exists()
        for version in range(self.oldest):
            try:
                self.table(version)
            except TableNotFoundError:
                continue
            raise AssertionError(f"version {version} can be read, the oldest is {self.oldest}")
        assert fsck(self.table()) == []


History.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


class TestHistory(History.TestCase):  # type: ignore[misc,valid-type]
    """Kept versions are what they were, their files are there, and no other file of the table is."""
