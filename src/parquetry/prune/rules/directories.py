"""Keep the directories of list-bucketed partitions whose skewed values may satisfy the open conditions.

Each partition is judged by its own map. A directory is a cell of the map, or the rest. The files' records
name it, never their paths. So a directory and its copies count as one, and files whose cell is not known are
always kept.

A map may have grown. Older files of the rest are then judged by the cells that the map had when they were
written; they count as files of the same directory.

Open conditions are evaluated over directories, by their skewed tuples and their partitions.

`directories` finds the directories and keeps their files. `directory_knowledge` has their statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from parquetry.data_files import NO_CELL, UNKNOWN, Flags, Numbers
from parquetry.layout import REST, SkewMap
from parquetry.metastore import FileBlock, PartitionSnapshot
from parquetry.predicate import (
    MAX_ALLOWED_TUPLES,
    And,
    Filter,
    Knowledge,
    Like,
    Match,
    Not,
    Opaque,
    Or,
    Predicate,
    allowed_values,
    match,
)
from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.rules.arrangements import ArrangementRecords, skew_maps
from parquetry.prune.rules.directory_knowledge import (
    CellKnowledge,
    HeavyTuples,
    RestKnowledge,
    WithinPartitions,
    heavy_tuples,
)
from parquetry.prune.tally import Tally


class DirectoryRule(Rule):
    """Keeps a directory unless its values rule a condition out.

    A table without such directories pays nothing.
    """

    name = "directories"
    kept_text = "directories read"
    of_text = "directories of the partitions read"
    names_together = True

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Keep the files of directories that can hold an answer."""
        maps = skew_maps(scan.snapshot, remaining.partitions)
        if maps is None:
            return remaining, None
        evaluator = _DirectoryEvaluator(scan, remaining.partitions, maps)
        kept = [
            part for block in remaining.files(scan, scan.projected) if (part := evaluator.kept(block)).count
        ]
        step = evaluator.tally.step(
            self,
            evaluator.count(evaluator.kept_codes),
            evaluator.count(evaluator.seen),
            evaluator.conditions,
            evaluator.reason,
        )
        return replace(remaining, blocks=kept, decided=remaining.decided | evaluator.decided), step


def decided_by_directories(scan: PruningRequest, remaining: Remaining) -> frozenset[Condition]:
    """Return the conditions that every row of the remaining directories satisfies, by their skewed values.

    With fewer partitions or more conditions, the rule keeps fewer of these directories, so the answer stays
    right.

    Args:
        scan: the request; it asks for no statistics.
        remaining: the candidates that the rule of partitions kept.
    """
    maps = skew_maps(scan.snapshot, remaining.partitions)
    evaluator = None if maps is None else _DirectoryEvaluator(scan, remaining.partitions, maps)
    if evaluator is None or not evaluator.conditions:
        return frozenset()
    for block in remaining.files(scan):
        evaluator.kept(block)
    return evaluator.decided


