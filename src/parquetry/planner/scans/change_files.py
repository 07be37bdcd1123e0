"""The files that versions removed and added, as the answer for a scan of changes.

Each version, partition and side is a partition of the answer. It has the values of the
partition columns, and then the type of the change, the version, and the time of its commit. Spark's readers
give them to all rows of its files. The bridge compares the rows of removed files with the rows of new files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from parquetry.changes import DELETE, INSERT, ChangedVersion, PartitionChange
from parquetry.data_files import FileRecord, RecordedFiles
from parquetry.metastore import FileBlock, PartitionSnapshot, TableSnapshot
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.scan_answer import file_list, statistics
from parquetry.predicate import match
from parquetry.prune import Condition, FileKnowledge


@dataclass
class ChangedFiles:
    """Files of changes, with the partitions of the answer.

    Attributes:
        partitions: one for each version, partition and side.
        told: for each, the type of the change, the version, and the time of its commit.
        parts: for each of `files`, the index of its partition.
        files: the files that were added one by one.
        blocks: further files, with the indices of their partitions.
    """

    partitions: list[PartitionSnapshot] = field(default_factory=list)
    told: list[list[str | None]] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    files: list[FileRecord] = field(default_factory=list)
    blocks: list[FileBlock] = field(default_factory=list)

    def add(self, version: ChangedVersion, part: PartitionChange) -> None:
        """Add the files of a partition in one version."""
        sides = ((DELETE, part.before, part.removed), (INSERT, part.now, part.added))
        for kind, partition, files in sides:
            if partition is not None and files:
                self.parts += [len(self.partitions)] * len(files)
                self.partitions.append(partition)
                self.told.append([kind, str(version.number), str(version.timestamp)])
                self.files += files

    def add_inserts(
        self, version: TableSnapshot, partitions: Sequence[PartitionSnapshot], block: FileBlock
    ) -> None:
        """Add files of a version whose rows all count as inserted by it."""
        parts = (block.parts + len(self.partitions)).astype(np.int32)
        self.blocks.append(FileBlock(parts, block.files))
        self.partitions += partitions
        told: list[str | None] = [INSERT, str(version.version), str(version.committed_at * 1000)]
        self.told += [told] * len(partitions)

    def _block(self) -> FileBlock:
        own = FileBlock(np.array(self.parts, np.int32), RecordedFiles(self.files))
        return FileBlock.concatenate([own, *self.blocks], frozenset()) if self.blocks else own

    def answer(
        self, asked: TableSnapshot, columns: Sequence[str], conditions: Sequence[Condition], description: str
    ) -> answers.PlannedScan:
        """Return the answer for a scan: the files that may have rows for all conditions.

        Args:
            asked: the version of the table whose columns the rows have.
            columns: that are read.
            conditions: joined by AND.
            description: EXPLAIN's line.
        """
        block = self._block()
        of = block.count
        if conditions and of:
            wanted = np.ones(block.count, np.bool_)
            knowledge = FileKnowledge(asked.metadata, self.partitions, block)
            for condition in conditions:
                wanted &= match(condition.filter, knowledge).astype(np.bool_)  # CANNOT is 0
            block = block.take(np.flatnonzero(wanted))
        metadata = asked.metadata
        by = [metadata.column(name).name for name in columns]
        positions = [metadata.partition_by.index(name) for name in by if name in metadata.partition_by]
        used, numbers = np.unique(block.parts, return_inverse=True)
        chosen = [self.partitions[part] for part in used.tolist()]
        types = metadata.partition_types
        rows = [
            [
                *(to_wire(types[position], partition.values[position]) for position in positions),
                *self.told[part],
            ]
            for part, partition in zip(used.tolist(), chosen, strict=True)
        ]
        return answers.PlannedScan(
            files=file_list(block.files, numbers, [partition.location for partition in chosen]),
            partitions=rows,
            statistics=statistics(int(block.files.bytes.sum()), None, block.count),
            metrics=[],
            description=f"{description} · {block.count} of {of} files",
            report={},
            counts=questions.ScanCounts([], by_totals=False),
        )


def compared_files(versions: Iterable[ChangedVersion], *, by_key: bool) -> tuple[ChangedFiles, ChangedFiles]:
    """Return the files whose rows have to be compared with other files' rows, and all other files.

    Args:
        versions: with their files.
        by_key: whether removed rows of one partition may have become rows of another. Then all files of a
            version are compared that has both removed and new ones.
    """
    compared, alone = ChangedFiles(), ChangedFiles()
    for version in versions:
        parts = version.partitions
        mixed = by_key and any(part.removed for part in parts) and any(part.added for part in parts)
        for part in parts:
            (compared if mixed or part.is_mixed else alone).add(version, part)
    return compared, alone
