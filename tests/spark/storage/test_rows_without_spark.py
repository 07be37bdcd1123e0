"""Rows without Spark come from the store that has the files, with the credentials of the catalog."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import parquetry
from parquetry.catalog import Scan
from parquetry.errors import ParquetryError
from tests.support.readers.values import comparable
from tests.support.spark.storages import Storage


def _by_duckdb(scan: Scan) -> pa.Table:
    with duckdb.connect() as connection:
        return scan.to_duckdb(connection).to_arrow_table()


def test_each_library_has_sparks_rows(storage: Storage) -> None:
    """All libraries read Parquet and ORC, renamed columns and partition values."""
    for format in ("parquet", "orc"):
        table = f"{storage.database}.{format}"
        storage.spark.sql(
            f"CREATE TABLE {table} (id BIGINT, s STRING, p INT) USING {format} PARTITIONED BY (p)"
        )
        storage.spark.sql(f"INSERT INTO {table} SELECT id, concat('é', id), id % 3 FROM range(30)")
        storage.spark.sql(f"ALTER TABLE {table} RENAME COLUMN s TO word")
        expected = comparable(storage.spark.table(table).where("p < 2").toArrow().to_pylist())
        with parquetry.open(storage.warehouse, storage.store, storage.options()) as catalog:
            scan = catalog.scan(f"db.{format}", "p < 2")
            rows = {
                "arrow": scan.to_arrow(),
                "pandas": pa.Table.from_pandas(scan.to_pandas(), preserve_index=False),
                "polars": scan.to_polars().collect().to_arrow(),
                "duckdb": _by_duckdb(scan),
            }
            for library, table_of in rows.items():
                assert comparable(table_of.to_pylist()) == expected, library
            if format == "parquet":  # a dataset of ORC is refused
                numbers = scan.select("id").to_dataset().to_table()["id"].to_pylist()
                assert sorted(numbers) == [n for n in range(30) if n % 3 < 2]
            assert scan.count() == 20


@pytest.mark.s3
def test_other_credentials_read_nothing(s3: Storage) -> None:
    """With wrong credentials no row is read, and the file is named."""
    s3.spark.sql(f"CREATE TABLE {s3.database}.t USING parquet AS SELECT 1 AS id")
    with parquetry.open(s3.warehouse, s3.store, s3.options("another-secret")) as catalog:
        with pytest.raises(ParquetryError, match=r"\.parquet") as caught:
            catalog.scan("db.t").to_arrow()
        assert "another-secret" not in str(caught.value)
