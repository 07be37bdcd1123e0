"""Read a data file as the table says, batch by batch.

A file may have been written before a column was renamed, added or widened, and it has no partition columns.
`conversions` says what becomes of its columns. Columns that it lacks are NULL, or have their default.
Partition columns have their literal values.

Row groups of a Parquet file that cannot have a row for a condition are left out.

The code that judges the statistics of whole files judges theirs, too.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.fs as pafs

from parquetry.data_files import (
    FileRecord,
    IdsInFile,
    RecordedFiles,
    TableColumn,
    bounds_in_files,
    default_value,
    footer_record,
    has_default,
    open_footer,
    struct_fields,
)
from parquetry.errors import FileCorruptError, FileMissingError, ParquetryError, UnsupportedError
from parquetry.locations import open_location
from parquetry.predicate import TRUE, Bounds, Filter, Knowledge, Match, match
from parquetry.rows.arrow_types import Constants, arrow_schema, constant_array
from parquetry.rows.conversions import StoredColumn, column_refusal, stored_columns
from parquetry.rows.request import FileRows, ReadRequest
from parquetry.rows.row_filter import matching_rows
from parquetry.rows.stored_file import ROWS_PER_BATCH, StoredFile
from parquetry.types import Value


def read_file(request: ReadRequest, file: FileRows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file that satisfy the request's condition, in their order.

    Args:
        request: what to read.
        file: the file.

    Raises:
        UnsupportedError: Spark reads other rows than PyArrow can; the message names file, column and remedy.
        FileMissingError: the file does not exist.
        FileCorruptError: it cannot be read.
    """
    filesystem, name = open_location(file.path)
    with name_errors(file.path), filesystem.open_input_file(name) as source:
        yield from OpenFile(request, file, StoredFile(source, request.file_format)).batches()


def require_plain_file(request: ReadRequest, file: FileRows) -> None:
    """Make sure that PyArrow's own reader reads a file's columns as Spark does, or only widens them.

    Raises:
        UnsupportedError: it reads other values.
        FileMissingError, FileCorruptError: as `read_file`.
    """
    if file.record.field_ids == IdsInFile.ENCRYPTED:
        raise _encrypted(file.path)
    filesystem, name = open_location(file.path)
    with name_errors(file.path), filesystem.open_input_file(name) as source:
        OpenFile(request, file, StoredFile(source, request.file_format)).require_plain()


def _encrypted(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"The file '{path}' is encrypted, and only Spark has the keys: read the table with Spark."
    )


_OF_ENCRYPTED_FILES = ("Cannot decrypt", "no decryption found")
"""Parts of PyArrow's errors. A single word could also be of a path."""
_OF_FAR_TIMES = "is out of range for nanosecond resolution"
"""A part of PyArrow's error at a time in ORC, which it reads in nanoseconds of 64 bits."""
_ARROWS_PATH = re.compile(r"^Could not open Parquet input source '.*?': ")
"""The beginning of errors of PyArrow's datasets, which our message has already."""


@contextlib.contextmanager
def name_errors(path: str) -> Iterator[None]:
    """Name the file that cannot be read.

    Raises:
        FileMissingError: the file does not exist.
        FileCorruptError: it cannot be read.
        UnsupportedError: it is encrypted, or PyArrow does not read one of its times.
    """
    try:
        yield
    except FileNotFoundError:
        raise FileMissingError(
            f"The file '{path}' is not there: restore it, or have `parquetry fsck --repair` take it out of the table."
        ) from None
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        if any(phrase in str(error) for phrase in _OF_ENCRYPTED_FILES):
            raise _encrypted(path) from error
        if _OF_FAR_TIMES in str(error):
            raise UnsupportedError(
                f"The file '{path}' has a timestamp before 1677 or after 2262, which PyArrow does not read in ORC: "
                "select other columns, or read the table with Spark."
            ) from error
        reason = _ARROWS_PATH.sub("", str(error)).rstrip(".")
        raise FileCorruptError(
            f"The file '{path}' cannot be read: {reason}. Remove or restore it."
        ) from error


