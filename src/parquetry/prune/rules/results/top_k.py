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
from parquetry.prune.needed_rows import FirstRows, SortKey
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import Remaining, Rule, Scan
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.results.limit import unused_step
from parquetry.prune.rules.results.matching import condition_columns, fully_matching, statistics_names
from parquetry.prune.rules.results.sort_positions import SortPositions, refusal, sort_positions


class TopKRule(Rule):
    """Keeps the files that may have one of the first rows of an order; its step continues the files' step."""

    name = FileRule.name
    continues = True

    def statistics(self, scan: Scan) -> Iterable[str]:
        """Return the columns of the conditions and the sort key if there is an order with a LIMIT."""
        return _names(scan)

    def narrow(self, scan: Scan, remaining: Remaining) -> tuple[Remaining, Step | None]:
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
        found = sort_positions(scan, remaining, block, key, fully_matching(scan, remaining, block))
        if found is None:
            return replace(remaining, blocks=[block]), unused_step(
                first, of, f"no statistics for column {key.column}"
            )
        if found.promise.total < first.count:
            reason = f"only {found.promise.total:,} rows are known to match and to have bounds"
            return replace(remaining, blocks=[block]), unused_step(first, of, reason)
        position, needed = _last_needed(found, first)
        kept = np.flatnonzero(needed)
        narrowed = replace(remaining, blocks=[block.project(kept, scan.projected)])
        if len(kept) == of:
            return narrowed, unused_step(first, of, "every file may have one of these rows")
        return narrowed, Step(
            self.name, len(kept), of, (_text(scan, first, key, found, position),), origins=("result",)
        )


def _names(scan: Scan) -> set[str]:
    key = None if scan.first is None else scan.first.key
    return set() if key is None or key.column is None else {key.column, *condition_columns(scan)}


def _last_needed(found: SortPositions, first: FirstRows) -> tuple[int, Flags]:
    """Return the position that the last wanted row is certainly not after, and the files that are needed.

    A row at this very position is needed if ties are. Otherwise, the files that promise enough rows suffice.
    """
    promise = found.promise
    place = int(np.searchsorted(np.cumsum(promise.rows), first.count))
    position = int(promise.positions[place])
    needed = found.first <= position if first.ties else found.first < position
    needed[promise.files[: place + 1]] = True
    return position, needed


def _text(scan: Scan, first: FirstRows, key: SortKey, found: SortPositions, position: int) -> str:
    """Return what is kept: `10 greatest of ts, from TIMESTAMP '…'`."""
    column = scan.snapshot.metadata.column(key.column or "")
    value = found.value_text(position, column.column_type)
    which = "greatest" if key.descending else "least"
    bound = "" if value is None else f", {'from' if key.descending else 'up to'} {value}"
    return f"{first.count:,} {which} of {column.name}{bound}"
