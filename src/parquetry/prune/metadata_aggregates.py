"""Answer COUNT, MIN and MAX from the metastore alone, where its numbers are exact.

`answer_aggregate` works on the result of `select`, from the files of the selected partitions.
`rules.results.file_values` says which numbers are exact. COUNT(DISTINCT p) is answered for partition columns.

`answer_whole_table` needs no file. Without conditions, COUNT(*), and MIN and MAX of the first partition
column, come from a table's totals and end keys. Example, for a million partitions by (day, hour):

| function   | read from the metastore                                                          | keys |
|------------|----------------------------------------------------------------------------------|------|
| `count(*)` | the totals of the version                                                        | 0    |
| `min(day)` | the first key whose day is not NULL: 2024-01-01/00                               | 1    |
| `max(day)` | the last key, 2026-03-02/23; then the first partition of that day with rows      | 2    |

Partitions without rows have no value, and rows of the metastore that belong to other versions do not count.
Both are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parquetry.data_files import UNKNOWN
from parquetry.metastore import Examined, PartitionSnapshot, TableMetadata, TableSnapshot
from parquetry.predicate import Compare, Filter, IsNull, Not, Predicate
from parquetry.prune import steps
from parquetry.prune.needed_rows import AggregateCall
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.rules.bytes import BytesRule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.partitions import PartitionRule
from parquetry.prune.rules.results.file_values import NOT_EXACT, values_in_files
from parquetry.prune.select import Selection
from parquetry.scan import KeyScan, plan_scan
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
        results: list[Value] = [None] * self.count
        for group, value in zip(self.groups, values, strict=True):
            if value is not None:
                results[group] = value if results[group] is None else choose(results[group], value)
        return results


MAX_SKIPPED_KEYS = 1000
"""Keys to skip at an end of a table, some milliseconds' worth; past this, all partitions are listed."""


class _TooFarError(Exception):
    """The value was not found within `MAX_SKIPPED_KEYS` of an end of the keys."""


class _Budget(Examined):
    """Counts keys, and gives up when there are too many."""

    def counting(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows, and count them.

        Raises:
            _TooFarError: there are more than `MAX_SKIPPED_KEYS`.
        """
        for row in super().counting(rows):
            self.check()
            yield row

    def check(self) -> None:
        """Check that there were not too many keys.

        Raises:
            _TooFarError: there were more than `MAX_SKIPPED_KEYS`.
        """
        if self.keys > MAX_SKIPPED_KEYS:
            raise _TooFarError


def answer_whole_table(
    snapshot: TableSnapshot, aggregates: Sequence[AggregateCall], *, table: str
) -> tuple[list[tuple[Value, ...]], ScanReport] | None:
    """Compute aggregates over all rows of a table without listing its partitions.

    Args:
        snapshot: the version of the table.
        aggregates: the functions to compute.
        table: the table's name in the report.

    Returns:
        The single row, and the report of the scan that need not take place; or None if partitions or files
        must be read.

    Raises:
        ColumnNotFoundError: the table has no such column.
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    totals = snapshot.totals
    if totals.rows is None or not aggregates or not all(_is_recorded(snapshot, *each) for each in aggregates):
        return None
    answers: dict[str, Value] = {"count": totals.rows}
    try:
        for function in {function for function, _ in aggregates} - {"count"}:
            answers[function] = _extreme(snapshot, function) if totals.rows else None
    except _TooFarError:
        return None
    told = [
        Step(FileRule.name, totals.files, totals.files),
        Step(BytesRule.name, 0, totals.bytes, unit=BytesRule.unit),
    ]
    if snapshot.metadata.partition_by:
        told.insert(0, Step(PartitionRule.name, totals.partitions, totals.partitions))
    report = steps.unread(ScanReport(table, tuple(told)))
    return [tuple(answers[function] for function, _ in aggregates)], report


def _is_recorded(snapshot: TableSnapshot, function: str, name: str | None) -> bool:
    if name is None:
        return function == "count"
    column, first = snapshot.metadata.column(name), snapshot.metadata.partition_by[:1]
    return function in ("min", "max") and (column.name,) == first and column.column_type.facts.plain


def _extreme(snapshot: TableSnapshot, function: str) -> Value:
    """Return the first partition column's least or greatest value in any row, or None if all are NULL.

    Raises:
        _TooFarError: it is not near the end of the keys.
        TableNotFoundError: the table was dropped, or this version vacuumed away.
    """
    field, examined = snapshot.key_schema.fields[0], _Budget()
    valued = Not(IsNull(field.name))
    if (function == "min") is not field.descending:
        partition = _first_with_rows(snapshot, valued, examined)
    else:
        partition = _last_with_rows(snapshot, valued, examined)
    snapshot.check_kept()  # a concurrent vacuum may have deleted the rows of this version
    return None if partition is None else partition.values[0]


def _first_with_rows(
    snapshot: TableSnapshot, condition: Predicate, examined: _Budget
) -> PartitionSnapshot | None:
    plan = plan_scan(Filter(condition), snapshot.key_schema)
    partitions = snapshot.partitions(plan, examined=examined)
    return next((partition for partition in partitions if partition.rows), None)


def _last_with_rows(
    snapshot: TableSnapshot, condition: Predicate, examined: _Budget
) -> PartitionSnapshot | None:
    """Return a partition that has rows and, of all such partitions, the last value in key order."""
    field = snapshot.key_schema.fields[0]
    whole = _one_range(snapshot, condition)
    below = whole.stop
    while (key := snapshot.last_key(whole.start, below)) is not None:
        examined.keys += 1
        examined.check()
        try:
            of_value: Predicate = Compare("=", field.name, snapshot.placement.values_of(key)[0], field.type)
            scan = _one_range(snapshot, of_value)
            if not scan.start <= key < (scan.stop or key + b"\0"):
                raise _TooFarError
        except Exception as error:  # the key is from a time when the table had other partition columns
            raise _TooFarError from error
        partition = _first_with_rows(snapshot, of_value, examined)
        if partition is not None:
            return partition
        below = scan.start
    return None


def _one_range(snapshot: TableSnapshot, condition: Predicate) -> KeyScan:
    scans = plan_scan(Filter(condition), snapshot.key_schema).scans
    if len(scans) != 1 or scans[0].residual is not None:
        raise _TooFarError
    return scans[0]
