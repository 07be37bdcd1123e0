"""A table that is published read-only: others read links to its files, and can overwrite none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.errors import WarehouseError
from parquetry.metastore import Dropping, FileRecord, Transaction, commit, vacuum
from parquetry.progress import Progress
from parquetry.publishing import HivePartition, HiveTable, publish
from tests.support.readers.python_tables import PythonLake

ATTACK = """
import os, sys
os.chdir(sys.argv[1])  # folders above may be closed
if os.getuid() == 0:
    os.setuid(65534)
failed = 0
for folder, _, files in list(os.walk(".")):
    for act in (
        lambda: open(os.path.join(folder, "000000_0"), "xb").close(),
        *(lambda name=name: os.unlink(os.path.join(folder, name)) for name in files),
        *(lambda name=name: os.rename(os.path.join(folder, name), os.path.join(folder, "x")) for name in files),
    ):
        try:
            act()
        except PermissionError:
            failed += 1
        else:
            sys.exit(f"done in {folder}")
print(failed)
"""


class Recorded:
    """A metastore of Hive's that keeps what it is given."""

    def __init__(self) -> None:
        self.tables: list[HiveTable] = []
        self.partitions: list[HivePartition] = []

    def put_table(self, table: HiveTable) -> bool:
        self.tables.append(table)
        return len(self.tables) == 1

    def put_partitions(
        self, table: HiveTable, partitions: Iterable[HivePartition], progress: Progress
    ) -> tuple[int, int, int]:
        self.partitions = list(partitions)
        return len(self.partitions), 0, 0

    def folders(self) -> list[Path]:
        return [Path(each.storage.location.removeprefix("file:")) for each in self.partitions]

    def rows(self) -> list[int]:
        """Return the rows of column `a` that a reader of all files in the partitions' folders reads."""
        files = sorted(file for folder in self.folders() for file in folder.iterdir())
        return [row for file in files for row in pq.ParquetFile(file).read(["a"])["a"].to_pylist()]


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    """A table with a file of an older version in a folder, and two files of one name in one partition."""
    os.chmod(tmp_path, 0o755)
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    made.write("t", "p=1/f.parquet", [{"a": 1}])
    made.write("t", "p=2/old.parquet", [{"a": 99}])
    made.write("t", "p=2/f.parquet", [{"a": 2}])
    below = made.folder / "default.db" / "t" / "p=2" / "y" / "f.parquet"
    below.parent.mkdir()
    pq.write_table(pa.table({"a": [3]}), below)
    found = made.table("t").partition((2,))
    assert found is not None
    live = [file for file in found.files if "old" not in file.path]
    transaction = Transaction(made.table("t"), "overwrite")
    transaction.replace((2,), [*live, live[0].__replace__(path="y/f.parquet", bytes=below.stat().st_size)])
    commit(transaction)
    return made


def test_others_read_the_version_and_change_nothing(lake: PythonLake) -> None:
    """Hive gets no folder of the table, and no right to write to the folders that it gets."""
    hive = Recorded()
    changes = publish(lake.table("t"), hive, read_only=True)
    assert [each.action for each in changes] == ["table created", "partitions added"]
    assert hive.rows() == [1, 2, 3]
    assert hive.partitions[1].parameters["numFiles"] == "2"
    own = lake.folder / "default.db" / "t"
    given = [Path(hive.tables[0].storage.location.removeprefix("file:")), *hive.folders()]
    assert [folder for folder in given if folder == own or own in folder.parents] == []
    tried = subprocess.run(
        [sys.executable, "-c", ATTACK, str(given[0])], capture_output=True, text=True, check=False
    )
    assert (tried.returncode, tried.stderr) == (0, "")
    assert int(tried.stdout) == 3 + 2 * 3
    for folder, _, _ in os.walk(given[0]):  # even an administrator, as Spark's INSERT OVERWRITE does
        os.chmod(folder, 0o755)
    shutil.rmtree(hive.folders()[0])
    (hive.folders()[1] / "f.parquet").unlink()
    (hive.folders()[1] / "f.parquet").write_bytes(b"theirs")
    assert [len(list(own.glob(f"p={n}/**/f.parquet"))) for n in (1, 2)] == [1, 2]
    publish(lake.table("t"), hive, read_only=True)
    assert hive.rows() == [1, 2, 3]


