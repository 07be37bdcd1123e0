"""Bounds that a predicate can rely on, of a column in many files at once, by the rules of `bounds`.

Integers, dates, times, floats and booleans are converted in arrays, texts and decimals in lists. The rare
cases go file by file through `bounds.bounds_from_statistics`: few files, names in another letter case, values
of a type that the column had before, or damaged values. By a property test, both ways give the same bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files.bounds import MAX_DAY, FileBounds, bounds_from_statistics, is_described, pad_bounds
from parquetry.data_files.defaults import default_statistics, default_value, has_default
from parquetry.data_files.many_files.file_batch import FileColumns
from parquetry.data_files.many_files.statistics_batch import UNKNOWN, Flags, StatisticsColumn
from parquetry.data_files.nested_fields import StructField, every_field
from parquetry.data_files.records import ColumnStatistics, TableColumn, Trust
from parquetry.data_files.stored_types import Conversion, find_conversion
from parquetry.identifiers import field_path
from parquetry.predicate import MAX_LISTED_CONTAINERS, NO_NULL, NO_ROWS, ONLY_NULL, SOME_NULL, Bounds, Values
from parquetry.temporal import MICROS_PER_DAY
from parquetry.types import ColumnType, Family

_Converted: TypeAlias = tuple[Values, Values, Flags]
"""The least values, the greatest, and whether a file's are known. A text's least value may be known alone."""

_MAX_DAYS_IN_MICROS = ((1 << 63) - 1) // MICROS_PER_DAY
_MAX_INT64 = (1 << 63) - 1


class BoundsInFiles(NamedTuple):
    """The bounds of a column in each of many files.

    Attributes:
        bounds: in the form that predicates use.
        some: whether for at least one file a bound is known, or all rows are known to be NULL.
    """

    bounds: Bounds
    some: bool


def bounds_in_files(column: TableColumn, files: FileColumns) -> BoundsInFiles | None:
    """Return the bounds of a column in many files, or None if the statistics say nothing about any of them.

    Args:
        column: of the table.
        files: with statistics.
    """
    kind = column.column_type
    if not is_described(column) or not files.count:
        return None
    statistics, absent = _find_statistics(column, files)
    if statistics is None and not absent.any():
        return None
    if statistics is None:
        statistics = StatisticsColumn.from_records([None] * files.count)
    statistics = _drop_converted(kind, statistics)
    listed = files.count <= MAX_LISTED_CONTAINERS or not kind.primitive
    converted = None if listed else _convert(kind, statistics)
    if converted is not None:
        return _in_arrays(kind, converted, statistics, absent, files)
    return _one_by_one(kind, statistics, absent, files)


def list_bounds_in_files(column: TableColumn, files: FileColumns) -> list[FileBounds | None]:
    """Return the bounds of a column in each of many files, with None for a file without bounds."""
    kind = column.column_type
    if not is_described(column):
        return [None] * files.count
    statistics, absent = _find_statistics(column, files)
    if statistics is None:
        statistics = StatisticsColumn.from_records([None] * files.count)
    return _list_bounds(kind, statistics, absent, files)


def _find_statistics(column: TableColumn, files: FileColumns) -> tuple[StatisticsColumn | None, Flags]:
    """Return the statistics of a column in any spelling, and flags for files written before it was added."""
    physical = column.physical
    exact = files.statistics(physical)
    absent = np.zeros(files.count, np.bool_)
    # Adopted files may spell a name in other letter case. Spark reads it, but fails if two columns match.
    spelled = [name for name in files.names if name != physical and name.lower() == physical.lower()]
    variants = [variant for name in spelled if (variant := files.statistics(name)) is not None]
    if not variants and exact is not None and np.array_equal(exact.there, files.described):
        return exact, absent
    named = [*variants, exact] if exact is not None else variants
    spellings = np.sum([variant.there for variant in named], axis=0) if named else np.zeros(files.count, int)
    filled = has_default(column)
    lacking = files.with_entries() & (spellings == 0)
    if isinstance(column, StructField) and lacking.any():
        lacking &= _lacks_field(column, files)
    default = default_value(column) if filled and lacking.any() else None
    if not filled:
        absent = lacking
    if not variants and default is None:
        return exact, absent
    once = spellings == 1
    if not once.any() and default is None:
        return None, absent
    records: list[ColumnStatistics | None] = [None] * files.count
    if default is not None:
        rows = files.rows.tolist()
        for index in np.flatnonzero(lacking).tolist():
            records[index] = default_statistics(
                column, default, None if rows[index] == UNKNOWN else rows[index]
            )
    for variant in named:
        for index in np.flatnonzero(variant.there & once).tolist():
            records[index] = variant.take(np.array([index])).records()[0]
    return StatisticsColumn.from_records(records), absent


def _lacks_field(field: StructField, files: FileColumns) -> Flags:
    """Return which files surely lack a field, of those without an entry of it; see `lacks_field`."""
    names = {each for name in files.names if (each := field_path(name)[0]).lower() == field.owner.lower()}
    owners = {name: column for name in names if (column := files.statistics(name)) is not None}
    there = np.sum([column.there for column in owners.values()], axis=0, initial=0)
    complete = np.zeros(files.count, np.bool_)
    for name in owners:
        if (every := files.statistics(every_field(name))) is not None:
            complete |= every.there & (every.nulls == 0)
    without_owner = (there == 0) & (field.owner_default is None)
    return np.asarray(without_owner | ((there == 1) & complete), np.bool_)


def _drop_converted(kind: ColumnType, statistics: StatisticsColumn) -> StatisticsColumn:
    """Leave out the statistics of files whose type of the column Spark reads as other values."""
    types = statistics.belief.stored
    if types is None or not kind.primitive:
        return statistics
    kept = {
        stored: stored is None or find_conversion(stored, kind) == Conversion.SAME for stored in set(types)
    }
    return statistics.leave_out(np.array([not kept[stored] for stored in types], np.bool_))


def _list_bounds(
    kind: ColumnType, statistics: StatisticsColumn, absent: Flags, files: FileColumns
) -> list[FileBounds | None]:
    records = zip(statistics.records(), absent.tolist(), files.rows.tolist(), strict=True)
    bounds: list[FileBounds | None] = []
    for record, is_absent, count in records:
        rows = None if count == UNKNOWN else count
        if is_absent:
            bounds.append(FileBounds(None, None, nulls=rows, rows=rows, all_null=True))
        else:
            bounds.append(None if record is None else bounds_from_statistics(kind, record, rows))
    return bounds


def _one_by_one(
    kind: ColumnType, statistics: StatisticsColumn, absent: Flags, files: FileColumns
) -> BoundsInFiles | None:
    listed = _list_bounds(kind, statistics, absent, files)
    if not any(listed):
        return None
    known = [file_bounds or FileBounds() for file_bounds in listed]
    bounds = Bounds.from_statistics(
        kind,
        [file_bounds.min for file_bounds in known],
        [file_bounds.max for file_bounds in known],
        [file_bounds.null_state for file_bounds in known],
    )
    if kind.floating:
        bounds = bounds.with_no_nan([file_bounds.no_nan for file_bounds in known])
    if not all(file_bounds.proof for file_bounds in known):
        bounds = bounds.with_doubts([not file_bounds.proof for file_bounds in known])
    return BoundsInFiles(
        bounds, any(file_bounds.all_null or file_bounds.min is not None for file_bounds in known)
    )


def _in_arrays(
    kind: ColumnType, pair: _Converted, statistics: StatisticsColumn, absent: Flags, files: FileColumns
) -> BoundsInFiles | None:
    low, high, bounded = pair
    all_null = statistics.nulls == files.rows
    # earlier versions called an ORC file without counts all NULL
    counted = statistics.there & (statistics.nulls != UNKNOWN)
    counted &= ~(all_null & (statistics.belief.trust == Trust.UNKNOWN) & ~statistics.min.known_flags())
    only_null = absent | (counted & all_null)
    bounded = bounded & ~only_null
    informative = bounded | only_null | counted
    if not informative.any():
        return None
    nulls = np.full(files.count, SOME_NULL, np.uint8)
    nulls[counted & (statistics.nulls == 0)] = NO_NULL
    nulls[only_null] = ONLY_NULL
    nulls[informative & (files.rows == 0)] = NO_ROWS
    if isinstance(low, list) or isinstance(high, list):
        known = bounded.tolist()
        bounds = Bounds.from_statistics(
            kind,
            [value if there else None for value, there in zip(low, known, strict=True)],
            [value if there else None for value, there in zip(high, known, strict=True)],
            nulls.tolist(),
        )
    else:
        bounds = Bounds.from_arrays(kind, low, high, bounded, nulls)
    if kind.floating:
        bounds = bounds.with_no_nan(bounded & (statistics.belief.trust >= Trust.NO_NAN))
    if (doubted := informative & statistics.there & (statistics.belief.trust < Trust.EXACT)).any():
        bounds = bounds.with_doubts(doubted)
    return BoundsInFiles(bounds, bool((only_null | bounded).any()))


def _convert(kind: ColumnType, statistics: StatisticsColumn) -> _Converted | None:
    """Return both bounds in a column's type, and where they are known, or None if arrays cannot do it."""
    low, high = statistics.min, statistics.max
    there = low.known_flags() & statistics.there
    if not there.any():
        nothing = [None] * len(there)
        return nothing, nothing, there
    if isinstance(low.values, list) or isinstance(high.values, list):
        return _convert_lists(kind, low.to_list(), high.to_list(), there)
    if low.values.dtype != high.values.dtype:
        return None
    there = there & high.known_flags()  # one bound alone is damage
    convert = _BY_FAMILY.get((kind.family, low.values.dtype.kind))
    return None if convert is None else convert(kind, low.values, high.values, there)


