"""Read many small Parquet files of one table: what is found of one file serves all that are stored alike.

Opening a small file and finding its columns costs as much as its rows do. Rows, refusals and errors are the
same as from `reader.read_file`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from parquetry.data_files import TableColumn, has_old_calendar
from parquetry.rows.arrow_types import Constants
from parquetry.rows.conversions import StoredColumn, stored_columns
from parquetry.rows.reader import OpenFile, name_errors, opened
from parquetry.rows.request import FileRows, ReadRequest
from parquetry.rows.stored_file import StoredFile


def read_small_files(request: ReadRequest, files: Sequence[FileRows]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files that satisfy the request's condition, in the order of the files.

    Args:
        request: what to read, of Parquet files.
        files: the files.

    Raises:
        UnsupportedError, FileMissingError, FileCorruptError: as `reader.read_file`.
    """
    constants = Constants()
    for file in files:
        with name_errors(file.path), opened(file, request.file_format) as stored:
            columns = _find_columns(request, file, stored)
            yield from OpenFile(request, file, stored, columns, constants).batches()


class _Layout(NamedTuple):
    """How files store the columns of a request.

    Attributes:
        read: the columns to read.
        others: what else of the request decides: the table's columns in files, and the zone of ORC's times.
        schema: of the files, in Arrow's types.
        parquet_schema: of the files, in Parquet's types.
        legacy: whether their early days are of the Julian calendar.
        columns: the columns that they have.
    """

    read: tuple[TableColumn, ...]
    others: tuple[object, ...]
    schema: pa.Schema
    parquet_schema: pq.ParquetSchema
    legacy: bool
    columns: Sequence[StoredColumn]


_RECENT: deque[_Layout] = deque(maxlen=8)
"""The last layouts of any scan. A look-up of one row takes longer to find the columns than to decode them."""


def _find_columns(request: ReadRequest, file: FileRows, stored: StoredFile) -> Sequence[StoredColumn]:
    """Return the columns of a file. They are not looked for if another file was stored alike."""
    legacy = has_old_calendar(stored.key_values)
    schema, parquet_schema = stored.schema, stored.parquet_schema
    others = request.data_columns, request.partition_by, request.zone
    for each in list(_RECENT):
        if (
            each.read == request.read
            and each.others == others
            and each.legacy == legacy
            and each.schema.equals(schema, check_metadata=True)
            and each.parquet_schema.equals(parquet_schema)
        ):
            return each.columns
    columns = stored_columns(request, file, stored)
    _RECENT.appendleft(_Layout(request.read, others, schema, parquet_schema, legacy, columns))
    return columns
