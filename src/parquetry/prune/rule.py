"""What every pruning step is: a rule that is given what is left of a scan and leaves less.

A rule stands in a file of its own and has its place in `steps.STEPS`. That is all it takes: selection, the report and
its drawings, EXPLAIN and the metrics in Spark's UI go by that tuple. A rule may keep too much, never too little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from parquetry.metastore.versions import Chooses, FileBlock, PartitionSnapshot, TableSnapshot
from parquetry.metastore.versions.file_blocks import file_blocks
from parquetry.prune.condition import Condition
from parquetry.prune.query_cache import PartitionCache
from parquetry.prune.report import Step


@dataclass(frozen=True, slots=True)
class Scan:
    """What is asked of a table.

    Attributes:
        snapshot: the version of the table.
        conditions: joined by AND.
        read: the columns to be read, partition columns too; None for all.
        partition_by: the partition columns.
        projected: the data columns, as the files spell them, of which statistics are held of files that are left: those that
            the rules to come ask for, and the caller; None: all.
        recent: partitions that were found for questions before this one; None: all are read.
    """

    snapshot: TableSnapshot
    conditions: tuple[Condition, ...]
    read: Sequence[str] | None
    partition_by: frozenset[str]
    projected: frozenset[str] | None
    recent: PartitionCache | None = None


@dataclass(frozen=True, slots=True)
class Remaining:
    """What the rules so far have left of a table.

    Attributes:
        partitions: in key order; one stays among them when none of its files is left.
        blocks: of their files, those that are left; None: all of them are, and no rule has looked at them yet.
        certain: whether every row of these files satisfies all conditions.
        bytes: how many are to be read of these files.
        decided: conditions that every row of these files is known to satisfy, so that nothing more need be asked.
    """

    partitions: Sequence[PartitionSnapshot] = ()
    blocks: Sequence[FileBlock] | None = None
    certain: bool = True
    bytes: int = 0
    decided: frozenset[Condition] = frozenset()

    @property
    def count(self) -> int:
        """Return the number of files."""
        if self.blocks is None:
            return sum([entry.file_count for entry in PartitionSnapshot.entries(self.partitions)])
        return sum(block.count for block in self.blocks)

    def files(
        self, scan: Scan, names: Collection[str] | None = (), chooses: Chooses | None = None
    ) -> Iterable[FileBlock]:
        """Return the files, block by block; where no rule has looked at them yet, they are read.

        A rule keeps of each block what it leaves, by `FileBlock.hold`, and lets go of the rest.

        Args:
            scan: what is asked.
            names: as the files spell them, of the columns of which statistics are wanted at first; None: all.
            chooses: which chunks of long lists need to be read, by what a record of each says; None: all.
        """
        if self.blocks is not None:
            return self.blocks
        snapshot = scan.snapshot
        return file_blocks(snapshot.store, snapshot.id, self.partitions, names, chooses)

    def projected(self, scan: Scan) -> Sequence[FileBlock]:
        """Return the files with what is held of them, read if no rule has looked at them yet."""
        if self.blocks is not None:
            return self.blocks
        return [block.project(None, scan.projected) for block in self.files(scan, scan.projected)]

    def only(self, positions: Sequence[int]) -> Remaining:
        """Return what is left when some partitions are, by their places, in order."""
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
        name: what the report calls its step.
        unit: what it counts, as in `Step.unit`; empty: what its name says.
        kept_text: what Spark's UI calls the number that it kept.
        of_text: what Spark's UI calls the number that there were.
    """

    name: ClassVar[str]
    unit: ClassVar[str] = ""
    kept_text: ClassVar[str]
    of_text: ClassVar[str]

    def statistics(self, scan: Scan) -> Iterable[str]:  # noqa: ARG002 - for those that need some
        """Return the data columns of which it asks files that rules before it left for statistics."""
        return ()

    @abstractmethod
    def narrow(self, scan: Scan, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Leave less of a scan.

        Args:
            scan: what is asked.
            remaining: what the rules before this one left; of the first rule, nothing yet.

        Returns:
            What is left now, and the step of the report; None: the table has nothing of the kind.
        """

    def unread(self, step: Step) -> Step:
        """Return what this rule's step says when the metastore's answer spared the scan: no file was opened."""
        return step
