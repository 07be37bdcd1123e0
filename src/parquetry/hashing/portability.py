"""List types without a portable hash: equal values may be in different buckets, depending on the writer.

A join without a shuffle, and a query that reads one bucket, rely on equal values having equal hashes. The
hashes here are exact, but for some types that is not enough: writers differ in what they hash. Rows with such
types may be read by bucket only if their writer is known to hash equal values alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from parquetry.layout import Version
from parquetry.types import ColumnType, type_from_json

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
