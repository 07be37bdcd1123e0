"""Values of every type that is hashed: those at the edges, and others by chance; the same ones each time."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from parquetry.hashing.hash_types import HashType
from parquetry.types import type_from_json, type_text
from tests.support.hive.oracle import coded


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct_with(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{i}", "type": t, "nullable": True, "metadata": {}} for i, t in enumerate(types)]
    return {"type": "struct", "fields": fields}


TYPES: dict[str, Any] = {
    "c_boolean": "boolean",
    "c_tinyint": "byte",
    "c_smallint": "short",
    "c_int": "integer",
    "c_bigint": "long",
    "c_float": "float",
    "c_double": "double",
    "c_string": "string",
    "c_varchar": "varchar(12)",
    "c_char": "char(7)",
    "c_binary": "binary",
    "c_date": "date",
    "c_timestamp": "timestamp",
    "c_decimal9": "decimal(9,2)",
    "c_decimal18": "decimal(18,0)",
    "c_decimal19": "decimal(19,19)",
    "c_decimal38": "decimal(38,18)",
    "c_array": array("long"),
    "c_texts": array("varchar(12)"),
    "c_struct": struct_with("integer", "char(7)", "decimal(9,2)", "varchar(12)"),
    "c_structs": array(struct_with("double", array("string"))),
    "c_map": mapping("string", "integer"),
    "c_maps": mapping("long", array("timestamp")),
    "c_deep": struct_with(mapping("date", struct_with("float", "binary")), "boolean"),
}
"""A column of each type; Spark's JSON."""

_FIRST, _LAST = date(1, 1, 1).toordinal() - 719_163, date(9999, 12, 31).toordinal() - 719_163
_DAY = 86_400_000_000
_WIDE = Context(prec=60)
_LETTERS = "aZ09 éß日本😀\u00ff\u0080 ~"
_EDGES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "float": [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, -1e-45, 0.1, -1.5, 3.4028234663852886e38],
    "double": [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 0.1, -1.5, 1.7976931348623157e308],
    "string": ["", " ", "  x  ", "a", "ab", "abc", "abcd", "abcdefgh", "é", "aé", "日本語", "😀", "a\x00", "abcdef\x00", " \x00", "x😀", "\x00", "z" * 99],
    "binary": [b"", b"\x00", b"\xff", b"\x80\x7f", b"\x01\x02\xfd", b"abcd", bytes(range(256))],
    "date": [_FIRST, _LAST, 0, -1, 1, -141_427, -141_428, -141_714, -141_715, 19_782],
    "timestamp": [
        0, 1, -1, 999_999, 1_000_000, -1_000_000, -999_999, 100_000, (1 << 31) * 1_000_000, ((1 << 31) - 1) * 1_000_000,
        ((1 << 31) - 1) * 1_000_000 + 1, -(1 << 31) * 1_000_000, _FIRST * _DAY, _LAST * _DAY + _DAY - 1,
        -141_427 * _DAY, -141_427 * _DAY - 1, -141_714 * _DAY, -141_714 * _DAY - 1, 1_709_210_096_100_000,
    ],
}  # fmt: skip


def values(type: Any, count: int, chance: random.Random) -> list[Any]:
    """Return so many internal values: an array is a list, a struct a tuple, and a map a list of pairs."""
    edges = [None, *_edges(type)]
    return [*edges, *(_value(type, chance) for _ in range(count - len(edges)))][:count]


def _edges(type: Any) -> list[Any]:
    match type:
        case {"type": "array" | "map"}:
            return [[]]
        case {"type": "struct", "fields": fields}:
            return [tuple(None for _ in fields)]
    found = type_from_json(type)
    if found.integral:
        most = (1 << (found.facts.bits - 1)) - 1
        return [0, 1, -1, 5, -5, 42, most, -most - 1, most - 1]
    if found.name == "decimal":
        most = 10**found.precision - 1
        digits = [
            0,
            1,
            -1,
            10,
            100,
            -100,
            most,
            -most,
            most - 9,
            127,
            128,
            -128,
            -129,
            32767,
            32768,
            (1 << 63) - 1,
        ]
        digits += [1 << 63, -(1 << 63), -(1 << 63) - 1, 10**found.scale, -(10 ** (found.precision - 1))]
        return [Decimal(d).scaleb(-found.scale, _WIDE) for d in digits if abs(d) <= most]
    if found.length:
        return [text for text in _EDGES["string"] if len(text) <= found.length]
    return _EDGES[found.name]


