"""The bucketing that several partitions have in common."""

from __future__ import annotations

import math

from hypothesis import given, strategies as st

from parquetry.layout.bucket_spec import BucketSpec, common
from parquetry.layout.part import SortColumn

A, B, DOWN = SortColumn("a"), SortColumn("b"), SortColumn("a", descending=True)


def spec(count: int, *sort: SortColumn, version: int = 2) -> BucketSpec:
    return BucketSpec(("id",), count, version, sort)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=5), st.integers(0, 2**31 - 1))
def test_a_row_lies_in_the_common_bucket_whichever_partition_it_is_of(counts: list[int], value: int) -> None:
    """The bucket of a row in any partition, modulo the common count, is the row's common bucket."""
    found = common([spec(count) for count in counts])
    if found is None:
        assert math.gcd(*counts) == 1 < max(counts)
    else:
        assert {value % count % found.count for count in counts} == {value % found.count}


def test_one_bucket_is_common_to_those_that_have_one() -> None:
    """Tables of a single bucket are joined in it; 3 and 5 buckets share nothing worth a join."""
    assert common([spec(1), spec(1)]) == spec(1)
    assert common([spec(1), spec(4)]) is None
    assert common([spec(3), spec(5)]) is None
    assert common([]) is None


def test_other_columns_or_hashes_share_nothing() -> None:
    """Other columns, another version, or unsettled buckets of a foreign writer leave nothing in common.

    The same columns in another order hash to another value, and leave nothing in common, too.
    """
    assert common([spec(4), spec(4, version=1)]) is None
    assert common([spec(4), BucketSpec(("other",), 4)]) is None
    assert common([BucketSpec(("a", "b"), 4), BucketSpec(("b", "a"), 4)]) is None
    assert common([spec(4), BucketSpec(("id",), 4, unsettled=True)]) is None


def test_the_order_is_what_all_begin_with() -> None:
    """The common order is the longest common beginning: partitions sorted by (a, b) and by (a) share a.

    Ascending and descending orders share nothing.
    """
    assert common([spec(4, A, B), spec(6, A)]) == spec(2, A)
    assert common([spec(4, A, B), spec(4, DOWN, B)]) == spec(4)
    assert common([spec(4, A, B)]) == spec(4, A, B)
