"""The changes of a table without Spark: which files are read, and what the rows say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.catalog.scans import reading
from parquetry.changes import rows as change_rows
from parquetry.data_files import ArrowFooters
from parquetry.errors import ColumnNotFoundError, UnsupportedError, VersionNotFoundError
from parquetry.metastore import FileRecord, Transaction, commit, rollback, vacuum
from tests.support.readers.python_tables import PythonLake, arrow_schema


class Lake:
    """A table `default.t` of the columns id, v and p, partitioned by p."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = PythonLake(folder)
        self.python.create("t", {"id": "long", "v": "string", "p": "integer"}, ["p"])

    def file(self, name: str, *rows: tuple[Any, ...]) -> FileRecord:
        """Write a file of pairs of an id and a value."""
        folder = self.folder / "default.db" / "t"
        schema = arrow_schema(self.python.table("t").metadata)
        table = pa.Table.from_pylist([{"id": id, "v": v} for id, v in rows], schema.empty_table().schema)
        pq.write_table(table, folder / name)
        record = ArrowFooters().data_files("parquet", str(folder), [name])[0]
        path = str(folder / name)
        return FileRecord(path, record.bytes, record.rows, record.modified, record.columns)

    def commit(self, operation: str, **partitions: list[FileRecord]) -> int:
        """Append to the partitions p1, p2 and so on, or replace their files. Without files, drop one."""
        transaction = Transaction(self.python.table("t"), operation)
        for name, files in partitions.items():
            values = (int(name[1:]),)
            if operation == "append":
                transaction.append(values, files)
            elif files:
                transaction.replace(values, files)
            else:
                transaction.drop(values)
        return commit(transaction).version


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def catalog(lake: Lake) -> Iterator[Catalog]:
    with parquetry.open(lake.folder) as opened:
        yield opened


def changes(catalog: Catalog, *span: Any, **how: Any) -> list[tuple[Any, ...]]:
    """Return changes as sorted tuples of version, type, id, value and partition."""
    found = catalog.changes("default.t", *span, **how).to_arrow().to_pylist()
    return sorted(
        (row["_commit_version"], row["_change_type"], row["id"], row["v"], row["p"]) for row in found
    )


def names(catalog: Catalog, *span: Any, **how: Any) -> list[str]:
    """Return the names of the files that changes read."""
    return [path.rpartition("/")[2] for path in catalog.changes("default.t", *span, **how).files()]


def filled(lake: Lake) -> None:
    """Make versions by an append, an update, a compaction, a dropped partition, a rollback and an append."""
    a, b = lake.file("a", (1, "x"), (2, "y"), (2, "y")), lake.file("b", (3, "z"))
    lake.commit("append", p1=[a, b], p2=[lake.file("c", (4, "w"))])
    d = lake.file("d", (1, "x"), (2, "y"), (2, "new"))
    lake.commit("update", p1=[b, d])
    lake.commit("compact", p1=[lake.file("e", (3, "z"), (2, "y"), (1, "x"), (2, "new"))])
    lake.commit("drop partitions", p2=[])
    table = lake.python.table("t")
    rollback(table, lake.python.metastore.table("default", "t", version=3))
    lake.commit("append", p2=[lake.file("f", (5, None))])


def test_each_kind_of_commit(lake: Lake, catalog: Catalog) -> None:
    """Appends insert, an update is what it changed, a compaction is nothing, a rollback brings back."""
    filled(lake)
    assert changes(catalog, 2) == [
        (2, "delete", 2, "y", 1),
        (2, "insert", 2, "new", 1),
        (4, "delete", 4, "w", 2),
        (5, "insert", 4, "w", 2),
        (6, "insert", 5, None, 2),
    ]
    assert changes(catalog, 2, 2, keys="id") == [
        (2, "update_postimage", 2, "new", 1),
        (2, "update_preimage", 2, "y", 1),
    ]
    assert changes(catalog, 2, net=True) == [
        (6, "delete", 2, "y", 1),
        (6, "insert", 2, "new", 1),
        (6, "insert", 5, None, 2),
    ]
    assert [len(changes(catalog, number, number)) for number in range(7)] == [0, 5, 2, 0, 1, 1, 1]
    assert changes(catalog, 7) == []


