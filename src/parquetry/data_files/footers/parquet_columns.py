"""Read the statistics of columns in a Parquet file's footer, and say how far they are believed.

This module alone decides how far a Parquet file's statistics are believed. What is not believed is
not recorded. The rules:

- **The file.** A footer that contradicts itself tells the file's size alone. It counts other rows than its
  row groups, a column has other values than rows, or more NULLs than values.
- **The writer** decides between nothing, bounds and exact numbers (`parquet_writers`).
- **The kind of the bounds.** The deprecated `min` and `max` count for signed numbers only, and never for
  decimals, as in parquet-java. Old writers compared the bytes of all other types as signed ones. The newer
  `min_value` and `max_value` count if the footer says that they follow the type's order.
- **The type.** `parquet_leaves` knows which types have bounds. The reader's type may differ: `stored_types`.
- **Texts and binaries** may be shortened. Their bounds are exact if the file says so, or if the writer is
  known never to shorten them, or if this library has just written the file without shortening.
- **NaN** is a bound of a column that has it, if the writer orders floats so. Such a pair of bounds counts as
  unknown. So bounds that are numbers say that no row is NaN.
- **Dates and times before 1900** count only if Spark 3 or later has written them in the new calendar.
- **Fields of structs.** Bounds count as a column's do. NULL counts include the rows whose struct is NULL, and
  older writers counted these wrong. So they count only if the writer is believed to be exact. What is within
  arrays and maps is not recorded.

Every top-level column of a file is recorded. So a column without an entry is known to be missing from the
file. `nested_fields` says so of fields. The module `bounds` makes bounds of the record, for a predicate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parquetry.data_files.bounds import column_statistics, is_ancient
from parquetry.data_files.footers.parquet_footer import Chunk, ParquetFooter
from parquetry.data_files.footers.parquet_leaves import Leaf, top_level
from parquetry.data_files.footers.parquet_writers import ParquetWriter
from parquetry.data_files.nested_fields import EVERY_FIELD, every_field, is_nameable
from parquetry.data_files.records import ColumnStatistics, Trust
from parquetry.identifiers import FIELD_SEPARATOR, field_path, is_field

_BYTE_ARRAYS = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_FLOATS = ("FLOAT", "DOUBLE")
_LEGACY_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")

_CODECS_OF_SPARK = (None, 0, 1, 2, 5, 6, 7)
"""Parquet's numbers of the codecs that Spark has: none, Snappy, gzip, LZ4, Zstandard, raw LZ4. It lacks LZO
and Brotli."""


def read_columns(footer: ParquetFooter, writer: ParquetWriter) -> dict[str, ColumnStatistics] | None:
    """Return the statistics by the names of columns and fields, or None if the footer contradicts itself.

    Args:
        footer: of the file.
        writer: how far its writer is believed.
    """
    return _FooterColumns(footer, writer).read()


class _ContradictionError(Exception):
    """The footer says two things that cannot both be true."""


class _FooterColumns:
    """Reads the statistics of a footer's columns, as far as the writer is believed."""

    def __init__(self, footer: ParquetFooter, writer: ParquetWriter) -> None:
        self._footer = footer
        self._writer = writer
        keys = footer.metadata
        self._modern = _spark_major(keys) >= 3 and not any(key in keys for key in _LEGACY_CALENDAR)

    def read(self) -> dict[str, ColumnStatistics] | None:
        """Return the statistics by the columns' names, or None if the footer contradicts itself."""
        columns: dict[str, ColumnStatistics] = {}
        try:
            for leaf in top_level(self._footer):
                name, statistics = leaf.node.name, self._column(leaf)
                if is_field(name):  # as if it were a field of another column
                    continue
                if name in columns:  # two columns of one name cannot be distinguished
                    columns = {each: entry for each, entry in columns.items() if field_path(each)[0] != name}
                    columns[name] = ColumnStatistics(size=statistics.size, trust=statistics.trust)
                elif leaf.is_struct and is_nameable(name):
                    columns |= self._struct(name, leaf, statistics)
                else:
                    columns[name] = statistics
        except _ContradictionError:
            return None
        return columns

    def _struct(self, name: str, leaf: Leaf, statistics: ColumnStatistics) -> dict[str, ColumnStatistics]:
        """Return the statistics of a column, of the fields within, and whether these are all."""
        within: dict[str, ColumnStatistics] = {}
        complete = self._collect_fields(name, leaf, within)
        every = {every_field(name): EVERY_FIELD} if complete else {}
        return {name: _without_nulls(statistics, within), **every, **within}

    def _collect_fields(self, name: str, struct: Leaf, entries: dict[str, ColumnStatistics]) -> bool:
        """Collect the statistics of the fields within a struct; return whether each field has an entry."""
        fields = list(struct.fields())
        times = Counter(field.node.name for field in fields)
        complete = True
        for field in fields:
            if not is_nameable(field.node.name) or times[field.node.name] > 1:
                complete = False
                continue
            path = f"{name}{FIELD_SEPARATOR}{field.node.name}"
            entries[path] = self._field(field)
            if field.is_struct:
                within: dict[str, ColumnStatistics] = {}
                complete &= self._collect_fields(path, field, within)
                entries[path] = _without_nulls(entries[path], within)
                entries |= within
        return complete

    def _field(self, field: Leaf) -> ColumnStatistics:
        """Return the statistics of a field. Its size counts for the column."""
        try:
            return msgspec.structs.replace(self._column(field), size=None)
        except _ContradictionError:
            return ColumnStatistics(trust=int(Trust.BOUNDS))

    def _column(self, leaf: Leaf) -> ColumnStatistics:
        trust = int(max(self._writer.trust, Trust.BOUNDS))  # what is not believed at all is left out below
        if not self._is_readable(leaf):
            trust = int(Trust.BOUNDS)
        sizes = [
            None if chunk is None else chunk.size
            for position in range(leaf.position, leaf.position + leaf.leaves)
            for chunk in self._footer.chunks(position)
        ]
        size = None if None in sizes else sum(part for part in sizes if part is not None)
        if leaf.node.nested:
            return ColumnStatistics(size=size, trust=trust)
        stored = f"parquet {leaf.node.stored_type}"
        chunks = list(zip(self._footer.group_rows, self._footer.chunks(leaf.position), strict=True))
        nulls = self._nulls(leaf, chunks)
        bounds = self._bounds(leaf, chunks)
        exact = trust == Trust.EXACT
        all_null = nulls is not None and nulls == sum(rows or 0 for rows, _ in chunks)
        if exact and leaf.node.physical in _FLOATS and self._writer.bounds_nan and (bounds or all_null):
            trust = int(Trust.NO_NAN)
        if bounds is None:
            return ColumnStatistics(size=size, nulls=nulls, trust=trust, stored=stored)
        statistics = column_statistics(size, nulls, *bounds)
        return ColumnStatistics(
            size,
            nulls,
            statistics.min,
            statistics.max,
            exact and statistics.min_exact,
            exact and statistics.max_exact,
            trust,
            stored,
        )

    def _is_readable(self, leaf: Leaf) -> bool:
        """Return whether Spark has the codecs of a column.

        If it lacks one, its readers fail. So the statistics answer no aggregate. They may still leave the
        file out.
        """
        positions = range(leaf.position, leaf.position + leaf.leaves)
        chunks = (chunk for position in positions for chunk in self._footer.chunks(position))
        return all(chunk is None or chunk.codec in _CODECS_OF_SPARK for chunk in chunks)

    def _nulls(self, leaf: Leaf, chunks: Sequence[tuple[int | None, Chunk | None]]) -> int | None:
        """Return the number of NULLs, or None if it is unknown.

        Raises:
            _ContradictionError: a row group has another number of values than of rows, or more NULLs.
        """
        total: int | None = 0
        for rows, chunk in chunks:
            if chunk is None or chunk.encrypted:
                total = None
                continue
            if chunk.values != rows or not 0 <= (chunk.nulls or 0) <= (rows or 0):
                raise _ContradictionError
            if chunk.nulls is None and rows:
                total = None
            elif total is not None:
                total += chunk.nulls or 0
        if leaf.required:
            return 0
        least = Trust.BOUNDS if leaf.within else Trust.UNKNOWN
        return total if self._trust(leaf) > least else None

    def _trust(self, leaf: Leaf) -> Trust:
        """Return how far the writer is believed in a column of this physical type."""
        return self._writer.byte_arrays if leaf.node.physical in _BYTE_ARRAYS else self._writer.trust

    def _bounds(
        self, leaf: Leaf, chunks: Sequence[tuple[int | None, Chunk | None]]
    ) -> tuple[Any, Any, bool, bool] | None:
        """Return the least and the greatest value, and whether each occurs, or None if they are unknown."""
        trust = self._trust(leaf)
        if leaf.convert is None or trust == Trust.UNKNOWN or not self._footer.is_ordered(leaf.position):
            return None
        lows, highs, min_exact, max_exact = [], [], True, True
        for rows, chunk in chunks:
            if rows == 0 or (chunk is not None and chunk.nulls == rows and not leaf.required):
                if rows and leaf.within and trust < Trust.EXACT:
                    return None
                continue
            if chunk is None or chunk.min is None or chunk.max is None:
                return None
            if chunk.deprecated and not leaf.signed:
                return None
            low, high = leaf.convert(chunk.min), leaf.convert(chunk.max)
            # NaN fails the comparison, as do bounds that a broken writer swapped.
            if low is None or high is None or not low <= high:
                return None
            lows.append(low)
            highs.append(high)
            default = not (isinstance(low, str | bytes) and self._writer.shortens)
            min_exact &= default if chunk.min_exact is None else chunk.min_exact
            max_exact &= default if chunk.max_exact is None else chunk.max_exact
        if not lows or (not self._modern and is_ancient(leaf.calendar, min(lows))):
            return None
        return min(lows), max(highs), min_exact, max_exact


def _without_nulls(statistics: ColumnStatistics, within: Mapping[str, ColumnStatistics]) -> ColumnStatistics:
    """Return a struct's statistics: no row is NULL where one of its fields has no NULL."""
    known = any(each.nulls == 0 for each in within.values())
    return msgspec.structs.replace(statistics, nulls=0) if known else statistics


def _spark_major(keys: Mapping[bytes, bytes]) -> int:
    major = keys.get(b"org.apache.spark.version", b"").split(b".")[0]
    return int(major) if major.isdigit() else 0
