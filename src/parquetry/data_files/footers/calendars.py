"""Files whose days and times are counted by another calendar, as their footers show.

Spark 2, later versions with the setting `LEGACY`, and ORC's writer count days before 1582 by the Julian
calendar, and times before 1900 by local mean time. Spark converts them. Iceberg's and Delta's readers do not,
and would read other days. A file is only affected if it may have such early values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parquetry.data_files.bounds import is_ancient
from parquetry.data_files.footers.parquet_footer import ParquetFooter
from parquetry.data_files.footers.parquet_leaves import Leaf, top_level
from parquetry.data_files.footers.parquet_schema import SchemaNode

_LEGACY_TIMES = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SPARK_VERSION = b"org.apache.spark.version"
_FIRST_NEW_CALENDAR = 3
"""The version of Spark that began to count days by the Gregorian calendar alone."""


def has_old_calendar(key_values: Mapping[bytes, bytes]) -> bool:
    """Return whether a Parquet file says that its early days are of the Julian calendar.

    Args:
        key_values: of its footer.

    >>> has_old_calendar({b"org.apache.spark.version": b"2.4.8"}), has_old_calendar({})
    (True, False)
    """
    if any(key in key_values for key in _LEGACY_TIMES):
        return True
    major = key_values.get(_SPARK_VERSION, b"").split(b".")[0]
    return major.isdigit() and int(major) < _FIRST_NEW_CALENDAR


def may_have_old_days(footer: ParquetFooter) -> bool:
    """Return whether a Parquet file may have values that other readers read as other days.

    Args:
        footer: of the file.
    """
    return has_old_calendar(footer.metadata) and any(
        _has_times(leaf.node) and not _is_late(footer, leaf) for leaf in top_level(footer)
    )


def _has_times(node: SchemaNode) -> bool:
    """Return whether a column, or a field within it, has dates or times."""
    if node.children:
        return any(map(_has_times, node.children))
    return node.physical == "INT96" or node.annotation.startswith(("DATE", "TIMESTAMP"))


def _is_late(footer: ParquetFooter, leaf: Leaf) -> bool:
    """Return whether all values of a column are certain to be from after both calendars agreed."""
    if leaf.node.nested:
        return False
    for rows, chunk in zip(footer.group_rows, footer.chunks(leaf.position), strict=True):
        if rows == 0 or (chunk is not None and rows is not None and chunk.nulls == rows):
            continue
        if leaf.convert is None or chunk is None or chunk.min is None:
            return False
        low = leaf.convert(chunk.min)
        if low is None or is_ancient(leaf.calendar, low):
            return False
    return True


def orc_may_have_old_days(columns: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether an ORC file may have dates that other readers read as other days.

    Args:
        columns: the bridge's answers by the columns' names: `type`, and `values` and `min` where known.

    >>> orc_may_have_old_days({"d": {"type": "date", "values": 2, "min": "-25000"}})
    False
    >>> orc_may_have_old_days({"s": {"type": "struct<d:date>"}})
    True
    """
    for column in columns.values():
        if "date" not in column["type"] or column.get("values") == 0:
            continue
        low = column.get("min")
        if column["type"] != "date" or low is None or is_ancient("date", int(low)):
            return True
    return False
