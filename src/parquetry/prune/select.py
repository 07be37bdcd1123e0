"""Select the partitions and files of a table that can hold an answer, and report why.

This reads the metastore and opens no data file. The rules in `steps` choose. Spark evaluates on the rows the
conditions that they leave undecided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress, repeat
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from parquetry.data_files import FileRecord
from parquetry.locations import join_location
from parquetry.metastore import FileBlock, PartitionSnapshot, TableMetadata, TableSnapshot
from parquetry.predicate import Compare, Filter, match
from parquetry.prune import steps
from parquetry.prune.condition import Condition
from parquetry.prune.partition_plans import partition_knowledge
from parquetry.prune.query_cache import PartitionCache
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.directories import decided_by_directories
from parquetry.prune.rules.file_knowledge import spelled_by
from parquetry.prune.rules.partitions import PartitionRule
from parquetry.prune.tally import name_effective
from parquetry.types import Value

_FILES_PER_BATCH = 4096
"""Files per batch, about, when `each_file` yields them one by one; this limits memory."""


class SelectedFile(NamedTuple):
    """A file to read: its partition's values, its record, and its absolute path."""

    values: tuple[Value, ...]
    file: FileRecord
    path: str


class Selection(msgspec.Struct, frozen=True):
    """The partitions and files of a table to read.

    Attributes:
        partitions: the partitions that can hold an answer, in key order, with or without files to read.
        block: the files that can hold an answer, partition by partition, with the requested statistics.
        bytes: the bytes to read from these files.
        exact: positions of the conditions that every row of these files satisfies because its partition does;
            they need no evaluation, now or after further pruning.
        certain: whether every row of these files satisfies all conditions.
        report: the numbers kept by each step, and the reasons.
        answer: the values of the wanted aggregate in files that need not be read for it, or None.
        threshold: a comparison that is TRUE for every row that the query needs, or None.
    """

    partitions: tuple[PartitionSnapshot, ...]
    block: FileBlock
    bytes: int
    exact: tuple[int, ...]
    certain: bool
    report: ScanReport
    answer: tuple[Value, ...] | None = None
    threshold: Compare | None = None

    @property
    def files(self) -> tuple[SelectedFile, ...]:
        """Return an object for each of the files, with the requested statistics."""
        return tuple(_selected(self.partitions, self.block))


def select_files(
    snapshot: TableSnapshot,
    predicates: Sequence[Filter | Condition],
    read: Sequence[str] | None = None,
    *,
    table: str | None = None,
    about: Collection[str] | None = None,
    recent: PartitionCache | None = None,
    apart: bool = False,
) -> Selection:
    """Select the partitions and files to read for the rows that satisfy all conditions.

    Args:
        snapshot: the version of the table.
        predicates: conditions joined by AND.
        read: the columns to read, or None for all.
        table: the table's name in the report; by default its database and name.
        about: the data columns whose statistics the selected files keep, or None for all. Fewer columns take
            less time and memory.
        recent: the query cache; a cached selection is narrowed if possible. None to read all from the
            metastore.
        apart: whether the report names only conditions that prune something by themselves, which reads more
            of the metastore (see `tally.name_effective`).

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    names = frozenset(snapshot.metadata.partition_by)
    scan = PruningRequest(snapshot, _conditions(predicates), read, names, None, recent)
    return select_for(scan, table=table, about=about, apart=apart)


def select_for(
    scan: PruningRequest,
    *,
    table: str | None = None,
    about: Collection[str] | None = None,
    apart: bool = False,
) -> Selection:
    """Select the partitions and files of a scan; its field `projected` is not used.

    Args:
        scan: the request.
        table: as for `select_files`.
        about: as for `select_files`.
        apart: as for `select_files`.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    snapshot = scan.snapshot
    remaining = Remaining()
    report_steps: dict[str, Step] = {}
    projections = repeat(scan.projected) if about is None else _projections(scan, about)
    for rule, projected in zip(steps.STEPS, projections, strict=False):
        if projected != scan.projected:
            scan = replace(scan, projected=projected)
        before = remaining
        remaining, step = rule.narrow(scan, before)
        if step is not None:
            named = name_effective(rule, scan, before, step) if apart else step
            report_steps[step.name] = report_steps[step.name].followed_by(named) if rule.continues else named
    return Selection(
        partitions=tuple(remaining.partitions),
        block=FileBlock.concatenate(remaining.projected(scan), scan.projected),
        bytes=remaining.bytes,
        exact=_exact(scan.partition_by, scan.conditions),
        certain=remaining.certain,
        report=ScanReport(table or f"{snapshot.database}.{snapshot.name}", tuple(report_steps.values())),
        answer=remaining.answer,
        threshold=remaining.threshold,
    )


def _projections(scan: PruningRequest, about: Collection[str]) -> list[frozenset[str]]:
    """Return for each rule the columns, as files spell them, that later rules or the caller need."""
    spelling = scan.snapshot.metadata.spellings
    projections = [spelled_by(spelling, about)]
    for rule in steps.STEPS[:0:-1]:
        names = list(rule.statistics(scan))
        later = projections[-1]
        projections.append(later | spelled_by(spelling, names) if names else later)
    return projections[::-1]


