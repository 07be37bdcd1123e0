"""Small files share what is found of their columns, with the rows and the errors of reading one by one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import FileRecord, TableColumn
from parquetry.errors import FileCorruptError, FileMissingError, ParquetryError, UnsupportedError
from parquetry.predicate import parse_filter
from parquetry.rows import FileRows, ReadRequest, StoredFile, read_file, read_small_files, reader, small_files

COLUMNS = (
    TableColumn("id", "long"),
    TableColumn("s", "string"),
    TableColumn("t", "timestamp"),
    TableColumn("p", "string"),
)


class Folder:
    """Files of a table, and what their rows are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: list[FileRows] = []

    def add(self, table: pa.Table, partition: str | None = "a", **options: Any) -> Path:
        path = self.path / f"{len(self.files)}.parquet"
        pq.write_table(table, path, **options)
        self.list(path, partition)
        return path

    def list(self, path: Path, partition: str | None) -> None:
        """List a file in a partition, once more."""
        self.files.append(FileRows(str(path), FileRecord(str(path), path.stat().st_size), (partition,)))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def request(where: str | None = None, columns: Sequence[str] | None = None) -> ReadRequest:
    given = tuple(each for each in COLUMNS if columns is None or each.name in columns)
    more = {}
    if where is not None:
        more["filter"] = parse_filter(where, {each.name: each.column_type for each in COLUMNS}, "UTC")
    return ReadRequest("parquet", given, COLUMNS[:-1], COLUMNS[-1:], **more)