def test_a_later_publication_takes_the_place_of_the_one_before(lake: PythonLake) -> None:
    """The same version keeps its folders; another one gets new ones, and the old ones are removed."""
    hive = Recorded()
    publish(lake.table("t"), hive, read_only=True)
    first = hive.folders()
    publish(lake.table("t"), hive, read_only=True)
    assert hive.folders() == first
    lake.write("t", "p=3/f.parquet", [{"a": 4}])
    publish(lake.table("t"), hive, read_only=True)
    assert hive.rows() == [1, 2, 4]  # a sync takes out what is in folders within partitions
    assert not any(folder.exists() for folder in first)
    (versions,) = (lake.folder / "default.db" / "_published").iterdir()
    assert len(list(versions.iterdir())) == 1
    assert lake.sync("t").version == lake.table("t").version


def test_a_table_without_partitions(lake: PythonLake) -> None:
    """Hive reads it by the table's own location, which is a folder of links."""
    lake.create("u", {"a": "long"})
    lake.write("u", "f.parquet", [{"a": 7}])
    hive = Recorded()
    publish(lake.table("u"), hive, read_only=True)
    folder = Path(hive.tables[0].storage.location.removeprefix("file:"))
    assert [path.name for path in folder.iterdir()] == ["f.parquet"]
    assert (folder.parent.parent.parent.name, folder.stat().st_mode & 0o222) == ("_published", 0)


def test_a_missing_file_leaves_nothing_half_done(lake: PythonLake) -> None:
    """The error names the file, and no folder stays that another publication would take for whole."""
    transaction = Transaction(lake.table("t"), "append")
    transaction.append((1,), [FileRecord("gone.parquet", 1, 1, 1, {}, field_ids=1)])
    table = commit(transaction)
    for _ in range(2):
        with pytest.raises(WarehouseError, match=r"No such file or directory .*gone\.parquet"):
            publish(table, Recorded(), read_only=True)
    (versions,) = (lake.folder / "default.db" / "_published").iterdir()
    assert list(versions.iterdir()) == []


def test_other_publications_say_that_files_can_be_overwritten(lake: PythonLake) -> None:
    """The answer names the remedy."""
    lake.create("u", {"a": "long"})
    lake.write("u", "f.parquet", [{"a": 7}])
    (change,) = [each for each in publish(lake.table("u"), Recorded()) if each.action == "writable"]
    assert "read_only => true" in change.detail


def published(lake: PythonLake) -> list[str]:
    """Return the versions with links."""
    return sorted(folder.name.partition("-")[0] for folder in lake.folder.glob("default.db/_published/*/*"))


def test_a_vacuum_takes_the_links_of_versions_that_it_ends(lake: PythonLake) -> None:
    """Links keep no bytes of deleted files: they go with their version, and others stay.

    A reader that is still led to their folders gets an error, and not no rows.
    """
    hive = Recorded()
    publish(lake.table("t"), hive, read_only=True)
    version = lake.table("t").version
    vacuum(lake.table("t"), keep_from=version)
    assert published(lake) == [str(version)]
    lake.write("t", "p=3/f.parquet", [{"a": 4}])
    planned = vacuum(lake.table("t"), keep_from=version + 1, dry_run=True)
    assert [each.kind for each in planned if "_published" in (each.path or "")] == ["published links"]
    assert published(lake) == [str(version)]
    assert hive.rows() == [1, 2, 3]
    for _ in range(2):
        vacuum(lake.table("t"), keep_from=version + 1)
        with pytest.raises(pa.ArrowInvalid, match=r"not a parquet file|footer"):
            hive.rows()
        (file,) = hive.folders()[1].iterdir()
        assert file.name == "this-version-was-vacuumed-publish-the-table-again"
    publish(lake.table("t"), hive, read_only=True)
    assert hive.rows() == [1, 2, 4]
    assert published(lake) == [str(version + 1)]


def test_a_dropped_table_leaves_no_links(lake: PythonLake) -> None:
    """DROP removes folders without a right to write."""
    publish(lake.table("t"), Recorded(), read_only=True)
    dropping = Dropping(lake.metastore)
    dropping.drop("default", "t")
    dropping.delete_files()
    assert not list(lake.folder.rglob("f.parquet"))
    assert not (lake.folder / "default.db" / "_published").exists()
