"""The range of WIDTH_BUCKET, the number of the bucket of a value among buckets of the same width.

Buckets go from a first bound to a second one, which may be less. Values before the first bound are in bucket
0, and values from the second bound on in one more than there are buckets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Rule, at_corners
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range

_MOST_BUCKETS = (1 << 63) - 1


def _width_bucket(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    first, end, count = (call.constant(place) for place in (1, 2, 3))
    bounds = [each for each in (first, end) if isinstance(each, float) and math.isfinite(each)]
    if (
        len(bounds) < 2
        or not isinstance(count, int)
        or not 0 < count < _MOST_BUCKETS
        or bounds[0] == bounds[1]
    ):
        return UNKNOWN
    return at_corners(call, ranges, (1 if bounds[0] < bounds[1] else -1, 0, 0, 0), _number)


def _number(_: FunctionCall, values: Sequence[object], __: int) -> int:
    value, first, end, count = values
    if not (isinstance(value, float) and isinstance(first, float) and isinstance(end, float)):
        raise OutOfRangeError
    assert isinstance(count, int)
    # Spark's own arithmetic, whose steps keep the order of the values
    passed, whole = (value - first, end - first) if first < end else (first - value, first - end)
    if passed < 0:
        return 0
    if (value >= end) if first < end else (value <= end):
        return count + 1
    return int(float(count) * passed / whole) + 1


WIDTH_BUCKET: Rule = _width_bucket
