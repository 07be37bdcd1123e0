"""Compares recorded statistics of data files with PyArrow's values, and tables of them with stock Spark's.

    python -m tests.support.files_beside DIR [--without-spark]

Every Parquet and ORC file below a folder is read, from any writer. A line is printed for each difference,
and the exit code says whether there was one. Files that PyArrow, or Spark, cannot read are compared with the
other alone.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from parquetry.data_files import ColumnStatistics, FileRecord, Trust
from parquetry.data_files.footers.footer_reader import ArrowFooters, FooterReader
from parquetry.data_files.footers.parquet_statistics import FooterVisitor
from tests.support.effort import sampled

_EPOCH = dt.datetime(1970, 1, 1)
_MICROS = {"s": 1_000_000, "ms": 1000, "us": 1}
_CONDITIONS_PER_STATEMENT = 60
_PLAIN = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)


def files_in(folder: Path) -> list[tuple[Path, str]]:
    """Return the Parquet and ORC files below a folder, by how they begin or are named, with their formats."""
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not path.stat().st_size:
            continue
        with path.open("rb") as file:
            begin = file.read(4)
        if begin in (b"PAR1", b"PARE") or path.suffix == ".parquet":
            found.append((path, "parquet"))
        elif begin[:3] == b"ORC" or path.suffix == ".orc":
            found.append((path, "orc"))
    return found


def recorded(footers: FooterReader, path: Path, file_format: str) -> FileRecord | str:
    """Return what is recorded of a file, or why it is not taken in."""
    visitor = FooterVisitor()
    found = footers.data_files(file_format, f"file:{path.parent}", [path.name], visitor=visitor)
    return found[0] if found else visitor.broken[path.name]


class ArrowReads:
    """Reads columns with PyArrow in a process of its own, which PyArrow ends at some damaged files."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> ArrowReads:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def differences(self, path: Path, file_format: str, record: FileRecord) -> list[str]:
        """Return in what a record differs from the values of the file."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1)
        try:
            return self._pool.submit(arrow_differences, path, file_format, record).result()
        except BrokenProcessPool:
            self._pool = None
            return []


def arrow_differences(path: Path, file_format: str, record: FileRecord) -> list[str]:
    """Return how a record differs from PyArrow's values; nothing, if PyArrow cannot read the file."""
    try:
        file = orc.ORCFile(path) if file_format == "orc" else pq.ParquetFile(path)
        names = list(file.schema.names) if file_format == "orc" else list(file.schema_arrow.names)
    except Exception:  # noqa: BLE001 - whatever PyArrow says of a file that it does not read
        return []
    found: list[str] = []
    for name, statistics in (record.columns or {}).items():
        if names.count(name) != 1:
            continue
        try:
            column = file.read(columns=[name]).column(0)
        except Exception:  # noqa: BLE001
            continue
        if record.rows is not None and record.rows != len(column):
            found.append(f"{name}: {record.rows} rows recorded, {len(column)} read")
        if pa.types.is_null(column.type):  # what PyArrow does not read, such as intervals
            continue
        found += [f"{name}: {each}" for each in column_differences(statistics, record.rows, column)]
    return found


def column_differences(
    statistics: ColumnStatistics, rows: int | None, column: pa.ChunkedArray
) -> Iterator[str]:
    """Yield what is not so in the statistics of a column."""
    nulls, exact = column.null_count, statistics.trust == Trust.EXACT
    if statistics.nulls is not None and statistics.nulls != nulls:
        misleads = exact or (statistics.nulls == 0) or (statistics.nulls == rows)
        if misleads:
            yield f"{statistics.nulls} NULLs recorded, {nulls} read"
    if statistics.min is None and statistics.max is None:
        return
    values = [value for value in values_of(column) if value is not None and value == value]
    if not values:
        return
    low, high = _comparable(statistics.min, values), _comparable(statistics.max, values)
    least, greatest = min(values), max(values)
    if low is not None and (low > least or (exact and statistics.min_exact and low != least)):
        yield f"minimum {low!r} recorded, {least!r} read"
    if high is not None and (high < greatest or (exact and statistics.max_exact and high != greatest)):
        yield f"maximum {high!r} recorded, {greatest!r} read"


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column in the form that records have, or none for types without bounds."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(kind):
        factor = _MICROS.get(kind.unit)
        whole = column.cast(pa.int64()).to_pylist()
        return [
            each // 1000 if each is not None and not factor else each and each * (factor or 1)
            for each in whole
        ]
    if pa.types.is_temporal(kind) or pa.types.is_nested(kind):
        return []
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):  # some files' texts are no UTF-8
        column = column.cast(pa.large_binary())
    return column.to_pylist()


