"""Estimate whether a query that reads files in the order of their bounds can stop early.

Each step before the last waits for the one before, so it only pays where it saves many files. Sorted files
hardly overlap, and a few have all first rows. Where rows are in random order, every file may have one of
them, and the files are read at once, as without an order.

An estimate decides nothing but an order. If the bounds are numbers, the rows of a file count as evenly
distributed between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.prune.needed_rows import FirstRows
from parquetry.prune.rules.results.likely_rows import Fractions
from parquetry.prune.rules.results.sort_positions import ANYWHERE, SortPositions

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
    places = np.concatenate([values, [np.inf, -np.inf]])  # of NULL after all values, and before them
    starts = np.where(starts == ANYWHERE, len(values), starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        least, greatest, end = places[starts], places[ends], places[limit]
        before = np.clip((end - least + (0 if ties else step)) / (greatest - least + step), 0, 1)
    # a file has one value, or some NULLs first, or a last value that is not known, as a float may be NaN
    at_start = (least == greatest) | (starts == -1) | ~np.isfinite(greatest)
    before = np.where(at_start, (least < end) | ((least == end) & (not ties)), before)
    return np.where(np.isfinite(before), before, 0.0)
