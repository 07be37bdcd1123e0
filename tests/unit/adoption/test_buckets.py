"""Adoption assigns foreign files to buckets as far as their names and rows prove it.

The tests use files that Hive wrote, and unusual files.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.adoption.buckets import assign_buckets
from parquetry.adoption.compare import Difference
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.hashing.bucket_hash import bucket_ids, bucket_numbers
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec, Version
from parquetry.layout.part import SortColumn
from parquetry.metastore import TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.prune.rules.arrangements import bucket_specs
from parquetry.types import parse_type

HIVE = Path(__file__).resolve().parents[2] / "fixtures" / "hive-4.0.1" / "bucketed"
K = SortColumn("k")


class Tree:
    """A table over files that others write, bucketed by `k`."""

    def __init__(
        self, root: Path, spec: BucketSpec, type: str = "integer", by: str | None = None, **properties: str
    ) -> None:
        self.root, self.path = root, root / "t"
        columns = (
            TableColumn("id", "integer"),
            TableColumn("k", type),
            *([TableColumn(by, "string")] if by else ()),
        )
        with open_metastore(str(root), create=True) as metastore:
            metadata = TableMetadata(
                columns, (by,) if by else (), "parquet", str(self.path), properties=properties
            )
            metastore.create_table("default", "t", metadata)
        self.declare(spec)

    def declare(self, spec: BucketSpec | None, **properties: str) -> None:
        with open_metastore(str(self.root)) as metastore:
            snapshot = metastore.table("default", "t")
            transaction = Transaction(snapshot, "alter")
            transaction.set_metadata(
                msgspec.structs.replace(
                    snapshot.metadata,
                    arrangement=ArrangementSpec(buckets=spec),
                    properties={**snapshot.metadata.properties, **properties},
                )
            )
            commit(transaction)

    def put(self, path: str, *keys: Any, type: pa.DataType | None = None) -> None:
        place = self.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        ids = pa.array(range(len(keys)), pa.int32())
        pq.write_table(pa.table({"id": ids, "k": pa.array(keys, type or pa.int32())}), place)

    def sync(self, **options: Any) -> list[Difference]:
        with parquetry.open(self.root) as catalog:
            return catalog.sync("t", **options)

    def told(self, **options: Any) -> list[str]:
        """Return what a sync says besides what it took in."""
        return [each.detail or "" for each in self.sync(**options) if each.action == "ignored"]

    def files(self) -> dict[str, tuple[int | None, bool]]:
        """Return of each file, by its path, its bucket and whether it is sorted."""
        with open_metastore(str(self.root)) as metastore:
            return {
                file.path: (file.bucket, file.sorted)
                for partition in metastore.table("default", "t").partitions()
                for file in partition.files
            }

    def buckets(self) -> list[BucketSpec | None]:
        """Return the buckets of each partition."""
        with open_metastore(str(self.root)) as metastore:
            every = metastore.table("default", "t").partitions()
            return [partition.arrangement.buckets for partition in every]

    def claimed(self) -> list[int]:
        """Return each partition's number of buckets that queries may rely on, or -1."""
        with open_metastore(str(self.root)) as metastore:
            snapshot = metastore.table("default", "t")
            partitions = list(snapshot.partitions())
            records = bucket_specs(snapshot, partitions)
            if records is None:
                return [-1] * len(partitions)
            return [-1 if number < 0 else records.distinct[number].count for number in records.numbers]


def keys_of(bucket: int, spec: BucketSpec, among: range = range(1000)) -> list[int]:
    found = bucket_numbers(spec.version, spec.count, [parse_type("int")], [(key,) for key in among])
    return [key for key, place in zip(among, found, strict=True) if place == bucket]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["int", "str"])