def _convert_lists(kind: ColumnType, low: list[Any], high: list[Any], there: Flags) -> _Converted | None:
    types = {value.__class__ for value in low} | {value.__class__ for value in high}
    types.discard(type(None))
    if types != {kind.facts.value} and not (kind.name == "decimal" and types == {str}):
        return None
    if kind.name == "char":
        pairs = [pad_bounds(kind.length, *pair) for pair in zip(low, high, strict=True)]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs], there
    if kind.name == "decimal":
        try:
            return _decimals(low), _decimals(high), there & np.array([value is not None for value in high])
        except InvalidOperation:
            return None
    return (low, high, there) if kind.family in (Family.TEXT, Family.BINARY) else None


def _decimals(values: Iterable[Any]) -> list[Decimal | None]:
    decimals = [None if value is None else Decimal(value) for value in values]
    if not all(value is None or value.is_finite() for value in decimals):
        raise InvalidOperation
    return decimals


def _within(kind: ColumnType, low: NDArray[Any], high: NDArray[Any], there: Flags) -> _Converted:
    bits = kind.facts.bits
    if bits < 64:
        limit = 1 << (bits - 1)
        there = there & (low >= -limit) & (high < limit)
    return low, high, there


def _as_they_are(_: ColumnType, low: NDArray[Any], high: NDArray[Any], there: Flags) -> _Converted:
    return low, high, there


