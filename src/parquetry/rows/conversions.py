"""Convert a column as a file stores it into the table's type, as Spark's readers do, or refuse it.

`data_files.find_conversion` knows what Spark's readers make of each pair of types. Values are read here only
where Spark keeps each of them (`SAME`). A struct's fields are found by their names in files. A field that a
file lacks is NULL.

The columns of a file that a request reads get their conversions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.data_files import (
    EXISTS_DEFAULT,
    Conversion,
    TableColumn,
    find_conversion,
    has_old_calendar,
    physical_name,
)
from parquetry.errors import UnsupportedError
from parquetry.rows.arrow_types import arrow_schema, arrow_type
from parquetry.rows.calendars import has_times, require_certain_days
from parquetry.rows.request import FileRows, ReadRequest
from parquetry.rows.stored_file import StoredFile, plain
from parquetry.types import ColumnType, type_from_json, type_text

Convert: TypeAlias = Callable[[pa.Array], pa.Array]
_INTERVAL_LEAVES = {32: ("parquet INT32", "orc int"), 64: ("parquet INT64", "orc bigint")}
"""How Spark stores intervals, by the bits of their values."""


@dataclass(frozen=True, slots=True)
class StoredType:
    """How a file stores a column.

    Attributes:
        arrow: the Arrow type that it is read as.
        leaves: how the values are stored, for each column of values in it (see `StoredFile.leaves`).
        zone: the time zone of ORC's timestamps, or None if it is not known.
    """

    arrow: pa.DataType
    leaves: Sequence[str]
    zone: str | None = None


class UnreadableColumnError(UnsupportedError):
    """The reason why Spark reads other values than PyArrow. `rows.reader` adds column, file and remedy."""


def converter(type: Any, stored: StoredType) -> Convert | None:
    """Return what converts a column's arrays to a type of the table, or None if they have it already.

    Args:
        type: of Spark's schema JSON.
        stored: how the file has it.

    Raises:
        UnreadableColumnError: Spark reads other values, or none.

    >>> wider = converter("long", StoredType(pa.int32(), ["parquet INT32"]))
    >>> wider(pa.array([1, None], pa.int32())).type
    DataType(int64)
    """
    leaves = iter(stored.leaves)
    return _Converters(stored.zone).convert(type, stored.arrow, leaves)


class _Converters:
    def __init__(self, zone: str | None) -> None:
        self._zone = zone

    def convert(self, type: Any, stored: pa.DataType, leaves: Iterator[str]) -> Convert | None:
        match type:
            case {"type": "struct", "fields": fields}:
                return self._struct(type, fields, stored, leaves)
            case {"type": "array", "elementType": element}:
                return self._list(type, element, stored, leaves)
            case {"type": "map", "keyType": key, "valueType": value}:
                return self._map(type, key, value, stored, leaves)
        kind = type_from_json(type)
        leaf = next(leaves, "")
        if stored.num_fields:
            raise _unlike(kind, str(stored))
        return self._primitive(kind, stored, leaf)

    def _primitive(self, kind: ColumnType, stored: pa.DataType, leaf: str) -> Convert | None:
        target = arrow_type(str(kind))
        if kind.interval:
            if leaf not in (*_INTERVAL_LEAVES[kind.facts.bits], f"orc {kind.name}"):
                raise _unlike(kind, leaf)
            return _as_numbers(target)
        if not kind.primitive:
            raise UnreadableColumnError(f"values of type {kind} are read by Spark alone")
        if find_conversion(leaf, kind) != Conversion.SAME:
            raise _unlike(kind, leaf)
        if pa.types.is_timestamp(stored) and leaf.startswith("orc "):
            return self._orc_time(target, leaf)
        convert = _primitive_convert(kind, target, stored)
        if kind.name != "char":
            return convert
        padded: Convert = lambda array: pc.utf8_rpad(_apply(convert, array), kind.length, " ")  # noqa: E731
        return padded

    def _orc_time(self, target: pa.DataType, leaf: str) -> Convert:
        """Return the conversion of ORC's local times, which Spark places in the JVM's time zone."""
        if leaf == "orc timestamp with local time zone":
            return lambda array: _retag(_micros(pc.floor_temporal(array, unit="microsecond")), target)
        if self._zone is None:
            raise UnreadableColumnError(
                "ORC stores a timestamp as the local time of the program that wrote it, without its time zone: give "
                "time_zone=, the zone of the Java processes that write and read the table, such as 'UTC'"
            )
        zone = self._zone

        def localise(array: pa.Array) -> pa.Array:
            local = _micros(pc.floor_temporal(array, unit="microsecond"))
            return _retag(pc.assume_timezone(local, zone, ambiguous="raise", nonexistent="raise"), target)

        return localise

    def _list(self, type: Any, element: Any, stored: pa.DataType, leaves: Iterator[str]) -> Convert | None:
        if not _is_list(stored):
            raise _unlike(type, str(stored))
        convert = self.convert(element, stored.value_type, leaves)
        target = arrow_type(type)
        if convert is None and stored == target:
            return None

        def rebuild(array: pa.Array) -> pa.Array:
            whole = _whole(
                array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_type))
            )
            values = _apply(convert, whole.values)
            return pa.ListArray.from_arrays(whole.offsets, values, type=target, mask=_mask(whole))

        return rebuild

    def _map(
        self, type: Any, key: Any, value: Any, stored: pa.DataType, leaves: Iterator[str]
    ) -> Convert | None:
        if not pa.types.is_map(stored):
            raise _unlike(type, str(stored))
        keys = self.convert(key, stored.key_type, leaves)
        items = self.convert(value, stored.item_type, leaves)
        target = arrow_type(type)
        if keys is None and items is None and stored == target:
            return None

        def rebuild(array: pa.Array) -> pa.Array:
            whole = _whole(array)
            parts = _apply(keys, whole.keys), _apply(items, whole.items)
            return pa.MapArray.from_arrays(whole.offsets, *parts, type=target, mask=_mask(whole))

        return rebuild

    def _struct(
        self, type: Any, fields: Sequence[Any], stored: pa.DataType, leaves: Iterator[str]
    ) -> Convert | None:
        if not pa.types.is_struct(stored):
            raise _unlike(type, str(stored))
        leaves_of = [_take_leaves(stored.field(at).type, leaves) for at in range(stored.num_fields)]
        target = arrow_type(type)
        parts: list[tuple[int | None, Convert | None]] = []
        for field in fields:
            at = self._field(field, stored)
            if at is None:
                parts.append((None, None))
                continue
            parts.append((at, self.convert(field["type"], stored.field(at).type, iter(leaves_of[at]))))
        if all(at is None for at, _ in parts):
            raise UnreadableColumnError(
                f"the file has none of the fields of {type_text(type)}, and versions of Spark differ in whether the struct is NULL"
            )
        if [at for at, _ in parts] == list(range(stored.num_fields)) and not any(c for _, c in parts):
            return None if stored == target else lambda array: _renamed(array, target)

        def rebuild(array: pa.Array) -> pa.Array:
            children = array.flatten()
            arrays = [
                pa.nulls(len(array), target.field(position).type)
                if at is None
                else _apply(convert, children[at])
                for position, (at, convert) in enumerate(parts)
            ]
            return pa.StructArray.from_arrays(arrays, fields=list(target), mask=_mask(array))

        return rebuild

    @staticmethod
    def _field(field: Any, stored: pa.DataType) -> int | None:
        metadata = field.get("metadata") or {}
        name = physical_name(field).lower()
        positions = [at for at in range(stored.num_fields) if stored.field(at).name.lower() == name]
        if len(positions) > 1:
            raise UnreadableColumnError(f"the file has the field {field['name']} {len(positions)} times")
        if not positions and metadata.get(EXISTS_DEFAULT) is not None:
            raise UnreadableColumnError(f"the file lacks the field {field['name']}, which has a default")
        return positions[0] if positions else None


def _primitive_convert(kind: ColumnType, target: pa.DataType, stored: pa.DataType) -> Convert | None:
    """Return the conversion of values that Spark keeps."""
    if stored == target:
        return None
    if kind.temporal and kind.name != "date":
        if pa.types.is_integer(stored):  # of ORC, where Spark marks them
            return _as_numbers(target)
        return lambda array: _retag(_micros(plain(array)), target)
    if kind.integral and not pa.types.is_integer(stored) and not pa.types.is_dictionary(stored):
        return _as_numbers(target)
    return lambda array: plain(array).cast(target)


def _micros(array: pa.Array) -> pa.Array:
    """Return timestamps, or days, in microseconds.

    Raises:
        pyarrow.ArrowInvalid: a value has no microseconds, or too many of them.
    """
    zone = array.type.tz if pa.types.is_timestamp(array.type) else None
    return array.cast(pa.timestamp("us", zone))


def _retag(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same numbers of microseconds as another type of timestamps."""
    return array if array.type == target else array.view(pa.int64()).view(target)


