"""Whether two frames hold the same rows."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DayTimeIntervalType, YearMonthIntervalType

_MAX_SHOWN_ROWS = 4
"""How many rows a difference shows of either side."""


def rows(frame: DataFrame) -> Counter[str]:
    """Return the rows of a frame, and how many there are of each; 0.0 is -0.0, and NaN is NaN.

    Python has no type for intervals of months: intervals come as texts.
    """
    numbered = frame.toDF(*(f"c{number}" for number in range(len(frame.columns))))
    texts = {
        field.name: numbered[field.name].cast("string")
        for field in numbered.schema
        if isinstance(field.dataType, YearMonthIntervalType | DayTimeIntervalType)
    }
    found = numbered.withColumns(texts).collect() if texts else numbered.collect()
    return Counter(repr(_comparable(tuple(row))) for row in found)


def difference(ours: Counter[str], model: Counter[str]) -> str | None:
    """Return what rows are missing of ours, and which are too many, or None if there are none."""
    if ours == model:
        return None
    missing, extra = model - ours, ours - model
    return (
        f"missing {missing.total()} of {model.total()} rows: {list(missing)[:_MAX_SHOWN_ROWS]}\n"
        f"too many {extra.total()} of {ours.total()} rows: {list(extra)[:_MAX_SHOWN_ROWS]}"
    )


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return tuple(sorted((repr(_comparable(key)), _comparable(each)) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_comparable(each) for each in value)
    return value
