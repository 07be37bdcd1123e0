"""A DROP that dies between its halves, or meets a full disk: a vacuum ends the rest."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.adoption.sync import synchronise
from parquetry.data_files import ArrowFooters
from parquetry.errors import StoreError, TableNotFoundError
from parquetry.metastore import Dropping, TableSnapshot, metastore, vacuum
from parquetry.metastore.storage.keyspace import HEADS, metadata_key, prefix_range
from parquetry.metastore.versions.snapshot import forget_metadata
from tests.support.stores.metastores import metadata
from tests.support.tables.lakes import TableLake
from tests.unit.metastore.deletion.test_deleting_files import KEY, another, own, put, tree


def drop_without_files(lake: TableLake, name: str = "t") -> None:
    """Drop a table as a process does that dies right afterwards."""
    Dropping(lake.metastore).drop("default", name)


def clear(lake: TableLake) -> list[str]:
    removed = vacuum(lake.metastore.table("default", "any"), older_than=1 << 50, grace=-(1 << 50))
    return sorted(Path(row.path).name for row in removed if row.kind == "left-over file" and row.path)


@pytest.fixture(params=[False, True], ids=["managed", "external"])
def lake(tmp_path: Path, request: pytest.FixtureRequest) -> TableLake:
    made = TableLake(tmp_path, external=request.param)
    made.append(KEY, "old")
    made.replace(KEY, "live")
    made.append(KEY, "theirs", own=False)
    another(made, "any", tmp_path / "any")
    return made


def test_a_vacuum_ends_a_drop_that_died(lake: TableLake) -> None:
    """It deletes all of a managed table, and the old versions of an external one."""
    external = lake.table().metadata.external
    before, table = lake.on_disk(), lake.table()
    drop_without_files(lake)
    assert lake.on_disk() == before
    with pytest.raises(TableNotFoundError):
        lake.table()
    assert vacuum(lake.metastore.table("default", "any"), dry_run=True)
    assert lake.on_disk() == before
    assert clear(lake) == sorted(
        [own(table, "old")] if external else [own(table, "old"), own(table, "live"), "theirs"]
    )
    assert lake.on_disk() == ({"live", "theirs"} if external else set())
    assert clear(lake) == []
    assert len(list(lake.metastore.store.scan(*prefix_range(HEADS)))) == 1


def test_a_drop_that_died_while_it_deleted_rows(lake: TableLake) -> None:
    """The files are deleted before the rows. So without the first rows, no file is deleted any more."""
    table = lake.table()
    drop_without_files(lake)
    lake.metastore.store.delete_many([metadata_key(table.id, table.commit.metadata)])
    forget_metadata(lake.metastore.store)
    before = lake.on_disk()
    assert clear(lake) == []
    assert lake.on_disk() == before
    assert len(list(lake.metastore.store.scan(*prefix_range(HEADS)))) == 1


def test_a_drop_at_work_is_left_alone(lake: TableLake) -> None:
    """While the process of a DROP lives, no vacuum deletes its files, and the DROP ends by itself."""
    dropping = Dropping(lake.metastore)
    dropping.drop("default", "t")
    before = lake.on_disk()
    assert clear(lake) == []
    assert lake.on_disk() == before
    dropping.delete_files()
    assert len(list(lake.metastore.store.scan(*prefix_range(HEADS)))) == 1


def test_a_full_disk_after_the_drop(
    lake: TableLake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once the table is dropped, an error of the store is a line in the log, and a vacuum goes on."""

    def fail(*_: Any) -> None:
        raise StoreError("database or disk is full")

    dropping = Dropping(lake.metastore)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "parquetry"):
        patch.setattr(metastore, "delete_table", fail)
        patch.setattr(lake.metastore._names, "release", fail)
        dropping.drop("default", "t")
        dropping.delete_files()
    assert "is dropped, and the next vacuum removes its last rows: database or disk is full" in caplog.text
    with pytest.raises(TableNotFoundError):
        lake.table()
    clear(lake)
    assert len(list(lake.metastore.store.scan(*prefix_range(HEADS)))) == 1


def test_logs_for_other_readers_go_along(tmp_path: Path) -> None:
    """A DROP deletes the Delta log and the manifests for Iceberg of this table alone."""
    lake = TableLake(tmp_path)
    lake.append(KEY, "live")
    id = lake.table().id.hex()
    text = f'{{"commitInfo":{{"parquetry.table":"{id}","parquetry.version":0}}}}'
    put(lake.location / "_delta_log" / f"{0:020d}.json", text)
    put(lake.location / "_delta_log" / f"{1:020d}.json")
    put(lake.location / "_iceberg" / f"manifest-{id}-ab.avro")
    put(lake.location / "_iceberg" / "manifest-0011223344556677-ab.avro")
    dropping = Dropping(lake.metastore)
    dropping.drop("default", "t")
    dropping.delete_files()
    assert tree(lake.location) == {"_iceberg/", "_iceberg/manifest-0011223344556677-ab.avro"}


def test_a_delta_log_of_another_table_stays(tmp_path: Path) -> None:
    """A log that does not name the table is not the table's."""
    lake = TableLake(tmp_path)
    put(lake.location / "_delta_log" / f"{0:020d}.json", '{"commitInfo":{"parquetry.table":"00"}}')
    dropping = Dropping(lake.metastore)
    dropping.drop("default", "t")
    dropping.delete_files()
    assert tree(lake.location) == {"_delta_log/", f"_delta_log/{0:020d}.json"}


# -- sync


def make_again(lake: TableLake, *, external: bool) -> TableSnapshot:
    """Make a table at the place of the dropped one."""
    return lake.metastore.create_table(
        "default", "new", metadata(location=str(lake.location), external=external)
    )


@pytest.mark.parametrize("external", [False, True])
def test_a_sync_leaves_files_of_a_dropped_table_alone(tmp_path: Path, external: bool) -> None:
    """A new table at the place of one whose DROP died takes in none of its files, nor its folder."""
    lake = TableLake(tmp_path)
    lake.append(KEY, "live")
    drop_without_files(lake)
    make_again(lake, external=external)
    differences = synchronise(lake.metastore.table("default", "new"), ArrowFooters("UTC"))
    assert [each.action for each in differences] == ["ignored"]
    assert "it is of a dropped table. A vacuum of any table deletes it" in str(differences[0].detail)
    assert list(lake.metastore.table("default", "new").partitions()) == []


def test_files_of_tables_that_are_not_known(tmp_path: Path) -> None:
    """A managed table takes in no file with another table's id. An external one does: it may be its former
    self.
    """
    lake = TableLake(tmp_path)
    name = "d=1/s=a/pq-0011223344556677-1.parquet"
    for table in ("managed", "external"):
        another(lake, table, tmp_path / table, external=table == "external")
        (tmp_path / table / name).parent.mkdir(parents=True)
        pq.write_table(pa.table({"v": pa.array([1], pa.int64())}), tmp_path / table / name)
    actions = {
        table: [
            each.action for each in synchronise(lake.metastore.table("default", table), ArrowFooters("UTC"))
        ]
        for table in ("managed", "external")
    }
    assert actions == {"managed": ["ignored"], "external": ["added"]}
