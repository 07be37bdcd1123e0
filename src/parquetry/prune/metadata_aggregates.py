"""Answer COUNT, MIN and MAX from the metastore alone, where its numbers are exact.

COUNT(DISTINCT p) is answered for partition columns.

This module works on the result of `select`. `rules.results.file_values` says which numbers are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parquetry.data_files import UNKNOWN
from parquetry.metastore import TableMetadata
from parquetry.prune.needed_rows import AggregateCall
from parquetry.prune.rules.results.file_values import NOT_EXACT, values_in_files
from parquetry.prune.select import Selection
from parquetry.types import Value, identity


def answer_aggregate(
    metadata: TableMetadata,
    selection: Selection,
    aggregates: Sequence[AggregateCall],
    group_by: Sequence[str] = (),
) -> list[tuple[Value, ...]] | None:
    """Compute aggregates over the selected rows without reading a file.

    Args:
        metadata: the table's metadata.
        selection: the selected partitions and files, with statistics of the aggregates' columns.
        aggregates: the functions to compute.
        group_by: partition columns.

    Returns:
        A row for each group in key order (exactly one without `group_by`): the group's values, then the
        aggregates, as internal values. None if the metastore does not know them exactly.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    positions = {name.lower(): position for position, name in enumerate(metadata.partition_by)}
    keys = [metadata.column(name) for name in group_by]
    if any(key.name.lower() not in positions or key.column_type.floating for key in keys):
        return None
    block = selection.block
    if not selection.certain or (block.files.rows == UNKNOWN).any():
        return None
    filled = block.take(np.flatnonzero(block.files.rows))
    values = {part: selection.partitions[part].values for part in dict.fromkeys(filled.parts.tolist())}
    groups: dict[tuple[Value, ...], int] = {} if keys else {(): 0}
    of_part = {
        part: groups.setdefault(
            identity(tuple(each[positions[key.name.lower()]] for key in keys)), len(groups)
        )
        for part, each in values.items()
    }
    files = _GroupedFiles([of_part[part] for part in filled.parts.tolist()], len(groups))
    answers: list[list[Value]] = []
    for call in aggregates:
        found = values_in_files(metadata, selection.partitions, filled, call)
        if any(value is NOT_EXACT for value in found):
            return None
        answers.append(files.combined(call, found))
    return [(*key, *answer) for key, *answer in zip(groups, *answers, strict=True)]


@dataclass(frozen=True, slots=True)
class _GroupedFiles:
    """The group of each file that has rows, and the number of groups."""

    groups: Sequence[int]
    count: int

    def combined(self, call: AggregateCall, values: Iterable[Any]) -> list[Value]:
        """Return a function's value in each group: None for the extremes of a group that has only NULL."""
        function, _ = call
        if function == "count":
            sums: list[Value] = [0] * self.count
            for group, number in zip(self.groups, values, strict=True):
                sums[group] += number
            return sums
        if function == "count_distinct":
            distinct: list[set[tuple[Value, ...]]] = [set() for _ in range(self.count)]
            for group, value in zip(self.groups, values, strict=True):
                if value is not None:
                    distinct[group].add(identity((value,)))
            return list(map(len, distinct))
        choose: Callable[..., Value] = min if function == "min" else max
        found: list[Value] = [None] * self.count
        for group, value in zip(self.groups, values, strict=True):
            if value is not None:
                found[group] = value if found[group] is None else choose(found[group], value)
        return found
