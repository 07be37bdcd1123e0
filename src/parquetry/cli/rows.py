"""The commands that print rows: `head` reads one table, and `query` runs SQL by DuckDB over all of them."""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from parquetry import texts
from parquetry.cli import output
from parquetry.cli.app import app
from parquetry.cli.options import (
    FilterOptions,
    JsonOption,
    StorageOptions,
    TableArgument,
    filter_argument,
    option,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from parquetry.catalog import Column

Format = Literal["table", "csv", "json", "parquet"]
_FORMATS_BY_ENDING: dict[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".txt": "table",
}

_PLAN_OF_DUCKDB = ["explain_key", "explain_value"]
"""The columns of EXPLAIN, whose second one is a drawing of many lines."""


@dataclass(frozen=True, slots=True)
class ScanOptions(FilterOptions):
    """The rows and columns of a table to read."""

    condition: Annotated[str | None, filter_argument("A filter in SQL: only these rows.")] = None
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Print at most N rows.")] = (
        10
    )
    column: Annotated[
        list[str] | None,
        option("--column", "NAME", "Only this column; may be given several times, or as a,b.", short="-c"),
    ] = None
    version: Annotated[
        str | None, option("--version", "N", "Of this version, or of the one with this tag.")
    ] = None

    @property
    def version_or_tag(self) -> int | str | None:
        """Return the version's number, or its tag."""
        return int(self.version) if self.version is not None and self.version.isdigit() else self.version


@dataclass(frozen=True, slots=True)
class RowOptions:
    """How rows are written, and where."""

    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="How rows are written; by default a table, or as FILE ends.",
            show_default=False,
        ),
    ] = None
    to: Annotated[Path | None, option("--output", "FILE", "Write the rows to a file.", short="-o")] = None
    time_zone: Annotated[
        str | None,
        option(
            "--time-zone",
            "ZONE",
            "The zone of timestamps without one in the filter, and of ORC's timestamps, such as UTC.",
        ),
    ] = None


@app.command(epilog="Example: parquetry head sales.orders -n 20 --where \"day >= '2024-01-01'\"")
def head(
    table: TableArgument,
    scan: ScanOptions,
    rows: RowOptions,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Print the first rows of a table or of a filter.

    Only so many files are read as needed.
    """
    with warehouse.open() as catalog:
        names = None
        if scan.column is not None:
            names = _split_names(scan.column, catalog.scan(table, version=scan.version_or_tag).columns)
        first = catalog.scan(
            table, scan.text(), names, version=scan.version_or_tag, limit=scan.limit, time_zone=rows.time_zone
        )
        write_rows(first.to_batches(), rows, as_json=as_json)


@app.command(epilog='Example: parquetry query "SELECT count(*) FROM sales.orders" -o n.csv')
def query(
    sql: Annotated[
        str,
        typer.Argument(metavar="SQL", help="A query in DuckDB's SQL, or - to read it from standard input."),
    ],
    rows: RowOptions,
    warehouse: StorageOptions,
    as_json: JsonOption = False,
) -> None:
    """Run a query by DuckDB over the tables.

    Tables are named database.table. DuckDB's conditions and columns choose the files that are read. This
    needs the package duckdb: pip install 'parquetry[duckdb]'.
    """
    with warehouse.open() as catalog:
        relation = catalog.query(sys.stdin.read() if sql == "-" else sql, time_zone=rows.time_zone)
        with _duckdb_errors():
            write_rows(relation.to_arrow_reader(), rows, as_json=as_json)


@contextlib.contextmanager
def _duckdb_errors() -> Iterator[None]:
    """Show an error of a query without DuckDB's and Python's words around it.

    Raises:
        UnsupportedError: in place of DuckDB's error, or PyArrow's.
    """
    import duckdb
    import pyarrow as pa

    from parquetry.errors import UnsupportedError

    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        text = str(error).partition(". Detail: Python exception")[0].rpartition("Unknown error: ")[2]
        raise UnsupportedError(text.strip()) from error


def write_rows(rows: pa.RecordBatchReader, options: RowOptions, *, as_json: bool = False) -> None:
    """Write rows to standard output, or to a file.

    Args:
        rows: a stream of them.
        options: by default, the format is what the file's name ends with, or a table.
        as_json: whether the option --json was given.

    Raises:
        typer.BadParameter: the options contradict each other.
    """
    format, to = options.format, options.to
    if as_json and format not in (None, "json"):
        raise typer.BadParameter(f"--json and --format {format} are given: leave one of them out.")
    chosen = "json" if as_json else format
    if chosen is None:
        chosen = "table" if to is None else _FORMATS_BY_ENDING.get(to.suffix.lower())
    if chosen is None:
        raise typer.BadParameter(
            f"The name {to} ends with no format: add --format csv, json, parquet or table."
        )
    if chosen == "parquet":
        _write_parquet(rows, to)
        return
    write = {"csv": _print_csv, "json": _print_json, "table": _print_table}[chosen]
    if to is None:
        write(rows)
    else:
        _write_text(write, rows, to)


def _write_text(write: Callable[[pa.RecordBatchReader], None], rows: pa.RecordBatchReader, to: Path) -> None:
    with to.open("w", encoding="utf-8", newline="") as file, contextlib.redirect_stdout(file):
        write(rows)


def _write_parquet(rows: pa.RecordBatchReader, to: Path | None) -> None:
    import pyarrow.parquet as pq

    if to is None:
        raise typer.BadParameter("Parquet is no text: name a file with --output FILE.")
    with pq.ParquetWriter(to, rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)


def _records(rows: pa.RecordBatchReader) -> Iterator[list[Any]]:
    """Yield the values of each row, in the order of the columns."""
    for batch in rows:
        columns = [column.to_pylist() for column in batch.columns]
        yield from map(list, zip(*columns, strict=True))


def _print_csv(rows: pa.RecordBatchReader) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.schema.names)
    for row in _records(rows):
        writer.writerow(map(_csv_text, row))


def _split_names(names: Sequence[str], columns: Iterable[Column]) -> list[str]:
    """Return names of columns. A text that is no column may have several, with commas."""
    known = {column.name.lower() for column in columns}
    return [part.strip() for name in names for part in ([name] if name.lower() in known else name.split(","))]


def _csv_text(value: Any) -> str:
    """Return a value for CSV: nothing for NULL, texts unchanged, JSON for lists and structs."""
    if value is None or isinstance(value, str):
        return value or ""
    return output.json_text(value) if isinstance(value, list | dict) else texts.cell(value)


def _print_json(rows: pa.RecordBatchReader) -> None:
    names = rows.schema.names
    output.print_json(dict(zip(names, row, strict=True)) for row in _records(rows))


def _print_table(rows: pa.RecordBatchReader) -> None:
    import pyarrow as pa

    if rows.schema.names == _PLAN_OF_DUCKDB:
        for _, drawing in _records(rows):
            print(drawing.rstrip())
        return

    numbers = [field.name for field in rows.schema if _is_number(pa, field.type)]
    records = ([_table_text(value) for value in row] for row in _records(rows))
    output.print_table(rows.schema.names, records, numbers, empty="No rows.")


def _table_text(value: Any) -> Any:
    """Return a value for a table: JSON for lists and structs."""
    return output.json_text(value) if isinstance(value, list | dict) else value


def _is_number(pa: Any, type: Any) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))
