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
from parquetry.rows.stored_file import MAX_BYTES_AT_ONCE, ROWS_PER_BATCH, StoredFile
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
    with name_errors(file.path), opened(file, request.file_format) as stored:
        yield from OpenFile(request, file, stored).batches()


_MAX_BYTES_OF_ONE_READ = 1 << 18
"""Bytes of a file that is taken into memory by one read. Its footer alone would be a read of 64 KB."""


@contextlib.contextmanager
def opened(file: FileRows, file_format: str) -> Iterator[StoredFile]:
    """Open a file for a block.

    Args:
        file: the file.
        file_format: ``parquet`` or ``orc``.

    Raises:
        pyarrow.ArrowException, OSError: it cannot be read.
    """
    filesystem, name = open_location(file.path)
    with filesystem.open_input_file(name) as source:
        if source.size() <= _MAX_BYTES_OF_ONE_READ:
            yield StoredFile(pa.BufferReader(source.read_buffer()), file_format)
        else:
            yield StoredFile(source, file_format)


def require_plain_file(request: ReadRequest, file: FileRows) -> None:
    """Make sure that PyArrow's own reader reads a file's columns as Spark does, or only widens them.

    Raises:
        UnsupportedError: it reads other values.
        FileMissingError, FileCorruptError: as `read_file`.
    """
    if file.record.field_ids == IdsInFile.ENCRYPTED:
        raise _encrypted(file.path)
    with name_errors(file.path), opened(file, request.file_format) as stored:
        OpenFile(request, file, stored).require_plain()


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


_MIN_BYTES_READ_TWICE = 1_000_000
"""Bytes of a row group, not compressed, whose other columns are read only if a row satisfies the condition.
Fewer are decoded within a millisecond, and a second read costs a tenth of it."""


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
        first, others = self._read_first()
        for part in parts:
            if first and others and self._is_read_twice(part):
                yield from self._rows_of_group(part, first, others)
            else:
                yield from self._rows_of_part(part)

    def _read_first(self) -> tuple[list[StoredColumn], list[StoredColumn]]:
        """Return the columns of the condition, if rows are tested by one, and the other columns."""
        tested = self._request.tested if self._tested else frozenset()
        first = [each for each in self.columns if each.column.name in tested]
        return first, [each for each in self.columns if each.column.name not in tested]

    def _is_read_twice(self, part: int) -> bool:
        """Return whether a part's columns of the condition are read before its other columns."""
        if self._stored.is_orc:
            return False
        return _MIN_BYTES_READ_TWICE <= self._stored.part_bytes(part) <= MAX_BYTES_AT_ONCE

    def _rows_of_part(self, part: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a row group, or of a stripe, that satisfy the condition."""
        for batch in self._stored.batches(_spellings(self.columns), [part]):
            rows = self._chosen(self._values(self.columns, batch), batch.num_rows)
            if rows.num_rows:
                yield rows

    def _rows_of_group(
        self, part: int, first: Sequence[StoredColumn], others: Sequence[StoredColumn]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a row group that satisfy the condition.

        Args:
            part: position of the row group.
            first: the columns of the condition.
            others: the columns that are read only if there are such rows.
        """
        tested = self._stored.row_group(part, _spellings(first)).to_batches()
        if len(tested) != 1:
            yield from self._rows_of_part(part)
            return
        arrays, count = self._values(first, tested[0]), tested[0].num_rows
        truth = self._truth(arrays, count)
        if not truth.true_count:
            return
        read = self._stored.row_group(part, _spellings(others)).to_batches()
        if len(read) == 1:
            yield self._chosen(arrays | self._values(others, read[0]), count, truth)
        else:
            yield from self._rows_of_part(part)

    def _values(self, columns: Sequence[StoredColumn], batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Convert columns of a batch of the file."""
        path = self._file.path
        return {each.column.name: each.values(batch.column(each.spelling), path) for each in columns}

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

    def _truth(self, arrays: dict[str, pa.Array], count: int) -> pa.BooleanArray:
        """Return for each row whether it satisfies the condition, by the arrays of its columns."""
        tested = self._request.tested
        missing = [each for each in self._request.read if each.name in tested and each.name not in arrays]
        arrays = arrays | {column.name: self._constant(column, count) for column in missing}
        return matching_rows(self._request.filter.node, arrays, count)

    def _chosen(
        self, arrays: dict[str, pa.Array], count: int, truth: pa.BooleanArray | None = None
    ) -> pa.RecordBatch:
        """Return the rows that satisfy the condition, with the columns that are given.

        Args:
            arrays: the file's columns, by name.
            count: the number of rows.
            truth: whether each row satisfies the condition, if this is known.
        """
        request = self._request
        if self._tested and truth is None:
            truth = self._truth(arrays, count)
        chooses = truth is not None and truth.true_count < count
        if truth is not None and chooses:
            arrays = {name: array.filter(truth) for name, array in arrays.items()}
            count = truth.true_count
        given = [
            arrays[each.name] if each.name in arrays else self._constant(each, count)
            for each in request.columns
        ]
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


def _spellings(columns: Sequence[StoredColumn]) -> list[str]:
    return [each.spelling for each in columns]


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
