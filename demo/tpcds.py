"""Make TPC-DS with DuckDB's generator: rows as Parquet files, the queries' texts, counts to check against.

The extension comes from PyPI with the demo's requirements. `demo.tables` loads the rows.
"""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb

# TPC-DS draws most of its values evenly. Here half of the visits are to page 1, a sixth to page 2, and so on.
_VISITS = """
SELECT CAST(least(1000, floor(1 / ((hash(ss_ticket_number, ss_item_sk) % 1000000) / 1e6 + 0.001))) AS INTEGER) AS page,
       ss_item_sk AS item, ss_net_paid AS paid, d_year AS year
FROM store_sales LEFT JOIN date_dim ON ss_sold_date_sk = d_date_sk
"""
_PURCHASES = """
SELECT ss_customer_sk AS customer, ss_ticket_number AS ticket, ss_item_sk AS item, ss_quantity AS quantity, ss_net_paid AS paid
FROM store_sales WHERE ss_customer_sk IS NOT NULL
"""
DERIVED = {
    "visits": _VISITS,
    "sales": "SELECT ss_item_sk AS item, ss_ticket_number AS ticket, ss_customer_sk AS customer, ss_net_paid AS paid, "
    "d_year AS year FROM store_sales LEFT JOIN date_dim ON ss_sold_date_sk = d_date_sk",
    "purchases": _PURCHASES,
    "corrections": f"""SELECT * REPLACE (CAST(paid + 1 AS DECIMAL(7, 2)) AS paid) FROM ({_PURCHASES}) WHERE paid < 99999
    AND customer IN (SELECT unnest(quantile_disc(ss_customer_sk, [0.3, 0.7])) FROM store_sales)""",
    "refunds": "SELECT cr_order_number AS order_number, cr_item_sk AS item, cr_return_amount AS refunded, "
    "strftime(d_date, '%Y-%m') AS month FROM catalog_returns LEFT JOIN date_dim ON cr_returned_date_sk = d_date_sk",
    "sold": "SELECT ss_item_sk AS item, ss_ticket_number AS ticket, ss_customer_sk AS customer, ss_quantity AS quantity, "
    "ss_net_paid AS paid FROM store_sales",
    "returned": "SELECT sr_item_sk AS item, sr_ticket_number AS ticket, sr_customer_sk AS customer, "
    "sr_return_quantity AS quantity, sr_return_amt AS refunded FROM store_returns",
    "sensors": "SELECT CAST(range AS INTEGER) AS id, 'sensor-' || range AS name FROM range(2000)",
}
"""Tables made of TPC-DS's, by the SQL that makes them."""
_SOURCES = ("store_sales", "store_returns", "catalog_returns", "date_dim")


@dataclass(frozen=True, slots=True)
class Raw:
    """TPC-DS at one scale, one Parquet file a table.

    Attributes:
        folder: where the files are.
        rows: of each table, by its name; small tables first.
    """

    folder: Path
    rows: dict[str, int]

    def file(self, table: str) -> Path:
        """Return the file of a table."""
        return self.folder / f"{table}.parquet"

    def count(self, sql: str) -> int:
        """Return the one number that a query over the raw files gives, as DuckDB answers it."""
        with duckdb.connect() as connection:
            for table in self.rows:
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM '{_quoted(self.file(table))}'")
            found = connection.execute(sql).fetchone()
        if found is None:
            raise ValueError(f"not a query for one number: {sql}")
        return int(found[0])


def make(folder: Path, scale: float) -> Raw:
    """Generate the tables into a folder, or use the folder that an earlier run has made.

    The folder appears whole or not at all, so an interrupted run leaves nothing half-made.

    Args:
        folder: of the Parquet files, one a table.
        scale: TPC-DS's scale factor; 1 makes about 280 MB.
    """
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        with _tpcds() as connection:
            connection.execute(f"CALL dsdgen(sf={scale})")
            for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                target = _quoted(unfinished / f"{table}.parquet")
                connection.execute(f"COPY {table} TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
        unfinished.rename(folder)
    for table, sql in DERIVED.items():
        _derive(folder, table, sql)
    return Raw(folder, _row_counts(folder))


def _derive(folder: Path, table: str, sql: str) -> None:
    """Make a table of others, if it is not there yet."""
    target = folder / f"{table}.parquet"
    if target.exists():
        return
    unfinished = folder.with_name(f"{table}.unfinished")
    with duckdb.connect() as connection:
        for each in _SOURCES:
            connection.execute(f"CREATE VIEW {each} AS SELECT * FROM '{_quoted(folder / f'{each}.parquet')}'")
        connection.execute(f"COPY ({sql}) TO '{_quoted(unfinished)}' (FORMAT parquet, COMPRESSION zstd)")
    unfinished.rename(target)


def query_texts() -> dict[int, str]:
    """Return the texts of the 99 queries, by number."""
    with _tpcds() as connection:
        return dict(connection.execute("SELECT query_nr, query FROM tpcds_queries()").fetchall())


def _tpcds() -> duckdb.DuckDBPyConnection:
    """Connect to an empty database with the generator loaded, from the package that brought it."""
    package = importlib.util.find_spec("duckdb_extension_tpcds")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("duckdb-extension-tpcds is not installed; `make demo` installs it")
    (extension,) = Path(package.origin).parent.glob("**/tpcds.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{_quoted(extension)}'")
    return connection


def _row_counts(folder: Path) -> dict[str, int]:
    with duckdb.connect() as connection:
        counts = connection.execute(
            "SELECT file_name, num_rows "
            f"FROM parquet_file_metadata('{_quoted(folder / '*.parquet')}') ORDER BY num_rows, file_name"
        ).fetchall()
    return {Path(name).stem: rows for name, rows in counts}


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
