"""DuckLake with its catalog in PostgreSQL, from extensions of DuckDB that Python packages bring."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXTENSIONS = {
    "postgres_scanner": "duckdb_extension_postgres_scanner",
    "ducklake": "duckdb_extension_ducklake",
}


def _attached(address: str, folder: str) -> Any:
    """Return a connection of DuckDB that has the catalog as `lake`."""
    import duckdb

    connection = duckdb.connect()
    for extension, package in EXTENSIONS.items():
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise RuntimeError(f"the package {package} is missing: make bench-metastore installs it")
        (path,) = Path(spec.origin).parent.glob(f"**/{extension}.duckdb_extension")
        connection.execute(f"LOAD '{path}'")
    connection.execute(f"ATTACH 'ducklake:postgres:{address}' AS lake (DATA_PATH '{folder}')")
    return connection


def make(address: str, folder: Path, tables: int) -> None:
    """Make a catalog with tables `t0`, `t1`, …, and a file for each writer to add.

    Args:
        address: of a PostgreSQL database, as libpq reads it.
        folder: for files.
        tables: how many.
    """
    folder.mkdir(parents=True)
    connection = _attached(address, str(folder))
    for number in range(tables):
        connection.execute(f"CREATE TABLE lake.t{number} (id BIGINT, ds VARCHAR)")
    connection.execute(
        f"COPY (SELECT range AS id, 'x' AS ds FROM range(100)) TO '{folder}/rows.parquet' (FORMAT parquet)"
    )
    connection.close()


def appender(
    address: str, folder: str, _writer: str, table: int
) -> tuple[Callable[[int], object], Callable[[], int]]:
    """Return two functions: one adds a file to a table, in a snapshot of its own; one returns 0 lost commits.

    DuckLake does not say how often it tried.
    """
    connection = _attached(address, folder)
    statement = f"CALL ducklake_add_data_files('lake', 't{table}', '{folder}/rows.parquet')"
    return lambda _: connection.execute(statement), lambda: 0
