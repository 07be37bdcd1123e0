"""Turn the bounds that a file states into bounds that a predicate can rely on, for the column's type today.

`column_statistics` makes the record, and shortens long strings. `bounds_reader` reads it again: a file may
have been written when the column was an int, or before the column was added. The rules here are for one file;
`bounds_vectorized` applies them to many at once. `footers` reads them from files, and
`parquetry.predicate.pruning.match` evaluates predicates.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from parquetry.data_files.defaults import default_statistics, default_value, has_default
from parquetry.data_files.nested_fields import StructField, lacks_field
from parquetry.data_files.records import ColumnStatistics, FileRecord, TableColumn, Trust
from parquetry.data_files.stored_types import Conversion, find_conversion
from parquetry.identifiers import is_field
from parquetry.predicate import NO_NULL, NO_ROWS, ONLY_NULL, SOME_NULL
from parquetry.temporal import MICROS_PER_DAY
from parquetry.types import ColumnType, Family, Value

MAX_BOUND_LENGTH = 64
"""Most characters (or bytes) of a string bound in a record. A longer bound is shortened, and is not exact."""

MAX_DAY = 1 << 31
"""Days since 1970 are below this number and not below its negative. Numbers beyond are microseconds."""
_LEAST_TIME = -(1 << 63)
# Before 1900 local mean times, before 1582 the Julian calendar: legacy writers meant other days than we read.
_FIRST_SAFE = {"date": -25_567, "timestamp": -25_567 * MICROS_PER_DAY}


class FileBounds(msgspec.Struct, frozen=True):
    """The bounds of a column in one file, and how many of its rows are NULL.

    Attributes:
        min: a value that no row is below, or None if it is unknown. The least value may be greater, for
            instance if a text was truncated.
        max: a value that no row is above, or None if it is unknown. NaN counts for neither bound.
        nulls: how many rows are NULL, or None if it is unknown.
        rows: how many rows the file has, or None if it is unknown.
        min_exact: whether `min` is the least value itself.
        max_exact: whether `max` is the greatest value itself.
        all_null: whether every row is NULL, as in a file written before the column was added.
        proof: whether this may answer `count`, `min` and `max`, and prove that all rows match; see `Trust`.
            Otherwise it may only leave the file out.
        no_nan: whether no row of a float column is NaN.
    """

    min: Value = None
    max: Value = None
    nulls: int | None = None
    rows: int | None = None
    min_exact: bool = True
    max_exact: bool = True
    all_null: bool = False
    proof: bool = True
    no_nan: bool = False

    @property
    def null_state(self) -> int:
        """Return which rows are NULL, as `predicate.pruning.knowledge` numbers it."""
        if self.rows == 0:
            return NO_ROWS
        if self.all_null or (self.nulls is not None and self.nulls == self.rows):
            return ONLY_NULL
        return NO_NULL if self.nulls == 0 else SOME_NULL


def is_ancient(calendar: str | None, low: Any) -> bool:
    """Return whether a date (days) or timestamp (microseconds) is before 1900, where calendars differ."""
    return calendar in _FIRST_SAFE and low < _FIRST_SAFE[calendar]


def column_statistics(
    size: int | None, nulls: int | None, low: Value, high: Value, min_exact: bool, max_exact: bool
) -> ColumnStatistics:
    """Return the record of a column's statistics. It has long strings shortened, and decimals as text.

    Args:
        size: compressed bytes.
        nulls: number of NULLs.
        low: not greater than any value.
        high: not less than any value.
        min_exact: whether `low` occurs.
        max_exact: whether `high` occurs. If both bounds are equal, they occur, even if the writer may have
            shortened texts. Of floats that is not so: -0.0 equals 0.0, and bounds leave NaN out.
    """
    if low is not None and low == high and not isinstance(low, float):
        min_exact = max_exact = True
    if isinstance(low, str | bytes) and len(low) > MAX_BOUND_LENGTH:
        low, min_exact = low[:MAX_BOUND_LENGTH], False
    if isinstance(high, str | bytes) and len(high) > MAX_BOUND_LENGTH:
        prefix = high[:MAX_BOUND_LENGTH]
        high, max_exact = _above_text(prefix) if isinstance(prefix, str) else _above_bytes(prefix), False
    return ColumnStatistics(size, nulls, _encode_value(low), _encode_value(high), min_exact, max_exact)


def bounds_reader(column: TableColumn) -> Callable[[FileRecord], FileBounds | None]:
    """Return the function that gives a column's bounds in a file. Make it once, and use it for many files.

    A file that has statistics, but none of the column, was written before the column was added. All of its
    rows are NULL there, or have the column's default.
    """
    kind, physical, filled = column.column_type, column.physical, has_default(column)
    default = default_value(column) if filled else None
    if not is_described(column):
        return lambda _: None

    def read(file: FileRecord) -> FileBounds | None:
        columns = file.columns
        if not columns:
            return None
        # Adopted files may spell a name in other letter case. Spark reads it, but fails if two columns match.
        spelled = [name for name in columns if name.lower() == physical.lower()]
        if not spelled and isinstance(column, StructField) and not lacks_field(column, columns):
            return None
        if not spelled and not filled:
            return FileBounds(None, None, nulls=file.rows, rows=file.rows, all_null=True)
        if not spelled and default is not None:
            return bounds_from_statistics(kind, default_statistics(column, default, file.rows), file.rows)
        if len(spelled) != 1:
            return None
        statistics = columns[spelled[0]]
        return bounds_from_statistics(kind, statistics, file.rows)

    return read


def is_described(column: TableColumn) -> bool:
    """Return whether statistics say something of a column or field: its bounds, or a struct's NULLs."""
    kind = column.column_type
    is_struct = isinstance(column.type, dict) and column.type.get("type") == "struct"
    return (kind.primitive or is_struct) and (
        isinstance(column, StructField) or not is_field(column.physical)
    )


