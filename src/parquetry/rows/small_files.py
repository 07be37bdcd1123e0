"""Read many small Parquet files of a local disk by one scan of PyArrow's, which decodes several at once.

Opening a small file and finding its columns costs as much as its rows do. So what is found of one file serves
all that have the same schema, and PyArrow's threads read the files, not ours. Rows, refusals and errors are
the same as from `reader.read_file`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from parquetry.data_files import has_old_calendar
from parquetry.errors import FileCorruptError
from parquetry.locations import open_location
from parquetry.rows.arrow_types import Constants
from parquetry.rows.conversions import StoredColumn, stored_columns
from parquetry.rows.reader import OpenFile, name_errors, read_file
from parquetry.rows.request import FileRows, ReadRequest
from parquetry.rows.stored_file import MAX_BYTES_AT_ONCE, StoredFile

_FILES_AT_ONCE = 64
"""Files whose footers are read before the first row is: some milliseconds."""
_ROWS_PER_BATCH = 1 << 20
"""Rows of a batch, at most: a row group of a small file is one batch."""
_MAX_BYTES_OF_SCAN = 64_000_000
"""Bytes of one scan, not compressed. PyArrow decodes all of it if its rows are taken slowly."""
_FORMAT = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))


def read_small_files(request: ReadRequest, files: Sequence[FileRows]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files that satisfy the request's condition, in the order of the files.

    Args:
        request: what to read, of Parquet files.
        files: the files, on a local disk. PyArrow holds the rows of a few of them at once.

    Raises:
        UnsupportedError, FileMissingError, FileCorruptError: as `reader.read_file`.
    """
    opening = _Opening(request)
    remaining = iter(files)
    while some := list(islice(remaining, _FILES_AT_ONCE)):
        run: list[_OpenedFile] = []
        for opened in map(opening.open, some):
            if run and not opened.may_follow(run):
                yield from _read_run(request, run)
                run = []
            run.append(opened)
        yield from _read_run(request, run)


class _Fragment(StoredFile):
    """A Parquet file that a scan of PyArrow's reads.

    Attributes:
        filesystem: of the file.
        path: of the file on it.
        bytes: of its row groups, not compressed.
    """

    def __init__(self, location: str) -> None:
        self.filesystem, name = open_location(location)
        self.is_orc = False
        self._file = _FORMAT.make_fragment(name, self.filesystem)
        self.path: str = self._file.path
        self.schema = self._file.physical_schema
        metadata = self._file.metadata
        self.bytes = sum(metadata.row_group(part).total_byte_size for part in range(self.parts))

    def of_parts(self, parts: Sequence[int]) -> ds.Fragment:
        """Return PyArrow's fragment of some row groups."""
        return self._file if len(parts) == self.parts else self._file.subset(row_group_ids=list(parts))

    def has_schema_of(self, other: _Fragment) -> bool:
        """Return whether the file has the schema of another one."""
        schemas = [each._file.metadata.schema for each in (self, other)]
        return bool(self.schema.equals(other.schema) and schemas[0].equals(schemas[1]))


@dataclass(frozen=True, slots=True)
class _Layout:
    """How several files store the columns to read.

    Attributes:
        first: one of the files.
        legacy: whether their early days are of the Julian calendar.
        columns: the columns that they have.
    """

    first: _Fragment
    legacy: bool
    columns: Sequence[StoredColumn]


@dataclass(frozen=True, slots=True)
class _OpenedFile:
    """A file whose footer has been read.

    Attributes:
        file: the file.
        stored: the same, opened.
        layout: how it stores the columns.
        reader: makes rows of its batches.
    """

    file: FileRows
    stored: _Fragment
    layout: _Layout
    reader: OpenFile

    def may_follow(self, run: Sequence[_OpenedFile]) -> bool:
        """Return whether one scan reads the file after others.

        Partitions may share files, and a batch names only its path. So a scan has each path once.
        """
        alike = self.layout is run[0].layout and self.is_scanned and run[0].is_scanned
        once = all(self.stored.path != each.stored.path for each in run)
        return alike and once and sum(each.stored.bytes for each in (*run, self)) <= _MAX_BYTES_OF_SCAN

    @property
    def is_scanned(self) -> bool:
        """Return whether PyArrow has columns to read, and can have all of them in memory."""
        return bool(self.layout.columns) and self.stored.bytes <= MAX_BYTES_AT_ONCE


class _Opening:
    """Opens files.

    Args:
        request: what to read of each.
    """

    def __init__(self, request: ReadRequest) -> None:
        self._request = request
        self._layout: _Layout | None = None
        self._constants = Constants()

    def open(self, file: FileRows) -> _OpenedFile:
        """Return an opened file. It has the same layout object as the one before if it is stored alike."""
        with name_errors(file.path):
            stored = _Fragment(file.path)
            legacy = has_old_calendar(stored.key_values)
            layout = self._layout
            if layout is None or layout.legacy != legacy or not stored.has_schema_of(layout.first):
                layout = _Layout(stored, legacy, stored_columns(self._request, file, stored))
                self._layout = layout
            reader = OpenFile(self._request, file, stored, layout.columns, self._constants)
            return _OpenedFile(file, stored, layout, reader)


def _read_run(request: ReadRequest, run: Sequence[_OpenedFile]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files that one scan reads."""
    if not run[0].is_scanned:
        for opened in run:
            yield from read_file(request, opened.file)
        return
    parts = [each.reader.parts() for each in run]
    fragments = [each.stored.of_parts(some) for each, some in zip(run, parts, strict=True) if some]
    dataset = ds.FileSystemDataset(fragments, run[0].stored.schema, _FORMAT, run[0].stored.filesystem)
    names = [each.spelling for each in run[0].layout.columns]
    batches = dataset.scanner(names, batch_size=_ROWS_PER_BATCH).scan_batches()
    at = 0
    while (tagged := _next(request, batches, run[at:])) is not None:
        while run[at].stored.path != tagged.fragment.path:
            at += 1
        with name_errors(run[at].file.path):
            rows = run[at].reader.rows(tagged.record_batch)
        if rows.num_rows:
            yield rows


def _next(request: ReadRequest, batches: Iterator[Any], remaining: Sequence[_OpenedFile]) -> Any:
    """Return the next batch of a scan, or None after the last.

    Raises:
        UnsupportedError, FileMissingError, FileCorruptError: as `reader.read_file`.
    """
    try:
        return next(batches, None)
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        for opened in remaining:  # the scan does not name the file
            for _ in read_file(request, opened.file):
                pass
        paths = f"'{remaining[0].file.path}' or a later one"
        raise FileCorruptError(f"The file {paths} cannot be read: {error}. Remove or restore it.") from error
