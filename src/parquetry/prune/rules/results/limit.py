"""Keep a few files whose rows all match, where a LIMIT needs no others.

For `SELECT … WHERE x > 3 LIMIT 10`, one file suffices if its statistics prove that all of its rows satisfy
`x > 3`, and if it has ten rows or more. Where all such files together have too few rows, every file stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from parquetry.data_files import Flags
from parquetry.metastore import FileBlock
from parquetry.prune.needed_rows import FirstRows
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.results.matching import (
    NO_MATCHING_FILE,
    condition_columns,
    fewest_files,
    fully_matching,
    statistics_names,
    unused_step,
)


class LimitRule(Rule):
    """Keeps enough files for a LIMIT without an order; its step continues the step of the files."""

    name = FileRule.name
    continues = True

    def statistics(self, scan: PruningRequest) -> Iterable[str]:
        """Return the columns of the conditions if there is a LIMIT."""
        return () if _limit(scan) is None else condition_columns(scan)

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Keep the fewest files that have enough rows, if only rows that match are in them."""
        first = _limit(scan)
        of = 0 if first is None else remaining.count
        if first is None or of < 2:
            return remaining, None
        if (reason := first.hindrance.reason) is not None:
            return remaining, unused_step(first, of, reason)
        files = _MatchingFiles(scan, remaining, first.count)
        if files.rows < first.count:
            return remaining, None if remaining.certain else unused_step(first, of, _too_few(files.rows))
        blocks = files.chosen(first.count)
        kept = sum(block.count for block in blocks)
        step = Step(self.name, kept, of, (f"enough rows for {first.text}",), origins=("result",))
        return replace(remaining, blocks=blocks, certain=True), step if kept < of else None


def _limit(scan: PruningRequest) -> FirstRows | None:
    return scan.first if scan.first is not None and scan.first.key is None else None


def _too_few(rows: int) -> str:
    """Return why fully matching files do not suffice.

    >>> _too_few(0), _too_few(7)
    ('no file is known to have only rows that match', 'the files with only rows that match have 7 rows')
    """
    if not rows:
        return NO_MATCHING_FILE
    return f"the files with only rows that match have {rows:,} {'row' if rows == 1 else 'rows'}"


class _MatchingFiles:
    """The fully matching files of a scan.

    If all files match, and no rule has looked at them yet, only so many manifests are read as needed.

    Attributes:
        rows: the rows of these files.
    """

    def __init__(self, scan: PruningRequest, remaining: Remaining, wanted: int) -> None:
        self._scan = scan
        self._blocks: list[FileBlock] = []
        self._flags: list[Flags] = []
        self.rows = 0
        for block in remaining.files(scan, statistics_names(scan, condition_columns(scan))):
            flags = fully_matching(scan, remaining, block)
            self._blocks.append(block)
            self._flags.append(flags)
            self.rows += int(block.files.rows[flags].sum())
            if self.rows >= wanted and remaining.certain and remaining.blocks is None:
                break

    def chosen(self, wanted: int) -> list[FileBlock]:
        """Return the fewest files that have enough rows, block by block."""
        flags = np.concatenate(self._flags)
        rows = np.concatenate([block.files.rows for block in self._blocks])
        sizes = np.concatenate([block.files.bytes for block in self._blocks])
        positions = fewest_files(np.where(flags, rows, 0), sizes, wanted)
        starts = np.cumsum([0, *(block.count for block in self._blocks)])
        return [
            block.project(mine - start, self._scan.projected)
            for block, start, end in zip(self._blocks, starts[:-1], starts[1:], strict=True)
            if len(mine := positions[(positions >= start) & (positions < end)])
        ]
