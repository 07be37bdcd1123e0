"""Every verb that changes a table keeps the complete record of how its rows are arranged."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.catalog import Catalog
from parquetry.definition.changes import RenameColumn
from parquetry.definition.schema_changes import change_columns
from parquetry.metastore import (
    ArrangementSpec,
    FileRecord,
    Metastore,
    TableMetadata,
    TableSnapshot,
    Totals,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.format import metadata_from_json, metadata_to_json
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.manifest import entries
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import head_key
from parquetry.metastore.storage.wire import encode
from parquetry.store import MemoryStore, SQLiteStore
from tests.support.stores.metastores import whole_day
from tests.support.tables.arrangements import (
    EARLIER,
    FILE,
    MEASURED,
    OWN,
    TABLES,
    full_metadata,
    full_view,
    unset_fields,
)

HERE, OTHER, FAR = (1, "a"), (2, "b"), (3, "c")


class Arranged:
    """A table whose metadata, one partition, and one file have each field set.

    Beside it are a partition and files that may change.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metastore = Metastore(SQLiteStore(str(folder / "m.sqlite"), create=True), str(folder))
        self.catalog = Catalog(self.metastore)
        self.metadata = full_metadata(str(folder / "t"))
        self.metadata = msgspec.structs.replace(self.metadata, format="parquet", indexes=())
        self.metastore.create_table("default", "t", self.metadata)
        self.key = HERE
        self.files = (self.put(HERE, FILE, 12), self.put(HERE, EARLIER, 12))
        transaction = self.begin()
        transaction.add(HERE, files=self.files, arrangement=OWN)
        transaction.append(OTHER, [self.put(OTHER, FileRecord("other", 5, 1), 5)])
        transaction.add(FAR, str(folder / "far"), [FileRecord("gone", 1, 1)])
        commit(transaction)

    def put(self, key: tuple[int, str], file: FileRecord, size: int) -> FileRecord:
        """Write a file of a partition, and return its record with the time at which that was."""
        path = Path(self.table().placement.default_location(key)) / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
        return msgspec.structs.replace(file, modified=path.stat().st_mtime_ns // 1_000_000)

    def table(self, version: int | None = None) -> TableSnapshot:
        return self.metastore.table("default", "t", version=version)

    def begin(self) -> Transaction:
        return Transaction(self.table(), "change")

    def check(self) -> None:
        """Check that each recorded field is unchanged, and that the totals are the sums of partitions."""
        table = self.table()
        part = table.partition(self.key)
        assert part is not None
        assert part.arrangement == OWN
        assert set(map(repr, self.files)) <= set(map(repr, part.files))
        assert table.metadata.arrangement == TABLES
        assert table.totals == sum((Totals().plus(each.entry) for each in table.partitions()), Totals())
        assert table.totals.arrangements > 0


def append(lake: Arranged) -> None:
    transaction = lake.begin()
    transaction.append(HERE, [FileRecord("more", 1, 1)])
    commit(transaction)


def append_meanwhile(lake: Arranged) -> None:
    first, second = lake.begin(), lake.begin()
    first.append(HERE, [FileRecord("first", 1, 1, cell=0)])
    second.append(HERE, [FileRecord("second", 1, 1, bucket=1)])
    commit(first)
    commit(second)


def replace(lake: Arranged) -> None:
    part = lake.table().partition(HERE)
    assert part is not None
    transaction = lake.begin()
    transaction.replace(HERE, [*part.files, FileRecord("more", 1, 1)])
    commit(transaction)


def replace_others(lake: Arranged) -> None:
    transaction = lake.begin()
    transaction.replace_where(whole_day(transaction.base, 2))
    transaction.append(OTHER, [FileRecord("new", 1, 1)])
    commit(transaction)


def rename_partition(lake: Arranged) -> None:
    transaction = lake.begin()
    transaction.rename(HERE, (7, "z"))
    commit(transaction)
    lake.key = (7, "z")


def rename_table(lake: Arranged) -> None:
    lake.metastore.create_database("db")
    lake.metastore.rename_table("default", "t", "db", "u")
    assert lake.metastore.table("db", "u").metadata.arrangement == TABLES
    lake.metastore.rename_table("db", "u", "default", "t")


def rename_columns(lake: Arranged) -> None:
    for name in ("x", "renamed", "s"):
        metadata = lake.table().metadata
        change = RenameColumn([name], f"{name}_now")
        by = tuple("s_now" if name == each == "s" else each for each in metadata.partition_by)
        alter(
            lake, msgspec.structs.replace(metadata, columns=change_columns(metadata, change), partition_by=by)
        )


def alter_properties(lake: Arranged) -> None:
    alter(lake, msgspec.structs.replace(lake.table().metadata, properties={}, comment="other"))


def alter(lake: Arranged, metadata: TableMetadata) -> None:
    transaction = lake.begin()
    transaction.set_metadata(metadata)
    commit(transaction)


def index(lake: Arranged) -> None:
    lake.catalog.create_partition_index("t", ["s"])
    lake.check()
    lake.catalog.rebuild_partition_index("t", ["s"])
    lake.check()
    lake.catalog.drop_partition_index("t", ["s"])


def rollback(lake: Arranged) -> None:
    version = lake.table().version
    alter(lake, msgspec.structs.replace(lake.table().metadata, arrangement=ArrangementSpec()))
    transaction = lake.begin()
    transaction.drop(HERE)
    transaction.drop(FAR)
    commit(transaction)
    assert lake.table().totals.all_arranged(TABLES)
    (lake.folder / "far").mkdir()
    (lake.folder / "far" / "gone").write_bytes(b"x")
    lake.catalog.rollback("t", version)


def dump_and_restore(lake: Arranged) -> None:
    dump(lake.metastore, lake.folder / "dump")
    before = [(part.key, part.entry) for part in lake.table().partitions()]
    metadata = lake.table().metadata
    lake.metastore.close()
    lake.metastore = Metastore(MemoryStore(), str(lake.folder))
    restore(lake.metastore, lake.folder / "dump")
    assert [(part.key, part.entry) for part in lake.table().partitions()] == before
    assert lake.table().metadata == metadata


def fsck(lake: Arranged) -> None:
    """A file beside it is missing, the sums of the partition are wrong, and so are the totals."""
    append(lake)
    store, table = lake.metastore.store, lake.table()
    head = read_head(store, table.id)
    assert head is not None
    wrong = msgspec.structs.replace(head.commit, totals=msgspec.structs.replace(table.totals, arrangements=5))
    store.put_many([(head_key(table.id), encode(msgspec.structs.replace(head, commit=wrong)))])
    repaired = {finding.kind for finding in lake.catalog.fsck("t", repair=True) if finding.repaired}
    assert repaired == {"missing file", "table totals"}
    part = lake.table().partition(HERE)
    assert part is not None
    assert part.files == lake.files


def sync(lake: Arranged) -> None:
    """Others write a file beside it, and a partition of their own."""
    for key in (HERE, (9, "new")):
        path = Path(lake.table().placement.default_location(key)) / "part-0.parquet"
        path.parent.mkdir(exist_ok=True, parents=True)
        pq.write_table(pa.table({"x": [1]}), path)
    told = lake.catalog.sync("t")
    assert {("changed", "d=1/s=a"), ("added", "d=9/s=new")} <= {
        (each.action, each.partition) for each in told
    }
    part = lake.table().partition(HERE)
    assert part is not None
    assert len(part.files) == 3


def vacuum(lake: Arranged) -> None:
    append(lake)
    lake.catalog.vacuum("t")


def reopen(lake: Arranged) -> None:
    lake.metastore.close()
    lake.metastore = Metastore(SQLiteStore(str(lake.folder / "m.sqlite")), str(lake.folder))


def test_the_records_have_each_field_set() -> None:
    """The records of these tests set each field; a new field fails this test until they set it."""
    records = full_metadata("/t"), full_view()
    assert unset_fields(*records) == ["SkewMap.auto"]  # where there are cells they are not measured
    assert unset_fields(OWN, MEASURED) == unset_fields(TABLES, MEASURED) == unset_fields(FILE, EARLIER) == []
    measured = msgspec.structs.replace(full_metadata("/t"), arrangement=MEASURED)
    assert metadata_from_json(metadata_to_json(measured)) == measured
    assert unset_fields(FileRecord("f", 1)) == [
        "FileRecord.rows", "FileRecord.modified", "FileRecord.columns", "FileRecord.cell", "FileRecord.bucket", "FileRecord.sorted",
        "FileRecord.rest_of", "FileRecord.field_ids",
    ]  # fmt: skip


@pytest.mark.parametrize("inline", [10, 1 << 14])
@pytest.mark.parametrize(
    "change",
    [
        append,
        append_meanwhile,
        replace,
        replace_others,
        rename_partition,
        rename_table,
        rename_columns,
        alter_properties,
        index,
        rollback,
        dump_and_restore,
        fsck,
        sync,
        vacuum,
        reopen,
    ],
)
def test_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Arranged], None], inline: int
) -> None:
    """Table, partition and file are what they were, whole, whether the list of files is in the row or not."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", inline)
    monkeypatch.chdir(tmp_path)
    lake = Arranged(tmp_path)
    lake.check()
    change(lake)
    lake.check()
    assert os.path.exists(f"{tmp_path}/t/d=1/s=a/{FILE.path}")


def test_metadata_comes_back_whole(tmp_path: Path) -> None:
    """Metadata with each field set is the same after it was stored, and after a dump and a restore."""
    metastore = Metastore(MemoryStore(), "/lake")
    metadata = full_metadata("/lake/t")
    metastore.create_table("default", "t", metadata)
    metastore.create_table("default", "v", full_view())
    dump(metastore, tmp_path / "dump")
    other = Metastore(MemoryStore(), "/lake")
    restore(other, tmp_path / "dump")
    for each in (metastore, other):
        again = Metastore(each.store, "/lake")
        assert again.table("default", "t").metadata == metadata
        assert again.table("default", "v", kind="view").metadata == full_view()
        assert (again.tables("default"), again.views("default")) == (["t"], ["v"])
