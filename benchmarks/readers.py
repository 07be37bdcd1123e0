"""Rows without Spark: one partition of 1,000 to Arrow and to Polars, one row by its bucketed id, tiny files.

Beside each stands `pyarrow.dataset`, which is given exactly the files that have the rows. It plans nothing.
All partitions list the same few files, so that a small disk has a table of many partitions.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import parquetry
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.catalog import Catalog
from parquetry.data_files import ArrowFooters
from parquetry.hashing import bucket_ids
from parquetry.layout import ArrangementSpec, BucketSpec
from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, commit, open_metastore
from parquetry.types import parse_type

PARTITIONS = 1_000
_FILES_PER_PARTITION = 8
_ROWS_PER_FILE = 250_000
_BUCKETS = 64
_ROWS_OF_BUCKETS = 2_000_000
_SEARCHED_PARTITION = 500
_SEARCHED_ID = 123_456
_TINY_FILES = 400
_ROWS_PER_TINY_FILE = 100
_MAX_RATIO = 1.05
_MAX_RATIO_OF_ID = 1.2
_MAX_RATIO_OF_TINY_FILES = 1.1
_COLUMNS = (
    TableColumn("id", "long"),
    TableColumn("item", "integer"),
    TableColumn("price", "double"),
    TableColumn("word", "string"),
    TableColumn("part", "integer"),
)


def run(_folder: Path, scale: float) -> Result:
    """Read a partition, and look up an id, by our scan and by PyArrow given the files."""
    result = Result("readers")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        files = _fill_partitions(root, max(1000, int(_ROWS_PER_FILE * scale)))
        bucket_file = _fill_buckets(root, max(10_000, int(_ROWS_OF_BUCKETS * scale)))
        tiny_files = _fill_tiny(root)
        with parquetry.open(root / "lake") as lake:
            _measure(result, "a partition to Arrow", _arrow_variants(lake, files))
            _measure(result, "a partition to Polars", _polars_variants(lake, files))
            _measure(result, "a row by its bucketed id", _id_variants(lake, bucket_file), _MAX_RATIO_OF_ID)
            _measure(
                result, "tiny files to Arrow", _tiny_variants(lake, tiny_files), _MAX_RATIO_OF_TINY_FILES
            )
        _measure(result, "a warehouse opened for a row", _opening_variants(root / "lake", bucket_file), None)
    return result


def _measure(
    result: Result, job: str, variants: dict[str, Callable[[], int]], target: float | None = _MAX_RATIO
) -> None:
    """Time a job, and require that all variants have the same rows."""
    rows = {name: variant() for name, variant in variants.items()}
    if len(set(rows.values())) != 1:
        raise AssertionError(f"{job}: the rows differ: {rows}")
    timing = take_turns(job, variants, rounds=15, warmups=2, processor=time.process_time)
    result.timings.append(timing)
    ours, theirs = variants
    ratios = {"by the clock": timing.ratio(ours, theirs), "processor": timing.processor_ratio(ours, theirs)}
    result.findings += [
        BenchmarkFinding(f"{job}, beside {theirs}, {by}", ratio, target if by == "processor" else None)
        for by, ratio in ratios.items()
    ]
    result.findings += [
        BenchmarkFinding(f"{job}, {name}", 1000 * timing.median(name), None, "ms") for name in variants
    ]


def _arrow_variants(lake: Catalog, files: list[str]) -> dict[str, Callable[[], int]]:
    where = f"part = {_SEARCHED_PARTITION}"
    return {
        "a scan": lambda: lake.scan("bench.parts", where).to_arrow().num_rows,
        "PyArrow given the files": lambda: ds.dataset(files, format="parquet").to_table().num_rows,
    }


def _polars_variants(lake: Catalog, files: list[str]) -> dict[str, Callable[[], int]]:
    wanted = pl.col("part") == _SEARCHED_PARTITION
    return {
        "a lazy frame": lambda: lake.scan("bench.parts").to_polars().filter(wanted).collect().height,
        "PyArrow given the files": lambda: (
            pl.DataFrame(ds.dataset(files, format="parquet").to_table()).height
        ),
    }


def _id_variants(lake: Catalog, file: str) -> dict[str, Callable[[], int]]:
    searched = ds.field("id") == _SEARCHED_ID
    return {
        "a scan": lambda: lake.scan("bench.buckets", f"id = {_SEARCHED_ID}").to_arrow().num_rows,
        "PyArrow given the file": lambda: (
            ds.dataset([file], format="parquet").to_table(filter=searched).num_rows
        ),
    }


def _opening_variants(warehouse: Path, file: str) -> dict[str, Callable[[], int]]:
    searched = ds.field("id") == _SEARCHED_ID

    def opened() -> int:
        with parquetry.open(warehouse) as lake:
            return int(lake.scan("bench.buckets", f"id = {_SEARCHED_ID}").to_arrow().num_rows)

    return {
        "opened, and a scan": opened,
        "PyArrow given the file": lambda: (
            ds.dataset([file], format="parquet").to_table(filter=searched).num_rows
        ),
    }


def _tiny_variants(lake: Catalog, files: list[str]) -> dict[str, Callable[[], int]]:
    return {
        "a scan": lambda: lake.scan("bench.tiny").to_arrow().num_rows,
        "PyArrow given the files": lambda: ds.dataset(files, format="parquet").to_table().num_rows,
    }


def _rows(first: int, count: int) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table(
        {
            "id": ids,
            "item": (ids * 7919 % 18_000).astype(np.int32),
            "price": ids % 1000 / 8,
            "word": pa.array(ids % 5000).cast(pa.string()),
        }
    )


def _fill_partitions(root: Path, rows: int) -> list[str]:
    """Make `bench.parts`, and return the paths of the files of each partition."""
    folder = root / "files"
    folder.mkdir()
    names = [f"{number}.parquet" for number in range(_FILES_PER_PARTITION)]
    for number, name in enumerate(names):
        pq.write_table(_rows(number * rows, rows), folder / name)
    records = [
        FileRecord(str(folder / record.path), record.bytes, record.rows, record.modified, record.columns)
        for record in ArrowFooters().data_files("parquet", str(folder), names)
    ]
    with open_metastore(str(root / "lake"), create=True) as metastore:
        metastore.create_database("bench")
        metadata = TableMetadata(_COLUMNS, ("part",), "parquet", str(root / "lake/parts"))
        transaction = Transaction(metastore.create_table("bench", "parts", metadata), "append")
        for part in range(PARTITIONS):
            transaction.append((part,), records)
        commit(transaction)
    return [record.path for record in records]


def _fill_tiny(root: Path) -> list[str]:
    """Make `bench.tiny`, and return the paths of its files."""
    folder = root / "tiny-files"
    folder.mkdir()
    paths = [folder / f"{number}.parquet" for number in range(_TINY_FILES)]
    for number, path in enumerate(paths):
        pq.write_table(_rows(number * _ROWS_PER_TINY_FILE, _ROWS_PER_TINY_FILE), path)
    records = [FileRecord(str(path), path.stat().st_size, _ROWS_PER_TINY_FILE) for path in paths]
    with open_metastore(str(root / "lake")) as metastore:
        metadata = TableMetadata(_COLUMNS[:-1], (), "parquet", str(root / "lake/tiny"))
        transaction = Transaction(metastore.create_table("bench", "tiny", metadata), "append")
        transaction.append((), records)
        commit(transaction)
    return [str(path) for path in paths]


def _fill_buckets(root: Path, rows: int) -> str:
    """Make `bench.buckets`, and return the path of the file that has the id."""
    folder = root / "bucket-files"
    folder.mkdir()
    table = _rows(0, rows)
    buckets = bucket_ids("spark", _BUCKETS, [table["id"].combine_chunks()], [parse_type("bigint")])
    records = []
    for bucket in range(_BUCKETS):
        path = folder / f"{bucket}.parquet"
        pq.write_table(table.filter(pa.array(buckets == bucket)), path)
        records.append(
            FileRecord(str(path), path.stat().st_size, int((buckets == bucket).sum()), bucket=bucket)
        )
    spec = ArrangementSpec(buckets=BucketSpec(("id",), _BUCKETS, "spark"))
    with open_metastore(str(root / "lake")) as metastore:
        metadata = TableMetadata(_COLUMNS[:-1], (), "parquet", str(root / "lake/buckets"), arrangement=spec)
        transaction = Transaction(metastore.create_table("bench", "buckets", metadata), "append")
        transaction.add((), None, records, spec)
        commit(transaction)
    return str(folder / f"{int(buckets[_SEARCHED_ID % rows])}.parquet")
