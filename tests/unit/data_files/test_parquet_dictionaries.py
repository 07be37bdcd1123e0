"""Numbers of distinct values by the dictionaries of Parquet files."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import ArrowFooters

ROWS = 20_000


def distinct_values(folder: Path, table: pa.Table, **options: Any) -> dict[str, int | None]:
    """Return the recorded numbers of distinct values of each column of a file."""
    pq.write_table(table, folder / "a.parquet", **options)
    (record,) = ArrowFooters().data_files("parquet", str(folder), ["a.parquet"])
    assert record.columns is not None
    return {name: statistics.distinct for name, statistics in record.columns.items()}


@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
@pytest.mark.parametrize("count", [3, 40, 700])
def test_dictionaries_tell_distinct_values(tmp_path: Path, codec: str, count: int) -> None:
    """Dictionaries tell about how many numbers or texts there are, in random and in sorted rows."""
    chosen = random.Random(7)
    keys = [chosen.randrange(count) for _ in range(ROWS)]
    table = pa.table(
        {
            "long": pa.array([key * 1_000_003 for key in keys]),
            "text": [f"{key * 7919 % 10_007:05d}{key * 104_729 % 99_991}" for key in keys],
            "sorted": pa.array(sorted(keys), pa.int32()),
            "null": pa.array([None] * ROWS, pa.int32()),
        }
    )
    numbers = distinct_values(tmp_path, table, compression=codec, row_group_size=ROWS)
    assert numbers.pop("null") is None
    assert all(number is not None and count / 2 <= number <= 2 * count for number in numbers.values()), (
        numbers
    )


def test_files_without_dictionaries_tell_nothing(tmp_path: Path) -> None:
    """No number is recorded for a column without dictionary, or if its dictionary grew too large."""
    table = pa.table({"n": list(range(ROWS)), "m": [n % 5 for n in range(ROWS)]})
    numbers = distinct_values(tmp_path, table, use_dictionary=["n"], dictionary_pagesize_limit=1000)
    assert numbers == {"n": None, "m": None}


def test_row_groups_with_the_same_values(tmp_path: Path) -> None:
    """Row groups that repeat few values have no more values together."""
    table = pa.table({"n": [n % 10 * 1000 for n in range(ROWS)]})
    number = distinct_values(tmp_path, table, row_group_size=ROWS // 4)["n"]
    assert number is not None
    assert 5 <= number <= 20
