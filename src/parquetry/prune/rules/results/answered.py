"""Leave out files whose part of COUNT, MIN and MAX the metastore has, and compute that part.

For `SELECT max(ts), count(*) FROM t WHERE x > 3`, statistics prove of most files that all or none of their
rows satisfy `x > 3`. If all rows of a file do, the metastore has their number and the greatest `ts`. So only
the files that have rows of both kinds are read.

For MIN and MAX alone, a file is not read either if its bounds show that it has no better value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from parquetry.data_files import Flags
from parquetry.metastore import FileBlock
from parquetry.predicate import ONLY_NULL
from parquetry.prune.needed_rows import WholeAggregate
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.rules.file_knowledge import FileKnowledge
from parquetry.prune.rules.files import FileRule
from parquetry.prune.rules.results.file_values import NOT_EXACT, values_in_files
from parquetry.prune.rules.results.matching import (
    NO_MATCHING_FILE,
    condition_columns,
    fully_matching,
    statistics_names,
    unused_step,
)
from parquetry.types import Value


class AnsweredRule(Rule):
    """Keeps the files whose part of an aggregate is not known; its step continues the step of the files."""

    name = FileRule.name
    continues = True

    def statistics(self, scan: PruningRequest) -> Iterable[str]:
        """Return the columns of the conditions and of the functions if there is an aggregate."""
        return _names(scan)

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Leave out the files whose part of the aggregate is known, and keep that part."""
        wanted = scan.aggregate
        if wanted is None:
            return remaining, None
        if wanted.hindrance.reason is not None:
            return remaining, unused_step(wanted, remaining.count, wanted.hindrance.reason)
        names = statistics_names(scan, _names(scan))
        blocks = remaining.blocks
        if blocks is None:
            blocks = [block.project(None, names) for block in remaining.files(scan, names)]
        block = FileBlock.concatenate(blocks, names)
        found = [
            values_in_files(scan.snapshot.metadata, remaining.partitions, block, call)
            for call in wanted.calls
        ]
        matching = fully_matching(scan, remaining, block)
        exact = [np.array([value is not NOT_EXACT for value in values], np.bool_) for values in found]
        known = np.logical_and.reduce([matching, *exact])
        if wanted.explained or not known.any():
            unused = None
            if block.count and not known.any():
                unused = unused_step(wanted, block.count, _reason(scan, wanted, matching, exact))
            return replace(remaining, blocks=[block.project(None, scan.projected)]), unused
        row = tuple(
            _combined(call[0], values, known) for call, values in zip(wanted.calls, found, strict=True)
        )
        left_out = known | _no_better(scan, remaining, block, wanted, row)
        kept = np.flatnonzero(~left_out)
        narrowed = replace(remaining, blocks=[block.project(kept, scan.projected)], answer=row)
        text = f"{wanted.text} in {block.count - len(kept):,} from the metastore"
        return narrowed, Step(self.name, len(kept), block.count, (text,), origins=("result",))


def _names(scan: PruningRequest) -> set[str]:
    if scan.aggregate is None:
        return set()
    return {name for _, name in scan.aggregate.calls if name is not None}.union(condition_columns(scan))


def _reason(scan: PruningRequest, wanted: WholeAggregate, matching: Flags, exact: Sequence[Flags]) -> str:
    """Return why no file's part of an aggregate is known."""
    if not matching.any():
        return NO_MATCHING_FILE
    for (function, name), flags in zip(wanted.calls, exact, strict=True):
        if (matching & flags).any() or name is None:
            continue
        column = scan.snapshot.metadata.column(name)
        if function in ("min", "max") and not column.column_type.facts.plain:
            return f"statistics for type {column.column_type} are not exact"
        what = "how many rows are NULL" if function == "count" else f"the exact {function} of a file"
        return f"{what} in column {column.name} is not known"
    return "no file has all of its values known"


def _combined(function: str, values: Sequence[Any], known: Flags) -> Value:
    """Return a function's value over the files whose values are known."""
    chosen = [values[position] for position in np.flatnonzero(known).tolist()]
    if function == "count":
        return int(sum(chosen))
    there = [value for value in chosen if value is not None]
    return None if not there else min(there) if function == "min" else max(there)


def _no_better(
    scan: PruningRequest, remaining: Remaining, block: FileBlock, wanted: WholeAggregate, row: Sequence[Value]
) -> Flags:
    """Return the files whose bounds show that they have no less and no greater value than the known ones."""
    metadata = scan.snapshot.metadata
    flags = np.ones(block.count, np.bool_)
    knowledge = FileKnowledge(metadata, remaining.partitions, block)
    for (function, name), best in zip(wanted.calls, row, strict=True):
        column = None if name is None or function == "count" else metadata.column(name)
        if column is None or best is None or not column.column_type.facts.plain:
            return np.zeros(block.count, np.bool_)
        bounds = knowledge.bounds(column.name)
        if bounds is None:
            return np.zeros(block.count, np.bool_)
        bound: Any = bounds.least if function == "min" else bounds.greatest
        no_better = (
            [each >= best for each in bound] if function == "min" else [each <= best for each in bound]
        )
        flags &= np.array(no_better, np.bool_) | (np.asarray(bounds.nulls) == ONLY_NULL)
    return flags