class OpenFile:
    """Reads one open file.

    Args:
        request: what to read.
        file: the file.
        stored: the open file.
        columns: the columns to read that the file has, or None to find them.
        constants: the arrays of partition values, which several files share.
    """

    def __init__(
        self,
        request: ReadRequest,
        file: FileRows,
        stored: StoredFile,
        columns: Sequence[StoredColumn] | None = None,
        constants: Constants | None = None,
    ) -> None:
        self._request, self._file, self._stored = request, file, stored
        self._partition = {
            column.name: value for column, value in zip(request.partition_by, file.values, strict=True)
        }
        self._constants = Constants() if constants is None else constants
        self._tested = not file.certain and request.filter.node != TRUE
        self.columns = stored_columns(request, file, stored) if columns is None else columns

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        parts = self.parts()
        if not self.columns:
            yield from self.constant_batches(parts)
            return
        names = [each.spelling for each in self.columns]
        for batch in self._stored.batches(names, parts):
            rows = self.rows(batch)
            if rows.num_rows:
                yield rows

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Convert a batch of the file, and return the rows that satisfy the condition."""
        path = self._file.path
        arrays = {each.column.name: each.values(batch.column(each.spelling), path) for each in self.columns}
        return self._chosen(arrays, batch.num_rows)

    def require_plain(self) -> None:
        """Make sure that PyArrow's own reader reads the columns as Spark does, or only widens them."""
        stored = {each.column.name: each for each in self.columns}
        for column in self._request.read:
            each = stored.get(column.name)
            if column.name in self._partition:
                continue
            if each is None and has_default(column):
                raise column_refusal(column, self._file.path, "the file lacks it, and it has a default")
            if each is None:
                continue
            kind = column.column_type
            widens = each.convert is None or (kind.primitive and kind.name != "char")
            if each.spelling != column.name or not widens or each.certain_days:
                raise column_refusal(
                    column, self._file.path, f"PyArrow alone reads other values of {each.spelling}"
                )

    def parts(self) -> list[int]:
        """Return the positions of the row groups, or stripes, that may have rows."""
        every = list(range(self._stored.parts))
        if self._stored.is_orc or not self._tested or len(every) < 2:
            return every
        request = self._request
        filesystem, name = open_location(self._file.path)
        some = candidate_row_groups(
            filesystem, name, request.filter, request.data_columns, self._partition, len(every)
        )
        return every if some is None else some

    def constant_batches(self, parts: list[int]) -> Iterator[pa.RecordBatch]:
        """Yield rows none of whose columns the file has."""
        if self._stored.is_orc:
            count = self._stored.rows
        else:
            count = sum(self._stored.part_rows(part) or 0 for part in parts)
        for start in range(0, count, ROWS_PER_BATCH):
            rows = self._chosen({}, min(ROWS_PER_BATCH, count - start))
            if rows.num_rows:
                yield rows

    def _chosen(self, arrays: dict[str, pa.Array], count: int) -> pa.RecordBatch:
        """Return the rows that satisfy the condition, with the columns that are given."""
        request = self._request
        for column in request.read:
            if column.name not in arrays:
                arrays[column.name] = self._constant(column, count)
        if self._tested:
            truth = matching_rows(request.filter.node, arrays, count)
            if truth.true_count < count:
                arrays = {column.name: arrays[column.name].filter(truth) for column in request.columns}
                count = truth.true_count
        given = [arrays[column.name] for column in request.columns]
        if not given:
            return _empty_rows(count)
        return pa.RecordBatch.from_arrays(given, schema=request.schema)

    def _constant(self, column: TableColumn, count: int) -> pa.Array:
        if column.name in self._partition:
            value = self._partition[column.name]
            return self._constants.array(column.name, column.column_type, value, count)
        if not has_default(column):
            return pa.nulls(count, arrow_schema([column]).field(0).type)
        default = default_value(column)
        if default is None:
            raise column_refusal(
                column,
                self._file.path,
                "the file lacks it, and its default is an expression that Spark evaluates",
            )
        return constant_array(column.column_type, default, count)


def _empty_rows(count: int) -> pa.RecordBatch:
    """Return rows without columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(count)], ["rows"]).select([])


def candidate_row_groups(
    filesystem: pafs.FileSystem,
    path: str,
    filter: Filter,
    columns: Sequence[TableColumn],
    partition: Mapping[str, Value],
    count: int,
) -> list[int] | None:
    """Return the positions of the row groups that may have a matching row, or None if all may.

    Args:
        filesystem: of the file.
        path: of the file on it.
        filter: the condition.
        columns: the table's columns that are in files.
        partition: the values of the partition columns by name.
        count: of the row groups, as PyArrow has it.
    """
    try:
        footers = open_footer(filesystem, path).by_row_group()
        records = [footer_record(footer, path, 0, None) for footer in footers]
    except (pa.ArrowException, OSError, ValueError, ParquetryError):
        return None  # reading the rows raises the error
    if len(records) != count:
        return None
    answers = match(filter, _RowGroups(records, columns, partition))
    return [position for position, answer in enumerate(answers) if answer != Match.CANNOT]


class _RowGroups(Knowledge):
    """The statistics of row groups; see `Knowledge`."""

    def __init__(
        self, records: Sequence[FileRecord], columns: Sequence[TableColumn], partition: Mapping[str, Value]
    ) -> None:
        self._files = RecordedFiles(records)
        self._columns = {column.name: column for column in (*columns, *struct_fields(columns))}
        self._partition = partition
        self.count = len(records)

    def bounds(self, column: str) -> Bounds | None:
        """Return the bounds of a column in each of the row groups, or None if it has no statistics."""
        if column in self._partition:
            return Bounds.from_values([self._partition[column]] * self.count)
        bounds = bounds_in_files(self._columns[column], self._files) if column in self._columns else None
        return None if bounds is None else bounds.bounds
