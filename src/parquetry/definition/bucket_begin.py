"""Read the table property `bucket-begin-partition`: the first partition whose files are in buckets.

Hive's users may bucket a table later on and leave older partitions unchanged. The property tells where the
buckets begin, by a value of the first partition column or by a condition on partition columns. NULL is before
every value. Timestamps are read in UTC.

>>> from parquetry.types import parse_type
>>> types = {"ds": parse_type("string"), "hour": parse_type("int")}
>>> print(bucket_begin({"bucket-begin-partition": "2026-03-01"}, types))
ds >= '2026-03-01'
>>> print(bucket_begin({"bucket-begin-partition": "ds > '2026-03-01' or ds = '2026-03-01' and hour >= 12"}, types))
ds > '2026-03-01' OR (ds = '2026-03-01' AND hour >= 12)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from parquetry.config import BUCKET_BEGIN_PARTITION
from parquetry.errors import FilterError, PropertyError, ValueTypeError
from parquetry.predicate import Compare, Filter, columns_of, parse_filter
from parquetry.types import ColumnType, value_from_text

_OPERATOR = re.compile(r"[=<>]|\b(?:is|in|like|between)\b", re.IGNORECASE)
"""A text with one of these is a condition. A value that contains one has to be in quotes."""


def bucket_begin(properties: Mapping[str, str], types: Mapping[str, ColumnType]) -> Filter | None:
    """Return the condition that the bucketed partitions satisfy, or None if the table has no such property.

    Args:
        properties: of the table.
        types: of the partition columns, by name, in the order of the directories.

    Raises:
        PropertyError: the text is neither a value of the first partition column nor a condition on partition
            columns.
    """
    text = properties.get(BUCKET_BEGIN_PARTITION)
    if text is None:
        return None
    named = f"Table property {BUCKET_BEGIN_PARTITION!r} is {text!r}"
    if not types:
        raise PropertyError(f"{named}, and the table has no partition columns: leave it out.")
    try:
        condition = parse_filter(text, types)
        if columns_of(condition.node):
            return condition
    except FilterError as error:
        not_read = error.message.partition("\n")[0]  # without the quoted text and the mark below it
    else:
        not_read = "it names no column"
    first, type = next(iter(types.items()))
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    if _OPERATOR.search(text) and not quoted:  # a typing error, or a column that was renamed
        raise PropertyError(f"{named}, which is no condition on partition columns: {not_read}")
    try:
        value = value_from_text(type, text[1:-1] if quoted else text)
    except ValueTypeError as error:
        raise PropertyError(
            f"{named}, which is neither a value of {first} nor a condition on partition columns. As a value: "
            f"{error.message} As a condition: {not_read}"
        ) from None
    return Filter.bind(Compare(">=", first, value, type), types)
