"""A Hive metastore that follows tables: records and folders after commits, failures, and others' changes."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hive_metastore import ttypes  # type: ignore[import-untyped]

import parquetry
from parquetry.data_files import IdsInFile
from parquetry.errors import HiveError, ParquetryError, TableExistsError, UnsupportedError
from parquetry.hive import register_followers
from parquetry.hive.metastore_client import MetastoreClient
from parquetry.locations import storage_path
from parquetry.metastore import (
    Dropping,
    FileRecord,
    TableColumn,
    Transaction,
    commit,
    count_last_links,
    dump,
    open_metastore,
    restore,
    vacuum,
)
from tests.support.clients.hive import client
from tests.support.hbase.launcher import free_ports
from tests.support.hive.kept_metastore import kept_metastore
from tests.support.readers.python_tables import PythonLake

PLACES = {"a b": "a b", "x/y": "x%2Fy", "ü": "ü", None: "__HIVE_DEFAULT_PARTITION__"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a metastore. `tests/spark` runs these tests with servers of Hive."""
    with kept_metastore() as started:
        yield started


class FollowedLake:
    """A warehouse, and a metastore that follows its table `t`."""

    def __init__(self, folder: Path, port: int, name: str) -> None:
        self.lake, self.port, self.name = PythonLake(folder / "lake"), port, name
        self.lake.create("t", {"p": "integer", "s": "string", "a": "long"}, ["p", "s"])
        for number in range(2):
            for place in PLACES.values():
                self.lake.put("t", f"p={number}/s={place}/f.parquet", pa.table({"a": [number]}))
        self.lake.sync("t")
        self.catalog = parquetry.open(self.lake.folder)

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def follow(self, table: str = "t") -> dict[str, int]:
        """Have the metastore follow, and return what was done."""
        done = self.catalog.publish_hive(table, self.uri, f"{self.name}.{table}")
        return {each.action: each.count for each in done}

    def folders(self, table: str = "t") -> dict[str, Path]:
        """Return the folders of partitions by their names, or of the table, as clients get them."""
        with client(self.port) as hms:
            told = hms.get_table(self.name, table)
            if not told.partitionKeys:
                return {"": path(told.sd.location)}
            names = hms.get_partition_names(self.name, table, -1)
            found = hms.get_partitions_by_names(self.name, table, names)
            assert len(names) == len(found)
            return {"/".join(each.values): path(each.sd.location) for each in found}

    def rows(self, table: str = "t") -> list[int]:
        """Return the rows that a reader of all files in the folders reads."""
        files = [file for folder in self.folders(table).values() for file in folder.iterdir()]
        return sorted(row for file in files for row in pq.ParquetFile(file).read(["a"])["a"].to_pylist())

    def ours(self) -> list[int]:
        """Return the rows of the table's newest version."""
        table = self.lake.table("t")
        found = [(each.location, file) for each in table.partitions() for file in each.files]
        files = [pq.ParquetFile(path(location) / file.path) for location, file in found]
        return sorted(row for file in files for row in file.read(["a"])["a"].to_pylist())

    def shown(self, table: str = "t") -> int:
        """Return the version that the metastore has."""
        with client(self.port) as hms:
            return int(hms.get_table(self.name, table).parameters["parquetry.version"])

    def overwrite(self, value: int) -> None:
        """Replace the rows of one partition by one row."""
        table = self.lake.table("t")
        partition = table.partition((1, "a b"))
        assert partition is not None
        self.lake.put("t", f"p=1/s=a b/{value}.parquet", pa.table({"a": [value]}))
        status = (path(partition.location) / f"{value}.parquet").stat()
        known = {"bytes": status.st_size, "modified": status.st_mtime_ns // 1_000_000}
        transaction = Transaction(table, "overwrite")
        transaction.replace((1, "a b"), [partition.files[0].__replace__(path=f"{value}.parquet", **known)])
        commit(transaction)

    def drop_partition(self) -> None:
        """Drop another partition."""
        transaction = Transaction(self.lake.table("t"), "drop")
        transaction.drop((0, "ü"))
        commit(transaction)


def path(location: str) -> Path:
    return Path(location.removeprefix("file://").removeprefix("file:"))


@pytest.fixture
def followed(tmp_path: Path, port: int) -> FollowedLake:
    os.chmod(tmp_path, 0o755)
    return FollowedLake(tmp_path, port, f"db{tmp_path.name.lower().replace('-', '_')}")


def test_each_commit_is_published(followed: FollowedLake, caplog: pytest.LogCaptureFixture) -> None:
    """The metastore has each version's rows at once, in folders that give no right to write, and unchanged
    partitions keep theirs."""
    assert followed.follow() == {"table created": 1, "partitions added": 8}
    before = followed.folders()
    assert followed.rows() == [0] * 4 + [1] * 4
    assert {each.stat().st_mode & 0o222 for each in before.values()} == {0}
    own = followed.lake.folder / "default.db" / "t"
    assert not any(own == each or own in each.parents for each in before.values())
    followed.overwrite(77)
    followed.drop_partition()
    after = followed.folders()
    assert followed.rows() == followed.ours() == [0] * 3 + [1] * 3 + [77]
    assert {name for name, folder in before.items() if after.get(name) != folder} == {"1/a b", "0/ü"}
    followed.lake.alter("t", comment="said")
    assert followed.folders() == after
    assert followed.shown() == followed.lake.table("t").version
    assert followed.follow() == {"table updated": 1, "partitions updated": 7}  # it compares all
    assert followed.folders() == after
    assert caplog.text == ""


def test_calls_of_a_commit(followed: FollowedLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit makes four calls for up to 500 partitions that it changed, and three if it changed none."""
    made: list[str] = []
    call = MetastoreClient._call

    def note(connected: MetastoreClient, name: str, /, **arguments: Any) -> Any:
        made.append(name)
        return call(connected, name, **arguments)

    followed.follow()
    monkeypatch.setattr(MetastoreClient, "_call", note)
    followed.overwrite(77)
    context = "_with_environment_context"
    first, *others = ["get_table", "get_partition_names", f"alter_table{context}"]
    assert made == [first, others[0], f"alter_partitions{context}", others[1]]
    made.clear()
    followed.lake.alter("t", comment="said")
    assert made == [first, *others]
    made.clear()
    followed.drop_partition()
    assert made == [first, others[0], "drop_partition_by_name", others[1]]


def test_a_table_without_partition_columns(followed: FollowedLake) -> None:
    """The table's folder is one of links, and an empty one before the first row."""
    followed.lake.create("u", {"a": "long"})
    assert followed.follow("u") == {"table created": 1}
    assert followed.rows("u") == []
    followed.lake.write("u", "f.parquet", [{"a": 7}])
    assert followed.rows("u") == [7]
    before = followed.folders("u")
    followed.lake.alter("u", comment="said")
    assert followed.folders("u") == before


def test_an_unreachable_metastore_holds_no_commit(
    followed: FollowedLake, caplog: pytest.LogCaptureFixture
) -> None:
    """The commit holds, a warning names the version, and the next commit catches up."""
    followed.follow()
    (gone,) = free_ports(1)
    lost = {"publish": f"thrift://127.0.0.1:{gone}/{followed.name}.t"}
    followed.lake.alter("t", properties=lost)
    with caplog.at_level(logging.WARNING, "parquetry"):
        followed.overwrite(77)
    assert caplog.text.count("is committed, but was not published; the next commit") == 2
    assert "No server of Hive's metastore is reached" in caplog.text
    assert followed.rows() == [0] * 4 + [1] * 4  # as before
    # of several servers, the first that answers is taken
    found = {"publish": f"thrift://127.0.0.1:{gone},127.0.0.1:{followed.port}/{followed.name}.t"}
    followed.lake.alter("t", properties=found)
    assert followed.rows() == followed.ours() == [0] * 4 + [1] * 3 + [77]
    with pytest.raises(HiveError, match="is reached"):
        followed.catalog.publish_hive("t", f"thrift://127.0.0.1:{gone}")
    followed.lake.alter("t", properties={})
    followed.overwrite(78)
    assert 77 in followed.rows()  # UNSET has ended it


def test_changes_of_columns(followed: FollowedLake, caplog: pytest.LogCaptureFixture) -> None:
    """A new column reaches all partitions; where Hive refuses a change of columns, the table is made anew."""
    followed.follow()
    columns = followed.lake.table("t").metadata.columns
    number, text, value = columns
    followed.lake.alter(
        "t", columns=(number, text, value, TableColumn("b", "string"), TableColumn("c", "integer"))
    )
    with client(followed.port) as hms:
        assert [each.name for each in hms.get_table(followed.name, "t").sd.cols] == ["a", "b", "c"]
        parts = hms.get_partitions(followed.name, "t", -1)
        assert {tuple(each.name for each in part.sd.cols) for part in parts} == {("a", "b", "c")}
        before = followed.folders()
        followed.lake.alter("t", columns=(number, text, value, TableColumn("c", "integer")))
        assert [each.name for each in hms.get_table(followed.name, "t").sd.cols] == ["a", "c"]
    assert followed.rows() == followed.ours()
    assert set(before) == set(followed.folders())
    assert caplog.text == ""


def test_a_vacuum_leaves_the_folders_that_are_named(
    followed: FollowedLake, caplog: pytest.LogCaptureFixture
) -> None:
    """Folders of ended versions go. Folders that the metastore names stay, also if it cannot be reached."""
    followed.follow()
    first = followed.folders()["1/a b"]
    followed.overwrite(77)
    assert first.is_dir()  # queries may still read it
    vacuum(followed.lake.table("t"), keep_from=followed.lake.table("t").version)
    assert not first.exists()
    assert all(each.is_dir() for each in followed.folders().values())
    assert followed.rows() == followed.ours()
    (gone,) = free_ports(1)
    second = followed.folders()["1/a b"]
    followed.lake.alter("t", properties={"publish": f"thrift://127.0.0.1:{gone}/{followed.name}.t"})
    followed.overwrite(78)
    vacuum(followed.lake.table("t"), keep_from=followed.lake.table("t").version)
    assert "the next vacuum does it" in caplog.text
    assert second.is_dir()
    assert 77 in followed.rows()
    table = followed.lake.table("t")
    assert count_last_links(storage_path(table.metadata.location), table.id) == 1  # for `erase`


def test_a_table_that_is_followed_again(followed: FollowedLake) -> None:
    """A vacuum takes the links of a table that is followed no more; following again makes new ones."""
    followed.follow()
    followed.lake.alter("t", properties={})
    vacuum(followed.lake.table("t"), keep_from=followed.lake.table("t").version)
    with pytest.raises(pa.ArrowInvalid):  # an error, and not no rows
        followed.rows()
    place = {"publish": f"{followed.uri}/{followed.name}.t"}
    followed.lake.alter("t", properties=place)
    assert followed.rows() == followed.ours() == [0] * 4 + [1] * 4


def test_a_drop_ends_both(followed: FollowedLake) -> None:
    """The metastore has the table no more, and no links are left; another's table of the name stays."""
    followed.follow()
    dropping = Dropping(followed.lake.metastore)
    dropping.drop("default", "t")
    dropping.delete_files()
    with client(followed.port) as hms, pytest.raises(ttypes.NoSuchObjectException):
        hms.get_table(followed.name, "t")
    assert not list(followed.lake.folder.rglob("*.parquet"))


def test_other_tables_are_not_overwritten(followed: FollowedLake, tmp_path: Path) -> None:
    """Nothing happens to tables of others, or of another copy of the warehouse."""
    followed.follow()
    followed.lake.create("u", {"a": "long"})
    with pytest.raises(TableExistsError, match=r"not published from default\.u"):
        followed.catalog.publish_hive("u", followed.uri, f"{followed.name}.t")
    assert "publish" not in followed.lake.table("u").metadata.properties
    shutil.copytree(followed.lake.folder, tmp_path / "copy")
    with open_metastore(str(tmp_path / "copy")) as copied:
        copied.claim(copy=True)
        table = copied.table("default", "t")
        transaction = Transaction(table, "append")
        transaction.append((9, "a"), [FileRecord("f.parquet", 1, 1, 1, {}, field_ids=1)])
        commit(transaction)
    assert followed.rows() == [0] * 4 + [1] * 4


def test_changes_of_others_in_the_metastore_are_undone(followed: FollowedLake) -> None:
    """Partitions that others add or drop, and a dropped table, are set right by the next commit; other
    locations by `publish`."""
    followed.follow()
    with client(followed.port) as hms:
        name = followed.name
        part = hms.get_partition_by_name(name, "t", "p=1/s=a b")
        hms.drop_partition(name, "t", ["0", "ü"], True)
        part.values = ["9", "x"]
        hms.add_partition(part)
        followed.overwrite(77)
        assert followed.rows() == followed.ours()
        hms.drop_table(name, "t", True)
        followed.overwrite(78)
        assert followed.rows() == followed.ours() == [0] * 4 + [1] * 3 + [78]
        part = hms.get_partition_by_name(name, "t", "p=0/s=a b")
        part.sd.location = "file:/nowhere"
        hms.alter_partition(name, "t", part)
        folder = followed.folders()["1/a b"]
        os.chmod(folder, 0o755)  # an administrator
        (folder / "78.parquet").unlink()
        assert followed.follow() == {"table updated": 1, "partitions updated": 8}
    assert followed.rows() == followed.ours()


def test_a_restored_history(followed: FollowedLake, tmp_path: Path) -> None:
    """After a restore of an older dump the metastore has the dump's rows, and the next commit's."""
    followed.follow()
    dump(followed.lake.metastore, str(tmp_path / "dump"))
    followed.overwrite(77)
    followed.lake.metastore.close()
    os.rename(followed.lake.folder / "_parquetry", tmp_path / "lost")
    followed.lake.metastore = open_metastore(str(followed.lake.folder), create=True)
    register_followers()
    restore(followed.lake.metastore, str(tmp_path / "dump"), claims=True)
    assert followed.rows() == followed.ours() == [0] * 4 + [1] * 4
    followed.overwrite(78)
    assert followed.rows() == followed.ours() == [0] * 4 + [1] * 3 + [78]
    vacuum(followed.lake.table("t"), keep_from=followed.lake.table("t").version)
    assert followed.rows() == followed.ours()


def test_what_cannot_be_followed_is_refused(followed: FollowedLake) -> None:
    """The error says why, and the table has no property then."""
    with pytest.raises(ParquetryError, match=r"thrift://host:9083/database\.table"):
        followed.catalog.publish_hive("t", "hive:9083/x")
    transaction = Transaction(followed.lake.table("t"), "append")
    transaction.append((0, "a b"), [FileRecord("old.parquet", 1, 1, 1, {}, field_ids=IdsInFile.OLD_CALENDAR)])
    commit(transaction)
    with pytest.raises(UnsupportedError, match="days before 1582"):
        followed.catalog.publish_hive("t", followed.uri, f"{followed.name}.t")
    with client(followed.port) as hms, pytest.raises(ttypes.NoSuchObjectException):
        hms.get_table(followed.name, "t")
    followed.lake.create("n", {"a": "timestamp_ntz"})
    with pytest.raises(UnsupportedError, match="which Hive has not"):
        followed.catalog.publish_hive("n", followed.uri)
    assert "publish" not in followed.lake.table("n").metadata.properties
