"""Rows of different libraries in one form, to be compared."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa


def comparable(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return rows as sorted texts: maps as dicts, times in UTC. NaN equals NaN, and NULL differs from all values.

    >>> comparable([{"a": {"x": float("nan")}, "m": [("k", 1)]}]) == comparable([{"a": {"x": float("nan")}, "m": [{"key": "k", "value": 1}]}])
    True
    """
    return sorted(repr({name: _value(each) for name, each in row.items()}) for row in rows)


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
