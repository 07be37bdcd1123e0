"""The folders that clients get: none of a table's own, no right to write, and the version's files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hive_metastore import ttypes

from parquetry.errors import ConfigurationError, UnsupportedError
from parquetry.hive import Choices, ServedMetastore, mirror
from parquetry.hive.mirror import InPlace, Mirror
from parquetry.locations import StoragePath
from parquetry.metastore import Dropping, FileAccess, Transaction, commit, vacuum
from parquetry.publishing import publish
from tests.support.clients.hive import client, served
from tests.support.readers.python_tables import PythonLake
from tests.unit.publishing.test_read_only import ATTACK, Recorded


def path(location: str) -> Path:
    assert location.startswith("file:/")
    return Path(location.removeprefix("file:"))


def told(hms: Any, name: str = "t") -> list[Path]:
    """Return the folders of a table and of its partitions."""
    table = hms.get_table("default", name)
    places = [path(table.sd.location)]
    return places + [path(each.sd.location) for each in hms.get_partitions("default", name, -1)]


def files(lake: PythonLake) -> dict[str, int]:
    """Return the inode of each file of the tables."""
    root = lake.folder / "default.db"
    found = [*(root / "t").rglob("*.parquet"), *(root / "u").rglob("*.parquet")]
    return {str(file): file.stat().st_ino for file in found}


def test_no_folder_of_a_table_is_named(lake: PythonLake) -> None:
    """No location that a client hears is a table's folder, or above or below it, nor is a database's."""
    lake.create("u", {"a": "long"})
    lake.write("u", "f.parquet", [{"a": 1}])
    with served(lake.folder) as port, client(port) as hms:
        places = [
            *told(hms),
            *(told(hms, name)[0] for name in ("u", "e")),
            path(hms.get_database("default").locationUri),
        ]
        root = lake.folder / "default.db"
        for own in (root / "t", root / "u", root / "e"):
            assert [
                each for each in places if own == each or own in each.parents or each in own.parents
            ] == []
        assert not places[0].exists()  # a reader that lists a partitioned table itself gets an error
        assert [each.name for each in told(hms, "u")[0].iterdir()] == ["f.parquet"]
        assert list(told(hms, "e")[0].iterdir()) == []


def test_others_change_nothing(lake: PythonLake) -> None:
    """Another user can neither add, delete nor rename a file in the folders."""
    with served(lake.folder) as port, client(port) as hms:
        places = told(hms)[1:]
        for place in places:
            tried = subprocess.run(
                [sys.executable, "-c", ATTACK, str(place)], capture_output=True, text=True, check=False
            )
            assert (tried.returncode, tried.stdout, tried.stderr) == (0, "3\n", "")


def test_changes_of_an_administrator_are_undone(lake: PythonLake) -> None:
    """An administrator deletes links only, and the next client gets the version's files again."""
    before = files(lake)
    with served(lake.folder) as port, client(port) as hms:
        first, second, third, *_ = told(hms)[1:]
        for place in (first, second, third):
            os.chmod(place, 0o755)
        shutil.rmtree(first)
        (second / "theirs.parquet").write_bytes(b"theirs")
        (third / "f.parquet").unlink()
        (third / "f.parquet").write_bytes(b"theirs")
        again = told(hms)[1:]
        for place in again:
            assert [each.name for each in place.iterdir()] == ["f.parquet"]
            assert place.joinpath("f.parquet").stat().st_ino in before.values()
            assert place.stat().st_mode & 0o222 == 0
    assert files(lake) == before


def test_a_server_that_starts_again_compares_the_folders(lake: PythonLake) -> None:
    """The next server finds the folders that were changed while none ran, and uses the others."""
    with served(lake.folder) as port, client(port) as hms:
        first, second, *_ = told(hms)[1:]
    kept = second.stat().st_ino
    os.chmod(first, 0o755)
    (first / "theirs.parquet").write_bytes(b"theirs")
    with served(lake.folder) as port, client(port) as hms:
        assert told(hms)[1:3] == [first, second]
    assert [each.name for each in first.iterdir()] == ["f.parquet"]
    assert second.stat().st_ino == kept


def test_a_commit_links_only_what_it_changed(lake: PythonLake) -> None:
    """After a commit, partitions that are as they were keep their folders."""
    with served(lake.folder) as port, client(port) as hms:
        before = told(hms)[1:]
        lake.write("t", "p=1/s=a b/g.parquet", [{"a": 1}])
        after = told(hms)[1:]
        assert sum(old != new for old, new in zip(before, after, strict=True)) == 1
        assert sorted(len(list(each.iterdir())) for each in after) == [1] * 8 + [2]


