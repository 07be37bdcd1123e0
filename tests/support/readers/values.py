"""Rows of different libraries in one form, to be compared."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table. Texts that are not UTF-8 are bytes.

    >>> python_rows(pa.table({"a": pa.array([b"x", b"\\xff"]).view(pa.string()), "b": ["y", "z"]}))
    [{'a': 'x', 'b': 'y'}, {'a': b'\\xff', 'b': 'z'}]
    """
    try:
        return table.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raw = pa.table([column.cast(_raw(column.type)) for column in table], table.schema.names)
        return [{name: _text(each) for name, each in row.items()} for row in raw.to_pylist()]


def _raw(kind: pa.DataType) -> pa.DataType:
    """Return a type with bytes instead of texts."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_raw(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(_raw(kind.key_type), _raw(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_raw(kind.value_type))
    return kind


def _text(value: Any) -> Any:
    """Return a value with texts instead of bytes where these are UTF-8."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return value
        case dict():
            return {name: _text(each) for name, each in value.items()}
        case list() | tuple():
            return type(value)(map(_text, value))
    return value


_NEGATIVE_ZERO = re.compile(r"""(?<![\w.'"])-0\.0(?![\w.])""")


def comparable(rows: Iterable[Mapping[str, Any]], *, signed_zeros: bool = True) -> list[str]:
    """Return rows as sorted texts: maps as dicts, times in UTC. NaN equals NaN there.

    Args:
        rows: the rows.
        signed_zeros: whether -0.0 differs from 0.0. ORC's reader in Spark takes one for the other in a batch
            that has nothing else.

    >>> comparable([{"a": {"x": float("nan")}, "m": [("k", 1)]}]) == comparable([{"a": {"x": float("nan")}, "m": [{"key": "k", "value": 1}]}])
    True
    """
    texts = (repr({name: _value(each) for name, each in row.items()}) for row in rows)
    return sorted(texts if signed_zeros else (_NEGATIVE_ZERO.sub("0.0", text) for text in texts))


def _value(value: Any) -> Any:
    match value:
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat()
        case pa.MonthDayNano():
            return dt.timedelta(days=value.days, microseconds=value.nanoseconds // 1000)
        case dict():
            return {name: _value(each) for name, each in value.items()}
        case [tuple(), *_]:
            return _map(value)
        case [{"key": _, "value": _}, *_] if set(value[0]) == {"key", "value"}:
            return _map([(pair["key"], pair["value"]) for pair in value])
        case [*values]:
            return [_value(each) for each in values]
    return value


def _map(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return the pairs of a map as a dict, in one order; keys that are structs become texts."""
    values = sorted(((_value(key), _value(each)) for key, each in pairs), key=repr)
    return {repr(key) if isinstance(key, dict | list) else key: each for key, each in values}
