"""Integers in many files, in arrays: the same statistics as file by file."""

from __future__ import annotations

import random

import pytest

from parquetry.cardinality import columns
from parquetry.cardinality.columns import ColumnEstimate, estimate_columns
from parquetry.data_files import TableColumn
from parquetry.metastore import FileRecord, Metastore, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from tests.support.tables.statistics import exact


@pytest.mark.parametrize("seed", range(12))
def test_arrays_and_files_one_by_one_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds, NULLs, distinct values and histogram are the same, with files of NULLs and of no rows."""
    draw = random.Random(seed)
    files = []
    for number in range(40):
        rows, low = draw.randint(0, 50), draw.randint(-300, 300)
        high, nulls = low + draw.choice([0, 5, 400]), draw.randint(0, rows)
        bounds = (None, None) if nulls == rows else (low, high)
        files.append(FileRecord(str(number), 100, rows, 1, {"c": exact(40, nulls, *bounds)}))
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata((TableColumn("c", draw.choice(["long", "date"])),), (), "parquet", "/lake/t")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    transaction.append((), files)
    snapshot = commit(transaction)

    def estimate() -> list[ColumnEstimate]:
        return estimate_columns(snapshot.metadata, select_files(snapshot, []), ["c"], {"c"})

    in_arrays = estimate()
    assert in_arrays[0].distinct > 0
    monkeypatch.setattr(columns, "integers_in_files", lambda *_: None)
    assert in_arrays == estimate()