class _DirectoryEvaluator:
    """Judges directories by the open conditions, block by block.

    Attributes:
        conditions: the conditions that are about a skewed column.
        tally: the conditions that pruned something.
        seen: codes of the directories that have files.
        kept_codes: codes of the directories that were kept.
    """

    def __init__(
        self, scan: PruningRequest, partitions: Sequence[PartitionSnapshot], maps: ArrangementRecords[SkewMap]
    ) -> None:
        self._scan = scan
        self._map_of = maps.numbers
        most = max([len(each.cells) for each in maps.distinct], default=0)
        self._least = NO_CELL - most  # the code of a rest that excludes the first `most` cells
        self._width = most - self._least
        physical = {name for names in {each.columns for each in maps.distinct} for name in names}
        columns = scan.snapshot.metadata.data_columns
        names = {column.name for column in columns if column.physical in physical}
        self.conditions = [
            condition
            for condition in scan.conditions
            if condition.about & names and not condition.decided_by(scan.partition_by)
        ]
        heavy, positions = heavy_tuples(scan.snapshot.metadata, maps.distinct if self.conditions else ())
        # for each map, and last for no map: the number of its evaluator, and its number within that
        numbered = [(-1, 0) if position is None else position for position in positions]
        self._evaluator_of = np.array([*(evaluator for evaluator, _ in numbered), -1], np.int64)
        self._number_of = np.array([*(number for _, number in numbered), 0], np.int64)
        self._evaluators = [DirectoryAnswers(scan, partitions, each, self.conditions) for each in heavy]
        self.tally = Tally()
        self.seen: list[Numbers] = []
        self.kept_codes: list[Numbers] = []
        self._open: set[Condition] = set()

    @property
    def decided(self) -> frozenset[Condition]:
        """Return the conditions that every row of the kept directories satisfies."""
        return frozenset(self.conditions) - self._open

    @staticmethod
    def count(codes: Sequence[Numbers]) -> int:
        """Return the number of distinct directories."""
        return len(np.unique(np.concatenate(codes))) if codes else 0

    def kept(self, block: FileBlock) -> FileBlock:
        """Return the files of a block whose directory may hold an answer."""
        arranged = block.files.arranged
        cells = np.full(block.count, UNKNOWN, np.int64) if arranged is None else arranged[0]
        cells = np.where((cells == UNKNOWN) | (self._map_of[block.parts] < 0), NO_CELL, cells)
        codes = block.parts.astype(np.int64) * self._width + (cells - self._least)
        directories, positions = np.unique(codes, return_inverse=True)
        kept = self._may_answer(directories)
        cells = self._cells(directories)
        counted = directories + np.where(cells < NO_CELL, REST - cells, 0)
        self.seen.append(counted)
        self.kept_codes.append(counted[kept])
        return block.project(np.flatnonzero(kept[positions]), self._scan.projected)

    def _cells(self, directories: Numbers) -> Numbers:
        return directories % self._width + self._least

    def _may_answer(self, directories: Numbers) -> Flags:
        if not self.conditions:
            return np.ones(len(directories), np.bool_)
        parts, cells = directories // self._width, self._cells(directories)
        maps = self._map_of[parts]
        answers = np.full((len(self.conditions), len(directories)), Match.MIGHT, np.uint8)
        together = np.ones(len(directories), np.bool_)
        for number, evaluator in enumerate(self._evaluators):
            mine = self._evaluator_of[maps] == number
            heavy = np.flatnonzero(mine & (cells > REST))
            numbers = evaluator.heavy.numbers(self._number_of[maps[heavy]], cells[heavy])
            answers[:, heavy] = evaluator.cell_answers(parts[heavy], numbers)
            rest = np.flatnonzero(mine & ((cells == REST) | (cells < NO_CELL)))
            own = self._number_of[maps[rest]]
            firsts = np.where(cells[rest] == REST, evaluator.heavy.sizes[own], NO_CELL - cells[rest])
            together[rest] = evaluator.rest_answers(parts[rest], own, firsts)
            if not together[rest].all():
                for condition in evaluator.guarantors:
                    self.tally.serve(condition)
        kept: Flags = (self.tally.combine(self.conditions, list(answers)) != Match.CANNOT) & together
        for condition, answer in zip(self.conditions, answers, strict=True):
            if (answer[kept] != Match.MUST).any():
                self._open.add(condition)
        return kept

    def reason(self, condition: Condition) -> str | None:
        """Return why a condition pruned no directory, or None if it did prune one."""
        if condition in self.tally:
            return None
        return condition.not_understood or "every directory may hold a match"