def test_tables_that_hive_wrote(tmp_path: Path, version: Version, kind: str) -> None:
    """Adoption takes the buckets of all files from Hive's names, and recognises that the files are sorted.

    Second inserts and second attempts count, too.
    """
    spec = BucketSpec(("k",), 4, version, (K,))
    tree = Tree(tmp_path, spec, "integer" if kind == "int" else "string")
    shutil.copytree(HIVE / f"b{version}_pq_{kind}", tree.path)
    assert tree.told() == []
    names = sorted(path.name for path in tree.path.iterdir())
    assert len(names) == 8
    assert tree.files() == {name: (int(name[:6]), True) for name in names}
    assert (tree.buckets(), tree.claimed()) == ([spec], [4])
    assert tree.sync() == []


@pytest.mark.parametrize("version", [1, "spark"])
def test_another_version_than_declared_is_seen_and_can_be_put_right(tmp_path: Path, version: Version) -> None:
    """The partition is read as not bucketed, and the report names a row and the right version.

    After the table declares that version, a sync with `buckets=True` adopts the buckets.
    """
    tree = Tree(tmp_path, BucketSpec(("k",), 4, version))
    shutil.copytree(HIVE / "b2_pq_int", tree.path)
    (told,) = tree.told()
    assert " belongs in bucket " in told
    assert (
        "By version 2 of the hash all are in the right one: set the table property 'bucketing-version' to '2'"
        in told
    )
    assert "CALL system.rebucket" in told
    assert (tree.buckets(), tree.claimed()) == ([None], [-1])
    assert set(tree.files().values()) == {(None, False)}
    assert tree.sync() == []
    again = BucketSpec(("k",), 4, 2)
    tree.declare(again)
    assert tree.sync() == []
    (told_of,) = tree.sync(buckets=True)
    assert (told_of.action, told_of.files, told_of.rows) == ("changed", 8, 24)
    assert (tree.buckets(), tree.claimed()) == ([again], [4])
    assert tree.sync(buckets=True) == []


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        ({"000001_0": "000002_0", "000002_0": "000001_0"}, "000001_0: k = "),
        ({"000003_0": "000004_0"}, "000004_0: the name says bucket 4, and there are 4."),
        ({"000003_0": "part-00003-ab.c000.parquet"}, "part-00003-ab.c000.parquet: the name says no bucket."),
        ({"000000_0": "000000_0.gz/../00_0"}, "00_0: the name says no bucket."),
    ],
)
def test_one_file_of_a_wrong_name_and_none_is_believed(
    tmp_path: Path, moves: dict[str, str], says: str
) -> None:
    """Swapped, beyond the count, without a bucket: the file is named, and no query goes by any bucket."""
    tree = Tree(tmp_path, BucketSpec(("k",), 4, 2))
    shutil.copytree(HIVE / "b2_pq_int", tree.path)
    for old in moves:
        (tree.path / old).rename(tree.path / f"_{old}")
    for old, new in moves.items():
        (tree.path / f"_{old}").rename(tree.path / Path(new).name)
    (told,) = tree.told()
    assert told.startswith(says)
    assert (tree.buckets(), tree.claimed()) == ([None], [-1])
    assert set(tree.files().values()) == {(None, False)}
    assert len(tree.files()) == 8


def test_empty_buckets_and_empty_files(tmp_path: Path) -> None:
    """A bucket without a file is empty, and a file without rows is of its bucket and in order."""
    spec = BucketSpec(("k",), 8, 2, (K,))
    tree = Tree(tmp_path, spec)
    tree.put("000005_0", *keys_of(5, spec))
    tree.put("000001_0")
    (tree.path / "000002_0").touch()  # of no bytes, so no reader opens it
    assert tree.told() == []
    assert tree.files() == {"000001_0": (1, True), "000005_0": (5, True)}
    assert tree.claimed() == [8]


def test_rows_that_are_not_in_order(tmp_path: Path) -> None:
    """The bucket holds, the order does not; and where none is declared, none is claimed."""
    spec = BucketSpec(("k",), 2, 2, (SortColumn("k", True),))
    tree = Tree(tmp_path, spec)
    keys = keys_of(1, spec)
    tree.put("000001_0", *reversed(keys))
    tree.put("000001_0_copy_1", *keys)
    assert tree.told() == []
    assert tree.files() == {"000001_0": (1, True), "000001_0_copy_1": (1, False)}
    other = Tree(tmp_path / "other", BucketSpec(("k",), 2, 2))
    other.put("000001_0", *keys)
    assert other.told() == []
    assert other.files() == {"000001_0": (1, False)}


