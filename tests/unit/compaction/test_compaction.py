"""Compaction rewrites files if that makes fewer files or moves rows to their slot, and no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from parquetry.compaction.compact import rewrites, worth_rewriting
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.layout.arrangement import PLAIN, ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.cells import REST, AutoSkew
from parquetry.layout.heavy_values import Counted
from parquetry.layout.part import SortColumn
from parquetry.layout.skew_map import SkewMap
from parquetry.metastore import Metastore, PartitionSnapshot, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import MemoryStore
from parquetry.types import parse_type
from tests.support.tables.statistics import exact

TARGET = 128
TYPES = {"x": parse_type("int")}
SKEWED = ArrangementSpec(SkewMap(("x",), ((6,), (7,), (8,)), True, (None, "file:/far/seven", None)))
DEFAULT = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"


def chosen(files: list[FileRecord], arrangement: ArrangementSpec = PLAIN) -> list[str]:
    """Return the paths of the files that are written anew."""
    return [files[i].path for i in worth_rewriting(files, arrangement, TYPES, "/t/p=1", TARGET)]


@pytest.mark.parametrize(
    ("sizes", "anew"),
    [
        ([], []),
        ([1], []),
        ([1, 1], [0, 1]),
        ([64, 64], [0, 1]),
        ([64, 65], []),  # two files again
        ([128, 1], []),
        ([200, 1, 1], [1, 2]),
        ([95, 95, 95], []),
        ([96, 96, 96, 96], []),  # large enough
        ([60] * 5, []),  # three of five
        ([60] * 6, [0, 1, 2, 3, 4, 5]),
        ([0, 0], [0, 1]),
    ],
)
def test_sizes(sizes: list[int], anew: list[int]) -> None:
    """Small files are merged if that makes at most half as many."""
    files = [FileRecord(str(i), size) for i, size in enumerate(sizes)]
    assert chosen(files) == [str(i) for i in anew]


def test_cells_are_apart() -> None:
    """Files of different cells are not merged."""
    apart = [
        FileRecord("x=6/a", 1, cell=0),
        FileRecord("x=8/a", 1, cell=2),
        FileRecord(f"{DEFAULT}/a", 1, cell=REST),
    ]
    assert chosen(apart, SKEWED) == []
    assert chosen([*apart, FileRecord("x=8/b", 1, cell=2)], SKEWED) == ["x=8/a", "x=8/b"]


BUCKETS = ArrangementSpec(buckets=BucketSpec(("x",), 2))
SORTED = ArrangementSpec(buckets=BucketSpec(("x",), 2, sort=(SortColumn("x"),)))


def of_bucket(path: str, size: int, bucket: int | None, rows: int = 1, is_sorted: bool = False) -> FileRecord:
    """Return a file of a bucket."""
    return FileRecord(path, size, rows, bucket=bucket, sorted=is_sorted)


@pytest.mark.parametrize(
    ("files", "anew"),
    [
        ([("a", 1, 0), ("b", 1, 1)], ""),
        ([("a", 1, 0), ("b", 1, 1), ("c", 1, 0)], "ac"),
        ([("a", 100, 0), ("b", 1, 0), ("c", 100, 1)], "ab"),  # one file again, which two large ones are not
        ([("a", 127, 0), ("b", 2, 0)], ""),
        ([("a", 127, 0), ("b", 2, 0), ("c", 2, 0)], "bc"),
        ([("a", 500, 0), ("b", 1, 1)], ""),
        ([("a", 500, None), ("b", 1, 1)], "ab"),  # its rows may be of any bucket
        ([("a", 1, 0, 0)], ""),
        ([("a", 1, 0, 0), ("b", 1, 0, 0), ("c", 1, 1, 0)], "b"),  # an empty bucket keeps one file
        ([("a", 1, 0, 0), ("b", 1, 0, 5)], "ab"),
        ([("a", 1, 0, 0), ("b", 1, 0, 0), ("c", 1, None, 5)], "abc"),
    ],
)
def test_buckets(files: list[tuple[str, int, int | None]], anew: str) -> None:
    """Files of one bucket are merged into one, and files of no known bucket are split into buckets.

    A single file of a bucket stays.
    """
    assert "".join(chosen([of_bucket(*file) for file in files], BUCKETS)) == anew


def test_order() -> None:
    """If buckets are sorted, an unsorted file of any size is rewritten.

    The other files of its bucket are rewritten if that saves files.
    """
    good = [of_bucket("a", 90, 0, 1, True), of_bucket("b", 90, 1, 1, True)]
    assert chosen(good, SORTED) == []
    assert chosen([*good, of_bucket("c", 500, 1)], SORTED) == ["b", "c"]
    assert chosen([of_bucket("a", 90, 0)], SORTED) == ["a"]


def test_buckets_of_cells() -> None:
    """A bucket of one directory is not merged with the same one of another."""
    both = msgspec.structs.replace(SKEWED, buckets=BucketSpec(("y",), 2))
    files = [
        FileRecord("x=6/a", 1, cell=0, bucket=0),
        FileRecord("x=8/a", 1, cell=2, bucket=0),
        FileRecord("x=6/b", 1, cell=0, bucket=1),
    ]
    assert chosen(files, both) == []
    assert chosen([*files, FileRecord("x=6/c", 1, cell=0, bucket=1)], both) == ["x=6/b", "x=6/c"]
    assert chosen([*files, FileRecord("x=6_copy_1/c", 1, cell=0, bucket=1)], both) == [
        "x=6/b",
        "x=6_copy_1/c",
    ]
    assert chosen([*files, FileRecord("x=6/c", 1, cell=0)], both) == ["x=6/a", "x=6/b", "x=6/c"]


def test_places() -> None:
    """A file beside its directory, of whichever size, is written anew, with the small ones of its cell."""
    good = [
        FileRecord("x=6/a", 1, cell=0),
        FileRecord("/far/seven/a", 1, cell=1),
        FileRecord("/elsewhere/p=1/x=8/a", 1, cell=2),
        FileRecord(f"{DEFAULT}/a", 1, cell=REST),
    ]
    assert chosen(good, SKEWED) == []
    assert chosen([*good, FileRecord("x=6_copy_1/a", 500, cell=0)], SKEWED) == ["x=6/a", "x=6_copy_1/a"]
    assert chosen([*good, FileRecord("x=7/a", 1, cell=1)], SKEWED) == ["/far/seven/a", "x=7/a"]
    assert chosen([*good, FileRecord(f"{DEFAULT}_copy_1/a", 1, cell=REST)], SKEWED) == [
        f"{DEFAULT}/a", f"{DEFAULT}_copy_1/a"
    ]  # fmt: skip
    earlier = FileRecord(f"{DEFAULT}/b", 500, rest_of=2)  # it may have rows of the third cell, and of no cell
    assert chosen([*good, earlier], SKEWED) == ["/elsewhere/p=1/x=8/a", f"{DEFAULT}/a", f"{DEFAULT}/b"]
    large = FileRecord("x=8/b", 200, cell=2)
    assert chosen([*good, large, FileRecord("flat", 1)], SKEWED) == [*(file.path for file in good), "flat"]
    assert chosen([FileRecord("flat", 1)], ArrangementSpec(SkewMap(("x",), ((6,),)))) == []


@pytest.mark.parametrize("buckets", [None, BucketSpec(("y",), 8)])
@given(st.lists(st.tuples(st.integers(0, 300), st.sampled_from([0, 2, REST])), max_size=30))
def test_it_comes_to_an_end(buckets: BucketSpec | None, sizes: list[tuple[int, int]]) -> None:
    """After the chosen files are merged into files of the target size, no file is chosen again."""
    arrangement = msgspec.structs.replace(SKEWED, buckets=buckets)
    names = {0: "x=6", 2: "x=8", REST: DEFAULT}
    bucket = None if buckets is None else 3
    files = [
        FileRecord(f"{names[cell]}/{i}", size, cell=cell, bucket=bucket)
        for i, (size, cell) in enumerate(sizes)
    ]
    taken = set(worth_rewriting(files, arrangement, TYPES, "/t/p=1", TARGET))
    after = [file for i, file in enumerate(files) if i not in taken]
    merged: Counter[int] = Counter()
    for i in taken:
        merged[files[i].cell] += files[i].bytes  # type: ignore[index]
    for cell, size in merged.items():
        count = max(1, -(-size // TARGET))
        after += [
            FileRecord(f"{names[cell]}/new{i}", (size + i) // count, cell=cell, bucket=bucket)
            for i in range(count)
        ]
    assert len(after) <= len(files)
    assert not taken or len(after) < len(files)
    assert worth_rewriting(after, arrangement, TYPES, "/t/p=1", TARGET) == []


AUTO = SkewMap(("x",), (), True, auto=AutoSkew(0.05, 2))


def of_values(path: str, rows: int, least: int | None, most: int | None, **more: Any) -> FileRecord:
    """Return a file of the default directory, of the target size, with values of x in a range."""
    columns = {"x": exact(nulls=more.pop("nulls", 0), min=least, max=most)}
    folder, cell = (DEFAULT, REST) if "cell" not in more else (f"x={least}", more.pop("cell"))
    return FileRecord(f"{folder}/{path}", more.pop("size", TARGET), rows, columns=columns, cell=cell, **more)


def small(path: str, rows: int) -> FileRecord:
    return of_values(path, rows, 0, 99, size=1)


TEN = of_values("ten", 400, 10, 10, cell=0)


@pytest.mark.parametrize(
    ("files", "counts", "looks", "cells", "anew"),
    [
        (
            [TEN, of_values("a", 600, 0, 99)],
            {},
            0,
            None,
            "",
        ),  # which may hide a value: no rows are read to find out
        ([TEN, of_values("a", 550, 0, 99), of_values("b", 50, 7, 7)], {7: 50}, 1, (10, 7), "ab"),
        ([TEN, of_values("a", 551, 0, 99), of_values("b", 49, 7, 7)], {}, 0, None, ""),
        ([TEN, of_values("a", 600, 0, 99, nulls=50)], {None: 50}, 1, (10, None), "a"),
        ([TEN, of_values("a", 600, 7, 7, nulls=50)], {None: 50, 7: 550}, 1, (10, 7), "a"),  # two are the most
        (
            [TEN, of_values("a", 551, 0, 99), small("b", 24), small("c", 25)],
            {},
            0,
            (10,),
            "bc",
        ),  # 4.9 % is written anew
        ([TEN, of_values("a", 550, 0, 6), small("b", 25), small("c", 25)], {7: 50}, 1, (10, 7), "bc"),
        ([TEN, of_values("a", 550, 0, 99), small("b", 25), small("c", 25)], {7: 49}, 1, (10,), "bc"),
        ([of_values("few", 25, 10, 10, cell=0), of_values("a", 975, 11, 99)], {}, 0, None, ""),
        ([of_values("few", 24, 10, 10, cell=0), of_values("a", 976, 11, 99)], {}, 0, (), ("few",)),
        (
            [TEN, of_values("a", 500, 0, 99), FileRecord(f"{DEFAULT}/b", TARGET, None, cell=REST)],
            {},
            0,
            None,
            "",
        ),
    ],
)
def test_heavy_values_are_found_again(
    files: list[FileRecord],
    counts: dict[int | None, int],
    looks: int,
    cells: tuple[int | None, ...] | None,
    anew: Sequence[str],
) -> None:
    """Rows are counted if enough rows are rewritten, or if statistics prove that a value is skewed.

    A value that is no longer skewed returns to the rest.
    """
    own = ArrangementSpec(SkewMap(("x",), ((10,),), directories=True))
    metastore = Metastore(MemoryStore(), "/lake")
    columns = (TableColumn("x", "integer"), TableColumn("p", "integer"))
    metadata = TableMetadata(columns, ("p",), "parquet", "/lake/t", arrangement=ArrangementSpec(AUTO))
    transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
    transaction.append((1,), files, arrangement=own)
    table = commit(transaction)
    looked_at: list[list[str]] = []

    def look(wanted: Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]]) -> dict[bytes, Counted]:
        ((part, some),) = wanted
        looked_at.append([file.path for file in some])
        found: dict[tuple[Any, ...], int] = {(value,): count for value, count in counts.items()}
        return {part.key: Counted(part.values, sum(file.rows or 0 for file in some), found)}

    found = rewrites(table, TARGET, look=look)
    assert len(looked_at) == looks
    assert all("x=10" not in path for paths in looked_at for path in paths)
    assert [[cell for (cell,) in each.arrangement.skew.cells] for each in found if each.arrangement.skew] == (
        [] if cells is None else [list(cells)]
    )
    assert [file.path.rpartition("/")[2] for each in found for file in each.files] == list(anew)
    # without somebody to count, and where values are named, each partition keeps its map
    assert all(each.arrangement == own for each in rewrites(table, TARGET))
    alter = Transaction(table, "alter")
    alter.set_metadata(msgspec.structs.replace(metadata, arrangement=own))
    assert all(each.arrangement == own for each in rewrites(commit(alter), TARGET, look=look))
    assert len(looked_at) == looks
