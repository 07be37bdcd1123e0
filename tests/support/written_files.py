"""Files of one table as many writers write it: what each records of its columns is to be believed, or not."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import arro3.io
import duckdb
import polars
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

_LONG = "a" * 70
COLUMNS: dict[str, pa.Array] = {
    "tiny": pa.array([1, None, -128, 127], pa.int8()),
    "small": pa.array([1, None, -32768, 32767], pa.int16()),
    "whole": pa.array([1, None, -(2**31), 2**31 - 1], pa.int32()),
    "large": pa.array([1, None, -(2**63), 2**63 - 1], pa.int64()),
    "single": pa.array([0.5, None, float("nan"), -0.0], pa.float32()),
    "real": pa.array([0.5, None, -1e300, 1e300], pa.float64()),
    "short_decimal": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal("0.00")], pa.decimal128(9, 2)),
    "long_decimal": pa.array([Decimal("1.50"), None, Decimal("-99999999999999999999.25"), Decimal(0)], pa.decimal128(25, 2)),
    "word": pa.array(["b", None, "a", "é"]),
    "long_text": pa.array([_LONG + "2", None, _LONG + "1", _LONG + "3"]),
    "emoji": pa.array(["😀", None, "\uffee", "z"]),
    "raw": pa.array([b"\xff", None, b"\x00", b"ab"]),
    "flag": pa.array([True, None, False, True]),
    "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1850, 1, 1), dt.date(2999, 1, 1)]),
    "moment": pa.array([dt.datetime(2020, 1, 1, 1, 2, 3, 4000), None, dt.datetime(1971, 1, 1), dt.datetime(2100, 1, 1)], pa.timestamp("us")),
    "nothing": pa.nulls(4, pa.int32()),
    "all_there": pa.array([4, 3, 2, 1], pa.int64()),
}  # fmt: skip


def parquet_files(folder: Path) -> Iterator[Path]:
    """Write the table with each writer of Parquet files that needs no session, and yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table(COLUMNS)
    settings: dict[str, dict[str, Any]] = {
        "arrow": {},
        "arrow-groups": {"row_group_size": 1},
        "arrow-v1": {"version": "1.0"},
        "arrow-none": {"write_statistics": False},
        "arrow-integers": {"store_decimal_as_integer": True},
        "arrow-int96": {"use_deprecated_int96_timestamps": True},
        "arrow-pages": {"data_page_version": "2.0", "use_dictionary": False},
    }
    for name, options in settings.items():
        pq.write_table(table, folder / f"{name}.parquet", **options)
    polars.from_arrow(table).write_parquet(folder / "polars.parquet")
    polars.from_arrow(table).write_parquet(
        folder / "polars-groups.parquet", row_group_size=2, statistics="full"
    )
    arro3.io.write_parquet(table, str(folder / "arrow-rs.parquet"))
    connection = duckdb.connect()
    connection.register("written", table)
    connection.execute(f"COPY written TO '{folder}/duckdb.parquet' (FORMAT parquet)")
    connection.close()
    _as_of_others(folder / "arrow.parquet", folder / "unknown.parquet", b"nobody's writer of 2026")
    _as_of_others(folder / "arrow.parquet", folder / "old-cpp.parquet", b"parquet-cpp version 1.2.0")
    yield from sorted(folder.glob("*.parquet"))


def orc_files(folder: Path) -> Iterator[Path]:
    """Write the table as ORC with PyArrow, in one stripe and in several, and yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: column for name, column in COLUMNS.items() if name not in ("nothing",)})
    orc.write_table(table, folder / "arrow.orc")
    orc.write_table(
        pa.concat_tables([table] * 3), folder / "arrow-batches.orc", batch_size=2, compression="zlib"
    )
    yield from sorted(folder.glob("*.orc"))


def _as_of_others(source: Path, target: Path, writer: bytes) -> None:
    """Copy a Parquet file that names another writer, in as many bytes."""
    name = pq.read_metadata(source).created_by.encode()
    content = source.read_bytes()
    assert content.count(name) == 1
    target.write_bytes(content.replace(name, writer.ljust(len(name))[: len(name)]))
