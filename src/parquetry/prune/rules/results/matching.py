"""Find the files whose rows all satisfy a scan's conditions, and choose few of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from parquetry.data_files import UNKNOWN, Flags, Indices, Numbers
from parquetry.metastore import FileBlock
from parquetry.predicate import Match, match
from parquetry.prune.needed_rows import FirstRows, WholeAggregate
from parquetry.prune.report.scan import IneffectiveCondition, Step
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.file_knowledge import FileKnowledge, spelled
from parquetry.prune.rules.files import FileRule

NO_MATCHING_FILE = "no file is known to have only rows that match"
"""The reason why no file can be counted, or chosen, by its statistics."""


def unused_step(needed: FirstRows | WholeAggregate, of: int, reason: str) -> Step:
    """Return the step of a LIMIT or an aggregate that left no file out, with the reason."""
    return Step(FileRule.name, of, of, (), (IneffectiveCondition(needed.text, reason, "result"),))


def condition_columns(scan: PruningRequest) -> Iterable[str]:
    """Return the columns whose statistics `fully_matching` reads."""
    return {name for condition in scan.conditions for name in condition.about}


def statistics_names(scan: PruningRequest, columns: Iterable[str]) -> frozenset[str] | None:
    """Return the columns whose statistics files are read with, as files spell them; None for all.

    Args:
        scan: the request; it names the columns that later rules and the caller need.
        columns: that a rule needs.
    """
    return None if scan.projected is None else scan.projected | spelled(scan.snapshot.metadata, columns)


def fully_matching(scan: PruningRequest, remaining: Remaining, block: FileBlock) -> Flags:
    """Return which files are proved to have only rows that satisfy all conditions, and a known row count."""
    counted: Flags = block.files.rows != UNKNOWN
    conditions = [condition for condition in scan.conditions if condition not in remaining.decided]
    if remaining.certain or not conditions:
        return counted
    knowledge = FileKnowledge(scan.snapshot.metadata, remaining.partitions, block)
    for condition in conditions:
        counted = counted & (match(condition.filter, knowledge) == Match.MUST)
    return counted


def fewest_files(rows: Numbers, sizes: Numbers, wanted: int) -> Indices:
    """Return as few files as possible that have some number of rows together, ascending.

    The last one is the smallest in bytes that still suffices. For one row, that is the smallest file.

    Args:
        rows: the rows of each file that may be chosen, 0 for others; together at least `wanted`.
        sizes: the bytes of each file.
        wanted: the number of rows, at least one.

    >>> fewest_files(np.array([5, 50, 20, 0]), np.array([1, 9, 4, 1]), 10).tolist()
    [2]
    >>> fewest_files(np.array([5, 50, 20, 30]), np.array([1, 9, 4, 6]), 60).tolist()
    [1, 2]
    """
    order = np.argsort(-rows, kind="stable")
    before = np.cumsum(rows[order])
    count = int(np.searchsorted(before, wanted)) + 1
    largest, others = order[: count - 1], order[count - 1 :]
    missing = wanted - (int(before[count - 2]) if count > 1 else 0)
    enough = others[rows[others] >= missing]
    last = enough[np.argmin(sizes[enough])]
    return np.sort(np.append(largest, last))
