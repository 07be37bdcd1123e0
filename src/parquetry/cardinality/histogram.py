"""Equi-height histograms of columns, from the bounds and rows of files.

The optimizer takes values as evenly distributed between the least and the greatest one. Files say more:
if one has 900 rows from 0 to 9 and another 100 rows from 1,000 to 1,009, `v > 500` keeps 100 rows, and
not half.

A bin begins where the one before it ends, as in Spark's own histograms, which fail on gaps. So one bin
spans the gap between both files, and holds as many rows as each other bin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from parquetry.cardinality.distinct_values import ValuesInFile

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


def build_histogram(files: Sequence[ValuesInFile], distinct: int) -> Histogram | None:
    """Return the histogram of a column, or None if the files say no more than its least and greatest value.

    Args:
        files: with values that are not NULL, which are numbers; values of a file count as evenly distributed.
        distinct: the number of distinct values in all files.

    >>> two = [ValuesInFile(900, 0, 9, True), ValuesInFile(100, 1000, 1009, True)]
    >>> build_histogram(two, 20).ends[17:20]
    [8.5, 1000.0, 1004.5]
    """
    low = np.array([float(file.least) for file in files], np.float64)
    high = np.array([float(file.greatest) for file in files], np.float64)
    if len({*zip(low.tolist(), high.tolist(), strict=True)}) < 2:
        return None
    rows = np.array([file.rows for file in files], np.float64)
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
