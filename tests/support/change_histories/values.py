"""Random values of many types, with duplicates, and exact texts to compare rows by."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

KINDS: dict[str, Any] = {
    "long": "long",
    "integer": "integer",
    "double": "double",
    "float": "float",
    "string": "string",
    "binary": "binary",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "decimal": "decimal(9,2)",
    "struct": {
        "type": "struct",
        "fields": [
            {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
            {"name": "b", "type": "double", "nullable": True, "metadata": {}},
        ],
    },
    "array": {"type": "array", "elementType": "double", "containsNull": True},
    "map": {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
}
"""Types in Spark's JSON, by names."""
_FLOATS = (0.0, -0.0, float("nan"), float("inf"), 1.5)


def random_value(chance: random.Random, kind: str) -> Any:
    """Return one of a few values of a type, or None."""
    if chance.random() < 0.2:
        return None
    few = chance.randrange(3)
    match kind:
        case "long" | "integer":
            return few
        case "double" | "float":
            return chance.choice(_FLOATS)
        case "string":
            return ("", "a", "ä\u0000b")[few]
        case "binary":
            return (b"", b"\x00", b"\xff\x00")[few]
        case "boolean":
            return few == 0
        case "date":
            return date(2026, 1, 1) + timedelta(few)
        case "timestamp":
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=few)
        case "decimal":
            return Decimal(few) + Decimal("0.25")
        case "struct":
            return {"a": random_value(chance, "integer"), "b": random_value(chance, "double")}
        case "array":
            return [random_value(chance, "double") for _ in range(few)]
        case "map":
            return [(key, random_value(chance, "integer")) for key in ("x", "y")[:few]]
    raise AssertionError(kind)


def exact(value: Any) -> str:
    """Return a text that two values share only if a reader sees the same value. All NaN are the same."""
    match value:
        case float():
            return "nan" if value != value else struct.pack(">d", value).hex()
        case dict():
            return "{" + ",".join(f"{name}:{exact(part)}" for name, part in sorted(value.items())) + "}"
        case list() | tuple():
            return "[" + ",".join(map(exact, value)) + "]"
        case datetime():
            return value.astimezone(UTC).isoformat()
    return repr(value)


def multiset(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return how often each row occurs."""
    return Counter(exact(dict(row)) for row in rows)
