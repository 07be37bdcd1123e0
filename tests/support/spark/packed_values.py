"""Runtime values of a join as the bridge sends them: see `parquetry.predicate.reading.join_values`."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parquetry.types import ColumnType, Value, text_from_value


def membership(column: str, type: ColumnType, values: Sequence[Value]) -> dict[str, Any]:
    """Return the tree of a column's values, packed if they can be; None among them is NULL."""
    there = [value for value in values if value is not None]
    tree: dict[str, Any] = {"fn": "IN", "col": [column], "type": "string" if type.textual else str(type)}
    if type.name in ("boolean", "decimal"):
        texts = [None if value is None else text_from_value(type, value) for value in values]
        return {**tree, "values": texts}
    tree["null"] = len(there) < len(values)
    if type.textual or type.name == "binary":
        parts = [value.encode() if isinstance(value, str) else value for value in there]
        lengths = np.array([len(part) for part in parts], "<i4")  # type: ignore[arg-type]
        return {**tree, "packed": _text(b"".join(parts)), "lengths": _text(lengths.tobytes())}  # type: ignore[arg-type]
    return {**tree, "packed": _text(np.array(there, "<f8" if type.floating else "<i8").tobytes())}


def tuples(columns: Mapping[str, ColumnType], rows: Sequence[Sequence[Value]]) -> dict[str, Any]:
    """Return the tree of tuples of some columns; None in a row is NULL."""
    args = []
    for place, (column, type) in enumerate(columns.items()):
        values = [row[place] for row in rows]
        there = next((value for value in values if value is not None), 0)
        tree = membership(column, type, [there if value is None else value for value in values])
        args.append({name: part for name, part in tree.items() if name not in ("fn", "null")})
        if None in values:
            args[-1]["nulls"] = _text(bytes(value is None for value in values))
    return {"fn": "TUPLES", "count": len(rows), "args": args}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