class DirectoryAnswers:
    """The answers of conditions for directories of partitions that are skewed by the same columns.

    A condition is evaluated once for each skewed tuple, unless it is also about partition columns.

    Attributes:
        heavy: the skewed tuples.
    """

    def __init__(
        self,
        scan: PruningRequest,
        partitions: Sequence[PartitionSnapshot],
        heavy: HeavyTuples,
        conditions: Sequence[Condition],
    ) -> None:
        self._metadata = scan.snapshot.metadata
        self._partitions = partitions
        self.heavy = heavy
        self._conditions = [
            condition if condition.about & set(heavy.names) and not _on_sign(condition.predicate) else None
            for condition in conditions
        ]
        self._mixed = [each is not None and bool(each.about & scan.partition_by) for each in self._conditions]
        self._all = Filter.all_of(each.filter for each in self._conditions if each is not None)

    @cached_property
    def guarantors(self) -> list[Condition]:
        """The conditions that allow only a few values of a skewed column."""
        return [
            condition
            for condition in self._conditions
            if condition is not None
            and any(
                allowed_values(condition.predicate, (name,), MAX_ALLOWED_TUPLES) is not None
                for name in self.heavy.names
            )
        ]

    def cell_answers(self, parts: Numbers, numbers: Numbers) -> NDArray[np.uint8]:
        """Return for each condition its answers for some cells.

        Args:
            parts: the position of each cell's partition.
            numbers: the position of each cell's tuple in `heavy.rows`.
        """
        answers = np.full((len(self._conditions), len(parts)), Match.MIGHT, np.uint8)
        knowledge = CellKnowledge(self.heavy, numbers, self._within(parts)) if any(self._mixed) else None
        for position, (condition, alone) in enumerate(
            zip(self._conditions, self._tuple_answers, strict=True)
        ):
            if alone is not None:
                answers[position] = alone[numbers]
            elif condition is not None and knowledge is not None:
                answers[position] = match(condition.filter, knowledge)
        return answers

    @cached_property
    def _tuple_answers(self) -> list[NDArray[np.uint8] | None]:
        """The answers for all tuples, for each condition that is not about partitions."""
        knowledge = CellKnowledge(self.heavy, np.arange(len(self.heavy.rows)))
        return [
            None if condition is None or mixed else match(condition.filter, knowledge)
            for condition, mixed in zip(self._conditions, self._mixed, strict=True)
        ]

    def rest_answers(self, parts: Numbers, maps: Numbers, firsts: Numbers) -> Flags:
        """Return whether a row of each rest may satisfy all conditions, which may allow few tuples together.

        Args:
            parts: the position of each rest's partition.
            maps: the number of its map.
            firsts: the number of the map's first cells whose rows are not in this rest.
        """
        if any(self._mixed):
            return _may_hold(self._all, RestKnowledge(self.heavy, maps, self._within(parts), firsts))
        answers = self._map_answers[maps]
        earlier = firsts < self.heavy.sizes[maps]
        if earlier.any():
            knowledge = RestKnowledge(self.heavy, maps[earlier], None, firsts[earlier])
            answers[earlier] = _may_hold(self._all, knowledge)
        return answers

    @cached_property
    def _map_answers(self) -> Flags:
        """The answers of `rest_answers` for each map, if no condition is about partitions."""
        return _may_hold(self._all, RestKnowledge(self.heavy, np.arange(len(self.heavy.sizes))))

    def _within(self, parts: Numbers) -> WithinPartitions:
        return WithinPartitions(self._metadata, self._partitions, parts)


def _may_hold(filter: Filter, knowledge: Knowledge) -> Flags:
    answers: Flags = match(filter, knowledge) != Match.CANNOT
    return answers


def _on_sign(node: Predicate) -> bool:
    """Return whether a condition is about a float's text: the cell of zero has rows with 0.0 and -0.0."""
    match node:
        case And(children) | Or(children):
            return any(map(_on_sign, children))
        case Not(child):
            return _on_sign(child)
        case Opaque(implied=implied):
            return implied is not None and _on_sign(implied)
        case Like(type=type):
            return type.floating
    return False
