"""A layout: what a table's rows are divided and sorted by. This module computes nothing from rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from parquetry.identifiers import SortedBy, part_text
from parquetry.texts import count, size_text

VALUE, DAY, MONTH, YEAR, RANGE = "value", "day", "month", "year", "range"
"""The kinds of partitions: a value, a day, a month or a year of a time, or a range of numbers."""


@dataclass(frozen=True, slots=True)
class Grain:
    """A partition column: a column of the table, or one that is computed from it when rows are written.

    Attributes:
        column: the column of the table.
        unit: what a partition has together.
        width: of a range of numbers.
        is_date: whether the column is a date, whose days are its values.
    """

    column: str
    unit: str = VALUE
    width: int = 0
    is_date: bool = False

    @property
    def name(self) -> str:
        """Return the partition column's name."""
        return self.column if self.unit == VALUE else f"{self.column.replace('.', '_')}_{self.unit}"

    @property
    def expression(self) -> str:
        """Return the partition column in SQL.

        >>> Grain("ts", DAY).expression, Grain("id", RANGE, 500).expression
        ('CAST(ts AS DATE)', 'CAST(floor(id / 500) * 500 AS BIGINT)')
        """
        column = part_text(self.column)
        match self.unit:
            case "day":
                return f"CAST({column} AS DATE)"
            case "month":
                return f"CAST(trunc({column}, 'MM') AS DATE)"
            case "year":
                return f"year({column})"
            case "range":
                return f"CAST(floor({column} / {self.width}) * {self.width} AS BIGINT)"
        return column

    def __str__(self) -> str:
        if self.unit == VALUE:
            return self.column
        return f"{self.column} / {count(self.width)}" if self.unit == RANGE else f"{self.unit}({self.column})"


@dataclass(frozen=True, slots=True)
class HeavyDirectories:
    """Directories for the heavy values of a column, and how often rows have them.

    Attributes:
        column: the skewed column.
        values: the heavy values, as in `parquetry.types`.
        literals: the values in SQL.
    """

    column: str
    values: tuple[object, ...]
    literals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The columns that rows are divided and sorted by.

    Attributes:
        file_bytes: the size to aim at for one file.
        partition: partition columns, in the order of the directories.
        heavy: directories of heavy values within partitions.
        bucket_by: bucket columns.
        bucket_count: how many buckets; 0 without.
        sort: columns that rows of a partition, directory and bucket are sorted by.
        is_curve: whether they are sorted along a curve through these columns, and not by one after the other.
    """

    file_bytes: int
    partition: tuple[Grain, ...] = ()
    heavy: HeavyDirectories | None = None
    bucket_by: tuple[str, ...] = ()
    bucket_count: int = 0
    sort: tuple[str, ...] = ()
    is_curve: bool = False

    @property
    def is_plain(self) -> bool:
        """Return whether rows are neither divided nor sorted."""
        return not (self.partition or self.heavy or self.bucket_count or self.sort)

    @property
    def parts(self) -> int:
        """Return how much there is to know of it: a simpler layout has fewer parts."""
        grains = sum(1 if grain.unit == VALUE else 2 for grain in self.partition)
        heavy = 3 if self.heavy is not None else 0
        return grains + heavy + (2 if self.bucket_count else 0) + len(self.sort) + self.is_curve

    def columns(self) -> set[str]:
        """Return the columns of the table that it names."""
        heavy = {self.heavy.column} if self.heavy is not None else set()
        return {grain.column for grain in self.partition} | heavy | {*self.bucket_by} | {*self.sort}

    def resized(self, file_bytes: int) -> TableLayout:
        """Return the layout with another size of files."""
        return replace(self, file_bytes=file_bytes)

    def __str__(self) -> str:
        return f"{self.order_text}; files of {size_text(self.file_bytes)}"

    @property
    def sort_by(self) -> str:
        """Return the property `sort-by`."""
        return str(SortedBy(tuple((name,) for name in self.sort), self.is_curve))

    @property
    def order_text(self) -> str:
        """Return the layout in words, without the size of files."""
        words = []
        if self.partition:
            words.append(f"partitions by {', '.join(map(str, self.partition))}")
        if self.heavy is not None:
            words.append(f"directories for {len(self.heavy.values)} values of {self.heavy.column}")
        if self.bucket_count:
            words.append(f"{self.bucket_count} buckets by {', '.join(self.bucket_by)}")
        if self.sort:
            words.append(f"sorted by {self.sort_by}")
        return ", ".join(words) or "no order"


def is_change(now: TableLayout, layout: TableLayout) -> bool:
    """Return whether a table of ours can get the layout by ALTER TABLE, and its files by a rewrite."""
    same = tuple(grain.column for grain in layout.partition) == tuple(grain.column for grain in now.partition)
    plain = all(grain.unit == VALUE for grain in layout.partition)
    keeps_buckets = bool(layout.bucket_count) or not now.bucket_count
    return same and plain and layout.heavy is None and keeps_buckets
