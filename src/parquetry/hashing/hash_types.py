"""The types of bucket columns as the hashes need them, down to the parts of nested types.

Types without a portable hash are listed here: equal values may be in different buckets, depending on the
writer.

A join without a shuffle, and a query that reads one bucket, rely on equal values having equal hashes. The
hashes here are exact, but for some types that is not enough: writers differ in what they hash. Rows with such
types may be read by bucket only if their writer is known to hash equal values alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from parquetry.errors import UnsupportedError
from parquetry.layout import Version
from parquetry.types import ColumnType, type_from_json, type_text

_ARROW = {
    "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "varchar": pa.string(), "char": pa.string(),
    "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"), "void": pa.null(),
}  # fmt: skip
_NAMES = {arrow: name for name, arrow in reversed(_ARROW.items())}
_TEXTS = (pa.string(), pa.large_string())
_BINARIES = (pa.binary(), pa.large_binary())


@dataclass(frozen=True, slots=True)
class HashType:
    """A type of values to hash.

    Attributes:
        name: `ColumnType.name` of a primitive type; otherwise `struct`, `array`, `map` (its single part is a
            struct of key and value) or `void`.
        arrow: the type of Arrow arrays with its values.
        parts: the types of a struct's fields, of an array's elements, or of a map's pairs.
        length: the characters of a `char` or `varchar`.
    """

    name: str
    arrow: pa.DataType
    parts: tuple[HashType, ...] = ()
    length: int = 0

    @staticmethod
    def from_column_type(type: ColumnType) -> HashType:
        """Return the hash type of a column's type.

        Raises:
            UnsupportedError: its values have no hash: intervals, variants and others that no engine buckets
                by.

        >>> HashType.from_column_type(type_from_json({'type': 'array', 'elementType': 'varchar(3)', 'containsNull': True})).parts[0].name
        'varchar'
        """
        if type.name == "decimal":
            return HashType("decimal", pa.decimal128(type.precision, type.scale))
        if type.name in _ARROW:
            return HashType(type.name, _ARROW[type.name], length=type.length)
        return HashType._from_nested(json.loads(type.name) if type.name.startswith("{") else type.name)

    @staticmethod
    def _from_nested(type: Any) -> HashType:
        match type:
            case {"type": "struct", "fields": fields}:
                named = [
                    (field["name"], HashType.from_column_type(type_from_json(field["type"])))
                    for field in fields
                ]
                arrow = pa.struct([(name, part.arrow) for name, part in named])
                return HashType("struct", arrow, tuple(part for _, part in named))
            case {"type": "array", "elementType": element}:
                part = HashType.from_column_type(type_from_json(element))
                return HashType("array", pa.list_(part.arrow), (part,))
            case {"type": "map", "keyType": key, "valueType": value}:
                return _map(
                    HashType.from_column_type(type_from_json(key)),
                    HashType.from_column_type(type_from_json(value)),
                )
        raise UnsupportedError(
            f"Values of type {type_text(type)} have no hash for buckets: name columns of other types."
        )

    @staticmethod
    def from_arrow(type: pa.DataType) -> HashType:
        """Return the hash type of an Arrow array whose column type is not known.

        Raises:
            UnsupportedError: its values have no hash.

        >>> HashType.from_arrow(pa.list_(pa.int64())).parts[0].name
        'bigint'
        """
        if pa.types.is_dictionary(type):
            return HashType.from_arrow(type.value_type)
        if pa.types.is_struct(type):
            return HashType("struct", type, tuple(HashType.from_arrow(field.type) for field in type))
        if pa.types.is_map(type):
            return _map(HashType.from_arrow(type.key_type), HashType.from_arrow(type.item_type))
        if pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type):
            return HashType("array", type, (HashType.from_arrow(type.value_type),))
        if pa.types.is_decimal(type):
            return HashType("decimal", pa.decimal128(min(type.precision, 38), type.scale))
        if pa.types.is_timestamp(type):
            return HashType("timestamp" if type.tz else "timestamp_ntz", type)
        if pa.types.is_large_string(type) or pa.types.is_string_view(type):
            return HashType("string", pa.string())
        if (
            pa.types.is_large_binary(type)
            or pa.types.is_binary_view(type)
            or pa.types.is_fixed_size_binary(type)
        ):
            return HashType("binary", pa.binary())
        if type in _NAMES:
            return HashType(_NAMES[type], type)
        raise UnsupportedError(
            f"Arrays of type {type} have no hash for buckets: cast them to a type of Spark's first."
        )

    def cast(self, array: pa.Array) -> pa.Array:
        """Cast an array to the hashed type: files may have a tinyint in 32 bits, a text in a dictionary."""
        given = array.type
        if given == self.arrow or (pa.types.is_timestamp(given) and pa.types.is_timestamp(self.arrow)):
            return array
        if (given in _TEXTS and self.arrow in _TEXTS) or (given in _BINARIES and self.arrow in _BINARIES):
            return array
        if self.name == "struct" and pa.types.is_struct(given):
            return array
        if self.name == "map" and pa.types.is_map(given):
            return array
        if self.name == "array" and pa.types.is_fixed_size_list(given):
            return array.cast(pa.list_(given.value_type))
        if self.name == "array" and (pa.types.is_list(given) or pa.types.is_large_list(given)):
            return array
        return array.cast(self.arrow)


def _map(key: HashType, value: HashType) -> HashType:
    arrow = pa.map_(key.arrow, value.arrow)
    return HashType(
        "map",
        arrow,
        (HashType("struct", pa.struct([("key", key.arrow), ("value", value.arrow)]), (key, value)),),
    )


def number_type(type: ColumnType) -> pa.DataType | None:
    """Return Arrow's type of the numbers that dates, times and intervals are, or None for other types."""
    if not (type.temporal or type.interval):
        return None
    return pa.int32() if type.facts.bits == 32 else pa.int64()


