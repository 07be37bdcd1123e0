"""Check whether the rows of a file are in the right bucket and in order, by reading the file.

PyArrow reads the bucket columns and the sort columns. Values that Spark may read differently are not judged:
a column that has another type in the file, or timestamps of ORC, whose time zone a file does not record.

Rows are in the order of Hive and Spark: NULL first if ascending, last if descending; NaN the greatest.

>>> numbers = pa.array([None, 1, 1, 3])
>>> first_out_of_order([numbers], [False]) is None, first_out_of_order([numbers], [True])
(True, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquetry.data_files import TableColumn
from parquetry.errors import FileCorruptError, FileMissingError, UnsupportedError
from parquetry.hashing import HashType, bucket_ids
from parquetry.layout import BucketSpec
from parquetry.locations import open_location
from parquetry.rows import require_certain_days
from parquetry.types import ColumnType
from parquetry.verification.column_reader import ColumnBatches

_MAX_SHOWN_CHARACTERS = 40
"""Most characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class BucketCheck:
    """The result of one file's check.

    Attributes:
        rows: that were read.
        wrong: how many of these belong in another bucket.
        example: one of them, such as ``k = 5 belongs in bucket 3``; or None if none is wrong.
        sorted: whether all rows of the file are in order, or None if that is unknown or the spec has no
            order.
        unsorted: the first rows out of order, such as ``k = 3 stands below k = 5``, or None.
    """

    rows: int
    wrong: int = 0
    example: str | None = None
    sorted: bool | None = None
    unsorted: str | None = None


def check_buckets(
    path: str,
    file_format: str,
    bucket: int,
    spec: BucketSpec,
    columns: Sequence[TableColumn],
    *,
    most: int | None = None,
    old_days: bool = False,
) -> BucketCheck:
    """Check the rows of a file.

    Args:
        path: of the file, absolute.
        file_format: ``parquet`` or ``orc``.
        bucket: that all rows should be in.
        spec: the buckets, and their sort order.
        columns: of the table, all that are in files, in their order.
        most: how many rows to read in a larger file, whose order then stays unknown; or None for all.
        old_days: whether early days may be of another calendar in the file, which PyArrow does not convert.
            That is so if another program wrote it, or Spark in the mode `LEGACY`.

    Raises:
        UnsupportedError: Spark may read other values of the bucket columns; the message says why.
        FileMissingError: the file does not exist.
        FileCorruptError: it cannot be read.
    """
    physical = {column.physical: column for column in columns}
    keys = [physical[name] for name in spec.columns]
    order = [physical[sort_column.column] for sort_column in spec.sort]
    if not all(column.column_type.facts.stored_order for column in order):
        order = []
    read = list({column.physical: column for column in (*keys, *order)}.values())
    positions = {column.physical: at for at, column in enumerate(columns)}
    filesystem, name = open_location(path)
    try:
        with filesystem.open_input_file(name) as source:
            batches, unlike = _open_columns(source, file_format, read, positions)
            if any(column.physical in unlike for column in order):
                order = []
                read = keys
                batches, unlike = _open_columns(source, file_format, read, positions)
            for column in keys:
                if column.physical in unlike:
                    raise UnsupportedError(f"{unlike[column.physical]}.")
            whole = most is None or batches.rows <= most
            # Spark writes ORC's days before 1582 in the Julian calendar; PyArrow reads them as Gregorian
            checker = _BucketChecker(
                bucket, spec, read, keys, order if whole else [], old_days or file_format == "orc"
            )
            for arrays in batches.batches(most):
                checker.take(arrays)
            return checker.result
    except FileNotFoundError:
        raise FileMissingError(
            f"The file '{path}' is not there: take it out of the table with sync."
        ) from None
    except (pa.ArrowException, ValueError, OverflowError, OSError) as error:
        raise FileCorruptError(f"The file '{path}' cannot be read: {error}. Remove or restore it.") from error


def _open_columns(
    source: Any, file_format: str, read: Sequence[TableColumn], positions: dict[str, int]
) -> tuple[ColumnBatches, dict[str, str]]:
    """Return some columns of a file, and by physical name why Spark may read other values of some."""
    names = [column.physical for column in read]
    batches = ColumnBatches(source, file_format, names, [positions[name] for name in names])
    return batches, batches.unlike(read)