def _as_floats(kind: ColumnType, low: NDArray[Any], high: NDArray[Any], there: Flags) -> _Converted:
    limit = 1 << kind.facts.exact_bits
    return low.astype(np.float64), high.astype(np.float64), there & (low >= -limit) & (high <= limit)


def _as_decimals(_: ColumnType, low: NDArray[Any], high: NDArray[Any], there: Flags) -> _Converted:
    return list(map(Decimal, low.tolist())), list(map(Decimal, high.tolist())), there


def _as_times(kind: ColumnType, low: NDArray[Any], high: NDArray[Any], there: Flags) -> _Converted:
    """Convert as `bounds` does for one file, and replace a product beyond 64 bits by the nearest number."""
    if not kind.facts.may_be_days:
        return low, high, there
    times = (low < -MAX_DAY) | (high >= MAX_DAY)
    least = np.where(low < -_MAX_DAYS_IN_MICROS, -_MAX_INT64 - 1, _in_days(low) * MICROS_PER_DAY)
    greatest = np.where(high > _MAX_DAYS_IN_MICROS, _MAX_INT64, _in_days(high) * MICROS_PER_DAY)
    least, greatest = np.where(low >= 0, low, least), np.where(high <= 0, high, greatest)
    return np.where(times, low, least), np.where(times, high, greatest), there


def _in_days(values: NDArray[Any]) -> Any:
    return np.clip(values, -_MAX_DAYS_IN_MICROS, _MAX_DAYS_IN_MICROS)


_BY_FAMILY: dict[
    tuple[Family, str], Callable[[ColumnType, NDArray[Any], NDArray[Any], Flags], _Converted]
] = {
    (Family.INTEGER, "i"): _within,
    (Family.TEMPORAL, "i"): _as_times,
    (Family.FLOAT, "i"): _as_floats,
    (Family.FLOAT, "f"): _as_they_are,
    (Family.DECIMAL, "i"): _as_decimals,
    (Family.BOOLEAN, "b"): _as_they_are,
}
"""The conversion for a type's family and an array's kind. Files go one by one for all other pairs."""
