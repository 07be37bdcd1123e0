"""Estimate a scan from the table's totals, before its files are listed (deferred listing).

A star join plans its big table twice. Before the small tables have run, Spark needs its size. It needs the
files only after the values have come. For `store_sales` with 1,823 partitions, joined by the partition
column:

| when                | partitions | files | bytes                  | read from the metastore |
|---------------------|------------|-------|------------------------|-------------------------|
| before the values   | 1,823      | 1,823 | about 90 MB of 160 MB  | 3 keys                  |
| after the values    | 30         | 30    | 1.4 MB of 2.6 MB       | 30 keys                 |

The totals of a version are exact for all of its partitions. On partition columns only one condition is
possible, `c IS NOT NULL`, which Spark adds to a join by `c`: partitions where `c` is NULL are subtracted.
Conditions on other columns must keep all files of a few partitions at both ends of the table. Then they are
likely to keep all files, and all are counted. The same partitions show which share of the bytes the columns
that are read take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.predicate import Filter, IsNull, Not
from parquetry.prune import (
    BytesRule,
    Condition,
    FileRule,
    PartitionRule,
    PruningRequest,
    Remaining,
    ScanReport,
    Step,
)
from parquetry.scan import plan_scan


class TotalsEstimate(NamedTuple):
    """The estimate of a scan.

    Attributes:
        files: the number of files.
        rows: the number of their rows, or None if some are not known.
        bytes: the bytes of the columns to read; exact if all columns are read, else an estimate.
        report: the report of the scan.
    """

    files: int
    rows: int | None
    bytes: int
    report: ScanReport


def estimate_from_totals(
    snapshot: TableSnapshot, conditions: Sequence[Condition], read: Sequence[str], *, table: str
) -> TotalsEstimate | None:
    """Estimate a scan, or return None if partitions or files must be listed, or are few enough to list.

    Args:
        snapshot: the version of the table.
        conditions: the conditions, joined by AND.
        read: the columns to read.
        table: the table's name in the report.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    totals, arrangement = snapshot.totals, snapshot.metadata.arrangement
    # Spark must know buckets while it plans, and directories may prune more than the totals show
    if totals.partitions < LIMITS.listed_partitions or totals.arrangements or arrangement.divides:
        return None
    names = frozenset(snapshot.metadata.partition_by)
    open_ones = [each for each in conditions if not each.about & names]
    without = _excluded_partitions(snapshot, [each for each in conditions if each.about & names])
    if without is None:
        return None
    ends = _EndPartitions(snapshot, open_ones, read)
    if open_ones and not ends.whole:
        return None
    remaining = totals
    for partition in without:
        remaining = remaining.plus(partition.entry, -1)
    part, whole = ends.share
    size = remaining.bytes if part == whole else -(-remaining.bytes * part // whole)
    by = tuple(each.text for each in conditions if each.within(names))
    some = not all(is_not_null(each) for each in open_ones)
    steps = (
        Step(PartitionRule.name, remaining.partitions, totals.partitions, by if without else ()),
        Step(FileRule.name, remaining.files, remaining.files, about=some),
        Step(
            BytesRule.name,
            size,
            totals.bytes,
            () if size == remaining.bytes else _data_columns(snapshot, read),
            unit=BytesRule.unit,
            about=some or size < remaining.bytes,
            whole=remaining.bytes if size < remaining.bytes else None,
        ),
    )
    return TotalsEstimate(remaining.files, remaining.rows, size, ScanReport(table, steps, by_totals=True))


def _data_columns(snapshot: TableSnapshot, read: Sequence[str]) -> tuple[str, ...]:
    """Return the data columns among the columns to read, as the table spells them."""
    wanted = {name.lower() for name in read}
    return tuple(c.name for c in snapshot.metadata.data_columns if c.name.lower() in wanted)


def _excluded_partitions(
    snapshot: TableSnapshot, conditions: Iterable[Condition]
) -> list[PartitionSnapshot] | None:
    """Return the partitions that conditions prune, or None if finding them would read many."""
    excluded: dict[bytes, PartitionSnapshot] = {}
    for condition in conditions:
        match condition.predicate:
            case Not(IsNull() as null):
                pass
            case _:
                return None
        plan = plan_scan(Filter(null), snapshot.key_schema)
        if any(scan.residual is not None for scan in plan.scans):
            return None
        partitions = list(snapshot.partitions(plan, limit=LIMITS.listed_partitions))
        if len(partitions) == LIMITS.listed_partitions:
            return None
        excluded.update((partition.key, partition) for partition in partitions)
    return list(excluded.values())


def is_not_null(condition: Condition) -> bool:
    """Return whether a condition is `c IS NOT NULL`."""
    return isinstance(condition.predicate, Not) and isinstance(condition.predicate.child, IsNull)


def end_partitions(snapshot: TableSnapshot) -> list[PartitionSnapshot]:
    """Return a few partitions at both ends of a large table, in key order, as a sample of all."""
    first, last = _first_and_last(snapshot)
    return first + last


def _first_and_last(snapshot: TableSnapshot) -> tuple[list[PartitionSnapshot], list[PartitionSnapshot]]:
    last = snapshot.last_partition()
    return list(snapshot.partitions(limit=LIMITS.end_partitions)), [] if last is None else [last]


class _EndPartitions:
    """A few partitions at both ends of a table, as a sample of all; the last has the newest columns."""

    def __init__(self, snapshot: TableSnapshot, conditions: Sequence[Condition], read: Sequence[str]) -> None:
        names = frozenset(snapshot.metadata.partition_by)
        wanted = {name.lower() for name in read}
        self._all = all(column.name.lower() in wanted for column in snapshot.metadata.data_columns)
        self._scan = PruningRequest(snapshot, tuple(conditions), read, names, frozenset())

    @cached_property
    def _partitions(self) -> tuple[list[PartitionSnapshot], list[PartitionSnapshot]]:
        return _first_and_last(self._scan.snapshot)

    @property
    def whole(self) -> bool:
        """Return whether the conditions keep all of the files, and there are some."""
        kept = [FileRule().narrow(self._scan, Remaining(end))[1] for end in self._partitions if end]
        steps = [step for step in kept if step is not None]
        return any(step.of for step in steps) and all(step.kept == step.of for step in steps)

    @property
    def share(self) -> tuple[int, int]:
        """Return the bytes of the columns to read and of whole files, at the end with the greater share."""
        if self._all:
            return 1, 1
        steps = [BytesRule().narrow(self._scan, Remaining(end))[1] for end in self._partitions]
        wholes = [(step.kept, step.kept if step.whole is None else step.whole) for step in steps if step]
        shares = [share for share in wholes if share[1]]
        return max(shares, key=lambda share: share[0] / share[1], default=(1, 1))
