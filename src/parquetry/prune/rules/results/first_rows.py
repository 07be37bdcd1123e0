"""Keep the files that can have the first rows of a result: any k rows, or the first k of an order.

A LIMIT without an order wants any k rows. For `SELECT … WHERE x > 3 LIMIT 10`, one file suffices if its
statistics prove that all of its rows satisfy `x > 3`, and if it has ten rows or more. Where all such files
together have too few rows, every file stays.

With an order, files that are wholly after the first k rows are left out. For `ORDER BY ts DESC LIMIT 10`, let
the least `ts` of a file with 50 rows be Monday, and let statistics prove that all of its rows match. Then ten
rows are certain to be of Monday or later, so a file whose greatest `ts` is Sunday has none of the first ten.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from parquetry.data_files import Flags
from parquetry.metastore import FileBlock
from parquetry.predicate import Compare
from parquetry.prune.needed_rows import FirstRows, SortKey
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
from parquetry.prune.rules.results.sort_keys import refusal, sort_columns, sort_type
from parquetry.prune.rules.results.sort_positions import SortPositions, sort_positions

Narrowed = tuple[Remaining, Step | None]


class FirstRowsRule(Rule):
    """Keeps the files that may have one of the wanted rows; its step continues the step of the files."""

    name = FileRule.name
    continues = True

    def statistics(self, scan: PruningRequest) -> Iterable[str]:
        """Return the columns of the conditions and the sort key if there is a LIMIT."""
        return () if scan.first is None else _names(scan, scan.first)

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> Narrowed:
        """Leave out files that have none of the wanted rows, or that others make superfluous."""
        first = scan.first
        of = 0 if first is None else remaining.count
        if first is None or of < 2:
            return remaining, None
        reason = first.hindrance.reason
        if reason is None and first.key is not None:
            reason = refusal(scan.snapshot.metadata, first.key)
        if reason is not None:
            return remaining, unused_step(first, of, reason)
        narrow = _keep_enough if first.key is None else _keep_first
        return narrow(scan, remaining, first)


def _names(scan: PruningRequest, first: FirstRows) -> set[str]:
    columns = sort_columns(scan.snapshot.metadata, first.key)
    return columns.union(condition_columns(scan)) if columns or first.key is None else columns


def _keep_enough(scan: PruningRequest, remaining: Remaining, first: FirstRows) -> Narrowed:
    """Keep the fewest files that have enough rows, if only rows that match are in them."""
    files = _MatchingFiles(scan, remaining, first.count)
    of = remaining.count
    if files.rows < first.count:
        return remaining, None if remaining.certain else unused_step(first, of, _too_few(files.rows))
    blocks = files.chosen(first.count)
    kept = sum(block.count for block in blocks)
    step = Step(FileRule.name, kept, of, (f"enough rows for {first.text}",), origins=("result",))
    return replace(remaining, blocks=blocks, certain=True), step if kept < of else None


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


def _keep_first(scan: PruningRequest, remaining: Remaining, first: FirstRows) -> Narrowed:
    """Leave out the files that are wholly after the last of the wanted rows."""
    key, of = first.key, remaining.count
    assert key is not None, "rows without an order have no first ones"
    names = statistics_names(scan, _names(scan, first))
    blocks = remaining.blocks or [block.project(None, names) for block in remaining.files(scan, names)]
    block = FileBlock.concatenate(blocks, names)
    found = sort_positions(scan, remaining, block, first, fully_matching(scan, remaining, block))
    if found is None:
        return replace(remaining, blocks=[block]), unused_step(first, of, f"no statistics for {key.text}")
    if found.promise.total < first.count:
        what = "distinct values" if first.distinct else "rows"
        reason = f"only {found.promise.total:,} {what} are known to match and to have bounds"
        return replace(remaining, blocks=[block]), unused_step(first, of, reason)
    position, needed = _last_needed(found, first)
    kept = np.flatnonzero(needed)
    narrowed = replace(
        remaining,
        blocks=[block.project(kept, scan.projected)],
        threshold=_threshold(scan, key, found, position, needed),
    )
    if len(kept) == of:
        reason = "every file may have one of these rows"
        if found.has_nan:
            reason = f"{key.text} may be NaN, which statistics leave out"
        return narrowed, unused_step(first, of, reason)
    return narrowed, Step(
        FileRule.name, len(kept), of, (_text(scan, first, key, found, position),), origins=("result",)
    )


def _last_needed(found: SortPositions, first: FirstRows) -> tuple[int, Flags]:
    """Return the position that the last wanted row is certainly not after, and the files that are needed.

    A row at this very position is needed if ties are. Otherwise, the files that promise enough rows suffice.
    """
    promise = found.promise
    place = int(np.searchsorted(np.cumsum(promise.rows), first.count))
    position = int(promise.positions[place])
    needed = found.first <= position if first.ties or first.distinct else found.first < position
    needed[promise.files[: place + 1]] = True
    return position, needed


def _threshold(
    scan: PruningRequest, key: SortKey, found: SortPositions, position: int, needed: Flags
) -> Compare | None:
    """Return the comparison of the sort key that holds for all wanted rows, for readers, or None.

    It is not TRUE for NULL, so rows with NULL must not be among the wanted ones.
    """
    if key.column is None or (key.nulls_first and found.nullable[needed].any()):
        return None
    column, bound = scan.snapshot.metadata.column(key.column), found.bound(position)
    if column.name in scan.partition_by or not bound or bound[0] is None:
        return None
    return Compare(">=" if key.descending else "<=", column.name, bound[0], column.column_type)


def _text(scan: PruningRequest, first: FirstRows, key: SortKey, found: SortPositions, position: int) -> str:
    """Return what is kept: `10 greatest of ts, from TIMESTAMP '…'`."""
    kind = sort_type(scan.snapshot.metadata, key)
    value = None if kind is None else found.value_text(position, kind)
    which = "greatest" if key.descending else "least"
    bound = "" if value is None else f", {'from' if key.descending else 'up to'} {value}"
    return f"{first.count:,} {which} of {key.text}{bound}"
