"""Sorted files of a bucket are merged while they are read, if a task can have all of them open."""

from __future__ import annotations

import numpy as np
import pytest

from parquetry.joins.scans.file_merges import MAX_MERGED_FILES, MAX_OPEN_BYTES, ROW_GROUP_BYTES, decide_merge


def decide(counts: list[int], size: int) -> str | None:
    """Return the text for buckets with so many files, each of one size."""
    of_files = np.repeat(np.arange(len(counts)), counts)
    merge = decide_merge(of_files, np.full(of_files.size, size))
    return None if merge is None else merge.text


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ([], 1, None),
        ([1, 0, 1], 1 << 40, None),
        ([1, 2, 0], 1, "merging up to 2 files a bucket"),
        ([MAX_MERGED_FILES], 1, "merging up to 64 files a bucket"),
        ([1, MAX_MERGED_FILES + 1], 1, "not merging up to 65 files a bucket: a task opens at most 64; compact makes fewer"),
        ([4, 1], MAX_OPEN_BYTES // 4, "merging up to 4 files a bucket"),
        ([4, 4], 1 << 40, "merging up to 4 files a bucket"),
        (
            [1, 5],
            ROW_GROUP_BYTES,
            "not merging up to 5 files a bucket: 671 MB of them would be open at once, more than 537 MB; compact makes fewer",
        ),
    ],
)  # fmt: skip
def test_files_are_merged_up_to_limits(counts: list[int], size: int, expected: str | None) -> None:
    """The number of files and the memory of their readers decide, bucket by bucket; a reader of a large file
    has one row group in memory.
    """
    assert decide(counts, size) == expected


def test_a_bucket_with_one_file_needs_no_memory_for_merging() -> None:
    """A large file alone in its bucket does not count against others that are merged."""
    merge = decide_merge(np.array([0, 1, 1]), np.array([1 << 40, 10, 10]))
    assert merge is not None
    assert (merge.most, merge.reason) == (2, None)
