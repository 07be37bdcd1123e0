"""Keep the files whose partition values and statistics may satisfy the open conditions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from parquetry.data_files import Flags
from parquetry.identifiers import field_path
from parquetry.metastore import FileBlock, PartitionSnapshot, RangedPartitions
from parquetry.predicate import Match, match
from parquetry.prune.condition import Condition
from parquetry.prune.query_cache import MIN_CACHED_FILES, PrunedFiles, rejects
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.rules.file_knowledge import FileKnowledge, spelled
from parquetry.prune.tally import Tally


class FileRule(Rule):
    """Keeps a file unless its statistics rule a condition out.

    If no condition is open, it looks at no file.
    """

    name = "files"
    kept_text = "files read"
    of_text = "files of the partitions read"

    def statistics(self, scan: PruningRequest) -> Iterable[str]:
        """Return the columns of the open conditions."""
        return {name for condition in _open_conditions(scan) for name in condition.about}

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Keep the files that can hold an answer."""
        conditions = [condition for condition in _open_conditions(scan) if condition not in remaining.decided]
        if not conditions:
            of = remaining.count
            return remaining, Step(self.name, of, of)
        recent = None if scan.recent is None or remaining.blocks is not None else scan.recent.files
        pruned = (
            None
            if recent is None
            else recent.find(scan.snapshot, conditions, remaining.partitions, scan.projected)
        )
        if pruned is None:
            pruned = self._evaluate(scan, remaining, conditions)
            if recent is not None and pruned.step.of >= MIN_CACHED_FILES:
                recent.keep(scan.snapshot, conditions, pruned)
        narrowed = replace(
            remaining,
            partitions=remaining.partitions if pruned.remaining is None else pruned.remaining,
            blocks=pruned.blocks,
            certain=remaining.certain and pruned.certain,
        )
        return narrowed, pruned.step

    def _evaluate(
        self, scan: PruningRequest, remaining: Remaining, conditions: Sequence[Condition]
    ) -> PrunedFiles:
        evaluator = _FileEvaluator(scan, remaining, conditions)
        ranged = isinstance(remaining.partitions, RangedPartitions)
        # The summary of a range is about many partitions, and says nothing of their own values.
        is_mixed = any(condition.about & scan.partition_by for condition in conditions)
        chooses = None if ranged and is_mixed else evaluator.chunks
        kept = [
            part
            for block in remaining.files(scan, evaluator.names, chooses)
            if (part := evaluator.kept(block)).count
        ]
        count, of = sum(block.count for block in kept), evaluator.count
        step = evaluator.tally.step(self, count, of, conditions, evaluator.reason if of else _no_reason)
        partitions, those = remaining.partitions, None
        if isinstance(partitions, RangedPartitions):
            those, kept = _only_used(partitions, kept)
        return PrunedFiles(partitions, scan.projected, kept, evaluator.certain, step, those)

    def unread(self, step: Step) -> Step:
        """Return the step of a scan that opened no file."""
        return msgspec.structs.replace(step, kept=0, by=("answered by the metastore",), not_by=(), origins=())


def _only_used(
    partitions: RangedPartitions, blocks: Sequence[FileBlock]
) -> tuple[list[PartitionSnapshot], list[FileBlock]]:
    """Return the partitions that have some of the files, and the files with these partitions' positions."""
    parts = [block.parts for block in blocks] or [np.zeros(0, np.int32)]
    used = np.unique(np.concatenate(parts))
    renumbered = [
        FileBlock(np.searchsorted(used, block.parts).astype(np.int32), block.files) for block in blocks
    ]
    return partitions.take(used), renumbered


def _columns_without_nan(scan: PruningRequest, conditions: Sequence[Condition]) -> frozenset[str]:
    """Return the float columns that are not NaN in any row that satisfies all conditions.

    NaN is above all numbers, so `c >= 1` may hold for it, but not `c >= 1 AND c <= 2`.
    """
    metadata = scan.snapshot.metadata
    about = {name for each in conditions for name in each.about}
    return frozenset(
        column.name
        for column in metadata.data_columns
        if column.name in about and column.column_type.floating
        if rejects(
            [each.predicate for each in conditions if column.name in each.about], column.name, math.nan
        )
    )


def _open_conditions(scan: PruningRequest) -> list[Condition]:
    return [condition for condition in scan.conditions if not condition.decided_by(scan.partition_by)]


def _no_reason(_: Condition) -> None:
    """Give no reasons, since there were no files to judge."""


class _FileEvaluator:
    """Judges files by the open conditions, block by block.

    Attributes:
        names: the columns of the conditions, as files spell them.
        tally: the conditions that pruned something.
        certain: whether all rows of the kept files satisfy all conditions.
        count: the number of files judged.
    """

    def __init__(self, scan: PruningRequest, remaining: Remaining, conditions: Sequence[Condition]) -> None:
        self._scan = scan
        self._metadata = scan.snapshot.metadata
        self._remaining = remaining
        self._conditions = conditions
        about = {name for condition in conditions for name in condition.about}
        self._unknown = about & self._metadata.in_files.keys()
        self.names = spelled(self._metadata, self._unknown)
        self._without_nan = _columns_without_nan(scan, conditions)
        self.tally = Tally()
        self.certain = True
        self.count = 0

    def chunks(self, block: FileBlock) -> Flags:
        """Return the manifest chunks whose files may hold an answer, by a summary record of each chunk."""
        return self._answers(block).astype(np.bool_)  # CANNOT is 0

    def kept(self, block: FileBlock) -> FileBlock:
        """Return the files of a block that may hold an answer."""
        self.count += block.count + block.skipped
        answers = self._answers(block)
        self.certain = self.certain and not (answers == Match.MIGHT).any()
        return block.project(np.flatnonzero(answers), self._scan.projected)  # CANNOT is 0

    def _answers(self, block: FileBlock) -> NDArray[np.uint8]:
        knowledge = FileKnowledge(self._metadata, self._remaining.partitions, block, self._without_nan)
        answers = self.tally.combine(
            self._conditions, [match(condition.filter, knowledge) for condition in self._conditions]
        )
        self._unknown -= knowledge.with_statistics(self._unknown)
        return answers

    def reason(self, condition: Condition) -> str | None:
        """Return why a condition pruned no file, or None if there is nothing to report."""
        if condition in self.tally or condition.within(self._scan.partition_by):
            return None
        if condition.not_judged is not None:
            return condition.not_judged
        missing = sorted(condition.about & self._unknown)
        if missing:
            names = ", ".join(".".join(field_path(name)) for name in missing)
            return f"no statistics for {'column' if len(missing) == 1 else 'columns'} {names}"
        return "every file may hold a match"
