"""Equi-height histograms of columns, from the bounds and rows of files.

The optimizer takes values as evenly distributed between the least and the greatest one. Files say more:
if one has 900 rows from 0 to 9 and another 100 rows from 1,000 to 1,009, `v > 500` keeps 100 rows, and
not half.

A bin begins where the one before it ends, as in Spark's own histograms, which fail on gaps. So one bin
spans the gap between both files, and holds as many rows as each other bin.
"""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import ArrayLike

MAX_BINS = 64
"""Bins of a histogram: a comparison is off by at most the rows of one, 1.6 %, besides the inside of files."""


class Histogram(msgspec.Struct, frozen=True):
    """Bins with the same number of rows.

    Attributes:
        height: rows of a bin.
        ends: where bins begin, in order, and last where the last one ends.
        distinct: the estimated number of distinct values of each bin.
    """

    height: float
    ends: list[float]
    distinct: list[int]


def build_histogram(
    rows_of_files: ArrayLike, least: ArrayLike, greatest: ArrayLike, distinct: int
) -> Histogram | None:
    """Return the histogram of a column, or None if the files say no more than its least and greatest value.

    Args:
        rows_of_files: rows that are not NULL. Their values count as evenly distributed in each file.
        least: of each file.
        greatest: of each file.
        distinct: the number of distinct values in all files.

    >>> build_histogram([900, 100], [0, 1000], [9, 1009], 20).ends[17:20]
    [8.5, 1000.0, 1004.5]
    """
    rows, low, high = (np.asarray(each, np.float64) for each in (rows_of_files, least, greatest))
    if len({*zip(low.tolist(), high.tolist(), strict=True)}) < 2:
        return None
    points = np.unique(np.concatenate((low, high)))
    places = np.searchsorted(points, low), np.searchsorted(points, high)
    single = low == high
    density, jumps = np.zeros(len(points)), np.zeros(len(points))
    with np.errstate(divide="ignore"):
        per_unit = np.where(single, 0.0, rows / (high - low))
    np.add.at(density, places[0], per_unit)
    np.add.at(density, places[1], -per_unit)
    np.add.at(jumps, places[0][single], rows[single])
    between = np.cumsum(density)[:-1] * np.diff(points)
    # how many rows are below each point, and how many are not above it
    below = np.concatenate(([0.0], np.cumsum(between + jumps[:-1])))
    up_to = below + jumps
    total = float(rows.sum())
    known = np.stack((below, up_to), axis=1).ravel()
    bins = max(2, min(MAX_BINS, distinct))
    ends = np.interp(np.linspace(0, total, bins + 1), np.maximum.accumulate(known), np.repeat(points, 2))
    ends[0], ends[-1] = points[0], points[-1]
    each = max(1, math.ceil(distinct / bins))
    values = [1 if start == end else each for start, end in pairwise(ends.tolist())]
    return Histogram(total / bins, ends.tolist(), values)
