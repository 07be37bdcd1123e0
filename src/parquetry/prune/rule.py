"""What every pruning step is: a rule that is given what is left of a scan and leaves less.

A rule stands in a file of its own and has its place in `steps.STEPS`. That is all it takes: selection, the report and
its drawings, EXPLAIN and the metrics in Spark's UI go by that tuple. A rule may keep too much, never too little.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from parquetry.metastore.model import DataFile
from parquetry.metastore.partition import Partition
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.prune.condition import Condition
from parquetry.prune.scan_report import Step


@dataclass(frozen=True, slots=True)
class Scan:
    """What is asked of a table.

    Attributes:
        snapshot: the version of the table.
        conditions: joined by AND.
        read: the columns to be read, partition columns too; None for all.
        partition_by: the partition columns.
    """

    snapshot: TableSnapshot
    conditions: tuple[Condition, ...]
    read: Sequence[str] | None
    partition_by: frozenset[str]


class PartitionFiles(NamedTuple):
    """A partition that is left, and those of its files that are."""

    partition: Partition
    files: Sequence[DataFile]


@dataclass(frozen=True, slots=True)
class Left:
    """What the rules so far have left of a table.

    Attributes:
        parts: the partitions in key order; one stays among them when none of its files is left.
        certain: whether every row of these files satisfies all conditions.
        bytes: how many are to be read of these files.
    """

    parts: Sequence[PartitionFiles] = ()
    certain: bool = True
    bytes: int = 0


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

    @abstractmethod
    def narrow(self, scan: Scan, left: Left) -> tuple[Left, Step | None]:
        """Leave less of a scan.

        Args:
            scan: what is asked.
            left: what the rules before this one left; of the first rule, nothing yet.

        Returns:
            What is left now, and the step of the report; None: the table has nothing of the kind.
        """

    def unread(self, step: Step) -> Step:
        """Return what this rule's step says when the metastore's answer spared the scan: no file was opened."""
        return step
