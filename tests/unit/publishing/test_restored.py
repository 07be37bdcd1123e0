"""Logs and manifests outlive the metastore: after a restore or a move, readers read the present rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from parquetry.errors import ForeignWarehouseError
from parquetry.hive import register_followers
from parquetry.iceberg import IcebergCatalog
from parquetry.metastore import (
    Follower,
    Transaction,
    commit,
    dump,
    follow_commits,
    open_metastore,
    relocate,
    restore,
)
from parquetry.publishing import publish_delta
from tests.support.clients.iceberg import ask, duckdb_of, served
from tests.support.readers.python_tables import PythonLake

JAVA = {"X-Client-Version": "Apache Iceberg 1.12.0"}
Read = Callable[[Path, IcebergCatalog], list[int]]


def by_delta(folder: Path, _catalog: IcebergCatalog) -> list[int]:
    table = DeltaTable(str(folder / "default.db" / "t"))
    return sorted(table.to_pyarrow_table()["a"].to_pylist())


def by_duckdb(_folder: Path, catalog: IcebergCatalog) -> list[int]:
    with served(catalog) as address, duckdb_of(address) as connection:
        return [row[0] for row in connection.sql("SELECT a FROM lake.default.t ORDER BY a").fetchall()]


def by_plan(_folder: Path, catalog: IcebergCatalog) -> list[int]:
    """Return the numbers in the names of a plan's files."""
    with served(catalog) as address:
        _, plan = ask(address, "namespaces/default/tables/t/plan", {}, JAVA)
    return sorted(int(task["data-file"]["file-path"][-9]) for task in plan["file-scan-tasks"])


READERS: dict[str, Read] = {"delta-rs": by_delta, "duckdb": by_duckdb, "plan": by_plan}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[PythonLake]:
    """A followed table of one row, and a dump of it; then a second row was written, and read by all."""
    made = PythonLake(tmp_path / "lake")
    register_followers()
    made.create("t", {"p": "integer", "a": "long"}, ["p"], properties={"publish": "delta"})
    made.write("t", "p=1/1.parquet", [{"a": 1}])
    dump(made.metastore, str(tmp_path / "dump"))
    made.write("t", "p=2/2.parquet", [{"a": 2}])
    yield made
    made.metastore.close()


def lose_and_restore(lake: PythonLake, *, keep_file: bool = False) -> None:
    """Replace the metastore by the dump; the second row's file is out of the way of a sync."""
    lake.metastore.close()
    os.rename(lake.folder / "_parquetry", lake.folder.parent / "lost")
    if not keep_file:
        (lake.folder / "default.db" / "t" / "p=2" / "2.parquet").unlink()
    lake.metastore = open_metastore(str(lake.folder), create=True)
    restore(lake.metastore, str(lake.folder.parent / "dump"), claims=True)


@pytest.mark.every_case
@pytest.mark.parametrize("reader", READERS)
def test_after_a_restore_readers_read_the_restored_history(lake: PythonLake, reader: str) -> None:
    """They read the restored rows at once, and the rows of the next commit, which has a lost one's number."""
    read = READERS[reader]
    assert read(lake.folder, IcebergCatalog(lake.metastore)) == [1, 2]
    lose_and_restore(lake, keep_file=True)
    assert read(lake.folder, IcebergCatalog(lake.metastore)) == [1]
    (lake.folder / "default.db" / "t" / "p=2" / "2.parquet").unlink()
    lake.write("t", "p=3/3.parquet", [{"a": 3}])
    assert read(lake.folder, IcebergCatalog(lake.metastore)) == [1, 3]
    lake.write("t", "p=4/4.parquet", [{"a": 4}])
    assert read(lake.folder, IcebergCatalog(lake.metastore)) == [1, 3, 4]


