"""Leave out files that are wholly after the first k rows of an order.

For `ORDER BY ts DESC LIMIT 10`, let the least `ts` of a file with 50 rows be Monday, and let statistics prove
that all of its rows match. Then ten rows are certain to be of Monday or later, so a file whose greatest `ts`
is Sunday has none of the first ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from parquetry.data_files import Flags
from parquetry.metastore import FileBlock
from parquetry.predicate import Compare
from parquetry.prune.needed_rows import FirstRows, SortKey
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.results.matching import (
    condition_columns,
    fully_matching,
    statistics_names,
    unused_step,
)
from parquetry.prune.rules.results.sort_keys import refusal, sort_columns, sort_type
from parquetry.prune.rules.results.sort_positions import SortPositions, sort_positions


class TopKRule(Rule):
    """Keeps the files that may have one of the first rows of an order; its step continues the files' step."""

    name = FileRule.name
    continues = True

    def statistics(self, scan: PruningRequest) -> Iterable[str]:
        """Return the columns of the conditions and the sort key if there is an order with a LIMIT."""
        return _names(scan)

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Leave out the files that are wholly after the last of the wanted rows."""
        first, key = scan.first, None if scan.first is None else scan.first.key
        of = 0 if key is None else remaining.count
        if first is None or key is None or of < 2:
            return remaining, None
        reason = first.hindrance.reason or refusal(scan.snapshot.metadata, key)
        if reason is not None:
            return remaining, unused_step(first, of, reason)
        names = statistics_names(scan, _names(scan))
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
            self.name, len(kept), of, (_text(scan, first, key, found, position),), origins=("result",)
        )


def _names(scan: PruningRequest) -> set[str]:
    key = None if scan.first is None else scan.first.key
    columns = sort_columns(scan.snapshot.metadata, key)
    return columns.union(condition_columns(scan)) if columns else columns


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
