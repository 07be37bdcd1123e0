"""Days and times that writers have counted by different calendars.

Until Spark 3 writers used the Julian calendar before 1582, and local mean times before 1900. ORC's Java
writer still does. PyArrow takes all days for Gregorian. Spark converts them as its settings say, so such
values are refused here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.errors import UnsupportedError
from parquetry.temporal import MICROS_PER_DAY

_FIRST_CERTAIN_TIMES = {
    "date": (-141_427, 1582),
    "timestamp": (-25_567 * MICROS_PER_DAY, 1900),
}
"""The first day and microsecond that all writers count alike, and the year."""


def require_certain_days(name: str, array: pa.Array) -> None:
    """Make sure that Spark reads the same days and times.

    Args:
        name: of the column.
        array: its values.

    Raises:
        UnsupportedError: Spark may read others.
    """
    for part in _temporal(array):
        first, year = _FIRST_CERTAIN_TIMES["date" if pa.types.is_date32(part.type) else "timestamp"]
        plain = part
        if pa.types.is_timestamp(part.type):
            plain = part.cast(pa.timestamp("us", part.type.tz), safe=False)
        least = pc.min(plain.view(pa.int32() if pa.types.is_date32(part.type) else pa.int64())).as_py()
        if least is not None and least < first:
            raise UnsupportedError(
                f"{name} has values from before {year}, which may have been counted by another calendar."
            )


def has_times(type: pa.DataType) -> bool:
    """Return whether an Arrow type is a date or a timestamp, or has one within."""
    if pa.types.is_date32(type) or pa.types.is_timestamp(type):
        return True
    return any(has_times(type.field(position).type) for position in range(type.num_fields))


def _temporal(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the dates and timestamps in an array, including those inside nested values."""
    type = array.type
    if pa.types.is_date32(type) or pa.types.is_timestamp(type):
        yield array
    elif pa.types.is_struct(type):
        for part in array.flatten():
            yield from _temporal(part)
    elif pa.types.is_map(type):
        yield from _temporal(array.keys)
        yield from _temporal(array.items)
    elif pa.types.is_list(type) or pa.types.is_large_list(type):
        yield from _temporal(array.flatten())