def test_a_log_is_corrected_by_hand_as_well(lake: PythonLake) -> None:
    """Without a later version the restored one is published once more, and only once."""
    lake.metastore.close()
    os.rename(lake.folder / "_parquetry", lake.folder.parent / "lost")
    lake.metastore = open_metastore(str(lake.folder), create=True)
    follow_commits("delta", Follower(lambda *_: None))
    restore(lake.metastore, str(lake.folder.parent / "dump"), claims=True)
    assert by_delta(lake.folder, IcebergCatalog(lake.metastore)) == [1, 2]
    assert [publish_delta(lake.table("t"))[0].count for _ in range(2)] == [1, 0]
    assert by_delta(lake.folder, IcebergCatalog(lake.metastore)) == [1]


def test_a_server_that_runs_on_answers_of_the_restored_history(lake: PythonLake) -> None:
    """It opens the restored file; cached answers, and pages of a plan of before, are of no use any more."""
    catalog = IcebergCatalog(
        open_metastore(str(lake.folder)), files_per_page=1, reopen=lambda: open_metastore(str(lake.folder))
    )
    plan = "namespaces/default/tables/t/plan"
    with served(catalog) as address:
        before = [ask(address, plan, body, JAVA)[1] for body in ({}, {"snapshot-id": 2})]
        assert by_duckdb(lake.folder, catalog) == [1, 2]
        lose_and_restore(lake)
        lake.write("t", "p=3/3.parquet", [{"a": 3}])
        after = [ask(address, plan, body, JAVA)[1] for body in ({}, {"snapshot-id": 2})]
        tasks = [
            ask(address, "namespaces/default/tables/t/tasks", {"plan-task": answer["plan-tasks"][0]}, JAVA)
            for answer in (before[0], after[0])
        ]
    assert before[0] == before[1]
    assert after[0] == after[1]
    assert (tasks[0][0], tasks[0][1]["error"]["type"]) == (404, "NoSuchPlanTaskException")
    assert tasks[1][1]["file-scan-tasks"][0]["data-file"]["file-path"].endswith("3.parquet")
    assert by_duckdb(lake.folder, catalog) == [1, 3]


@pytest.mark.parametrize("keeps_original", [False, True])
def test_a_moved_or_copied_warehouse_names_its_own_files(lake: PythonLake, keeps_original: bool) -> None:
    """No list of before is used: the folder of before may be gone, or go its own way."""
    assert by_duckdb(lake.folder, IcebergCatalog(lake.metastore)) == [1, 2]
    lake.metastore.close()
    place = lake.folder.parent / "elsewhere"
    shutil.copytree(lake.folder, place)
    if keeps_original:
        (lake.folder / "default.db" / "t" / "p=1" / "1.parquet").write_bytes(b"")
    else:
        shutil.rmtree(lake.folder)
    with open_metastore(str(place)) as metastore:
        assert by_duckdb(place, IcebergCatalog(metastore)) == [1, 2]


def test_relocated_files_are_named_where_they_are(tmp_path: Path) -> None:
    """Rows of a version are rewritten in place, under the same number and commit; manifests are made anew."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"p": "integer", "a": "long"}, ["p"])
    lake.write("t", "p=1/1.parquet", [{"a": 1}])
    outside = tmp_path / "old"
    shutil.copytree(lake.folder / "default.db" / "t" / "p=1", outside / "p=1")
    found = lake.table("t").partition((1,))
    assert found is not None
    transaction = Transaction(lake.table("t"), "move")
    transaction.add((2,), f"file:{outside}/p=1", found.files)
    commit(transaction)
    catalog = IcebergCatalog(lake.metastore)
    assert by_duckdb(lake.folder, catalog) == [1, 1]
    os.rename(outside, tmp_path / "new")
    with open_metastore(str(lake.folder)) as another:
        relocate(another, str(outside), str(tmp_path / "new"))
    assert by_duckdb(lake.folder, catalog) == [1, 1]


def test_a_metastore_that_has_not_the_warehouse_publishes_nothing(lake: PythonLake) -> None:
    """Its versions would go into the log of the metastore that has it."""
    old = open_metastore(str(lake.folder))
    snapshot = old.table("default", "t")
    other = open_metastore(str(lake.folder), f"sqlite:///{lake.folder.parent / 'other.db'}", create=True)
    restore(other, str(lake.folder.parent / "dump"), claims=True)
    with pytest.raises(ForeignWarehouseError):
        publish_delta(snapshot)
    other.close()
    old.close()
