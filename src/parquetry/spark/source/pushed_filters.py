"""Read the filters that Spark hands to a Python data source as conditions of ours.

A filter that is not understood is left to Spark, which tests it on the rows.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from pyspark.sql import datasource

from parquetry.predicate import Compare, In, IsNull, Not, Predicate, contains, ends_with, starts_with
from parquetry.types import ColumnType, Value

_COMPARISONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_LIKES = {"StringStartsWith": starts_with, "StringEndsWith": ends_with, "StringContains": contains}


def read_filter(each: Any, types: Mapping[str, ColumnType]) -> Predicate | None:
    """Return a filter of Spark's as a condition, or None if it is left to Spark.

    Args:
        each: one of the classes in `pyspark.sql.datasource`.
        types: of the table's columns, by name.
    """
    if isinstance(each, datasource.Not):
        child = read_filter(each.child, types)
        return None if child is None else Not(child)
    path: tuple[str, ...] = getattr(each, "attribute", ())
    type = types.get(path[0]) if len(path) == 1 else None
    if type is None:
        return None
    name, kind = path[0], each.__class__.__name__
    if kind in ("IsNull", "IsNotNull"):
        return IsNull(name) if kind == "IsNull" else Not(IsNull(name))
    if not type.facts.python_literals:
        return None
    if kind in _COMPARISONS:
        return Compare(_COMPARISONS[kind], name, _value(each.value), type)
    if kind == "In":
        values = tuple(map(_value, each.value))
        return In(name, tuple(value for value in values if value is not None), type, None in values)
    if kind in _LIKES and type.unpadded:
        return _LIKES[kind](name, each.value)
    return None


def _value(value: Any) -> Value:
    """Return a literal in the form of `parquetry.types`."""
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days
    return bytes(value) if isinstance(value, bytearray) else value