def _as_numbers(target: pa.DataType) -> Convert:
    """Return the conversion of times that are stored as plain numbers, and are wanted as these or back."""

    def convert(array: pa.Array) -> pa.Array:
        numbers = plain(array)
        if numbers.type == target:
            return numbers
        width = pa.int32() if numbers.type.bit_width == 32 else pa.int64()
        wide = numbers.view(width)
        if pa.types.is_integer(target):
            return wide.cast(target)
        return wide.view(target)

    return convert


def _apply(convert: Convert | None, array: pa.Array) -> pa.Array:
    return plain(array) if convert is None else convert(array)


def _take_leaves(type: pa.DataType, leaves: Iterator[str]) -> list[str]:
    if pa.types.is_dictionary(type) or not type.num_fields:
        return [next(leaves, "")]
    if pa.types.is_map(type):
        return [*_take_leaves(type.key_type, leaves), *_take_leaves(type.item_type, leaves)]
    return [leaf for at in range(type.num_fields) for leaf in _take_leaves(type.field(at).type, leaves)]


def _is_list(type: pa.DataType) -> bool:
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type))


def _whole(array: pa.Array) -> pa.Array:
    """Return an array that is no slice of a longer one: a mask needs that."""
    return array if array.offset == 0 else pa.concat_arrays([array, array.slice(0, 0)])


def _mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _renamed(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return a struct under the names of the table's fields."""
    return pa.StructArray.from_arrays(array.flatten(), fields=list(target), mask=_mask(array))


def _unlike(type: Any, stored: str) -> UnreadableColumnError:
    wanted = str(type) if isinstance(type, ColumnType) else type_text(type)
    there = stored.partition(" ")[2] if stored.startswith(("parquet ", "orc ")) else stored
    return UnreadableColumnError(f"the file has it as {there or 'nothing'}, and the table as {wanted}")


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