def rows(batches: Any) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def numbers(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    times = pa.array([number * 1_000_000 for number in ids], pa.timestamp("us", "UTC"))
    texts = pa.array([f"s{number % 3}" for number in ids], pa.string())
    return pa.table({"id": pa.array(ids, pa.int64()), "s": texts, "t": times})


def fill(folder: Folder) -> None:
    """Add files that are stored in several ways, among them one of two partitions, and an empty one."""
    folder.add(numbers(0, 10))
    shared = folder.add(numbers(10, 10), row_group_size=3)
    folder.list(shared, None)
    folder.list(shared, "b")
    folder.add(numbers(20, 0))
    folder.add(numbers(20, 5).drop_columns(["s"]))
    folder.add(pa.table({"other": [1, 2]}))
    for first in (30, 40):
        changed = numbers(first, 6).select(["t", "id", "s"])
        changed = changed.set_column(1, "ID", changed["id"].cast(pa.int32()))
        folder.add(changed.set_column(2, "s", changed["s"].dictionary_encode()), row_group_size=4)
    folder.add(numbers(50, 7), use_deprecated_int96_timestamps=True)
    folder.add(numbers(60, 20_000))
    folder.add(numbers(0, 10), partition=None)


@pytest.mark.parametrize("least", [0, 10**9], ids=["other columns later", "all columns at once"])
@pytest.mark.parametrize("columns", [None, ["s", "p"], ["p"]], ids=str)
@pytest.mark.parametrize(
    "where", [None, "id >= 17 AND id < 52", "s = 's1'", "p IS NULL", "p = 'b' OR id = 4", "s IS NULL"]
)
def test_rows_are_those_of_single_files(
    folder: Folder,
    monkeypatch: pytest.MonkeyPatch,
    where: str | None,
    columns: list[str] | None,
    least: int,
) -> None:
    """A scan gives the same rows in the same order, also where files are stored in other ways, and where the
    columns of the condition are read first."""
    fill(folder)
    wanted = request(where, columns)
    monkeypatch.setattr(reader, "_MIN_BYTES_READ_TWICE", 10**9)
    expected = [row for file in folder.files for row in rows(read_file(wanted, file))]
    monkeypatch.setattr(reader, "_MIN_BYTES_READ_TWICE", least)
    monkeypatch.setattr(reader, "MAX_BYTES_AT_ONCE", 50_000)  # the largest file has more
    assert rows(read_small_files(wanted, folder.files)) == expected
    assert len(expected) > 0


def test_columns_of_files_that_are_stored_alike_are_found_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns of one file serve other files, also of later scans, but none that is stored otherwise."""
    for first in range(0, 100, 10):
        folder.add(numbers(first, 10))
    found: list[str] = []
    real = small_files.stored_columns
    monkeypatch.setattr(
        small_files,
        "stored_columns",
        lambda wanted, file, stored: found.append(file.path) or real(wanted, file, stored),
    )
    small_files._RECENT.clear()
    assert len(rows(read_small_files(request(), folder.files))) == 100
    assert len(rows(read_small_files(request("id = 7"), folder.files))) == 1
    assert found == [folder.files[0].path]
    folder.add(numbers(0, 10), use_deprecated_int96_timestamps=True)
    assert len(rows(read_small_files(request(), folder.files))) == 110
    assert len(rows(read_small_files(request(None, ["s"]), folder.files[:2]))) == 20
    assert found == [folder.files[at].path for at in (0, 10, 0)]


def test_columns_are_not_read_for_no_row(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns that are not of the condition are read only of row groups with a row that satisfies it."""
    folder.add(numbers(0, 200_000), row_group_size=100_000)
    read: list[tuple[int, tuple[str, ...]]] = []
    real = StoredFile.row_group
    monkeypatch.setattr(
        StoredFile,
        "row_group",
        lambda stored, part, names: read.append((part, tuple(names))) or real(stored, part, names),
    )
    assert rows(read_small_files(request("s = 's1x'", ["id", "t"]), folder.files)) == []
    assert read == [(0, ("s",)), (1, ("s",))]


def test_files_of_which_statistics_leave_no_row(folder: Folder) -> None:
    """Row groups that cannot match are not read, also where no file has another one."""
    for first in (0, 100):
        folder.add(numbers(first, 10), row_group_size=3)
    assert rows(read_small_files(request("id > 1000000"), folder.files)) == []
    assert [row["id"] for row in rows(read_small_files(request("id = 104"), folder.files))] == [104]


def test_a_path_is_taken_as_it_is(tmp_path: Path) -> None:
    """Escapes, blanks and doubled slashes are parts of names."""
    folder = Folder(tmp_path / "p=1%2F2 é")
    folder.path.mkdir()
    folder.add(numbers(0, 2))
    folder.files = [
        FileRows(path, FileRecord(path, 1), ("a",))
        for path in (folder.files[0].path, folder.files[0].path.replace("/p=", "//p="))
    ]
    assert [row["id"] for row in rows(read_small_files(request(), folder.files))] == [0, 1, 0, 1]


def error_of(
    wanted: ReadRequest, files: Sequence[FileRows], *, together: bool
) -> tuple[type[Exception], str]:
    single = (batch for file in files for batch in read_file(wanted, file))
    with pytest.raises(ParquetryError) as caught:
        rows(read_small_files(wanted, files) if together else single)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        ("missing", FileMissingError),
        ("footer", FileCorruptError),
        ("pages", FileCorruptError),
        ("type", UnsupportedError),
        ("value", UnsupportedError),
    ],
)
def test_errors_name_the_file(folder: Folder, damage: str, error: type[Exception]) -> None:
    """A file that is missing, damaged, or for Spark alone has the error that it has by itself."""
    for first in range(0, 30, 10):
        folder.add(numbers(first, 10))
    path = Path(folder.files[1].path)
    match damage:
        case "missing":
            path.unlink()
        case "footer":
            path.write_bytes(path.read_bytes()[:-5])
        case "pages":
            content = path.read_bytes()
            path.write_bytes(content[:4] + b"\xff" * 300 + content[304:])
        case "type":
            pq.write_table(pa.table({"id": ["x"]}), path)
        case "value":
            times = pa.array([1], pa.timestamp("ns", "UTC"))
            pq.write_table(pa.table({"id": [1], "s": ["x"], "t": times}), path, version="2.6")
    kind, message = error_of(request(), folder.files, together=True)
    assert (kind, message) == error_of(request(), folder.files, together=False)
    assert (kind, str(path) in message) == (error, True)


def test_a_program_ends_with_a_scan_that_it_has_not_read(folder: Folder) -> None:
    """Threads that read ahead do not abort the process."""
    for first in range(0, 400_000, 20_000):
        folder.add(numbers(first, 20_000))
    program = (
        "import sys, pickle\n"
        "from parquetry.catalog.scans.reading import read_batches\n"
        "from parquetry.locations import ArrowFileSystems\n"
        "wanted, files = pickle.load(sys.stdin.buffer)\n"
        "batches = read_batches(wanted, files, ArrowFileSystems())\n"
        "print(next(batches).num_rows)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps((request(), folder.files)),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"20000\n", b"")