def bounds_from_statistics(
    kind: ColumnType, statistics: ColumnStatistics, rows: int | None
) -> FileBounds | None:
    """Return the bounds that a file's statistics of a column give, or None if they give none.

    Args:
        kind: the type that the column has today.
        statistics: of the column in the file.
        rows: how many rows the file has, or None if it is unknown.
    """
    if (
        kind.primitive
        and statistics.stored is not None
        and find_conversion(statistics.stored, kind) != Conversion.SAME
    ):
        return None
    nulls, proof = statistics.nulls, statistics.trust >= Trust.EXACT
    if statistics.trust == Trust.UNKNOWN and statistics.min is None and nulls == rows:
        nulls = None  # earlier versions called an ORC file without counts all NULL
    if nulls is not None and nulls == rows:
        return FileBounds(None, None, nulls=nulls, rows=rows, all_null=True, proof=proof)
    pair = _convert(kind, statistics.min, statistics.max) if kind.primitive else None
    if pair is None:
        return None if nulls is None else FileBounds(None, None, nulls=nulls, rows=rows, proof=proof)
    low, high, same = pair
    return FileBounds(
        low,
        high,
        nulls=nulls,
        rows=rows,
        min_exact=same and proof and low is not None and statistics.min_exact,
        max_exact=same and proof and high is not None and statistics.max_exact,
        proof=proof,
        no_nan=statistics.trust >= Trust.NO_NAN,
    )


def _convert(kind: ColumnType, low: Any, high: Any) -> tuple[Value, Value, bool] | None:
    """Return both bounds as values of a column's type, and whether they are still values of the file."""
    stored = type(low)
    # Only texts and bytes may lack the upper bound. Otherwise one bound alone, or two types, is damage.
    if (
        low is None
        or (high is None and stored not in (str, bytes))
        or (high is not None and type(high) is not stored)
    ):
        return None
    match kind.family:
        case Family.INTEGER:
            limit = 1 << (kind.facts.bits - 1)
            # Spark's reader would truncate a value that does not fit, to any number.
            return (low, high, True) if stored is int and -limit <= low and high < limit else None
        case Family.TEXT:
            texts = _as_text(low, high) if stored is bytes else (low, high, True) if stored is str else None
            if texts is None or kind.name != "char":
                return texts
            return (*pad_bounds(kind.length, *texts[:2]), False)
        case Family.BINARY:
            return _as_bytes(low, high) if stored is str else (low, high, True) if stored is bytes else None
        case Family.TEMPORAL if stored is int:
            return _as_local_time(low, high) if kind.facts.may_be_days else (low, high, True)
        case Family.FLOAT if stored is int:
            limit = 1 << kind.facts.exact_bits
            return (float(low), float(high), True) if -limit <= low and high <= limit else None
        case Family.FLOAT if stored is float:
            return low, high, True
        case Family.DECIMAL if stored in (int, str):
            return _as_decimals(low, high)
        case Family.BOOLEAN if stored is bool:
            return low, high, True
    return None


def pad_bounds(length: int, low: Any, high: Any) -> tuple[str | None, str | None]:
    """Return the bounds of chars as Spark reads them, padded, given the bounds of the texts in a file.

    A padded text sorts after the text in the file, and after a text that continues with a character below the
    blank.

    Args:
        length: of the char. Other writers' texts may be longer; Spark reads them whole, or truncates them.
        low: not greater than any text, or None if it is unknown.
        high: not less than any text, or None if it is unknown.

    >>> pad_bounds(3, 'a', 'x\\t')
    ('a', 'x  ')
    """
    if high is not None:
        plain = next((position for position, character in enumerate(high) if character < " "), len(high))
        high = max(high.ljust(length), high[:plain].ljust(length))
    return None if low is None else low[:length], high


def _as_text(low: bytes, high: bytes | None) -> tuple[str, str | None, bool] | None:
    # The file has binary without an annotation, and the table calls it a string. A bound that ends within a
    # character is no text.
    try:
        return low.decode(), None if high is None else high.decode(), True
    except UnicodeDecodeError:
        return None


def _as_bytes(low: str, high: str | None) -> tuple[Value, Value, bool]:
    return low.encode(), None if high is None else high.encode(), True


def _as_decimals(low: int | str, high: int | str | None) -> tuple[Value, Value, bool] | None:
    try:
        pair = Decimal(low), Decimal("NaN" if high is None else high)
    except InvalidOperation:
        return None
    return (*pair, True) if all(value.is_finite() for value in pair) else None


def _as_local_time(low: int, high: int) -> tuple[Value, Value, bool]:
    # The file may contain dates, as days, from before the column was widened. Days and microseconds are
    # ambiguous only within some 36 minutes of 1970: there, return bounds that hold for both.
    if low < -MAX_DAY or high >= MAX_DAY:
        return low, high, True
    return (
        max(min(low, low * MICROS_PER_DAY), _LEAST_TIME),
        min(max(high, high * MICROS_PER_DAY), -_LEAST_TIME - 1),
        False,
    )


def _encode_value(value: Value) -> Any:
    return format(value, "f") if isinstance(value, Decimal) else value


def _above_text(prefix: str) -> str | None:
    """Return the least text greater than all that start with `prefix`, or None if no text is."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    # Surrogates are no characters, and UTF-8 has none.
    return kept[:-1] + ("\ue000" if kept[-1] == "\ud7ff" else chr(ord(kept[-1]) + 1))


def _above_bytes(prefix: bytes) -> bytes | None:
    """Return the least bytes greater than all that start with `prefix`, or None if no bytes are."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None
