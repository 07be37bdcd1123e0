"""The filter that goes with each file of a plan, shortened to what can matter for its rows.

A client tests a file's rows by the residual in its task. PyIceberg counts by it, and Iceberg's Java library
fails without one. A filter with thousands of values would come back with each of thousands of files. So the
lists of `in` and `not-in` keep the values that are within the file's bounds of their column. Other values
equal no row of it, so the residual is true of the same rows as the filter. A list that would be empty keeps
one value.

Example: `id IN (1, 2, …, 10000)` for a file whose `id` is from 7 to 9 becomes `id IN (7, 8, 9)`.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from parquetry.data_files import Trust
from parquetry.iceberg.expressions import FilterColumns, read_membership
from parquetry.metastore import TableMetadata
from parquetry.prune import SelectedFile
from parquetry.types import ColumnType

_SHORT_BYTES = 512
"""Length of a filter that is not shortened."""
_MIN_VALUES = 4
"""Values of a list that is shortened."""
_MAX_NODES = 100
"""Nodes of a filter that is shortened: each file goes through all of them."""


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one list in a filter, in order.

    Attributes:
        ordered: the values.
        literals: the same, as the filter has them.
        physical: the column's name in files and statistics.
        position: of the column among the partition columns, or None.
    """

    ordered: list[Any]
    literals: list[Any]
    physical: str
    position: int | None

    def slice(self, selected: SelectedFile) -> tuple[int, int]:
        """Return which of the values may be in a file, as the first one and the one after the last."""
        if self.position is not None:
            low = high = selected.values[self.position]
        else:
            known = (selected.file.columns or {}).get(self.physical)
            if known is None or known.stored is not None or known.trust < Trust.BOUNDS:
                return 0, len(self.ordered)
            low, high = known.min, known.max
        first = 0 if low is None else bisect.bisect_left(self.ordered, low)
        end = len(self.ordered) if high is None else bisect.bisect_right(self.ordered, high)
        if self.position is not None and low is None:  # NULL is in no list
            first = end = 0
        return (first, end) if first < end else (0, 1)


class Residuals:
    """Makes the residuals of the files of one scan.

    Args:
        expression: Iceberg's filter, or None.
        columns: of the table.
        metadata: of the table's version.
    """

    def __init__(self, expression: Any, columns: FilterColumns, metadata: TableMetadata) -> None:
        self._expression = expression
        self._whole = None if expression is None else msgspec.Raw(msgspec.json.encode(expression))
        self._lists: dict[int, _Values] = {}
        if self._whole is not None and len(self._whole) > _SHORT_BYTES:
            self._lists = {
                id(node): values
                for node in _nodes(expression)
                if (values := _values(node, columns, metadata)) is not None
            }
        self._last: tuple[list[tuple[int, int]], msgspec.Raw] | None = None

    def encode(self, selected: SelectedFile) -> msgspec.Raw | None:
        """Return the residual of a file, encoded, or None if the scan has no filter."""
        if self._whole is None or not self._lists:
            return self._whole
        slices = [values.slice(selected) for values in self._lists.values()]
        if self._last is None or self._last[0] != slices:
            kept = dict(zip(self._lists, slices, strict=True))
            self._last = slices, msgspec.Raw(msgspec.json.encode(self._shortened(self._expression, kept)))
        return self._last[1]

    def _shortened(self, node: Any, kept: dict[int, tuple[int, int]]) -> Any:
        if not isinstance(node, dict):
            return node
        if id(node) in kept:
            first, end = kept[id(node)]
            return {**node, "values": self._lists[id(node)].literals[first:end]}
        children = {side: self._shortened(node[side], kept) for side in _SIDES if side in node}
        return {**node, **children}


_SIDES = ("left", "right", "child")


def _nodes(expression: Any) -> Iterator[dict[str, Any]]:
    """Yield the conditions of a filter, or nothing if it has too many."""
    waiting, found = [expression], []
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found.append(node)
            waiting += [node[side] for side in _SIDES if side in node]
        if len(found) > _MAX_NODES:
            return
    yield from found


def _values(node: dict[str, Any], columns: FilterColumns, metadata: TableMetadata) -> _Values | None:
    """Return the values of a condition whose list can be shortened, or None."""
    read = read_membership(node, columns)
    if read is None or len(read.values) < _MIN_VALUES or not _is_ordered(read.name, read.type, metadata):
        return None
    values: list[Any] = list(read.values)
    pairs = sorted(zip(values, node["values"], strict=True), key=lambda pair: pair[0])
    names = list(metadata.partition_by)
    return _Values(
        [value for value, _ in pairs],
        [literal for _, literal in pairs],
        metadata.column(read.name).physical,
        names.index(read.name) if read.name in names else None,
    )


def _is_ordered(name: str, type: ColumnType, metadata: TableMetadata) -> bool:
    """Return whether a column's values are ordered here as in its statistics, or among partition values."""
    return type.facts.bounds_are_values or (type.temporal and name in metadata.partition_by)
