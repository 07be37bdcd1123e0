"""The reader that was written from `docs/stored-format.md` alone says of metastores what the library says."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import parquetry
from parquetry.keys import split_fields
from parquetry.locations import join_location
from parquetry.metastore import FileRecord, Metastore, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.manifest.chunks import read_summaries
from parquetry.metastore.storage.model import Totals
from parquetry.store import SQLiteStore
from parquetry.types import to_python
from tests.unit.stored_format import reader

GOLDEN = Path(__file__).parents[2] / "golden"
FORMATS = (1, 2, 3, 4, 5)


def maker() -> ModuleType:
    """Return the module that makes the golden metastore of format 5."""
    spec = importlib.util.spec_from_file_location("make_format_5", GOLDEN / "format-5" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A metastore that today's library has just written, with more commits, so that its heads list the newest
    rows.
    """
    path = tmp_path_factory.mktemp("new") / "metastore.sqlite"
    with Metastore(SQLiteStore(path), "/golden") as metastore:
        maker().fill(metastore)
        for number in range(20):
            transaction = Transaction(metastore.table("shop", "replaced"), "append")
            transaction.append((1, number % 3), [FileRecord(f"more-{number}", number, 1)])
            if number == 19:
                transaction.drop((1, 2))
            commit(transaction)
    return path