class _BucketChecker:
    """Checks the rows of a file batch by batch.

    Attributes:
        result: of the batches so far.
    """

    def __init__(
        self,
        bucket: int,
        spec: BucketSpec,
        read: Sequence[TableColumn],
        keys: Sequence[TableColumn],
        order: Sequence[TableColumn],
        recent: bool,
    ) -> None:
        self._bucket, self._spec, self._recent = bucket, spec, recent
        self._keys, self._order = keys, order
        self._positions = {column.physical: at for at, column in enumerate(read)}
        self._types = [column.column_type for column in keys]
        self._descending = [sort_column.descending for sort_column in spec.sort][: len(order)]
        self._last: list[pa.Array] | None = None
        self.result = BucketCheck(0, sorted=True if order else None)

    def take(self, arrays: Sequence[pa.Array]) -> None:
        rows = len(arrays[0])
        if not rows:
            return
        before = self.result
        wrong, example = self._find_misplaced(arrays)
        unsorted = self._out_of_order(arrays) if before.sorted else before.unsorted
        self.result = BucketCheck(
            before.rows + rows,
            before.wrong + wrong,
            before.example or example,
            None if before.sorted is None else unsorted is None,
            unsorted,
        )

    def _find_misplaced(self, arrays: Sequence[pa.Array]) -> tuple[int, str | None]:
        key_arrays = [arrays[self._positions[column.physical]] for column in self._keys]
        if self._recent:
            for column, array in zip(self._keys, key_arrays, strict=True):
                require_certain_days(column.name, array)
        settled = [_normalise_zeros(array) for array in key_arrays]
        buckets = bucket_ids(self._spec.version, self._spec.count, settled, self._types)
        wrong = np.flatnonzero(buckets != self._bucket)
        if not len(wrong):
            return 0, None
        row = int(wrong[0])
        return len(wrong), f"{_row_text(self._keys, key_arrays, row)} belongs in bucket {buckets[row]}"

    def _out_of_order(self, arrays: Sequence[pa.Array]) -> str | None:
        sort_arrays = [
            sortable(arrays[self._positions[column.physical]], column.column_type) for column in self._order
        ]
        if self._last is not None:
            sort_arrays = [pa.concat_arrays(pair) for pair in zip(self._last, sort_arrays, strict=True)]
        self._last = [array.slice(len(array) - 1) for array in sort_arrays]
        row = first_out_of_order(sort_arrays, self._descending)
        if row is None:
            return None
        above = _row_text(self._order, sort_arrays, row - 1)
        return f"{_row_text(self._order, sort_arrays, row)} stands below {above}"


def _normalise_zeros(array: pa.Array) -> pa.Array:
    """Return values that have equal hashes if they are equal: 0.0 replaces -0.0, also inside nested ones."""
    type = array.type
    if pa.types.is_floating(type):
        return pc.add(array, pa.scalar(0.0, type))
    if pa.types.is_struct(type):
        parts = [_normalise_zeros(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(type), mask=array.is_null())
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        kind: Any = pa.ListArray if pa.types.is_list(type) else pa.LargeListArray
        return kind.from_arrays(
            array.offsets, _normalise_zeros(array.values), type=type, mask=array.is_null()
        )
    return array


def _row_text(columns: Sequence[TableColumn], arrays: Sequence[pa.Array], row: int) -> str:
    return ", ".join(
        f"{column.name} = {_text(array[row])}" for column, array in zip(columns, arrays, strict=True)
    )


def _text(value: pa.Scalar) -> str:
    try:
        plain = value.as_py()
    except (ValueError, OverflowError):  # a year that Python does not support
        plain = str(value)
    text = "NULL" if plain is None else repr(plain) if isinstance(plain, str | bytes) else str(plain)
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}…"


def sortable(array: pa.Array, type: ColumnType) -> pa.Array:
    """Return values of a column in a form whose comparison gives the column's order.

    Raises:
        pyarrow.ArrowInvalid: a value is none of the type.
    """
    array = HashType.from_column_type(type).cast(array)
    return array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array


def first_out_of_order(columns: Sequence[pa.Array], descending: Sequence[bool]) -> int | None:
    """Return the first row that belongs before the row above it, or None if all rows are in order.

    Args:
        columns: that the rows are sorted by, the first one first, each as `sortable` returns it.
        descending: for each column whether its order is descending.
    """
    count = len(columns[0])
    if count < 2:
        return None
    signs = np.zeros(count - 1, np.int8)
    for column, down in zip(columns, descending, strict=True):
        column_signs = _signs(column)
        signs = np.where(signs == 0, -column_signs if down else column_signs, signs)
    wrong = np.flatnonzero(signs > 0)
    return int(wrong[0]) + 1 if len(wrong) else None


def _signs(array: pa.Array) -> NDArray[np.int8]:
    """Return for each row but the last: -1 if it is less than the next one, 1 if it is greater, else 0."""
    before, after = array.slice(0, len(array) - 1), array.slice(1)
    signs = _flags(pc.greater(before, after)).astype(np.int8) - _flags(pc.less(before, after))
    if pa.types.is_floating(array.type):
        signs = _greatest(signs, _flags(pc.is_nan(array)))
    if array.null_count:
        nulls = _flags(array.is_null())
        signs = np.where(nulls[:-1] | nulls[1:], nulls[1:].astype(np.int8) - nulls[:-1], signs)
    return signs


def _greatest(signs: NDArray[np.int8], these: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the signs after some rows are made greater than all others."""
    apart = these[:-1].astype(np.int8) - these[1:]
    return np.where(these[:-1] | these[1:], apart, signs)


def _flags(array: Any) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = array.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
