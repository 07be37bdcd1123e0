"""The interface of a pruning step: a rule takes the candidates of a scan, and keeps fewer.

A rule has a file of its own and an entry in `steps.STEPS`. Nothing else is needed: selection, the report and
its drawings, EXPLAIN and the metrics in Spark's UI follow that tuple. A rule may keep too much, never too
little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace

from parquetry.metastore import (
    Chooses,
    FileBlock,
    PartitionSnapshot,
    RangedPartitions,
    TableSnapshot,
    file_blocks,
)
from parquetry.predicate import Compare
from parquetry.prune.condition import Condition
from parquetry.prune.needed_rows import FirstRows, WholeAggregate
from parquetry.prune.query_cache import PartitionCache
from parquetry.prune.report.scan import Step
from parquetry.types import Value


class PruningRequest(msgspec.Struct, frozen=True):
    """The request of one scan: a table, conditions, and columns.

    Attributes:
        snapshot: the version of the table.
        conditions: the conditions, joined by AND.
        read: the columns to read, including partition columns, or None for all.
        partition_by: the partition columns.
        projected: the data columns, as files spell them, whose statistics are kept for remaining files, since
            later rules or the caller need them; None for all.
        recent: the query cache, or None to read all partitions from the metastore.
        first: the matching rows that the query needs, or None for all.
        aggregate: the aggregate of the matching rows that the query needs in place of them, or None.
    """

    snapshot: TableSnapshot
    conditions: tuple[Condition, ...]
    read: Sequence[str] | None
    partition_by: frozenset[str]
    projected: frozenset[str] | None
    recent: PartitionCache | None = None
    first: FirstRows | None = None
    aggregate: WholeAggregate | None = None


class Remaining(msgspec.Struct, frozen=True):
    """The candidates of a scan: the partitions and files that earlier rules kept.

    Attributes:
        partitions: the partitions in key order; a partition stays here even if none of its files remains.
        blocks: the remaining files, or None if no rule has looked at files yet, so that all remain.
        certain: whether every row of these files satisfies all conditions.
        bytes: the bytes to read from these files.
        decided: conditions that every row of these files satisfies, so that later rules need not test them.
        answer: the values of the request's aggregate in files that were left out for it, or None if there are
            none.
        threshold: a comparison that is TRUE for every row that the query needs, or None.
    """

    partitions: Sequence[PartitionSnapshot] = ()
    blocks: Sequence[FileBlock] | None = None
    certain: bool = True
    bytes: int = 0
    decided: frozenset[Condition] = frozenset()
    answer: tuple[Value, ...] | None = None
    threshold: Compare | None = None

    @property
    def count(self) -> int:
        """Return the number of files."""
        if self.blocks is None:
            return sum([entry.file_count for entry in PartitionSnapshot.entries(self.partitions)])
        return sum(block.count for block in self.blocks)

    def files(
        self, scan: PruningRequest, names: Collection[str] | None = (), chooses: Chooses | None = None
    ) -> Iterable[FileBlock]:
        """Return the files, block by block; if no rule has looked at them yet, read them from the metastore.

        A rule keeps the files it wants of each block (`FileBlock.project`) and drops the rest.

        Args:
            scan: the request.
            names: the columns, as files spell them, whose statistics are wanted at first, or None for all.
            chooses: chooses the chunks of long manifests to read, by a summary of each; None for all chunks.
        """
        if self.blocks is not None:
            return self.blocks
        if isinstance(self.partitions, RangedPartitions):
            return self.partitions.file_blocks(names, chooses)
        snapshot = scan.snapshot
        return file_blocks(snapshot.store, snapshot.id, self.partitions, names, chooses)

    def projected(self, scan: PruningRequest) -> Sequence[FileBlock]:
        """Return the files with the projected statistics; if no rule has looked at them yet, read them."""
        if self.blocks is not None:
            return self.blocks
        return [block.project(None, scan.projected) for block in self.files(scan, scan.projected)]

    def only(self, positions: Sequence[int]) -> Remaining:
        """Return the candidates that remain if only some partitions do; `positions` ascend."""
        partitions = [self.partitions[position] for position in positions]
        if self.blocks is None:
            return replace(self, partitions=partitions)
        now = np.full(len(self.partitions), -1, np.int32)
        now[list(positions)] = np.arange(len(positions))
        kept = [block.take(np.flatnonzero(now[block.parts] >= 0)) for block in self.blocks]
        return replace(
            self, partitions=partitions, blocks=[FileBlock(now[block.parts], block.files) for block in kept]
        )


class Rule(ABC):
    """A step of pruning.

    Attributes:
        name: the name of its step in the report.
        unit: the unit that it counts, as in `Step.unit`; empty if its name says it.
        kept_text: the label in Spark's UI for the number of things kept.
        of_text: the label in Spark's UI for the number of things before this step.
        names_together: whether its step may name a condition that prunes nothing by itself, because the rule
            chooses by several at once (see `tally`).
        is_first: whether it is the rule that reads the partitions.
        continues: whether its step is joined with the step of the same name of an earlier rule.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = ""
    kept_text: ClassVar[str]
    of_text: ClassVar[str]
    names_together: ClassVar[bool] = False
    is_first: ClassVar[bool] = False
    continues: ClassVar[bool] = False

    def statistics(self, scan: PruningRequest) -> Iterable[str]:  # noqa: ARG002 - for rules that need some
        """Return the data columns whose statistics this rule reads, from files that earlier rules kept."""
        return ()

    @abstractmethod
    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Remove partitions or files that cannot hold an answer.

        Args:
            scan: the request.
            remaining: the candidates that earlier rules kept; empty for the first rule.

        Returns:
            The remaining candidates; and the step of the report, or None if the table has nothing that this
            rule counts.
        """

    def unread(self, step: Step) -> Step:
        """Return this rule's step for a scan that did not take place, since the metastore answered alone."""
        return step
