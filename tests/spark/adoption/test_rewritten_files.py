"""If foreign files were rewritten and not synced, no query reads rows that the metastore does not know."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


def _write(path: Path, file_format: str, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if file_format == "parquet":
        pq.write_table(pa.table(columns), path)
    else:
        po.write_table(pa.table(columns), str(path))


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_file_written_anew_is_not_read_as_the_old_one(
    spark: SparkSession, db: str, rows: Rows, tmp_path: Path, file_format: str
) -> None:
    """A file of another size or time fails the query with its name and the remedy; after the remedy, all
    queries agree.
    """
    place = tmp_path / "p=1" / f"x.{file_format}"
    _write(place, file_format, id=pa.array([1, 2], pa.int32()))
    _write(tmp_path / "p=2" / f"y.{file_format}", file_format, id=pa.array([7], pa.int32()))
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id INT, p INT) USING {file_format} PARTITIONED BY (p) LOCATION '{tmp_path}'"
    )
    spark.sql(f"MSCK REPAIR TABLE {table}")
    spark.sql(f"INSERT INTO {table} VALUES (9, 2)")
    remedy = f"CALL lake.system.sync(table => '{table}')"
    _write(place, file_format, id=pa.array(range(100, 400), pa.int32()))
    for query in (f"SELECT * FROM {table}", f"SELECT sum(id) FROM {table} WHERE p = 1"):
        with pytest.raises(Exception, match="PARQUETRY_FILE_CHANGED") as caught:
            rows(query)
        assert str(place) in str(caught.value)
        assert remedy in str(caught.value)
    assert rows(f"SELECT id FROM {table} WHERE p = 2 ORDER BY id") == [(7,), (9,)]
    spark.sql(remedy)
    assert rows(f"SELECT count(*) FROM {table}") == [(302,)]
    assert len(rows(f"SELECT id FROM {table}")) == 302
    os.utime(place, (1_700_000_000, 1_700_000_000))  # as many bytes, of another time
    with pytest.raises(Exception, match=r"PARQUETRY_FILE_CHANGED.*2023-11-14"):
        rows(f"SELECT id FROM {table}")
    spark.sql(remedy)
    for own in (tmp_path / "p=2").glob("pq-*"):  # of the table's own files none is written twice
        os.utime(own, (1_700_000_000, 1_700_000_000))
    assert len(rows(f"SELECT id FROM {table}")) == 302
