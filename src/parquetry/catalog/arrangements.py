"""How rows are arranged, as plain Python values. Tables and partitions share them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from parquetry import metastore as ms
from parquetry.identifiers import part_text
from parquetry.types import to_python


@dataclass(frozen=True, slots=True)
class Skew:
    """The heavy values of some columns.

    Attributes:
        columns: their names.
        values: the values of each cell, in the order of the columns; None is NULL.
        directories: whether each cell has a directory of its own, and all other rows share one.
        locations: for each cell the location of its directory, or None for the usual one; or empty.
        auto: the least share of the rows and the greatest number of values, if each partition measures its
            own; None if the values were named, or are measured.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    directories: bool
    locations: tuple[str | None, ...]
    auto: tuple[float, int] | None = None


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets that rows are spread over by a hash.

    Attributes:
        columns: that are hashed.
        count: of the buckets.
        version: of the hash: 1 or 2 for Hive's, ``spark`` for Spark's.
        sorted_by: the order of each bucket, such as ``day DESC``. Names that are no plain words have
            backticks.
    """

    columns: tuple[str, ...]
    count: int
    version: int | str
    sorted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the rows of a partition are arranged.

    Attributes:
        skew: its heavy values.
        buckets: its buckets.
        sorted_by: the order of each file, such as ``day DESC``.
    """

    skew: Skew | None
    buckets: Buckets | None
    sorted_by: tuple[str, ...]


def arrangement_view(metadata: ms.TableMetadata, arrangement: ms.ArrangementSpec) -> Arrangement | None:
    """Return an arrangement as users see it: columns under their current names, values in Python's types."""
    if arrangement == ms.PLAIN:
        return None
    columns = {column.physical: column for column in metadata.columns}
    skew, buckets = arrangement.skew, arrangement.buckets

    def names(physical: Iterable[str]) -> tuple[str, ...]:
        return tuple(columns[name].name for name in physical)

    def order(by: Iterable[ms.SortColumn]) -> tuple[str, ...]:
        return tuple(
            f"{part_text(columns[sort_column.column].name)}{' DESC' if sort_column.descending else ''}"
            for sort_column in by
        )

    skew_shown = buckets_shown = None
    if skew is not None:
        types = [columns[name].column_type for name in skew.columns]
        cells = (zip(types, cell, strict=True) for cell in skew.values(types))
        values = tuple(tuple(to_python(type, value) for type, value in cell) for cell in cells)
        auto = None if skew.auto is None else (skew.auto.share, skew.auto.most)
        skew_shown = Skew(names(skew.columns), values, skew.directories, skew.locations, auto)
    if buckets is not None:
        buckets_shown = Buckets(names(buckets.columns), buckets.count, buckets.version, order(buckets.sort))
    return Arrangement(skew_shown, buckets_shown, order(arrangement.sort))


def arrangement_facts(arrangement: Arrangement | None) -> dict[str, str]:
    """Return how rows are arranged as lines for people."""
    if arrangement is None:
        return {}
    lines = {}
    if (skew := arrangement.skew) is not None:
        count = f"{len(skew.values):,} heavy value{'' if len(skew.values) == 1 else 's'}"
        if skew.auto is not None:
            count = "heavy values found in each partition"
        lines["skewed by"] = (
            f"{', '.join(skew.columns)} ({count}{', in directories' if skew.directories else ''})"
        )
    if (buckets := arrangement.buckets) is not None:
        order = f", sorted by {', '.join(buckets.sorted_by)}" if buckets.sorted_by else ""
        lines["buckets"] = (
            f"{buckets.count:,} by {', '.join(buckets.columns)} (version {buckets.version}{order})"
        )
    if arrangement.sorted_by:
        lines["sorted by"] = ", ".join(arrangement.sorted_by)
    return lines
