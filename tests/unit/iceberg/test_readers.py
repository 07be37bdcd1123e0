"""Each reader of the served catalog gives the table's rows, or is refused with a reason."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from parquetry.iceberg import IcebergCatalog
from tests.support.clients.iceberg import attach, duckdb_for_iceberg, served
from tests.support.readers.cases import CASES, Row
from tests.support.readers.python_tables import PythonLake
from tests.support.readers.values import comparable

pytestmark = pytest.mark.filterwarnings("ignore:Iceberg scan planning with the polars_iceberg plugin")
Read = Callable[[str, str | None], list[Row]]


def table_of(address: str) -> Table:
    return RestCatalog("lake", uri=address).load_table("default.t")


def by_pyiceberg(address: str, where: str | None) -> list[Row]:
    table = table_of(address)
    scan = table.scan() if where is None else table.scan(row_filter=where)
    return scan.to_arrow().to_pylist()


def by_polars(override: str) -> Read:
    def read(address: str, where: str | None) -> list[Row]:
        frame = pl.scan_iceberg(table_of(address), reader_override=override)
        return (
            (
                frame
                if where is None
                else frame.filter(pl.sql_expr(where.replace("'2000-01-01'", "DATE '2000-01-01'")))
            )
            .collect()
            .to_dicts()
        )

    return read


_connection = functools.cache(duckdb_for_iceberg)
"""The connection of all tests."""


def by_duckdb(address: str, where: str | None) -> list[Row]:
    connection = _connection()
    attach(connection, address)
    try:
        rows = connection.sql(f"SELECT * FROM lake.default.t WHERE {where or 'true'}")
        return rows.to_arrow_table().to_pylist()
    finally:
        connection.execute("DETACH lake")


READERS: dict[str, Read] = {
    "pyiceberg": by_pyiceberg,
    "polars native": by_polars("native"),
    "polars by pyiceberg": by_polars("pyiceberg"),
    "duckdb": by_duckdb,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", CASES)
def test_a_reader_reads_the_rows_or_is_refused(tmp_path: Path, name: str, reader: str) -> None:
    """It reads the rows that Spark reads, also under a filter; a refusal says why, in the server's words."""
    case, lake = CASES[name], PythonLake(tmp_path / "lake")
    case.make(lake)
    refusals = [text for part, text in case.refusals.items() if part in reader]
    refusal = case.refusal or next(iter(refusals), None)
    with served(IcebergCatalog(lake.metastore, files_per_page=1)) as address:
        if refusal is not None:
            with pytest.raises(Exception, match=refusal):
                READERS[reader](address, None)
            return
        assert comparable(READERS[reader](address, None)) == comparable(case.rows)
        if case.filter is not None:
            where, numbers = case.filter
            assert comparable(READERS[reader](address, where)) == comparable([case.rows[n] for n in numbers])
