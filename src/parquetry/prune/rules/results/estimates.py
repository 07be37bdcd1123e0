"""Estimate how many rows of a file satisfy the conditions, and whether a LIMIT can stop early.

So a LIMIT reads the best files first.

An estimate decides nothing but an order. Within its bounds, a column's values count as evenly distributed:
of `v` from 0 to 99, a tenth satisfies `v >= 90`.

A query that reads files in the order of their bounds may stop early. Each step before the last waits for the
one before, so it only pays where it saves many files. Sorted files hardly overlap, and a few have all first
rows. Where rows are in random order, every file may have one of them, and the files are read at once, as
without an order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN
from parquetry.metastore import FileBlock
from parquetry.predicate import And, Compare, In, Match, Or, Predicate, match
from parquetry.prune.needed_rows import FirstRows
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.file_knowledge import FileKnowledge
from parquetry.prune.rules.results.sort_positions import ANYWHERE, SortPositions

_UNKNOWN_SELECTIVITY = 0.1
"""The fraction of rows that satisfy a condition which statistics do not estimate."""

Fractions = NDArray[np.float64]
"""A number for each file."""


def likely_rows(scan: PruningRequest, remaining: Remaining, block: FileBlock) -> Fractions:
    """Return for each file how many rows are expected to satisfy all conditions, at least 0.

    Args:
        scan: the request.
        remaining: the candidates; the files are in its partitions.
        block: the files, with statistics of the conditions' columns.
    """
    rows = np.where(block.files.rows == UNKNOWN, 1, block.files.rows).astype(np.float64)
    knowledge = FileKnowledge(scan.snapshot.metadata, remaining.partitions, block)
    for condition in scan.conditions:
        if condition in remaining.decided:
            continue
        proved = match(condition.filter, knowledge) == Match.MUST
        rows = rows * np.where(proved, 1.0, _fractions(condition.filter.node, knowledge))
    return rows


def _fractions(node: Predicate, knowledge: FileKnowledge) -> Fractions:
    """Return the estimated fraction of each file's rows that satisfy a condition."""
    match node:
        case And(children):
            product = np.ones(knowledge.count)
            for child in children:
                product = product * _fractions(child, knowledge)
            return product
        case Or(children):
            total = np.zeros(knowledge.count)
            for child in children:
                total = total + _fractions(child, knowledge)
            return np.minimum(total, 1.0)
        case Compare(op, column, value) if op in ("=", "<=>", "<", "<=", ">", ">="):
            return _in_range(op, column, value, knowledge)
        case In(column, values):
            total = np.zeros(knowledge.count)
            for value in values[:100]:
                total = total + _in_range("=", column, value, knowledge)
            return np.minimum(total, 1.0)
    return np.full(knowledge.count, _UNKNOWN_SELECTIVITY)


def _in_range(op: str, column: str, value: Any, knowledge: FileKnowledge) -> Fractions:
    unknown = np.full(knowledge.count, _UNKNOWN_SELECTIVITY)
    bounds = knowledge.bounds(column)
    if bounds is None or not isinstance(value, int | float) or value != value:
        return unknown
    try:
        least, greatest = (np.asarray(each, np.float64) for each in (bounds.least, bounds.greatest))
    except (TypeError, ValueError):  # stand-ins for texts that are not known
        return unknown
    with np.errstate(invalid="ignore", over="ignore"):
        width = np.maximum(greatest - least, 0) + 1
        if op in ("=", "<=>"):
            fraction = np.where((least <= value) & (value <= greatest), 1 / width, 0)
        else:
            above = np.clip((greatest - value + 1) / width, 0, 1)
            fraction = above if op in (">", ">=") else np.clip((value - least + 1) / width, 0, 1)
    return np.where(np.isfinite(fraction), fraction, _UNKNOWN_SELECTIVITY)


_READ = 3
"""One file of so many should suffice."""


def expects_early_stop(found: SortPositions, first: FirstRows, rows: Fractions) -> bool:
    """Return whether the best third of the files is expected to have all wanted rows.

    Args:
        found: where the files are in the order.
        first: the wanted rows, with a sort key.
        rows: for each file, the number of rows that are expected to satisfy the conditions.
    """
    count = len(rows)
    best = np.argsort(found.first, kind="stable")
    read = (count + _READ - 1) // _READ
    if read == count:
        return False
    limit = int(found.first[best[read]])
    if limit == ANYWHERE:
        return False
    if limit < 0:
        return True  # how many rows are NULL shows only when files are read
    files = best[:read]
    starts, ends = found.first[files], found.last[files]
    shares = _shares(found, starts, ends, limit, first.ties)
    if shares is None:
        shares = ((ends < limit) | ((ends == limit) & (not first.ties))).astype(np.float64)
    return bool((rows[files] * shares).sum() >= first.count)


def _shares(
    found: SortPositions, starts: NDArray[Any], ends: NDArray[Any], limit: int, ties: bool
) -> Fractions | None:
    """Return for each file which fraction of its rows comes before a position, or None if it is not known.

    Args:
        found: the values of positions.
        starts: of each file, the position before which it has no row.
        ends: of each file, the position after which it has no row.
        limit: the position.
        ties: whether rows at the position itself do not count.
    """
    try:
        values = np.asarray(found.values, np.float64)
    except (TypeError, ValueError):  # texts
        return None
    if found.descending:
        values = -values[::-1]
    step = 1.0 if isinstance(found.values[0], int | np.integer) else 0.0  # between one value and the next
    positions = np.concatenate([values, [np.inf, -np.inf]])  # of NULL after all values, and before them
    starts = np.where(starts == ANYWHERE, len(values), starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        least, greatest, end = positions[starts], positions[ends], positions[limit]
        before = np.clip((end - least + (0 if ties else step)) / (greatest - least + step), 0, 1)
    # a file has one value, or some NULLs first, or a last value that is not known, as a float may be NaN
    at_start = (least == greatest) | (starts == -1) | ~np.isfinite(greatest)
    before = np.where(at_start, (least < end) | ((least == end) & (not ties)), before)
    return np.where(np.isfinite(before), before, 0.0)
