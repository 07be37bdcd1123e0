"""Select the partitions and files of a table that can hold an answer, and report why those.

Reads the metastore, opens no file. A condition decides in up to two places: over the partitions' keys,
through a scan plan, and over each file's statistics. What is left undecided is Spark's to evaluate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from parquetry.layout.places import join_location
from parquetry.metastore import access
from parquetry.metastore.model import DataFile, TableMetadata
from parquetry.metastore.snapshot import Partition, TableSnapshot
from parquetry.predicate.match import Match, match_values
from parquetry.predicate.nodes import TRUE, And, Predicate, opaque_parts
from parquetry.prune.condition import Condition
from parquetry.prune.files import FileMatcher
from parquetry.prune.partitions import on_partitions
from parquetry.prune.report import NotBy, ScanReport, Step
from parquetry.prune.sizes import bytes_step
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import ScanPlan
from parquetry.types import Value


class SelectedFile(NamedTuple):
    """A file to read: its partition's values, its record, and its absolute path."""

    values: tuple[Value, ...]
    file: DataFile
    path: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be read of a table.

    Attributes:
        partitions: those that can hold an answer, in key order, with or without files to read.
        files: those that can hold an answer, partition by partition.
        exact: positions of the conditions that every row of these files satisfies because its partition does;
            they need no evaluation, now or after further pruning.
        certain: whether every row of these files satisfies all conditions.
        report: what was kept of what, and why.
    """

    partitions: tuple[Partition, ...]
    files: tuple[SelectedFile, ...]
    exact: tuple[int, ...]
    certain: bool
    report: ScanReport


class _Condition:
    """A condition on its way through the steps."""

    def __init__(self, position: int, given: Predicate | Condition, partition_names: frozenset[str]) -> None:
        self._given = given if isinstance(given, Condition) else Condition.of(given)
        self.position = position
        self.predicate = self._given.predicate
        self.about = self._given.about
        opaque = opaque_parts(self.predicate)
        self.reason = opaque[0].reason if opaque else None
        self.known = bool(partition_names) and self.about <= partition_names
        self.sure = self.known and not opaque
        self.by_partitions = self.by_files = False

    @cached_property
    def text(self) -> str:
        return self._given.text


def select_files(
    snapshot: TableSnapshot,
    predicates: Sequence[Predicate | Condition],
    read: Sequence[str] | None = None,
    *,
    table: str | None = None,
) -> Selection:
    """Select what must be read to find the rows that satisfy all conditions.

    Args:
        snapshot: the version of the table.
        predicates: conditions joined by AND; a predicate has to be bound and normalised.
        read: the columns to be read; None for all.
        table: the table's name in the report; its database and name when not given.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    metadata = snapshot.metadata
    names = frozenset(metadata.partition_by)
    conditions = [_Condition(position, predicate, names) for position, predicate in enumerate(predicates)]
    partitions = _select_partitions(snapshot, conditions, names)
    open_conditions = [condition for condition in conditions if not condition.sure]
    matcher = FileMatcher(metadata, {name for condition in open_conditions for name in condition.about})
    selected: list[SelectedFile] = []
    files_before: list[DataFile] = []
    undecided = 0
    for partition in partitions:
        values, location, files = partition.values, partition.location, partition.files
        files_before += files
        if not open_conditions:
            selected += [SelectedFile(values, file, join_location(location, file.path)) for file in files]
            continue
        match = matcher.enter(values)
        for file in files:
            found = {condition: match(condition.predicate, file) for condition in open_conditions}
            if Match.CANNOT in found.values():
                for condition, verdict in found.items():
                    condition.by_files |= verdict is Match.CANNOT
                continue
            undecided += Match.MIGHT in found.values()
            selected.append(SelectedFile(values, file, join_location(location, file.path)))
    kept = [file.file for file in selected]
    steps = [
        _files_step(open_conditions, matcher, len(kept), files_before),
        bytes_step(metadata, kept, read),
    ]
    if names:
        steps.insert(0, _partitions_step(conditions, names, len(partitions), snapshot.totals.partitions))
    return Selection(
        partitions=tuple(partitions),
        files=tuple(selected),
        exact=tuple(condition.position for condition in conditions if condition.sure),
        certain=undecided == 0,
        report=ScanReport(table or f"{snapshot.database}.{snapshot.name}", tuple(steps)),
    )


