"""What a scan would read, told by the table's totals: for a scan that waits for values of a join.

A star join plans its big table twice. Before the small tables have run, Spark wants to know how large it is; which files there are it
needs only when the values have come:

    store_sales, 1,823 partitions, a join by the partition column, of which the values are to come

        first     1,823 partitions, 1,823 files, about 90 MB of 160 MB    by the totals: 3 keys read
        at last   30 partitions, 30 files, 1.4 MB of 2.6 MB               30 keys read

The totals of a version are exact for all of its partitions. Of partition columns no condition may be asked but `c IS NOT NULL`, which
Spark adds to a join by c: partitions of which c is NULL are subtracted. Conditions on other columns must leave all files of a few partitions
at both ends of the table: then they are likely to leave all, and all are counted. These partitions tell as well how much of the bytes
the columns take that are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from parquetry.metastore.versions import PartitionSnapshot, TableSnapshot
from parquetry.predicate import Filter, IsNull, Not
from parquetry.prune.condition import Condition
from parquetry.prune.report import ScanReport, Step
from parquetry.prune.rule import Remaining, Scan
from parquetry.prune.rules import BytesRule, FileRule, PartitionRule
from parquetry.prune.runtime.cost_model import LIMITS
from parquetry.scan import plan_scan


class TotalsEstimate(NamedTuple):
    """What a scan would read.

    Attributes:
        files: how many.
        rows: of them; None: not known of some.
        bytes: of the columns that are read, by estimate unless all are.
        report: of the scan.
    """

    files: int
    rows: int | None
    bytes: int
    report: ScanReport


def estimate_from_totals(
    snapshot: TableSnapshot, conditions: Sequence[Condition], read: Sequence[str], *, table: str
) -> TotalsEstimate | None:
    """Return what a scan would read; None: partitions or files must be looked at, or they are so few that they can be.

    Args:
        snapshot: the version of the table.
        conditions: joined by AND.
        read: the columns to be read.
        table: the table's name in the report.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    totals, arrangement = snapshot.totals, snapshot.metadata.arrangement
    # of buckets and directories Spark is told, or more is left out than the totals tell
    plain = totals.arrangements == 0 and arrangement.buckets is None and arrangement.skew is None
    if totals.partitions < LIMITS.listed_partitions or not plain:
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
            BytesRule.name, size, remaining.bytes, unit=BytesRule.unit, about=some or size < remaining.bytes
        ),
    )
    return TotalsEstimate(remaining.files, remaining.rows, size, ScanReport(table, steps, by_totals=True))


def _excluded_partitions(
    snapshot: TableSnapshot, conditions: Iterable[Condition]
) -> list[PartitionSnapshot] | None:
    """Return the partitions that conditions on partition columns leave out; None: that cannot be told without looking at many."""
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
    """Return a few partitions at both ends of a table of many, in order: an example of all."""
    first, last = _first_and_last(snapshot)
    return first + last


def _first_and_last(snapshot: TableSnapshot) -> tuple[list[PartitionSnapshot], list[PartitionSnapshot]]:
    last = snapshot.last_partition()
    return list(snapshot.partitions(limit=LIMITS.end_partitions)), [] if last is None else [last]


class _EndPartitions:
    """A few partitions at both ends of a table, as an example of all; the last ones have the columns that were added at last."""

    def __init__(self, snapshot: TableSnapshot, conditions: Sequence[Condition], read: Sequence[str]) -> None:
        names = frozenset(snapshot.metadata.partition_by)
        wanted = {name.lower() for name in read}
        self._all = all(column.name.lower() in wanted for column in snapshot.metadata.data_columns)
        self._scan = Scan(snapshot, tuple(conditions), read, names, frozenset())

    @cached_property
    def _partitions(self) -> tuple[list[PartitionSnapshot], list[PartitionSnapshot]]:
        return _first_and_last(self._scan.snapshot)

    @property
    def whole(self) -> bool:
        """Return whether the conditions leave all of the files, and there are some."""
        kept = [FileRule().narrow(self._scan, Remaining(end))[1] for end in self._partitions if end]
        steps = [step for step in kept if step is not None]
        return any(step.of for step in steps) and all(step.kept == step.of for step in steps)

    @property
    def share(self) -> tuple[int, int]:
        """Return how many bytes the columns that are read take of how many, at the end where they take the most."""
        if self._all:
            return 1, 1
        steps = [BytesRule().narrow(self._scan, Remaining(end))[1] for end in self._partitions]
        shares = [(step.kept, step.of) for step in steps if step is not None and step.of]
        return max(shares, key=lambda share: share[0] / share[1], default=(1, 1))