def _comparable(bound: Any, values: Sequence[Any]) -> Any:
    """Return a bound in the type of some values, or None if they do not compare."""
    if isinstance(values[0], Decimal) and isinstance(bound, str):
        return Decimal(bound)
    if isinstance(values[0], bytes) and isinstance(bound, str):
        return bound.encode()
    if isinstance(values[0], str) and isinstance(bound, bytes):
        return bound.decode(errors="replace")
    numbers = (int, float, Decimal)
    if isinstance(values[0], numbers) and isinstance(bound, numbers):
        return bound
    return bound if isinstance(bound, type(values[0])) else None


class BesideSpark:
    """Compares a table that has adopted one file with stock Spark's view of the file.

    Args:
        spark: a session.
        namespace: a namespace of Parquetry's catalog, for tables.
        folder: an empty folder.
        columns: how many columns of a file are compared; others of the next file.
        deletes: by how many of them rows are deleted.
    """

    def __init__(self, spark: Any, namespace: str, folder: Path, columns: int = 24, deletes: int = 3) -> None:
        self._spark = spark
        self._limits = columns, deletes
        self._namespace = namespace
        self._folder = folder
        self._count = 0

    def differences(self, path: Path, file_format: str) -> list[str]:
        """Return the statements whose answers differ from stock Spark's; nothing, if stock cannot read it."""
        self._count += 1
        place = self._folder / str(self._count)
        place.mkdir()
        shutil.copy(path, place / f"file.{file_format}")
        stock, ours = f"stock_{self._count}", f"{self._namespace}.t{self._count}"
        try:
            frame = self._spark.read.format(file_format).load(str(place))
            frame.createOrReplaceTempView(stock)
            columns = _plain_columns(frame.schema)
            most, deletes = self._limits
            first = self._count * most % max(1, len(columns))
            columns = [*columns[first:], *columns[:first]][:most]
            self._spark.sql(f"CREATE TABLE {ours} USING {file_format} LOCATION '{place.as_uri()}'")
        except Exception:  # noqa: BLE001 - no columns, or none that Spark can read
            return []
        self._spark.sql(f"MSCK REPAIR TABLE {ours}")
        found = self._columns(stock, ours, columns)
        for column in columns[:deletes]:
            found += self._deletes(stock, ours, column)
        self._spark.sql(f"DROP TABLE {ours}")
        return found

    def _columns(self, stock: str, ours: str, columns: Sequence[tuple[str, str]]) -> list[str]:
        """Compare all columns in a few statements; where stock cannot read one, column by column."""
        if not columns:
            return self._compare("SELECT count(*) FROM {}", stock, ours)
        sums = ", ".join(
            f"count({name}), CAST(min({name}) AS STRING), CAST(max({name}) AS STRING)" for name, _ in columns
        )
        limits = ", ".join(f"min({name}), max({name})" for name, _ in columns)
        known = self._stock(f"SELECT count(*), {sums}, {limits} FROM {stock}")
        if isinstance(known, str):
            if len(columns) == 1:
                return self._compare(f"SELECT count(*), {sums} FROM {{}}", stock, ours)
            return [each for column in columns for each in self._columns(stock, ours, [column])]
        expected, ends = known[0][: -2 * len(columns)], known[0][-2 * len(columns) :]
        told = self._answer(f"SELECT count(*), {sums} FROM {ours}")
        found = [] if told == [expected] else [f"{sums}: {told}, not {expected}"]
        conditions = self._sampled(
            [
                condition
                for number, column in enumerate(columns)
                for condition in conditions_on(column, ends[2 * number : 2 * number + 2])
            ]
        )
        for start in range(0, len(conditions), _CONDITIONS_PER_STATEMENT):
            found += self._selected(conditions[start : start + _CONDITIONS_PER_STATEMENT], stock, ours)
        return found

    def _selected(self, conditions: Sequence[str], stock: str, ours: str) -> list[str]:
        """Compare counts of rows by condition; every other count may come from the metastore."""
        counted = self._stock(f"SELECT {', '.join(f'count_if({each})' for each in conditions)} FROM {stock}")
        scans = " UNION ALL ".join(
            f"SELECT {number} AS n, {'count(*) AS c' if (number + self._count) % 2 else '1L AS c'} FROM {ours} WHERE {each}"
            for number, each in enumerate(conditions)
        )
        answer = self._answer(f"SELECT n, sum(c) FROM ({scans}) GROUP BY n")
        if isinstance(counted, str) or isinstance(answer, str):
            return [
                different
                for each in conditions
                for different in self._compare(f"SELECT count(*) FROM {{}} WHERE {each}", stock, ours)
            ]
        answers: dict[int, int] = dict(answer)  # type: ignore[arg-type]  # of two columns
        return [
            f"WHERE {each}: {answers.get(number, 0)} rows, not {counted[0][number]}"
            for number, each in enumerate(conditions)
            if answers.get(number, 0) != counted[0][number]
        ]

    def _deletes(self, stock: str, ours: str, column: tuple[str, str]) -> list[str]:
        """Compare what remains of two DELETEs, each taken back by a rollback."""
        ends = self._stock(f"SELECT min({column[0]}), max({column[0]}) FROM {stock}")
        if isinstance(ends, str):
            return []
        conditions, found = conditions_on(column, ends[0]), []
        catalog, _, table = ours.partition(".")
        for condition in self._sampled((conditions[0], conditions[-1])):
            kept = self._stock(f"SELECT count(*) FROM {stock} WHERE NOT coalesce({condition}, false)")
            history = self._spark.sql(f"CALL {catalog}.system.history(table => '{table}')")
            version = max(row["version"] for row in history.collect())
            self._spark.sql(f"DELETE FROM {ours} WHERE {condition}")
            remaining = self._answer(f"SELECT count(*) FROM {ours}")
            if kept != remaining:
                found.append(f"DELETE WHERE {condition}: {remaining} remain, not {kept}")
            self._spark.sql(f"CALL {catalog}.system.rollback(table => '{table}', version => {version})")
        return found

    def _compare(self, statement: str, stock: str, ours: str) -> list[str]:
        expected, answer = self._stock(statement.format(stock)), self._answer(statement.format(ours))
        same = expected == answer or (isinstance(expected, str) and isinstance(answer, str))
        return [] if same else [f"{statement.format('…')}: {answer}, not {expected}"]

    def _sampled(self, conditions: Sequence[str]) -> Sequence[str]:
        return sampled(conditions, str(self._count))

    def _stock(self, statement: str) -> list[tuple[Any, ...]] | str:
        from tests.support.tables.bucketed_tables import PLAINLY, settings

        with settings(self._spark, PLAINLY):
            return self._answer(statement)

    def _answer(self, statement: str) -> list[tuple[Any, ...]] | str:
        try:
            return [tuple(row) for row in self._spark.sql(statement).collect()]
        except Exception as error:  # noqa: BLE001 - an error is an answer, too
            return f"error: {' '.join(str(error).split())[:120]}"


