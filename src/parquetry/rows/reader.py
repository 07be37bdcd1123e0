"""Read a data file as the table says, batch by batch.

A file may have been written before a column was renamed, added or widened, and it has no partition columns.
`conversions` says what becomes of its columns. Columns that it lacks are NULL, or have their default.
Partition columns have their literal values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.data_files import FileRecord, TableColumn, default_value, has_default, has_old_calendar
from parquetry.errors import FileCorruptError, FileMissingError, UnsupportedError
from parquetry.locations import open_location
from parquetry.predicate import TRUE, Filter, columns_of
from parquetry.rows.arrow_types import arrow_schema
from parquetry.rows.calendars import has_times, require_certain_days
from parquetry.rows.conversions import Convert, StoredType, UnreadableColumnError, converter
from parquetry.rows.row_filter import matching_rows
from parquetry.rows.row_groups import candidate_row_groups
from parquetry.rows.stored_file import ROWS_PER_BATCH, StoredFile, plain
from parquetry.rows.values import constant_array
from parquetry.types import Value


@dataclass(frozen=True)
class ReadRequest:
    """The rows and columns to read of each file of a scan.

    Attributes:
        file_format: ``parquet`` or ``orc``.
        columns: the columns to give, in their order, partition columns among them.
        data_columns: all columns of the table that are in files, in their order.
        partition_by: the partition columns, in the order of the partitions' values.
        filter: the condition that rows must satisfy.
        zone: the time zone of ORC's timestamps, or None if it is not known.
    """

    file_format: str
    columns: tuple[TableColumn, ...]
    data_columns: tuple[TableColumn, ...]
    partition_by: tuple[TableColumn, ...]
    filter: Filter = field(default_factory=lambda: Filter(TRUE))
    zone: str | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """Return the schema of the batches.

        Raises:
            UnsupportedError: a column's type is read by Spark alone.
        """
        return arrow_schema(self.columns)

    @cached_property
    def read(self) -> tuple[TableColumn, ...]:
        """Return the columns to read: the given ones, and further ones of the condition."""
        names = {column.name for column in self.columns}
        about = columns_of(self.filter.node) - names
        others = (column for column in (*self.data_columns, *self.partition_by) if column.name in about)
        return (*self.columns, *others)


@dataclass(frozen=True, slots=True)
class FileRows:
    """A file of a table.

    Attributes:
        path: absolute path or URI.
        record: its record.
        values: of its partition.
        certain: whether all of its rows satisfy the condition.
    """

    path: str
    record: FileRecord
    values: tuple[Value, ...]
    certain: bool = False


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
    with _name_errors(file.path), filesystem.open_input_file(name) as source:
        yield from _OpenFile(request, file, StoredFile(source, request.file_format)).batches()


def require_plain_file(request: ReadRequest, file: FileRows) -> None:
    """Make sure that PyArrow's own reader reads a file's columns as Spark does, or only widens them.

    Raises:
        UnsupportedError: it reads other values.
        FileMissingError, FileCorruptError: as `read_file`.
    """
    filesystem, name = open_location(file.path)
    with _name_errors(file.path), filesystem.open_input_file(name) as source:
        _OpenFile(request, file, StoredFile(source, request.file_format)).require_plain()


_OF_ENCRYPTED_FILES = ("Cannot decrypt", "no decryption found")
"""Parts of PyArrow's errors. A single word could also be of a path."""


@contextlib.contextmanager
def _name_errors(path: str) -> Iterator[None]:
    """Name the file that cannot be read.

    Raises:
        FileMissingError: the file does not exist.
        FileCorruptError: it cannot be read.
        UnsupportedError: it is encrypted.
    """
    try:
        yield
    except FileNotFoundError:
        raise FileMissingError(
            f"The file '{path}' is not there: restore it, or have `parquetry fsck --repair` take it out of the table."
        ) from None
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        if any(phrase in str(error) for phrase in _OF_ENCRYPTED_FILES):
            raise UnsupportedError(
                f"The file '{path}' is encrypted, and only Spark has the keys: read the table with Spark."
            ) from error
        raise FileCorruptError(f"The file '{path}' cannot be read: {error}. Remove or restore it.") from error


@dataclass(frozen=True, slots=True)
class _StoredColumn:
    """A column of the table that a file has.

    Attributes:
        column: of the table.
        spelling: its name in the file.
        convert: makes the table's values of the file's, or None if they are the same.
        certain_days: whether old days are refused.
        may_be_char: whether the file may have it as a CHAR, and the table as another text.
    """

    column: TableColumn
    spelling: str
    convert: Convert | None
    certain_days: bool
    may_be_char: bool