def test_a_key_of_another_type_than_the_tables(tmp_path: Path) -> None:
    """The names prove nothing if the files have the key as int and the table has it as bigint."""
    spec = BucketSpec(("k",), 4, 1)
    tree = Tree(tmp_path, spec, "long")
    tree.put("000001_0", 1, 5)  # bigint hashes would put these rows into the right bucket, but not -1
    (told,) = tree.told()
    assert told.startswith("000001_0: the file has k as int32, and the table as bigint.")
    assert tree.claimed() == [-1]


@pytest.mark.parametrize(
    ("type", "arrow", "version"),
    [
        ("double", pa.float64(), 2),
        ("binary", pa.binary(), 2),
        ("timestamp", pa.timestamp("us", "UTC"), 1),
        ("varchar(3)", pa.string(), 1),
    ],
)
def test_types_whose_equal_values_may_lie_apart(
    tmp_path: Path, type: str, arrow: pa.DataType, version: Version
) -> None:
    """Files get the buckets of their names, but no query relies on them, as the partition records."""
    tree = Tree(tmp_path, BucketSpec(("k",), 4, version, (K,)), type)
    for bucket in (0, 3):
        tree.put(f"00000{bucket}_0", None, type=arrow)
    assert tree.told() == []
    assert tree.files() == {"000000_0": (0, False), "000003_0": (3, False)}
    assert (tree.buckets()[0], tree.claimed()) == (
        BucketSpec(("k",), 4, version, (K,), unsettled=True),
        [-1],
    )


def test_files_that_come_later(tmp_path: Path) -> None:
    """Files with right names join their buckets, and files with wrong names get no bucket.

    Earlier files keep their buckets. A new tree may have another number of buckets.
    """
    spec = BucketSpec(("k",), 4, 2)
    tree = Tree(tmp_path, spec)
    tree.put("000001_0", *keys_of(1, spec))
    tree.sync()
    tree.put("000002_0", *keys_of(2, spec))
    assert tree.told() == []
    tree.put("000003_0", *keys_of(2, spec))
    tree.put("000000_0", *keys_of(0, spec))
    (told,) = tree.told()
    assert told.startswith("000003_0: k = ")
    assert "CALL system.compact" in told
    buckets = {"000000_0": None, "000001_0": 1, "000002_0": 2, "000003_0": None}
    assert tree.files() == {name: (bucket, False) for name, bucket in buckets.items()}
    assert tree.buckets() == [spec]
    shutil.rmtree(tree.path)
    eight = BucketSpec(("k",), 8, 2)
    tree.declare(eight)
    tree.put("000007_0", *keys_of(7, eight))
    assert tree.told() == []
    assert (tree.files(), tree.buckets()) == ({"000007_0": (7, False)}, [eight])


def test_files_of_no_known_writer_do_not_join_those_of_a_known_one(tmp_path: Path) -> None:
    """A foreign file gets no bucket in a partition whose own writer has settled the bucket of -0.0."""
    spec = BucketSpec(("k",), 4, 2)
    tree = Tree(tmp_path, spec, "double")
    tree.put("000001_0", 1.0, type=pa.float64())
    with open_metastore(str(tmp_path)) as metastore:
        transaction = Transaction(metastore.table("default", "t"), "write")
        transaction.replace(
            (), [FileRecord("000001_0", (tree.path / "000001_0").stat().st_size, 1, bucket=1)]
        )
        commit(transaction)
    assert tree.claimed() == [4]
    tree.put("000001_0_copy_1", -0.0, type=pa.float64())
    (told,) = tree.told()
    assert "-0.0 equals 0.0" in told
    assert tree.files() == {"000001_0": (1, False), "000001_0_copy_1": (None, False)}
    assert (tree.buckets(), tree.claimed()) == ([spec], [4])


