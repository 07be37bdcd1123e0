"""Select the partitions and files of a table that can hold an answer, and report why those.

Reads the metastore, opens no file. The rules in `steps` choose; what they leave undecided is
Spark's to evaluate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from parquetry.locations.uri import join_location
from parquetry.metastore.storage.model import DataFile, TableMetadata
from parquetry.metastore.versions.file_blocks import FileBlock
from parquetry.metastore.versions.snapshot import Partition, TableSnapshot
from parquetry.predicate.filter import Filter
from parquetry.prune import steps
from parquetry.prune.condition import Condition
from parquetry.prune.query_cache import RecentPartitions
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.rule import Left, Scan
from parquetry.prune.rules.directories import decided_by_directories
from parquetry.prune.rules.file_knowledge import spelled
from parquetry.prune.rules.partitions import PartitionRule
from parquetry.types import Value

_FILES = 4096
"""That are looked at together where files are given one after the other."""


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
        block: the files that can hold an answer, partition by partition, in columns: with the statistics that were asked
            for.
        bytes: how many are to be read of these files.
        exact: positions of the conditions that every row of these files satisfies because its partition does;
            they need no evaluation, now or after further pruning.
        certain: whether every row of these files satisfies all conditions.
        report: what was kept of what, and why.
    """

    partitions: tuple[Partition, ...]
    block: FileBlock
    bytes: int
    exact: tuple[int, ...]
    certain: bool
    report: ScanReport

    @property
    def files(self) -> tuple[SelectedFile, ...]:
        """Return an object for each of the files; their statistics are those that were asked for."""
        return tuple(_selected(self.partitions, self.block))


def select_files(
    snapshot: TableSnapshot,
    predicates: Sequence[Filter | Condition],
    read: Sequence[str] | None = None,
    *,
    table: str | None = None,
    about: Collection[str] | None = None,
    recent: RecentPartitions | None = None,
) -> Selection:
    """Select what must be read to find the rows that satisfy all conditions.

    Args:
        snapshot: the version of the table.
        predicates: conditions joined by AND.
        read: the columns to be read; None for all.
        table: the table's name in the report; its database and name when not given.
        about: the data columns of which statistics are wanted of the selected files; None: all. The fewer, the less time
            and memory it takes.
        recent: partitions found for questions before this one, which are narrowed if they can be; None: all are read.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    names = frozenset(snapshot.metadata.partition_by)
    conditions = _conditions(predicates)
    scan = Scan(snapshot, conditions, read, names, None, recent)
    left = Left()
    told: list[Step] = []
    wanted = None if about is None else [list(rule.statistics(scan)) for rule in steps.STEPS]
    for place, rule in enumerate(steps.STEPS, 1):
        if wanted is not None:
            held = spelled(snapshot.metadata, chain(*wanted[place:], about or ()))
            scan = scan if held == scan.held else replace(scan, held=held)
        left, step = rule.narrow(scan, left)
        if step is not None:
            told.append(step)
    return Selection(
        partitions=tuple(left.partitions),
        block=FileBlock.joined(left.held(scan), scan.held),
        bytes=left.bytes,
        exact=_exact(names, conditions),
        certain=left.certain,
        report=ScanReport(table or f"{snapshot.database}.{snapshot.name}", tuple(told)),
    )


def each_file(snapshot: TableSnapshot, predicate: Filter) -> Iterator[SelectedFile]:
    """Yield the files that `select_files` selects, with all statistics, partition by partition.

    In memory are those of one partition at a time, or of as many as have some thousand files together.

    Raises:
        StoreError: the metastore cannot be read.
        TableNotFoundError: the table was dropped meanwhile.
    """
    scan = Scan(snapshot, _conditions([predicate]), None, frozenset(snapshot.metadata.partition_by), None)
    first, *others = steps.STEPS
    found, _ = first.narrow(scan, Left())
    for some in _by_files(found.partitions):
        left = replace(found, partitions=some)
        for rule in others:
            left, _ = rule.narrow(scan, left)
        yield from _selected(left.partitions, FileBlock.joined(left.held(scan), None))


def _by_files(partitions: Iterable[Partition]) -> Iterator[list[Partition]]:
    """Yield partitions, as many together as have some thousand files."""
    some: list[Partition] = []
    count = 0
    for partition in partitions:
        some.append(partition)
        count += partition.file_count
        if count >= _FILES:
            yield some
            some, count = [], 0
    if some:
        yield some


def _selected(partitions: Sequence[Partition], block: FileBlock) -> Iterator[SelectedFile]:
    """Yield an object for each file of a block."""
    parts = block.parts.tolist()
    chosen = {part: partitions[part] for part in dict.fromkeys(parts)}
    places = {part: (partition.values, partition.location) for part, partition in chosen.items()}
    for part, file in zip(parts, block.files.records(), strict=True):
        values, location = places[part]
        yield SelectedFile(values, file, join_location(location, file.path))


def exact_conditions(metadata: TableMetadata, predicates: Sequence[Filter | Condition]) -> tuple[int, ...]:
    """Return the positions of the conditions that need no evaluation on the rows that `select_files` leaves.

    They are about partition columns only, and understood: the partitions decide them.
    """
    return _exact(frozenset(metadata.partition_by), _conditions(predicates))


def decided_conditions(
    snapshot: TableSnapshot,
    predicates: Sequence[Filter | Condition],
    recent: RecentPartitions | None = None,
) -> frozenset[int]:
    """Return the positions of the conditions on data columns that all rows of the directories left are known to satisfy.

    These need no evaluation on the rows that `select_files` leaves, asked for the same conditions and perhaps more.

    Args:
        snapshot: the version of the table.
        predicates: conditions joined by AND.
        recent: as for `select_files`.
    """
    names = frozenset(snapshot.metadata.partition_by)
    conditions = _conditions(predicates)
    if not snapshot.totals.arrangements or all(each.within(names) for each in conditions):
        return frozenset()
    scan = Scan(snapshot, conditions, (), names, frozenset(), recent)
    left, _ = PartitionRule().narrow(scan, Left())
    decided = decided_by_directories(scan, left)
    return frozenset(place for place, condition in enumerate(conditions) if condition in decided)


def _conditions(given: Sequence[Filter | Condition]) -> tuple[Condition, ...]:
    return tuple(each if isinstance(each, Condition) else Condition.of(each) for each in given)


def _exact(names: frozenset[str], conditions: Sequence[Condition]) -> tuple[int, ...]:
    return tuple(place for place, condition in enumerate(conditions) if condition.decided_by(names))
