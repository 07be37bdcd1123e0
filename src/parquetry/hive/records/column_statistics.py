"""Statistics of columns as Hive's records, out of the records of files.

Hive has the number of distinct values in all of its statistics, and the mean length of texts. If one of them
is not known, the column has no record. Distinct values are known in three cases:

| what is known | distinct values |
|---|---|
| ANALYZE TABLE counted the column | its count; of a partition, at most as many as there are rows |
| the least value is the greatest | 1 |
| all files tell about how many they have | the most of any file, as Hive joins them |

Rows and NULLs are exact. The least and the greatest value are reported if they occur in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn, Trust
from parquetry.metastore import CountedColumn, TableSnapshot
from parquetry.types import ColumnType, type_text

_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), "longStats"),
    **dict.fromkeys(("float", "double"), "doubleStats"),
    **dict.fromkeys(("string", "char", "varchar"), "stringStats"),
    "decimal": "decimalStats",
    "date": "dateStats",
    "timestamp": "timestampStats",
    "binary": "binaryStats",
    "boolean": "booleanStats",
}
"""The field of Hive's statistics for each type."""


def column_statistics(
    snapshot: TableSnapshot, names: Iterable[str], files: Sequence[FileRecord] | None
) -> list[dict[str, Any]]:
    """Return the statistics of columns that are known.

    Args:
        snapshot: the table.
        names: the columns, in any case.
        files: the files of the rows that statistics are about, or None: of the whole table, by what ANALYZE
            counted alone.
    """
    wanted = {name.lower() for name in names}
    counts = {each.column: each for each in snapshot.metadata.counted}
    found = []
    for column in snapshot.metadata.data_columns:
        kind = _KINDS.get(column.column_type.name)
        if column.physical.lower() not in wanted or kind is None:
            continue
        counted = counts.get(column.physical)
        if files is None:
            data = None if counted is None else _counted(kind, counted, snapshot.totals.rows)
        else:
            data = _data(kind, column, counted, files)
        if data is not None:
            named = {"colName": column.physical.lower(), "colType": type_text(column.type)}
            found.append({**named, "statsData": {kind: data}})
    return found


def _counted(kind: str, counted: CountedColumn, rows: int | None) -> dict[str, Any] | None:
    if kind == "booleanStats":
        return None  # how many are true was not counted
    nulls = max(0, (rows or counted.rows) - counted.rows)
    return _record(kind, nulls, counted.distinct, counted.length)


def _record(kind: str, nulls: int, distinct: int | None, length: int | None) -> dict[str, Any] | None:
    """Return statistics without values, or None if one is missing that Hive's have."""
    data: dict[str, Any] = {"numNulls": nulls}
    if kind in ("stringStats", "binaryStats"):
        if length is None:
            return None
        data |= {"maxColLen": length, "avgColLen": float(length)}
    if kind != "binaryStats":
        if distinct is None:
            return None
        data["numDVs"] = distinct
    return data


def _data(
    kind: str, column: TableColumn, counted: CountedColumn | None, files: Sequence[FileRecord]
) -> dict[str, Any] | None:
    """Return statistics of a column in files, or None if not all files tell its NULLs."""
    told = [(file.columns or {}).get(column.physical) for file in files]
    known = [
        each for each in told if each is not None and each.trust >= Trust.EXACT and each.nulls is not None
    ]
    if len(known) != len(files) or any(file.rows is None for file in files):
        return None
    rows, nulls = sum(file.rows or 0 for file in files), sum(each.nulls or 0 for each in known)
    ends = _least_and_greatest(column.column_type, known, files)
    single = ends is not None and ends[0] == ends[1]
    if kind == "booleanStats":
        if rows == nulls or single:
            trues = 0 if ends is None or not ends[0] else rows - nulls
            return {"numTrues": trues, "numFalses": rows - nulls - trues, "numNulls": nulls}
        return None
    distinct = 0 if rows == nulls else 1 if single else _distinct(known, counted, rows - nulls)
    data = _record(kind, nulls, distinct, 0 if rows == nulls else counted.length if counted else None)
    if data is not None and ends is not None:
        data |= dict(zip(("lowValue", "highValue"), _values(kind, ends), strict=False))
    return data


def _distinct(known: Sequence[ColumnStatistics], counted: CountedColumn | None, most: int) -> int | None:
    if counted is not None:
        return min(counted.distinct, most)
    if any(each.distinct is None for each in known):
        return None
    return min(max(each.distinct or 0 for each in known), most)


def _least_and_greatest(
    type: ColumnType, known: Sequence[ColumnStatistics], files: Sequence[FileRecord]
) -> tuple[Any, Any] | None:
    """Return the least and the greatest value, or None unless both are certain to occur."""
    some = [each for each, file in zip(known, files, strict=True) if each.nulls != file.rows]
    if not some or any(
        each.stored is not None
        or each.min is None
        or each.max is None
        or not (each.min_exact and each.max_exact)
        for each in some
    ):
        return None
    if type.floating and any(each.trust < Trust.NO_NAN for each in some):
        return None
    read = Decimal if type.name == "decimal" else lambda value: value
    return min(read(each.min) for each in some), max(read(each.max) for each in some)


def _values(kind: str, ends: tuple[Any, Any]) -> list[Any]:
    """Return the least and the greatest value as Hive has them, or none where it has none."""
    match kind:
        case "longStats":
            return list(ends)
        case "doubleStats":
            return [float(each) for each in ends]
        case "dateStats":
            return [{"daysSinceEpoch": each} for each in ends]
        case "decimalStats":
            return [_decimal(each) for each in ends]
    return []


def _decimal(value: Decimal) -> dict[str, Any]:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "a decimal of a table is finite"
    scale = max(0, -exponent)
    number = int("".join(map(str, digits))) * (10**exponent if exponent > 0 else 1) * (-1 if sign else 1)
    return {"scale": scale, "unscaled": number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)}
