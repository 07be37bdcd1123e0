"""The columns of a file that a request reads, each with what makes the table's values of the file's."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.data_files import TableColumn, has_old_calendar
from parquetry.errors import UnsupportedError
from parquetry.rows.arrow_types import arrow_schema
from parquetry.rows.calendars import has_times, require_certain_days
from parquetry.rows.conversions import Convert, StoredType, UnreadableColumnError, converter
from parquetry.rows.request import FileRows, ReadRequest
from parquetry.rows.stored_file import StoredFile, plain


@dataclass(frozen=True, slots=True)
class StoredColumn:
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

    def values(self, array: pa.Array, path: str) -> pa.Array:
        """Return the table's values of a file's array.

        Raises:
            UnsupportedError: Spark reads other values; the message names the file.
        """
        try:
            if self.may_be_char and pc.any(pc.ends_with(array, " ")).as_py():
                raise UnreadableColumnError(
                    "ORC may have it as a CHAR, whose blanks Spark removes, and PyArrow shows no difference"
                )
            if self.certain_days:
                require_certain_days(self.column.name, plain(array))
            return plain(array) if self.convert is None else self.convert(array)
        except UnsupportedError as error:
            raise column_refusal(self.column, path, error.message) from error
        except (pa.ArrowException, ValueError, OverflowError) as error:
            reason = f"a value does not fit the table's type ({error})"
            raise column_refusal(self.column, path, reason) from error


def stored_columns(request: ReadRequest, file: FileRows, stored: StoredFile) -> tuple[StoredColumn, ...]:
    """Return the columns to read that a file has.

    Raises:
        UnsupportedError: Spark reads other values of one; the message names the file.
    """
    partition = {column.name for column in request.partition_by}
    columns = _FileColumns(request, file, stored)
    found = (columns.find(column) for column in request.read if column.name not in partition)
    return tuple(each for each in found if each is not None)


def column_refusal(column: TableColumn, path: str, reason: str) -> UnsupportedError:
    """Return the error of a column of a file that only Spark reads."""
    return UnsupportedError(
        f"Column {column.name} of the file '{path}' cannot be read outside of Spark: {reason.rstrip('.')}. "
        "Select other columns, read the table with Spark, or have the file written anew by CALL system.compact."
    )


class _FileColumns:
    """Finds columns of one file."""

    def __init__(self, request: ReadRequest, file: FileRows, stored: StoredFile) -> None:
        self._request, self._file, self._stored = request, file, stored
        self._positions = {column.name: at for at, column in enumerate(request.data_columns)}
        self._legacy = stored.is_orc or has_old_calendar(stored.key_values)

    def find(self, column: TableColumn) -> StoredColumn | None:
        """Return a column, or None if the file lacks it."""
        spellings = self._stored.spellings(column.physical, self._positions[column.name])
        if len(spellings) > 1:
            raise column_refusal(column, self._file.path, f"the file has it as {' and as '.join(spellings)}")
        if not spellings:
            return None
        spelling = spellings[0]
        stored = StoredType(
            self._stored.type_of(spelling), self._leaves(column, spelling), self._request.zone
        )
        try:
            convert = converter(column.type, stored)
        except UnsupportedError as error:
            raise column_refusal(column, self._file.path, error.message) from error
        type = arrow_schema([column]).field(0).type
        old_days = self._legacy and has_times(type)
        return StoredColumn(column, spelling, convert, old_days, self._may_be_char(column, spelling))

    def _may_be_char(self, column: TableColumn, spelling: str) -> bool:
        """Return whether an ORC file has a text as a CHAR, or nothing says that it has not."""
        if not self._stored.is_orc or not column.column_type.unpadded:
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