def test_partitions_from_one_on(tmp_path: Path) -> None:
    """Adoption ignores the buckets in file names of partitions before `bucket-begin-partition`.

    NULL comes before every value.
    """
    spec = BucketSpec(("k",), 4, 2)
    tree = Tree(tmp_path, spec, by="ds", **{"bucket-begin-partition": "2024-02"})
    right = keys_of(1, spec)
    for day in ("2024-01", "2024-02", "2024-03", "__HIVE_DEFAULT_PARTITION__"):
        tree.put(f"ds={day}/000001_0", *right)
    tree.put("ds=2024-01/part-0.parquet", *right)
    assert tree.told() == []
    assert tree.buckets() == [None, None, spec, spec]  # NULL first
    assert tree.claimed() == [-1, -1, 4, 4]
    tree.declare(spec, **{"bucket-begin-partition": "ds > '2024-02'"})
    assert tree.claimed() == [-1, -1, -1, 4]
    tree.declare(spec, **{"bucket-begin-partition": "2025"})
    assert tree.claimed() == [-1] * 4
    tree.declare(spec, **{"bucket-begin-partition": "1"})
    assert tree.claimed() == [-1, -1, 4, 4]
    assert tree.told(buckets=True) == []
    assert tree.claimed() == [-1, -1, 4, 4]  # a name of January's says no bucket


def test_a_condition_limits_what_is_looked_at_again(tmp_path: Path) -> None:
    """A sync of buckets with a condition leaves other partitions unchanged."""
    tree = Tree(tmp_path, BucketSpec(("k",), 4, 1), by="ds")
    spec = BucketSpec(("k",), 4, 2)
    for day in ("1", "2"):
        tree.put(f"ds={day}/000001_0", *keys_of(1, spec))
    assert len(tree.told()) == 2
    tree.declare(spec)
    (told,) = tree.sync(buckets=True, where="ds = '2'")
    assert (told.action, told.partition, told.detail) == ("changed", "ds=2", "in 4 buckets")
    assert tree.claimed() == [-1, 4]


def judged(
    place: Path,
    table: pa.Table,
    columns: Sequence[TableColumn],
    spec: BucketSpec,
    file_format: str = "parquet",
    **options: Any,
) -> str | None:
    """Write rows into files of their buckets, and return why adoption refuses these buckets, or None."""
    names = table.column_names
    types = [column.column_type for column in columns]
    ids = bucket_ids(spec.version, spec.count, [table[name] for name in names], types)
    files = []
    for bucket in sorted(set(ids.tolist())):
        rows = table.filter(pa.array(ids == bucket))
        if file_format == "orc":
            orc.write_table(rows, place / f"00000{bucket}_0")
        else:
            pq.write_table(rows, place / f"00000{bucket}_0", **options)
        files.append(FileRecord(f"00000{bucket}_0", 1))
    return assign_buckets(str(place), file_format, files, columns, [spec]).refused


MOMENTS = [datetime(2024, 1, day, 12, 30, 0, 123456, UTC) for day in range(1, 20)] + [None]


@pytest.mark.parametrize(
    ("type", "array", "options"),
    [
        ("timestamp", pa.array(MOMENTS, pa.timestamp("us", "UTC")), {}),
        ("timestamp", pa.array(MOMENTS, pa.timestamp("ns", "UTC")), {}),
        ("timestamp", pa.array(MOMENTS, pa.timestamp("ns")), {"use_deprecated_int96_timestamps": True}),
        ("timestamp_ntz", pa.array(MOMENTS, pa.timestamp("us")), {}),
        ("tinyint", pa.array([-3, 4, None], pa.int32()), {}),
        ("string", pa.array(["a", "é", None]).dictionary_encode(), {}),
        ("string", pa.array([b"a", b"b", None]), {}),
        ("binary", pa.array([b"a", b"b", None]), {}),
        ("decimal(9,2)", pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(9, 2)), {}),
        ("float", pa.array([0.0, -0.0, float("nan"), None], pa.float32()), {}),
    ],
)
def test_how_files_hold_keys(tmp_path: Path, type: str, array: pa.Array, options: dict[str, Any]) -> None:
    """Keys of each physical type are hashed as Spark reads them.

    The types are instants as INT96 or with a zone, small numbers in 32 bits, dictionaries, and text without
    its logical type.
    """
    spec = BucketSpec(("k",), 4, "spark")
    columns = (TableColumn("k", "byte" if type == "tinyint" else type),)
    assert judged(tmp_path, pa.table({"k": array}), columns, spec, **options) is None