def _value(type: Any, chance: random.Random) -> Any:
    if chance.random() < 0.05:
        return None
    match type:
        case {"type": "array", "elementType": element}:
            return [_value(element, chance) for _ in range(chance.choice((0, 1, 2, 3, 9)))]
        case {"type": "struct", "fields": fields}:
            return tuple(_value(field["type"], chance) for field in fields)
        case {"type": "map", "keyType": key, "valueType": value}:
            keys = {
                k for k in (_value(key, chance) for _ in range(chance.choice((0, 1, 2, 5)))) if k is not None
            }
            return [(k, _value(value, chance)) for k in sorted(keys)]
    edges = _edges(type)
    return chance.choice(edges) if chance.random() < 0.1 else _RANDOM[type_from_json(type).name](type, chance)


def _whole(type: Any, chance: random.Random) -> int:
    most = type_from_json(type).facts.bits - 1
    return chance.choice((1, -1)) * chance.getrandbits(chance.randint(1, most))


def _decimal(type: Any, chance: random.Random) -> Decimal:
    found = type_from_json(type)
    digits = chance.choice((1, -1)) * chance.randrange(10 ** chance.randint(1, found.precision))
    return Decimal(digits // 100 * 100 if chance.random() < 0.3 else digits).scaleb(-found.scale, _WIDE)


def _text(type: Any, chance: random.Random) -> str:
    longest = type_from_json(type).length or chance.choice((3, 8, 40))
    return "".join(chance.choices(_LETTERS, k=chance.randint(0, longest)))


_RANDOM: dict[str, Callable[[Any, random.Random], Any]] = {
    "boolean": lambda _type, chance: chance.random() < 0.5,
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), _whole),
    "float": lambda _type, chance: struct.unpack(">f", chance.randbytes(4))[0],
    "double": lambda _type, chance: struct.unpack(">d", chance.randbytes(8))[0],
    "decimal": _decimal,
    **dict.fromkeys(("string", "varchar", "char"), _text),
    "binary": lambda _type, chance: chance.randbytes(chance.randint(0, 20)),
    "date": lambda _type, chance: chance.randint(_FIRST, _LAST),
    "timestamp": lambda _type, chance: chance.randint(_FIRST * _DAY, _LAST * _DAY) // (u := 10 ** chance.randint(0, 6)) * u,
}  # fmt: skip


def hive_type(type: Any) -> str:
    """Return Hive's name of a type."""
    return type_text(type)


def for_hive(type: Any, value: Any) -> Any:
    """Write a value as Hive's JVM reads it."""
    if value is None:
        return None
    match type:
        case {"type": "array", "elementType": element}:
            return [for_hive(element, each) for each in value]
        case {"type": "struct", "fields": fields}:
            return [for_hive(field["type"], each) for field, each in zip(fields, value, strict=True)]
        case {"type": "map", "keyType": key, "valueType": of}:
            return [[for_hive(key, k), for_hive(of, v)] for k, v in value]
    return coded(type_from_json(type), value)


def for_arrow(type: Any, values: list[Any]) -> pa.Array:
    """Return values as an Arrow array."""
    return pa.array(
        [_python(type, value) for value in values], HashType.from_column_type(type_from_json(type)).arrow
    )


def _python(type: Any, value: Any) -> Any:
    if value is None:
        return None
    match type:
        case {"type": "array", "elementType": element}:
            return [_python(element, each) for each in value]
        case {"type": "struct", "fields": fields}:
            return {f["name"]: _python(f["type"], each) for f, each in zip(fields, value, strict=True)}
        case {"type": "map", "keyType": key, "valueType": of}:
            return [(_python(key, k), _python(of, v)) for k, v in value]
        case "date":
            return date.fromordinal(value + 719_163)
        case "timestamp":
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
    return value


def columns(count: int, seed: int) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield for each type a column's name, the type, and so many values."""
    chance = random.Random(seed)
    for name, type in TYPES.items():
        yield name, type, values(type, count, chance)
