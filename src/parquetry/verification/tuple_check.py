"""Check whether a file has rows with some tuples of values, by reading it if statistics do not decide.

PyArrow reads only the needed columns, batch by batch. Values without a certain comparison count as found:
floats (NaN has many forms), timestamps (a file may have no time zone), and columns that have another type in
the file. So do dates before 1582: a file may have another calendar.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.data_files import FileRecord, TableColumn
from parquetry.locations import join_location, open_location
from parquetry.types import ColumnType, Value, to_python
from parquetry.verification.column_reader import ColumnBatches

Lacks: TypeAlias = Callable[[FileRecord, Sequence[TableColumn], Sequence[tuple[Value, ...]]], bool]
"""Takes a file, columns and tuples of their values. Returns whether no row of the file has one of them."""

_FIRST_GREGORIAN_DAY = -141_427
"""The days from 1970 back to 15 October 1582. ORC, and Parquet in the mode `LEGACY`, store earlier days in
the Julian calendar, which Spark converts and PyArrow does not.
"""


def lacks_tuples(location: str, file_format: str) -> Lacks:
    """Return the function that reads files of a partition and checks whether they lack some tuples.

    Args:
        location: of the partition.
        file_format: ``parquet`` or ``orc``.
    """
    return functools.partial(_lacks, location, file_format)


def _lacks(
    location: str,
    file_format: str,
    file: FileRecord,
    columns: Sequence[TableColumn],
    tuples: Sequence[tuple[Value, ...]],
) -> bool:
    types = [column.column_type for column in columns]
    if any(_is_old_day(type, value) for row in tuples for type, value in zip(types, row, strict=True)):
        return False
    if not all(type.facts.same_in_arrow for type in types):
        return False
    filesystem, path = open_location(join_location(location, file.path))
    try:
        wanted = [_WantedValues(type, [row[index] for row in tuples]) for index, type in enumerate(types)]
        with filesystem.open_input_file(path) as source:
            there = ColumnBatches(source, file_format, [column.physical for column in columns])
            return there.complete and not any(_has_some(wanted, batch) for batch in there.batches())
    except (pa.ArrowException, ValueError, OverflowError):
        return False  # a date that Python does not support, or a decimal wider than Arrow compares
    except OSError:
        return False  # reading the rows will raise the error


def _is_old_day(type: ColumnType, value: Value) -> bool:
    """Return whether a value is a date that files may have as a day of another calendar."""
    return type.name == "date" and isinstance(value, int) and value < _FIRST_GREGORIAN_DAY


class _WantedValues:
    """The values of one column among the tuples.

    Args:
        type: of the column.
        values: one of each tuple; None is NULL.
    """

    def __init__(self, type: ColumnType, values: Sequence[Value]) -> None:
        self._null = None in values
        self.values = [None if value is None else to_python(type, value) for value in values]
        self._some = pa.array([value for value in self.values if value is not None])

    def comparable(self, type: pa.DataType) -> bool:
        """Return whether values of the file's column can be compared with these."""
        if pa.types.is_null(self._some.type):
            return True
        both = (type.value_type if pa.types.is_dictionary(type) else type, self._some.type)
        return any(
            all(map(is_kind, both))
            for is_kind in (
                _is_text,
                pa.types.is_integer,
                pa.types.is_boolean,
                pa.types.is_date32,
                _is_decimal,
                _is_bytes,
            )
        )

    def mask(self, array: pa.Array) -> pa.Array:
        """Return which rows have one of the values."""
        flags = pc.is_null(array)
        if not self._null:
            flags = pc.and_(flags, False)
        if not pa.types.is_null(self._some.type):
            plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            wide = _widen(plain)
            flags = pc.or_(flags, pc.is_in(wide, value_set=self._some.cast(wide.type), skip_nulls=True))
        return flags


def _widen(array: pa.Array) -> pa.Array:
    """Return an array in a type that holds every value of its kind."""
    if pa.types.is_integer(array.type):
        return array.cast(pa.int64())
    if _is_decimal(array.type):
        return array.cast(pa.decimal256(76, 38))
    return array


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def _is_bytes(type: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type) or pa.types.is_large_binary(type))


def _is_decimal(type: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(type))


def _has_some(wanted: Sequence[_WantedValues], batch: Sequence[pa.Array]) -> bool:
    """Return whether a row has all values of one tuple, or may have them."""
    if not all(values.comparable(array.type) for values, array in zip(wanted, batch, strict=True)):
        return True
    masks = [values.mask(array) for values, array in zip(wanted, batch, strict=True)]
    candidates = pc.indices_nonzero(functools.reduce(pc.and_, masks))
    if len(masks) == 1 or not len(candidates):
        return bool(len(candidates))
    sought = set(zip(*(values.values for values in wanted), strict=True))
    rows = zip(*(array.take(candidates).to_pylist() for array in batch), strict=True)
    return any(row in sought for row in rows)