@pytest.mark.parametrize(
    ("type", "array", "file_format"),
    [
        ("timestamp", pa.array(MOMENTS, pa.timestamp("us")), "parquet"),
        ("timestamp_ntz", pa.array(MOMENTS, pa.timestamp("us", "UTC")), "parquet"),
        ("timestamp", pa.array(MOMENTS, pa.timestamp("ns")), "orc"),
        ("float", pa.array([1.0], pa.float64()), "parquet"),
        ("long", pa.array([1], pa.int32()), "parquet"),
        ("integer", pa.array([1], pa.uint32()), "parquet"),
        ("decimal(9,2)", pa.array([Decimal("1.500")], pa.decimal128(9, 3)), "parquet"),
    ],
)
def test_what_is_not_read_as_spark_reads_it(
    tmp_path: Path, type: str, array: pa.Array, file_format: str
) -> None:
    """A file whose key Spark would read otherwise is refused, with a reason that names both types.

    Examples are timestamps of unknown zones, and other widths and scales.
    """
    told = judged(
        tmp_path,
        pa.table({"k": array}),
        (TableColumn("k", type),),
        BucketSpec(("k",), 4, "spark"),
        file_format,
    )
    assert told is not None
    assert "the file has k as" in told


@pytest.mark.parametrize(
    ("type", "array", "year"),
    [
        ("date", pa.array([-141_428, 0, None], pa.date32()), "1582"),
        ("date", pa.array([-2_000_000, None], pa.date32()), "1582"),
        ("timestamp", pa.array([-25_567 * 86_400 - 1, 5], pa.timestamp("s", "UTC")), "1900"),
        ("timestamp_ntz", pa.array([-25_567 * 86_400 * 10**6 - 1], pa.timestamp("us")), "1900"),
        ("date", pa.array([-141_427, 0, None], pa.date32()), None),
        ("timestamp", pa.array([-25_567 * 86_400, None], pa.timestamp("s", "UTC")), None),
        ("date", pa.array([None], pa.date32()), None),
    ],
)
def test_days_of_long_ago(tmp_path: Path, type: str, array: pa.Array, year: str | None) -> None:
    """Values from before the change of calendars are refused, because Spark may read other days."""
    told = judged(tmp_path, pa.table({"k": array}), (TableColumn("k", type),), BucketSpec(("k",), 4, "spark"))
    assert (told is None) is (year is None)
    assert year is None or f"k has values from before {year}" in str(told)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_an_order_that_cannot_be_judged(tmp_path: Path, file_format: str) -> None:
    """The file has its bucket but counts as unsorted if the sort column is absent or of another type."""
    spec = BucketSpec(("k",), 4, 2, (SortColumn("s"),))
    keys = pa.array(keys_of(3, spec), pa.int32())
    for number, table in enumerate(
        (pa.table({"k": keys}), pa.table({"k": keys, "s": pa.array([1] * len(keys), pa.int64())}))
    ):
        path = tmp_path / f"000003_{number}"
        if file_format == "orc":
            orc.write_table(table, path)
        else:
            pq.write_table(table, path)
        columns = (TableColumn("k", "integer"), TableColumn("s", "timestamp"))
        found = assign_buckets(str(tmp_path), file_format, [FileRecord(path.name, 1)], columns, [spec])
        assert [(file.bucket, file.sorted) for file in found.files] == [(3, False)]
        assert found.refused is None


