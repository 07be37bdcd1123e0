"""Directories: what the heavy values of list-bucketed partitions say about the conditions that partitions leave open.

Each partition is judged by its own map. A directory is a cell of it, or the rest; it goes by the files' records and
never by their paths, so a directory and its copies count as one, and files of which no cell is known are always kept. Where a
map has grown, files of the rest from before are judged by the cells that it had then, and count as of the same directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from parquetry.data_files.file_batch import UNKNOWN, Flags, Numbers
from parquetry.data_files.records import NO_CELL
from parquetry.layout.arrangement import REST, SkewMap
from parquetry.metastore.versions.file_blocks import FileBlock
from parquetry.metastore.versions.partition import Partition
from parquetry.predicate.pruning.match import Match
from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import Left, Rule, Scan
from parquetry.prune.rules.arrangements import Records, skew_maps
from parquetry.prune.rules.directory_answers import DirectoryAnswers
from parquetry.prune.rules.directory_knowledge import heavy_tuples
from parquetry.prune.tally import Tally


class DirectoryRule(Rule):
    """Keeps a directory unless its values rule a condition out. A table that has no such directories pays nothing."""

    name = "directories"
    kept_text = "directories read"
    of_text = "directories of the partitions read"

    def narrow(self, scan: Scan, left: Left) -> tuple[Left, Step | None]:
        """Keep the files of directories that can hold an answer."""
        maps = skew_maps(scan.snapshot, left.partitions)
        if maps is None:
            return left, None
        judge = _Judge(scan, left.partitions, maps)
        kept = [part for block in left.files(scan, scan.held) if (part := judge.kept(block)).count]
        step = judge.tally.step(
            self, judge.count(judge.left), judge.count(judge.seen), judge.asked, judge.reason
        )
        return replace(left, blocks=kept, decided=left.decided | judge.decided), step


def decided_by_directories(scan: Scan, left: Left) -> frozenset[Condition]:
    """Return the conditions that every row satisfies of the directories that may hold an answer, by their heavy values.

    Asked with fewer partitions, or with conditions besides, the rule leaves fewer of these directories.

    Args:
        scan: what is asked; no statistics are.
        left: what the rule of partitions left.
    """
    maps = skew_maps(scan.snapshot, left.partitions)
    judge = None if maps is None else _Judge(scan, left.partitions, maps)
    if judge is None or not judge.asked:
        return frozenset()
    for block in left.files(scan):
        judge.kept(block)
    return judge.decided


class _Judge:
    """Asks the open conditions about directories, block by block.

    Attributes:
        asked: the conditions that are about a skewed column.
        tally: which of them cut something.
        seen: codes of the directories that have files.
        left: codes of those that were kept.
    """

    def __init__(self, scan: Scan, partitions: Sequence[Partition], maps: Records[SkewMap]) -> None:
        self._scan = scan
        self._map_of = maps.of
        most = max([len(each.cells) for each in maps.distinct], default=0)
        self._least = NO_CELL - most  # the rest of so many first cells
        self._width = most - self._least
        physical = {name for names in {each.columns for each in maps.distinct} for name in names}
        columns = scan.snapshot.metadata.data_columns
        names = {column.name for column in columns if column.physical in physical}
        self.asked = [
            condition
            for condition in scan.conditions
            if condition.about & names and not condition.decided_by(scan.partition_by)
        ]
        heavy, places = heavy_tuples(scan.snapshot.metadata, maps.distinct if self.asked else ())
        # of each map, and of none: by whom it is judged, and as which
        known = [(-1, 0) if place is None else place for place in places]
        self._judge_of = np.array([*(judge for judge, _ in known), -1], np.int64)
        self._number_of = np.array([*(number for _, number in known), 0], np.int64)
        self._judges = [DirectoryAnswers(scan, partitions, each, self.asked) for each in heavy]
        self.tally = Tally()
        self.seen: list[Numbers] = []
        self.left: list[Numbers] = []
        self._open: set[Condition] = set()

    @property
    def decided(self) -> frozenset[Condition]:
        """Return the conditions that hold for every row of what was kept."""
        return frozenset(self.asked) - self._open

    @staticmethod
    def count(codes: Sequence[Numbers]) -> int:
        """Return how many directories there are among some, of which each may be there more than once."""
        return len(np.unique(np.concatenate(codes))) if codes else 0

    def kept(self, block: FileBlock) -> FileBlock:
        """Return the files of a block that are in directories that may hold an answer."""
        arranged = block.files.arranged
        cells = np.full(block.count, UNKNOWN, np.int64) if arranged is None else arranged[0]
        cells = np.where((cells == UNKNOWN) | (self._map_of[block.parts] < 0), NO_CELL, cells)
        codes = block.parts.astype(np.int64) * self._width + (cells - self._least)
        directories, places = np.unique(codes, return_inverse=True)
        kept = self._may_answer(directories)
        cells = self._cells(directories)
        counted = directories + np.where(cells < NO_CELL, REST - cells, 0)
        self.seen.append(counted)
        self.left.append(counted[kept])
        return block.hold(np.flatnonzero(kept[places]), self._scan.held)

    def _cells(self, directories: Numbers) -> Numbers:
        return directories % self._width + self._least

    def _may_answer(self, directories: Numbers) -> Flags:
        if not self.asked:
            return np.ones(len(directories), np.bool_)
        parts, cells = directories // self._width, self._cells(directories)
        maps = self._map_of[parts]
        answers = np.full((len(self.asked), len(directories)), Match.MIGHT, np.uint8)
        together = np.ones(len(directories), np.bool_)
        for number, judge in enumerate(self._judges):
            mine = self._judge_of[maps] == number
            heavy = np.flatnonzero(mine & (cells > REST))
            numbers = judge.heavy.numbers(self._number_of[maps[heavy]], cells[heavy])
            answers[:, heavy] = judge.of_cells(parts[heavy], numbers)
            rest = np.flatnonzero(mine & ((cells == REST) | (cells < NO_CELL)))
            own = self._number_of[maps[rest]]
            firsts = np.where(cells[rest] == REST, judge.heavy.sizes[own], NO_CELL - cells[rest])
            together[rest] = judge.of_rest(parts[rest], own, firsts)
            if not together[rest].all():
                for condition in judge.guarantors:
                    self.tally.serve(condition)
        kept: Flags = (self.tally.judge(self.asked, list(answers)) != Match.CANNOT) & together
        for condition, answer in zip(self.asked, answers, strict=True):
            if (answer[kept] != Match.MUST).any():
                self._open.add(condition)
        return kept

    def reason(self, condition: Condition) -> str | None:
        """Return why a condition that cut no directory did not; None where there is nothing to say."""
        if condition in self.tally:
            return None
        return condition.not_understood or "every directory may hold a match"