def overwrite(lake: PythonLake) -> None:
    """Replace the file of a partition."""
    table = lake.table("t")
    partition = table.partition((1, "a b"))
    assert partition is not None
    lake.put("t", "p=1/s=a b/new.parquet", pa.table({"a": [77]}))
    transaction = Transaction(table, "overwrite")
    transaction.replace((1, "a b"), [partition.files[0].__replace__(path="new.parquet")])
    commit(transaction)


def test_a_vacuum_and_a_drop_take_the_folders(lake: PythonLake) -> None:
    """A vacuum removes the links of the versions that it ends, and a DROP removes all."""
    published = lake.folder / "default.db" / "_published"
    with served(lake.folder) as port, client(port) as hms:
        old = path(hms.get_partition("default", "t", ["1", "a b"]).sd.location)
        overwrite(lake)
        vacuum(lake.table("t"), keep_from=lake.table("t").version)
        assert not old.exists()
        places = told(hms)[1:]
        assert sorted(each.name for place in places for each in place.iterdir()) == ["f.parquet"] * 8 + [
            "new.parquet"
        ]
    dropping = Dropping(lake.metastore)
    dropping.drop("default", "t")
    dropping.delete_files()
    assert not published.exists()


def test_a_publication_leaves_the_folders(lake: PythonLake) -> None:
    """A publication removes earlier ones, and no folder that clients of the server have."""
    publish(lake.table("t"), Recorded(), read_only=True)
    with served(lake.folder) as port, client(port) as hms:
        places = told(hms)[1:]
        overwrite(lake)
        publish(lake.table("t"), Recorded(), read_only=True)
        assert all(each.is_dir() for each in places)


def test_a_mirror_of_its_own(lake: PythonLake, tmp_path: Path) -> None:
    """Links are in the mirror's folder alone, and a sweep removes links of dropped tables."""
    root = tmp_path / "mirror"
    with served(lake.folder, mirror=str(root)) as port, client(port) as hms:
        places = told(hms)
        assert all(root in place.parents for place in places)
        assert not (lake.folder / "default.db" / "_published").exists()
    lake.create("u", {"a": "long"})
    lake.write("u", "f.parquet", [{"a": 1}])
    (within,) = root.iterdir()  # a folder for each warehouse
    own = Mirror(within)
    table = lake.table("u")
    kept = path(own.folders(table, list(table.partitions()))[0])
    lake.metastore.drop_table("default", "t")
    (within / "theirs").mkdir()
    own.sweep(lake.metastore)
    assert sorted(each.name for each in within.iterdir()) == sorted([table.id.hex(), "theirs"])
    assert kept.is_dir()


def test_own_folders_only_where_it_is_said(lake: PythonLake) -> None:
    """In place, clients get the tables' folders, but none with other files in it."""
    with served(lake.folder, in_place=True) as port, client(port) as hms:
        own = lake.folder / "default.db" / "t"
        assert {path(each.sd.location) for each in hms.get_partitions("default", "t", -1)} == {
            own / f"p={n}" / s for n in range(3) for s in ("s=a b", "s=x%2Fy", "s=__HIVE_DEFAULT_PARTITION__")
        }
        overwrite(lake)
        assert len(hms.get_partitions_by_filter("default", "t", "p = 0", -1)) == 3
        with pytest.raises(ttypes.MetaException, match="Delete what is old with vacuum"):
            hms.get_partitions("default", "t", -1)


def test_own_folders_are_listed_once_for_each_state(
    lake: PythonLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, a call lists the folders of partitions that have changed, and all again after some minutes.

    That finds the file of a killed write. The metastore has no row for it.
    """
    listed: list[str] = []
    below = FileAccess.below

    def count(files: FileAccess, folder: StoragePath) -> Any:
        listed.append(folder.path)
        return below(files, folder)

    monkeypatch.setattr(FileAccess, "below", count)
    folders = InPlace()

    def listings() -> int:
        listed.clear()
        table = lake.table("t")
        folders.folders(table, list(table.partitions()))
        return len(listed)

    assert [listings() for _ in range(3)] == [9, 0, 0]
    lake.write("t", "p=1/s=a b/g.parquet", [{"a": 1}])
    assert [listings() for _ in range(2)] == [1, 0]
    lake.put("t", "p=2/s=a b/left.parquet", pa.table({"a": [9]}))
    assert listings() == 0
    monkeypatch.setattr(mirror, "LISTED_SECONDS", 0.0)
    with pytest.raises(UnsupportedError, match=r"1 file not of this version"):
        listings()


def test_what_has_no_links_is_refused_at_the_start() -> None:
    """A warehouse on an object store is not served unless clients are to get its folders."""
    served_there = ServedMetastore("memory://lake", "memory", choices=Choices())
    with pytest.raises(ConfigurationError, match=r"has no hard links.*--in-place"):
        served_there.location()