def _plain_columns(schema: Any) -> list[tuple[str, str]]:
    """Return the names and the types of columns whose values can be compared, quoted."""
    kinds = [(field.name, field.dataType.simpleString()) for field in schema.fields]
    return [
        (f"`{name.replace('`', '``')}`", kind)
        for name, kind in kinds
        if kind.partition("(")[0] in (*_PLAIN, "decimal")
    ]


def conditions_on(column: tuple[str, str], ends: Sequence[Any]) -> list[str]:
    """Return conditions on a column, with literals from its least and greatest value."""
    name, kind = column
    literals = dict.fromkeys(sql_literal(each, kind) for each in ends if each is not None)
    compared = [f"{name} {operator} {each}" for each in literals for operator in ("=", "<", ">", "<=", ">=")]
    return [f"{name} IS NULL", f"{name} IS NOT NULL", *compared]


def sql_literal(value: Any, kind: str) -> str:
    """Return a value as SQL writes it."""
    if isinstance(value, bytes | bytearray):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"CAST('{value}' AS {kind})"


def compare_folder(folder: Path, with_spark: bool = True) -> Iterator[tuple[Path, list[str]]]:
    """Yield each file below a folder with its differences."""
    if not with_spark:
        yield from _compare(files_in(folder), ArrowFooters("UTC"), None)
        return
    from pyspark.sql import SparkSession

    import parquetry
    from parquetry.spark.engine import SparkEngine

    with tempfile.TemporaryDirectory() as work:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.session.timeZone", "UTC").config(
            "spark.ui.showConsoleProgress", "false"
        )
        spark = parquetry.configure(builder, catalog="lake", warehouse=f"{work}/lake").getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        spark.sql("CREATE NAMESPACE lake.beside")
        (Path(work) / "files").mkdir()
        yield from _compare(
            files_in(folder), SparkEngine(), BesideSpark(spark, "lake.beside", Path(work) / "files")
        )
        spark.stop()


def _compare(
    files: Sequence[tuple[Path, str]], footers: FooterReader, beside: BesideSpark | None
) -> Iterator[tuple[Path, list[str]]]:
    with ArrowReads() as arrow:
        for path, file_format in files:
            if file_format == "orc" and beside is None:
                continue
            record = recorded(footers, path, file_format)
            found = []
            if isinstance(record, FileRecord):
                found = arrow.differences(path, file_format, record)
                if beside is not None:
                    found += beside.differences(path, file_format)
            yield path, found


def main() -> int:
    """Compare the files below the folder that the command names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--without-spark", action="store_true", help="compare Parquet files with PyArrow alone"
    )
    arguments = parser.parse_args()
    count = wrong = 0
    for path, found in compare_folder(arguments.folder.resolve(), not arguments.without_spark):
        count += 1
        wrong += bool(found)
        for each in found:
            print(f"{path}: {each}", flush=True)
        if sys.stderr.isatty():
            print(f"\r{count} files, {wrong} with differences", end="", file=sys.stderr, flush=True)
    print(f"{count} files, {wrong} with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