@pytest.fixture(params=[*(f"format {number}" for number in FORMATS), "new"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A metastore of each format, and one just written."""
    if request.param == "new":
        made: Path = request.getfixturevalue("new")
        return made
    shutil.copy(GOLDEN / request.param.replace(" ", "-") / "metastore.sqlite", tmp_path / "m.sqlite")
    return tmp_path / "m.sqlite"


def every_version(library: Metastore, outside: reader.Metastore) -> Iterator[tuple[TableSnapshot, Any]]:
    """Yield each version of each table and view that the library gives, with what the reader gives for it."""
    for database in library.databases():
        for name in (*library.tables(database), *library.views(database)):
            for made in library.table(database, name, kind=None).history():
                table = library.table(database, name, version=made.version, kind=None)
                yield table, outside.table(database, name, made.version)


def test_the_reader_imports_nothing_of_parquetry() -> None:
    """It would prove nothing if it asked the library that wrote the metastore."""
    source = Path(reader.__file__).read_text()
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        name.split(".")[0]
        for node in imports
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert names == {
        "__future__", "collections", "datetime", "decimal", "itertools", "msgspec", "pathlib", "re", "sqlite3",
        "struct", "typing", "zlib",
    }  # fmt: skip
    code = [line for line in source.splitlines() if line.strip() and not line.strip().startswith(('"', "#"))]
    assert len(code) < 300


def test_names_lead_to_the_same_tables(path: Path) -> None:
    """Databases with their properties, tables and views are as the library lists them; dropped and
    replaced tables are not.
    """
    outside = reader.Metastore(path, "/golden")
    with Metastore(SQLiteStore(path), "/golden") as library:
        assert outside.databases() == {
            name: library.database(name).properties for name in library.databases()
        }
        for database in library.databases():
            assert outside.tables(database) == library.tables(database)
            assert outside.tables(database, "view") == library.views(database)
            for name in outside.tables(database):
                assert outside.table(database, name).id == library.table(database, name).id


def test_every_version_is_read_alike(path: Path) -> None:
    """Commit, columns, layout, partitions, files with all statistics, and removed files of every version are
    the library's.
    """
    outside = reader.Metastore(path, "/golden")
    count = 0
    with Metastore(SQLiteStore(path), "/golden") as library:
        for table, version in every_version(library, outside):
            count += 1
            made = table.commit
            versions = [each["version"] for each in version.history if each["version"] <= made.version]
            assert versions == [each.version for each in table.history()]
            assert (version.commit["version"], version.commit["ticket"]) == (made.version, made.ticket)
            assert (version.commit["operation"], version.commit["summary"]) == (made.operation, made.summary)
            assert version.commit.get("streams", {}) == made.streams
            assert msgspec.convert(version.commit["totals"], Totals) == made.totals
            assert repr(msgspec.convert(version.metadata, TableMetadata)) == repr(table.metadata)
            ours, theirs = list(version.partitions()), list(table.partitions())
            assert [each.key for each in ours] == [each.key for each in theirs]
            for one, other in zip(ours, theirs, strict=True):
                values = zip(table.metadata.partition_by, table.partition_types, other.values, strict=True)
                assert repr(one.values) == repr(
                    {name: to_python(type, value) for name, type, value in values}
                )
                assert (one.location, one.file_count, one.rows, one.bytes) == (
                    other.location, other.file_count, other.rows, other.bytes,
                )  # fmt: skip
                assert repr(msgspec.convert(one.arrangement, type(other.arrangement))) == repr(
                    other.arrangement
                )
                assert repr([as_record(file) for file in one.files]) == repr(
                    [
                        ordered(msgspec.structs.replace(file, path=join_location(other.location, file.path)))
                        for file in other.files
                    ]
                )
            removed = {each.path: each.record for each in files_removed(table)}
            assert version.removed_files() == {
                name: [record.bytes, record.modified][: len(version.removed_files()[name])]
                for name, record in removed.items()
            }
    assert count >= 3


def as_record(file: reader.File) -> FileRecord:
    """Return a file of the reader as the library would have it."""
    columns = None
    if file.columns is not None:
        columns = {name: list(each.values()) for name, each in file.columns.items()}
    return ordered(msgspec.convert([*file[:4], columns, *file[5:]], FileRecord))


def ordered(file: FileRecord) -> FileRecord:
    """Return a file with its columns in the order of their names, which means nothing."""
    return msgspec.structs.replace(file, columns=file.columns and dict(sorted(file.columns.items())))


def test_indexes_lead_to_the_partitions(path: Path) -> None:
    """The entries of an index that is ready hold the fields of the keys of the version's partitions, each
    once.
    """
    outside = reader.Metastore(path, "/golden")
    found, indexed = 0, set()
    with Metastore(SQLiteStore(path), "/golden") as library:
        for table, version in every_version(library, outside):
            for index in version.metadata.get("indexes", ()):
                if index.get("ready", True) and table.version == version.history[0]["version"]:
                    found += 1
                    keys = [split_fields(part.key, len(index["order"])) for part in table.partitions()]
                    assert sorted(version.index_keys(index)) == keys
            if any(index.ready for index in table.metadata.indexes):
                indexed.add(table.name)
    assert found == len(indexed)


def test_summaries_are_those_of_their_chunks(path: Path) -> None:
    """The row that sums up a chunk is the library's, and its sizes are the sum of the files'."""
    outside = reader.Metastore(path, "/golden")
    with Metastore(SQLiteStore(path), "/golden") as library:
        for table, version in every_version(library, outside):
            chunks = [chunk for part in table.partitions() for chunk in part.entry.chunks]
            assert list(version.chunks()) == [(chunk.ticket, chunk.number) for chunk in chunks]
            for chunk, summary in zip(chunks, read_summaries(table.store, table.id, chunks), strict=True):
                ours = version.summary((chunk.ticket, chunk.number))
                assert (ours is None) == (summary is None)
                if summary is not None and ours is not None:
                    assert repr(msgspec.convert(ours, FileRecord)) == repr(summary)
                    files = version._chunk(chunk.ticket, chunk.number)
                    assert (len(files), sum(file[1] for file in files)) == (chunk.files, summary.bytes)


def test_totals_and_newest_rows_are_what_the_page_says(new: Path) -> None:
    """Fingerprints add up to the total, and the head's list has the ticket of each partition's newest row."""
    outside = reader.Metastore(new, "/golden")
    listed = 0
    for database in outside.databases():
        for name in outside.tables(database):
            version = outside.table(database, name)
            arrangements = [part.arrangement for part in version.partitions()]
            marks = [
                hashlib.sha256(msgspec.msgpack.encode(each)).digest()[:8] for each in arrangements if each
            ]
            total = sum(int.from_bytes(mark, "big") for mark in marks) % (1 << 64)
            assert version.commit["totals"][5] == total
            head = outside._head(database, name)
            assert head is not None
            if newest := head[1].get("newest"):
                listed += 1
                last, keys, numbers, whole = msgspec.msgpack.decode(zlib.decompress(newest))
                rows = {key: last - number // 2 for key, number in zip(keys, numbers, strict=True)}
                gone = {key for key, number in zip(keys, numbers, strict=True) if number % 2}
                assert rows.keys() - gone == {part.key for part in version.partitions()}
                assert whole == version.commit["ticket"]
                assert gone
                for key, ticket in rows.items():
                    stored = outside.rows.get(
                        b"\7" + version.id + key + ((1 << 64) - 1 - ticket).to_bytes(8, "big")
                    )
                    assert (stored == b"\0") == (key in gone)
    assert listed == 1


@pytest.mark.parametrize("warehouse", ["/golden", "/moved/lake"])
def test_the_newest_versions_are_what_users_see(path: Path, warehouse: str) -> None:
    """Tables, partitions, files, bounds and versions are as in `parquetry.open`, also where the warehouse
    was moved.
    """
    outside = reader.Metastore(path, warehouse)
    with parquetry.open(warehouse, f"sqlite://{path}") as catalog:
        named = [(database, name) for database in outside.databases() for name in outside.tables(database)]
        assert len(named) == len(catalog.tables())
        for database, name in named:
            quoted = f"{database}.`{name}`"
            table, version = catalog.table(quoted), outside.table(database, name)
            assert (table.version, table.location) == (
                version.commit["version"],
                version.metadata["location"],
            )
            assert table.partition_by == tuple(version.metadata["partition_by"])
            assert [column.name for column in table.columns] == [
                each["name"] for each in version.metadata["columns"]
            ]
            history = [(each["version"], each["operation"]) for each in version.history]
            assert [(each.version, each.operation) for each in catalog.history(quoted)] == history
            partitions = list(version.partitions())
            assert repr(
                [(p.values, p.location, p.files, p.rows, p.bytes) for p in catalog.partitions(quoted)]
            ) == repr([(p.values, p.location, p.file_count, p.rows, p.bytes) for p in partitions])
            files = [(part, file) for part in partitions for file in part.files]
            physical = {reader.physical(each): each["name"] for each in version.metadata["columns"]}
            for theirs, (part, ours) in zip(catalog.files(quoted), files, strict=True):
                assert repr(theirs.partition) == repr(part.values)
                assert (theirs.path, theirs.bytes, theirs.rows) == (ours.path, ours.bytes, ours.rows)
                assert (theirs.cell, theirs.bucket, theirs.sorted) == (ours.cell, ours.bucket, ours.sorted)
                for column, each in (ours.columns or {}).items():
                    seen = theirs.statistics.get(physical.get(column, column))
                    if seen is not None and isinstance(each.get("min"), int | str) and seen.min is not None:
                        assert str(seen.min) == str(each["min"])


def test_a_changed_byte_is_noticed() -> None:
    """Wherever a byte of a row of format 5 is changed behind its first ones, the reader raises an error."""
    rows = reader.Rows(GOLDEN / "format-5" / "metastore.sqlite")
    stored = rows._file.execute("SELECT k, v FROM kv ORDER BY k").fetchall()
    tags = set()
    for key, value in stored[1:]:
        tags.add(key[0])
        assert rows._plain(key, value) is not None
        for place in {2 % len(value), len(value) // 2, len(value) - 1} - {0, 1}:
            changed = bytearray(value)
            changed[place] ^= 0x10
            with pytest.raises(reader.Damaged):
                rows._plain(key, bytes(changed))
        with pytest.raises(reader.Damaged):
            rows._plain(key + b"x", value)
    assert tags == {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16}