class _OpenFile:
    """Reads one open file."""

    def __init__(self, request: ReadRequest, file: FileRows, stored: StoredFile) -> None:
        self._request, self._file, self._stored = request, file, stored
        self._partition = {
            column.name: value for column, value in zip(request.partition_by, file.values, strict=True)
        }
        self._positions = {column.name: at for at, column in enumerate(request.data_columns)}
        self._legacy = stored.is_orc or has_old_calendar(stored.key_values)
        self._tested = not file.certain and request.filter.node != TRUE
        data = [column for column in request.read if column.name not in self._partition]
        columns = [self._stored_column(column) for column in data]
        self._columns = [each for each in columns if each is not None]

    def batches(self) -> Iterator[pa.RecordBatch]:
        parts = self._parts()
        if not self._columns:
            yield from self._constant_batches(parts)
            return
        names = [each.spelling for each in self._columns]
        for batch in self._stored.batches(names, parts):
            arrays = {
                each.column.name: self._values(each, batch.column(each.spelling)) for each in self._columns
            }
            rows = self._rows(arrays, batch.num_rows)
            if rows.num_rows:
                yield rows

    def require_plain(self) -> None:
        """Make sure that PyArrow's own reader reads the columns as Spark does, or only widens them."""
        stored = {each.column.name: each for each in self._columns}
        for column in self._request.read:
            each = stored.get(column.name)
            if column.name in self._partition:
                continue
            if each is None and has_default(column):
                raise self._refusal(column, "the file lacks it, and it has a default")
            if each is None:
                continue
            kind = column.column_type
            widens = each.convert is None or (kind.primitive and kind.name != "char")
            if each.spelling != column.name or not widens or each.certain_days:
                raise self._refusal(column, f"PyArrow alone reads other values of {each.spelling}")

    def _parts(self) -> list[int]:
        every = list(range(self._stored.parts))
        if self._stored.is_orc or not self._tested or len(every) < 2:
            return every
        request = self._request
        filesystem, name = open_location(self._file.path)
        some = candidate_row_groups(
            filesystem, name, request.filter, request.data_columns, self._partition, len(every)
        )
        return every if some is None else some

    def _constant_batches(self, parts: list[int]) -> Iterator[pa.RecordBatch]:
        """Yield rows none of whose columns the file has."""
        if self._stored.is_orc:
            count = self._stored.rows
        else:
            count = sum(self._stored.part_rows(part) or 0 for part in parts)
        for start in range(0, count, ROWS_PER_BATCH):
            rows = self._rows({}, min(ROWS_PER_BATCH, count - start))
            if rows.num_rows:
                yield rows

    def _rows(self, arrays: dict[str, pa.Array], count: int) -> pa.RecordBatch:
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
            return constant_array(column.column_type, self._partition[column.name], count)
        if not has_default(column):
            return pa.nulls(count, arrow_schema([column]).field(0).type)
        value = default_value(column)
        if value is None:
            raise self._refusal(
                column, "the file lacks it, and its default is an expression that Spark evaluates"
            )
        return constant_array(column.column_type, value, count)

    def _stored_column(self, column: TableColumn) -> _StoredColumn | None:
        spellings = self._stored.spellings(column.physical, self._positions[column.name])
        if len(spellings) > 1:
            raise self._refusal(column, f"the file has it as {' and as '.join(spellings)}")
        if not spellings:
            return None
        spelling = spellings[0]
        stored = StoredType(
            self._stored.type_of(spelling), self._leaves(column, spelling), self._request.zone
        )
        try:
            convert = converter(column.type, stored)
        except UnsupportedError as error:
            raise self._refusal(column, error.message) from error
        type = arrow_schema([column]).field(0).type
        old_days = self._legacy and has_times(type)
        return _StoredColumn(column, spelling, convert, old_days, self._may_be_char(column, spelling))

    def _may_be_char(self, column: TableColumn, spelling: str) -> bool:
        """Return whether an ORC file has a text as a CHAR, or nothing says that it has not."""
        if not self._stored.is_orc or column.column_type.name not in ("string", "varchar"):
            return False
        known = (self._file.record.columns or {}).get(spelling)
        return known is None or (known.stored or "").startswith("orc char")

    def _leaves(self, column: TableColumn, spelling: str) -> list[str]:
        """Return how the values are stored. PyArrow does not distinguish a CHAR of ORC from a STRING."""
        known = (self._file.record.columns or {}).get(spelling)
        kind = column.column_type
        if self._stored.is_orc and kind.primitive and known is not None:
            if known.stored:
                return [known.stored]
            if kind.name == "timestamp_ntz" and pa.types.is_integer(self._stored.type_of(spelling)):
                return ["orc timestamp_ntz"]  # the record had stated another type
        return self._stored.leaves(spelling)

    def _values(self, stored: _StoredColumn, array: pa.Array) -> pa.Array:
        try:
            if stored.may_be_char and pc.any(pc.ends_with(array, " ")).as_py():
                raise UnreadableColumnError(
                    "ORC may have it as a CHAR, whose blanks Spark removes, and PyArrow shows no difference"
                )
            if stored.certain_days:
                require_certain_days(stored.column.name, plain(array))
            return plain(array) if stored.convert is None else stored.convert(array)
        except UnsupportedError as error:
            raise self._refusal(stored.column, error.message) from error
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise self._refusal(stored.column, f"a value does not fit the table's type ({error})") from error

    def _refusal(self, column: TableColumn, reason: str) -> UnsupportedError:
        return UnsupportedError(
            f"Column {column.name} of the file '{self._file.path}' cannot be read outside of Spark: {reason.rstrip('.')}. "
            "Select other columns, read the table with Spark, or have the file written anew by CALL system.compact."
        )


def _empty_rows(count: int) -> pa.RecordBatch:
    """Return rows without columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(count)], ["rows"]).select([])
