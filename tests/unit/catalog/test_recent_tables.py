"""A catalog that is open reads a table once, until someone writes to the metastore."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.errors import TableNotFoundError
from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, commit, open_metastore
from parquetry.store import SQLiteStore

_METADATA = TableMetadata((TableColumn("id", "long"), TableColumn("p", "integer")), ("p",), "parquet", "/t")


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    with open_metastore(str(tmp_path), create=True) as metastore:
        metastore.create_table("default", "t", _METADATA)
    add(str(tmp_path), "a")
    return str(tmp_path)


@pytest.fixture
def lake(warehouse: str) -> Iterator[Catalog]:
    with parquetry.open(warehouse) as catalog:
        yield catalog


def add(warehouse: str, path: str, part: int = 1) -> None:
    with open_metastore(warehouse) as metastore:
        change = Transaction(metastore.table("default", "t"), "append")
        change.append((part,), [FileRecord(path, 10, 1)])
        commit(change)


def names(lake: Catalog, where: str | None = "p = 1") -> list[str]:
    return [Path(path).name for path in lake.scan("t", where).files()]


def test_a_second_look_up_reads_little(lake: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up at a version that was read before asks only whether its rows are still kept."""
    read: list[str] = []
    for name in ("get", "get_many", "scan", "scan_ranges"):
        real = getattr(SQLiteStore, name)

        def look(*args: object, real: object = real, name: str = name, **more: object) -> object:
            read.append(name)
            return real(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(SQLiteStore, name, look)
    assert names(lake) == ["a"]
    assert len(read) > 1
    read.clear()
    assert names(lake) == ["a"]
    assert read == ["get"]


def test_a_commit_of_another_connection_is_seen(lake: Catalog, warehouse: str) -> None:
    """Each look-up has the files of the newest version, also of other partitions than before."""
    for number, part in enumerate([1, 1, 2, 1]):
        before = names(lake, None)
        add(warehouse, f"b{number}", part)
        assert sorted(names(lake, None)) == sorted([*before, f"b{number}"])
        assert (f"b{number}" in names(lake)) == (part == 1)


def test_a_commit_of_another_process_is_seen(lake: Catalog, warehouse: str) -> None:
    """Each look-up has the files of the newest version, which another process has made meanwhile."""
    program = (
        "import sys\n"
        "from tests.unit.catalog.test_recent_tables import add\n"
        "for line in sys.stdin:\n"
        f"    add({warehouse!r}, line.strip())\n"
        "    print('done', flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        expected = ["a"]
        for number in range(20):
            assert names(lake) == expected
            writer.stdin.write(f"c{number}\n")
            writer.stdin.flush()
            assert writer.stdout.readline() == "done\n"
            expected.append(f"c{number}")
        assert names(lake) == expected
        writer.stdin.close()


def test_a_table_of_the_same_name_is_another_one(lake: Catalog, warehouse: str) -> None:
    """A dropped table is not there, and a table that takes its name has its own files."""
    assert names(lake) == ["a"]
    with open_metastore(warehouse) as metastore:
        metastore.drop_table("default", "t")
    with pytest.raises(TableNotFoundError):
        names(lake)
    with open_metastore(warehouse) as metastore:
        metastore.create_table("default", "t", _METADATA)
    assert names(lake) == []
    add(warehouse, "d")
    assert names(lake) == ["d"]


def test_a_store_without_a_mark_is_asked_each_time(tmp_path: Path) -> None:
    """A metastore in memory has no file that shows commits, and each look-up has the newest version."""
    with open_metastore(str(tmp_path), "memory") as metastore:
        metastore.create_table("default", "t", _METADATA)
        lake = Catalog(metastore)
        for number in range(3):
            change = Transaction(metastore.table("default", "t"), "append")
            change.append((1,), [FileRecord(f"f{number}", 10, 1)])
            commit(change)
            assert names(lake) == [f"f{each}" for each in range(number + 1)]