def test_only_files_that_differ_are_read(
    lake: Lake, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan names exactly the files of each change, and no other file is opened."""
    filled(lake)
    expected = {1: "abc", 2: "ad", 3: "", 4: "c", 5: "c", 6: "f"}
    assert {version: "".join(names(catalog, version, version)) for version in expected} == expected
    assert "".join(names(catalog, 2, net=True)) == "abef"  # as if one commit had been between them
    opened: list[str] = []
    read = reading.read_batches

    def counting(what: Any, files: Any, *more: Any) -> Any:
        opened.extend(file.path.rpartition("/")[2] for file in files)
        return read(what, files, *more)

    monkeypatch.setattr("parquetry.catalog.scans.changes.read_batches", counting)
    changes(catalog, 2)
    assert opened == ["a", "d", "c", "c", "f"]


def test_conditions_leave_files_out(lake: Lake, catalog: Catalog) -> None:
    """Conditions on partitions and on columns with statistics choose files, and lose no half of an update."""
    filled(lake)
    assert names(catalog, 1, where="p = 2") == ["c", "c", "c", "f"]
    assert names(catalog, 1, where="id = 3") == ["b"]
    assert changes(catalog, 2, where="v = 'new'") == [(2, "insert", 2, "new", 1)]
    assert changes(catalog, 2, where="v = 'new'", keys="ID") == [(2, "update_postimage", 2, "new", 1)]
    assert changes(catalog, 2, where="id > 4", keys=["id"]) == [(6, "insert", 5, None, 2)]
    found = catalog.changes("default.t", 6).select("V").to_pandas()
    assert list(found.columns) == ["v", "_change_type", "_commit_version", "_commit_timestamp"]


def test_large_files_are_compared_in_parts(
    lake: Lake, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that pass through a temporary folder, divided by a hash, give the same changes."""
    filled(lake)
    expected = {how: changes(catalog, 1, keys=how) for how in ((), ("id",), ("v", "id"))}
    monkeypatch.setattr(change_rows, "MAX_COMPARED_BYTES", 200)
    parts: list[int] = []
    divide = change_rows.divided

    def counting(*given: Any) -> Any:
        parts.append(given[-1])
        return divide(*given)

    monkeypatch.setattr(change_rows, "divided", counting)
    assert {how: changes(catalog, 1, keys=how) for how in expected} == expected
    assert min(parts) > 5


def test_an_update_that_moves_a_row(lake: Lake, catalog: Catalog) -> None:
    """With a key, a row that goes into another partition is one update; a key with NULL makes no pair."""
    lake.commit("append", p1=[lake.file("a", (1, "x"), (None, "y"))])
    lake.commit("update", p1=[], p2=[lake.file("b", (1, "x"), (None, "y"))])
    assert changes(catalog, 2, keys="id")[1:3] == [
        (2, "insert", None, "y", 2),
        (2, "update_postimage", 1, "x", 2),
    ]


def test_times_name_versions(lake: Lake, catalog: Catalog) -> None:
    """A range of times has the versions that were committed within it, both ends included."""
    filled(lake)
    times = {each.version: each.committed_at for each in catalog.history("default.t")}
    scan = catalog.changes("default.t", times[4], times[4])
    assert scan.first <= 4 <= scan.last
    assert {times[number] for number in range(scan.first, scan.last + 1)} == {times[4]}
    before = catalog.changes("default.t", times[0] - timedelta(days=1), times[6])
    assert (before.first, before.last) == (0, 6)
    later = catalog.changes("default.t", datetime.now(UTC) + timedelta(days=1))
    assert later.to_arrow().num_rows == 0
    stamps = {row["_commit_timestamp"] for row in catalog.changes("default.t", 4, 4).to_arrow().to_pylist()}
    assert stamps == {times[4]}


def test_what_cannot_be_told(lake: Lake, catalog: Catalog) -> None:
    """Versions that are not there, columns that are not there, and words that name no version, are errors."""
    filled(lake)
    for span, message in (
        ((8,), "has no version 8: the newest is 6"),
        ((3, 7), "has no version 7: the newest is 6"),
        ((5, 2), "give the earlier version first"),
    ):
        with pytest.raises(VersionNotFoundError, match=message):
            catalog.changes("default.t", *span)
    with pytest.raises(ColumnNotFoundError):
        catalog.changes("default.t", 1, keys="none")
    with pytest.raises(ValueError, match="negative"):
        catalog.changes("default.t", -1)
    with pytest.raises(ValueError, match="no time zone"):
        catalog.changes("default.t", datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="no version"):
        catalog.changes("default.t", 3.5)  # type: ignore[arg-type]
    with pytest.raises(VersionNotFoundError, match="no version of tag '3'"):
        catalog.changes("default.t", "3")


def test_a_vacuum_takes_changes_away(lake: Lake, catalog: Catalog) -> None:
    """After a vacuum the error names the oldest version that remains, and later changes are still read."""
    filled(lake)
    vacuum(lake.python.table("t"), keep_from=4)
    oldest = min(each.version for each in catalog.history("default.t"))
    with pytest.raises(
        VersionNotFoundError, match=rf"{oldest} is the oldest that remains\. Begin with version {oldest + 1}"
    ):
        catalog.changes("default.t", 2)
    assert changes(catalog, oldest + 1)[-1] == (6, "insert", 5, None, 2)


def test_a_column_with_a_name_of_changes(lake: Lake, catalog: Catalog) -> None:
    """A table whose own column has the name of a column of changes is refused in words."""
    lake.python.create("odd", {"_CHANGE_type": "long"})
    with pytest.raises(UnsupportedError, match="its own column _CHANGE_type"):
        catalog.changes("default.odd", 0)
