"""Manifest chunks in columns decode to the same records, and damage is reported."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from parquetry.data_files.many_files.file_batch import UNKNOWN, Bound, FileColumns, RecordedFiles
from parquetry.data_files.records import ColumnStatistics, FileRecord
from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.manifest import columns
from parquetry.metastore.manifest.columns import ChunkColumns, encode_columns
from parquetry.metastore.manifest.encoding import (
    Packed,
    bounds_together,
    numbers_together,
    pack_bound,
    pack_numbers,
    unpack_bound,
    unpack_numbers,
)
from parquetry.metastore.storage.wire import encode_file
from tests.unit.data_files.test_file_columns import FILES, told


def everything(files: FileColumns) -> list[str]:
    """Read all that there is to read of files."""
    return [told(file) for file in files.records()]


@given(FILES)
def test_records_come_back(records: list[FileRecord]) -> None:
    """Records in columns decode to the same records, by type and value, -0.0 included."""
    files = ChunkColumns(encode_columns(RecordedFiles(records)))
    assert everything(files) == [told(file) for file in records]
    again = ChunkColumns(encode_columns(files))
    assert everything(again) == everything(files)


def test_older_libraries_do_not_know_the_cell_of_an_earlier_rest() -> None:
    """An older library reads such a file by its statistics, from columns and from records.

    It decodes no number of a cell for the file.
    """
    records = [FileRecord("a", 1, cell=3), FileRecord("b", 1, rest_of=2), FileRecord("c", 1)]
    value = encode_columns(RecordedFiles(records))
    fields = msgspec.msgpack.decode(value[1:], strict=False)
    assert len(fields) == 10
    cells = msgspec.msgpack.decode(msgspec.msgpack.encode(fields[5]), type=Packed)
    assert unpack_numbers(cells, 3).tolist() == [3, UNKNOWN, UNKNOWN]
    older = msgspec.defstruct(
        "Older",
        [*((each.name, each.type, each.default) for each in msgspec.structs.fields(FileRecord)[2:-1])],
        bases=(_PathAndBytes,),
        array_like=True,
    )
    for record in records:
        read = msgspec.msgpack.decode(encode_file(record), type=older)
        assert (read.path, read.cell, read.sorted) == (record.path, record.cell, False)
    assert [len(msgspec.msgpack.decode(encode_file(record))) for record in records] == [8, 9, 5]


class _PathAndBytes(msgspec.Struct, array_like=True):
    path: str
    bytes: int


@given(FILES, st.data(), st.booleans())
def test_some_files_are_read_alone(records: list[FileRecord], data: st.DataObject, few: bool) -> None:
    """Some of the files, in any order, decode as they do among all files."""
    wanted = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=5)) if records else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_PATHS_PER_PICKED_PATH", 1 if few else 1000)
        files = ChunkColumns(encode_columns(RecordedFiles(records))).take(np.array(wanted, np.intp))
        assert everything(files) == [told(records[place]) for place in wanted]


@given(st.lists(FILES, min_size=1, max_size=4), st.data(), st.booleans())
def test_several_are_read_as_one(parts: list[list[FileRecord]], data: st.DataObject, few: bool) -> None:
    """Several chunks decode together as their records, all files or some of them."""
    values = [encode_columns(RecordedFiles(records)) for records in parts]
    records = [file for part in parts for file in part]
    wanted = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=5)) if records else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_PATHS_PER_PICKED_PATH", 1 if few else 1000)
        files = ChunkColumns(*values)
        assert files.counts == list(map(len, parts))
        assert everything(files) == [told(file) for file in records]
        some = files.take(np.array(wanted, np.intp))
        assert everything(some) == [told(records[place]) for place in wanted]
    for name in ("a", "A", "b"):
        found, expected = files.statistics(name), RecordedFiles(records).statistics(name)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            pairs = zip((found.min, found.max), (expected.min, expected.max), strict=True)
            assert all(kind(one) == kind(other) for one, other in pairs)


def kind(bound: Bound) -> object:
    """Return of what kind the values are held."""
    return list if isinstance(bound.values, list) else bound.values.dtype


@given(FILES, st.data())
def test_damage_is_told(records: list[FileRecord], data: st.DataObject) -> None:
    """Changed or truncated bytes decode to some files, or raise a `MetastoreDamagedError`."""
    value = bytearray(encode_columns(RecordedFiles(records)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(1, len(value) - 1))
        value[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(1, len(value)))
    for damaged in (bytes(value), bytes(value[:cut])):
        with contextlib.suppress(MetastoreDamagedError):
            everything(ChunkColumns(damaged))
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(MetastoreDamagedError):
            patch.setattr(columns, "_PATHS_PER_PICKED_PATH", 1)
            files = ChunkColumns(damaged)
            everything(files.take(np.arange(files.count)))
        with contextlib.suppress(MetastoreDamagedError):
            everything(ChunkColumns(encode_columns(RecordedFiles(records)), damaged))


def test_a_chunk_that_is_cut_is_damaged() -> None:
    """Half a chunk is not read as a shorter one."""
    value = encode_columns(RecordedFiles([FileRecord("a", 1), FileRecord("b", 2)]))
    with pytest.raises(MetastoreDamagedError, match=r"CALL system\.fsck"):
        ChunkColumns(value[: len(value) // 2])


def test_a_column_is_decoded_when_it_is_asked_for() -> None:
    """Damage in one column does not show in another, which is read without it."""
    records = [
        FileRecord("a", 1, 1, None, {"x": ColumnStatistics(min="aaa"), "y": ColumnStatistics(min="bbb")})
    ]
    value = encode_columns(RecordedFiles(records)).replace(b"bbb", b"b\xffb")
    files = ChunkColumns(value)
    found = files.statistics("x")
    assert found is not None
    assert found.min.to_list() == ["aaa"]
    with pytest.raises(MetastoreDamagedError):
        files.statistics("y")
    assert files.statistics("z") is None


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ([7] * 1000, 0),
        ([1000, 1255], 2),
        ([1000, 1256], 4),
        ([-(1 << 31), 0], 8),
        ([-(1 << 62), 1 << 62], 16),
        ([-(1 << 63) + 1, (1 << 63) - 1, 0], 24),
    ],
)
def test_numbers_take_few_bytes(values: list[int], size: int) -> None:
    """Whole numbers take the bytes of their differences; equal ones take none."""
    packed = pack_numbers(np.array(values))
    assert packed is not None
    assert isinstance(packed.data, bytes)
    assert len(packed.data) == size
    assert unpack_numbers(packed, len(values)).tolist() == values


@pytest.mark.parametrize(
    "parts",
    [
        [[1000, 1004], [7, 8, 9]],
        [[1, 2], [1, 1 << 40], [5, 5], [-1, 1 << 9]],
        [[1, None], [None, None], [-(1 << 63), (1 << 63) - 1]],
        [[0.5, -0.0], [1.5, None]],
        [[0.5], [1]],
        [[True, False], [None, True]],
        [["a", "b"], ["c"]],
        [["a", "b"], ["c", None], [None]],
        [[1 << 64], [1]],
        [[None], [None, None]],
    ],
)
def test_bounds_of_several(parts: list[list[object]]) -> None:
    """Bounds of several chunks equal the bounds of one list of all, in any width and kind."""
    whole = Bound.from_values([value for part in parts for value in part])
    packed, counts = [pack_bound(Bound.from_values(part)) for part in parts], list(map(len, parts))
    found = bounds_together(packed, counts)
    assert repr(found.to_list()) == repr(whole.to_list())
    assert kind(found) == kind(whole)
    last = np.array([sum(counts) - 1, 0], np.intp)
    assert repr(bounds_together(packed, counts, last).to_list()) == repr(whole.take(last).to_list())


def test_several_with_too_few_bytes_are_damaged() -> None:
    """A chunk with too few numbers is damaged, even if another one has too many."""
    packed = [pack_numbers(np.array(values)) for values in ([1, 2, 3], [4, 5])]
    with pytest.raises(ValueError, match="5 numbers"):
        numbers_together(packed, [2, 3])


def test_the_least_number_is_a_bound() -> None:
    """The number that stands for UNKNOWN elsewhere is a bound like any other."""
    bound = Bound.from_values([-(1 << 63), None, 5])
    assert unpack_bound(pack_bound(bound), 3).to_list() == [-(1 << 63), None, 5]


def test_paths_share_what_they_share() -> None:
    """Common beginnings and ends of paths are written once; the end may not overlap the beginning."""
    paths = [f"pq-0123-{n:05}.zstd.parquet" for n in range(100)]
    value = encode_columns(RecordedFiles([FileRecord(path, 1) for path in paths]))
    assert len(value) < 100 * 4
    assert ChunkColumns(value).paths == paths
    for paths in (["aa", "aaa"], ["a"], ["", "a"], ["a\0b", "c"], []):
        files = ChunkColumns(encode_columns(RecordedFiles([FileRecord(path, 1) for path in paths])))
        assert files.paths == paths