def test_directories_for_heavy_values_with_buckets_in_each(tmp_path: Path) -> None:
    """Both are said by a path, and both are proved by what is in the file."""
    tree = Tree(tmp_path, BucketSpec(("id",), 2, 2), by="ds")
    zero, one = keys_of(0, BucketSpec(("id",), 2, 2)), keys_of(1, BucketSpec(("id",), 2, 2))
    rest = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
    for path, ids, key in (
        ("k=10/000000_0", zero[:3], 10),
        ("k=10/000001_0", one[:3], 10),
        (f"{rest}/000001_0", one[3:5], 7),
    ):
        place = tree.path / "ds=a" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        keys = pa.array([key] * len(ids), pa.int32())
        pq.write_table(pa.table({"id": pa.array(ids, pa.int32()), "k": keys}), place)
    assert tree.told() == []
    with open_metastore(str(tmp_path)) as metastore:
        (partition,) = metastore.table("default", "t").partitions()
        found = {(file.path, file.cell, file.bucket) for file in partition.files}
        assert partition.arrangement.skew is not None
    assert found == {("k=10/000000_0", 0, 0), ("k=10/000001_0", 0, 1), (f"{rest}/000001_0", -1, 1)}
    assert tree.claimed() == [2]


def test_columns_are_found_as_spark_finds_them(tmp_path: Path) -> None:
    """In any case; by their places in ORC files of Hive's old writers; not at all if two have one name."""
    keys = pa.array(range(20), pa.int32())
    columns = (TableColumn("v", "string"), TableColumn("K", "integer"))
    spec = BucketSpec(("K",), 4, 2)

    def refused(names: Sequence[str], file_format: str) -> str | None:
        table = pa.table([keys.cast(pa.string()), keys, keys][: len(names)], names=list(names))
        ids = bucket_ids(2, 4, [keys])
        rows = table.filter(pa.array(ids == 3))
        path = tmp_path / "000003_0"
        if file_format == "orc":
            orc.write_table(rows, path)
        else:
            pq.write_table(rows, path)
        return assign_buckets(
            str(tmp_path), file_format, [FileRecord("000003_0", 1)], columns, [spec]
        ).refused

    assert refused(["v", "k"], "parquet") is None
    assert refused(["_col0", "_col1"], "orc") is None
    assert refused(["_col0"], "orc") == "000003_0: the file has no column K"
    assert refused(["v"], "parquet") == "000003_0: the file has no column K"
    assert refused(["v", "k", "K"], "parquet") == "000003_0: the file has 2 columns K"


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize(("place", "seen"), [(0, True), (20_000, False), (-1, True)])
def test_of_large_files_a_part_is_looked_at(tmp_path: Path, file_format: str, place: int, seen: bool) -> None:
    """A wrong row in the first or last sampled part is seen, a wrong row between them is not.

    A file that was read only in part does not count as sorted.
    """
    spec = BucketSpec(("k",), 2, 2, (K,))
    every = pa.array(np.random.default_rng(3).integers(0, 1 << 30, 100_000), pa.int32())
    right = bucket_ids(2, 2, [every]) == 1
    keys = every.filter(pa.array(right)).to_numpy()[:40_000].copy()
    keys[place] = every.filter(pa.array(~right))[0].as_py()
    table = pa.table({"k": keys})
    path = tmp_path / "000001_0"
    if file_format == "orc":
        orc.write_table(table, path, stripe_size=1 << 16)
        assert orc.ORCFile(path).nstripes == 40
    else:
        pq.write_table(table, path, row_group_size=1000)
    columns = (TableColumn("k", "integer"),)
    found = assign_buckets(str(tmp_path), file_format, [FileRecord(path.name, 1)], columns, [spec], most=4000)
    assert (found.refused is not None) is seen
    assert [(file.bucket, file.sorted) for file in found.files] == [(None if seen else 1, False)]