def each_file(snapshot: TableSnapshot, predicate: Filter) -> Iterator[SelectedFile]:
    """Yield the files that `select_files` selects, with all statistics, partition by partition.

    Memory holds the files of one partition at a time, or of several with about 4,000 files together.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    scan = PruningRequest(
        snapshot, _conditions([predicate]), None, frozenset(snapshot.metadata.partition_by), None
    )
    first, *others = steps.STEPS
    found, _ = first.narrow(scan, Remaining())
    for some in _partition_batches(found.partitions):
        remaining = replace(found, partitions=some)
        for rule in others:
            remaining, _ = rule.narrow(scan, remaining)
        yield from _selected(remaining.partitions, FileBlock.concatenate(remaining.projected(scan), None))


def each_file_of(
    snapshot: TableSnapshot, predicate: Filter, partitions: Iterable[PartitionSnapshot]
) -> Iterator[SelectedFile]:
    """Yield the files of some partitions that can hold rows of a condition, as `each_file` does.

    Args:
        snapshot: the version of the table.
        predicate: the condition.
        partitions: of a plan for the condition, all or some of them, in key order.
    """
    scan = PruningRequest(
        snapshot, _conditions([predicate]), None, frozenset(snapshot.metadata.partition_by), None
    )
    for some in _partition_batches(partitions):
        matches = match(predicate, partition_knowledge(snapshot.metadata, some))
        remaining = Remaining(list(compress(some, matches.tolist())))
        for rule in steps.STEPS[1:]:
            remaining, _ = rule.narrow(scan, remaining)
        yield from _selected(remaining.partitions, FileBlock.concatenate(remaining.projected(scan), None))


def files_by_arrangement(
    snapshot: TableSnapshot,
    conditions: Sequence[Condition],
    partitions: Sequence[PartitionSnapshot],
    block: FileBlock,
) -> FileBlock:
    """Return the files of a block whose directory and bucket may hold rows for all conditions.

    Args:
        snapshot: the version of the table.
        conditions: joined by AND.
        partitions: the partitions of the files.
        block: the files.
    """
    scan = PruningRequest(snapshot, tuple(conditions), None, frozenset(snapshot.metadata.partition_by), None)
    remaining = Remaining(partitions, [block])
    for rule in steps.ARRANGEMENT_STEPS:
        remaining, _ = rule.narrow(scan, remaining)
    return FileBlock.concatenate(list(remaining.blocks or ()), None)


def _partition_batches(partitions: Iterable[PartitionSnapshot]) -> Iterator[list[PartitionSnapshot]]:
    """Yield lists of partitions that together have at least `_FILES_PER_BATCH` files."""
    some: list[PartitionSnapshot] = []
    count = 0
    for partition in partitions:
        some.append(partition)
        count += partition.file_count
        if count >= _FILES_PER_BATCH:
            yield some
            some, count = [], 0
    if some:
        yield some


def _selected(partitions: Sequence[PartitionSnapshot], block: FileBlock) -> Iterator[SelectedFile]:
    """Yield an object for each file of a block."""
    parts = block.parts.tolist()
    chosen = {part: partitions[part] for part in dict.fromkeys(parts)}
    positions = {part: (partition.values, partition.location) for part, partition in chosen.items()}
    for part, file in zip(parts, block.files.records(), strict=True):
        values, location = positions[part]
        yield SelectedFile(values, file, join_location(location, file.path))


def exact_conditions(metadata: TableMetadata, predicates: Sequence[Filter | Condition]) -> tuple[int, ...]:
    """Return the positions of the conditions that need no evaluation on the rows that `select_files` keeps.

    These conditions are understood and about partition columns only, so the partitions decide them.
    """
    return _exact(frozenset(metadata.partition_by), _conditions(predicates))


def decided_conditions(
    snapshot: TableSnapshot,
    predicates: Sequence[Filter | Condition],
    recent: PartitionCache | None = None,
) -> frozenset[int]:
    """Return the positions of the data conditions that all rows of the remaining directories satisfy.

    They need no evaluation on the rows that `select_files` keeps for the same conditions, or for more.

    Args:
        snapshot: the version of the table.
        predicates: conditions joined by AND.
        recent: as for `select_files`.
    """
    names = frozenset(snapshot.metadata.partition_by)
    conditions = _conditions(predicates)
    if not snapshot.totals.arrangements or all(each.within(names) for each in conditions):
        return frozenset()
    scan = PruningRequest(snapshot, conditions, (), names, frozenset(), recent)
    remaining, _ = PartitionRule().narrow(scan, Remaining())
    decided = decided_by_directories(scan, remaining)
    return frozenset(position for position, condition in enumerate(conditions) if condition in decided)


def _conditions(predicates: Sequence[Filter | Condition]) -> tuple[Condition, ...]:
    return tuple(each if isinstance(each, Condition) else Condition.from_filter(each) for each in predicates)


def _exact(names: frozenset[str], conditions: Sequence[Condition]) -> tuple[int, ...]:
    return tuple(position for position, condition in enumerate(conditions) if condition.decided_by(names))