def arrow_type_name(type: pa.DataType) -> str:
    """Return the name in SQL of an Arrow type without parameters, or Arrow's own name.

    >>> arrow_type_name(pa.int8()), arrow_type_name(pa.time64("us"))
    ('tinyint', 'time64[us]')
    """
    return _NAMES.get(type, str(type))


_BINARY = "of binary, Hive's version 2 also hashes what its buffer holds behind the value"
_TEXT = "Spark, writing to tables of Hive, hashes {} as it does a string, and Hive does not"
_ZERO = "-0.0 equals 0.0, and Hive's version 2 hashes it to another bucket"
_ZONE = "Hive hashes a timestamp by the clock of its own time zone{}, and a table does not say which that was"
_CALENDAR = " and, before 1582, by the Julian calendar"
_MAP = "Spark makes no buckets by a map"
_UNKNOWN = "values of type {} have no hash"


def unsettled_reason(
    version: Version, types: Sequence[ColumnType], *, writers: Literal["any", "hive"] = "any"
) -> str | None:
    """Return why equal values of some columns may be in different buckets, or None if they never are.

    Args:
        version: the version of the hash.
        types: the types of the bucket columns.
        writers: `hive` if only Hive, or writers that hash as it does, wrote the rows; else `any`.

    >>> from parquetry.types import parse_type
    >>> unsettled_reason(2, [parse_type('bigint'), parse_type('string')]) is None
    True
    >>> unsettled_reason(2, [parse_type('bigint'), parse_type('double')])
    "-0.0 equals 0.0, and Hive's version 2 hashes it to another bucket"
    """
    for type in types:
        for leaf in _leaves(type):
            reason = _leaf_reason(version, leaf, writers == "hive")
            if reason is not None:
                return reason
    return None


def _leaf_reason(version: Version, type: ColumnType, hive: bool) -> str | None:
    if type.name == "map":
        return _MAP if version == "spark" else None
    if not type.primitive and type.name != "void":
        return _UNKNOWN.format(type)
    if version == "spark":
        return None
    if type.name == "timestamp" or (type.name == "timestamp_ntz" and version == 1):
        return _ZONE.format(_CALENDAR if version == 1 else "")
    if version == 1:
        by_spark = type.facts.hashed_as_text and not hive
        return _TEXT.format(type.name) if by_spark else None
    if type.floating:
        return _ZERO
    return _BINARY if type.name == "binary" else None


def _leaves(type: ColumnType) -> Iterator[ColumnType]:
    """Yield the primitive types within a type, and also each map."""
    if not type.name.startswith("{"):
        yield type
        return
    yield from _json_leaves(json.loads(type.name))


def _json_leaves(type: Any) -> Iterator[ColumnType]:
    match type:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                yield from _json_leaves(field["type"])
        case {"type": "array", "elementType": element}:
            yield from _json_leaves(element)
        case {"type": "map", "keyType": key, "valueType": value}:
            yield ColumnType("map")
            yield from _json_leaves(key)
            yield from _json_leaves(value)
        case _:
            yield type_from_json(type)