def exact_conditions(metadata: TableMetadata, predicates: Sequence[Predicate | Condition]) -> tuple[int, ...]:
    """Return the positions of the conditions that need no evaluation on the rows that `select_files` leaves.

    They are about partition columns only, and understood: the partitions decide them.
    """
    names = frozenset(metadata.partition_by)
    conditions = [_Condition(position, predicate, names) for position, predicate in enumerate(predicates)]
    return tuple(condition.position for condition in conditions if condition.sure)


def plan_partitions(
    snapshot: TableSnapshot, predicates: Iterable[Predicate], *, indexed: bool = True
) -> ScanPlan | None:
    """Return the plan of the partitions that can satisfy all conditions; None for every partition.

    Args:
        snapshot: the version of the table.
        predicates: bound and normalised conditions, joined by AND.
        indexed: whether an index may be used; a plan that does is good for this version only.
    """
    metadata = snapshot.metadata
    names = frozenset(metadata.partition_by)
    parts = [part for predicate in predicates if (part := on_partitions(predicate, names)) is not None]
    if not names or not parts:
        return None
    condition = parts[0] if len(parts) == 1 else And(tuple(parts))
    if indexed:
        return access.plan_partitions(snapshot, condition)
    return plan_scan(condition, snapshot.key_columns, metadata.descending)


def candidates(snapshot: TableSnapshot, predicates: Sequence[Predicate]) -> Iterator[Partition]:
    """Yield the partitions of which the values may satisfy all conditions, in key order.

    Args:
        snapshot: the version of the table.
        predicates: bound and normalised conditions, joined by AND.
    """
    plan = plan_partitions(snapshot, predicates)
    names = snapshot.metadata.partition_by
    for partition in snapshot.partitions(plan):
        row = dict(zip(names, partition.values, strict=True))
        if all(match_values(predicate, row) is not Match.CANNOT for predicate in predicates):
            yield partition


def _select_partitions(
    snapshot: TableSnapshot, conditions: Sequence[_Condition], names: frozenset[str]
) -> list[Partition]:
    plan = plan_partitions(snapshot, [condition.predicate for condition in conditions])
    if plan is None:
        return list(snapshot.partitions())
    for condition in conditions:
        part = on_partitions(condition.predicate, names)
        condition.by_partitions = part is not None and part != TRUE
    # What the plan decides needs no second look; a condition on data columns too may say more of the values.
    again = [
        condition
        for condition in conditions
        if condition.about & names and not (condition.sure and plan.exact)
    ]
    partitions = []
    for partition in snapshot.partitions(plan):
        if again:
            row = dict(zip(snapshot.metadata.partition_by, partition.values, strict=True))
            verdicts = {condition: match_values(condition.predicate, row) for condition in again}
            if Match.CANNOT in verdicts.values():
                for condition, verdict in verdicts.items():
                    condition.by_partitions |= verdict is Match.CANNOT
                continue
        partitions.append(partition)
    return partitions


def _partitions_step(conditions: Sequence[_Condition], names: frozenset[str], kept: int, of: int) -> Step:
    by, not_by = [], []
    for condition in conditions:
        if condition.by_partitions and kept < of:
            by.append(condition.text)
        elif condition.by_partitions or condition.sure:
            not_by.append(NotBy(condition.text, "every partition may hold a match"))
        else:
            other = sorted(condition.about - names)
            reason = (
                f"column {other[0]} is not a partition column"
                if len(other) == 1
                else f"columns {', '.join(other)} are not partition columns"
                if other
                else condition.reason or "not understood"
            )
            not_by.append(NotBy(condition.text, reason))
    return Step("partitions", kept, of, tuple(by), tuple(not_by))


def _files_step(
    conditions: Sequence[_Condition], matcher: FileMatcher, kept: int, files: Sequence[DataFile]
) -> Step:
    by = [condition.text for condition in conditions if condition.by_files]
    idle = [condition for condition in conditions if not condition.by_files and not condition.known]
    if not idle or not files:
        return Step("files", kept, len(files), tuple(by))
    unknown = set(matcher.without_statistics(files))
    not_by = []
    for condition in idle:
        missing = sorted(condition.about & unknown)
        if condition.reason is not None:
            reason = condition.reason
        elif missing:
            reason = f"no statistics for {'column' if len(missing) == 1 else 'columns'} {', '.join(missing)}"
        else:
            reason = "every file may hold a match"
        not_by.append(NotBy(condition.text, reason))
    return Step("files", kept, len(files), tuple(by), tuple(not_by))
