"""Decide whether the sorted files of a bucket are merged while they are read, so that a join sorts nothing.

Each insert adds a sorted file to a bucket, and rows of several files are in no order together. A join then
sorts the whole bucket, or the reader merges the files: it has all of them open, and passes on the least row
of all. To merge `k` files takes `log2(k)` comparisons a row and keeps no rows. To sort takes `log2(rows)`
comparisons and all memory that a task has, and spills. So merging is never slower where it is possible. Its
costs are others:

- **memory**: each open file needs its reader's memory, which is up to one row group. So the number of files
  and their bytes are limited, by bucket.
- **batches**: merged rows are passed on one by one. A query that makes no use of the order reads the same
  files in batches (`bridge/rowlayout/CheckLayouts.scala`).
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.texts import quantity, size_text

MAX_MERGED_FILES = 64
"""The most files of a bucket that one task has open. Hadoop's file systems allow some hundred connections."""

MAX_OPEN_BYTES = 512 << 20
"""The most bytes that the readers of a bucket's open files may need. A task of Spark has about a gigabyte."""

ROW_GROUP_BYTES = 128 << 20
"""The most bytes of a file that its reader has in memory: a row group as Parquet's and ORC's writers make it
by default.
"""


class FileMerge(msgspec.Struct, frozen=True):
    """Whether the files of a scan's buckets are merged.

    Attributes:
        most: the number of files of the bucket that has the most.
        reason: why they are not merged, or None if they are.
    """

    most: int
    reason: str | None = None

    @property
    def text(self) -> str:
        """The text for EXPLAIN."""
        files = f"up to {quantity(self.most, 'file')} a bucket"
        return f"merging {files}" if self.reason is None else f"not merging {files}: {self.reason}"


def decide_merge(of_files: NDArray[np.int64], sizes: NDArray[np.int64]) -> FileMerge | None:
    """Return whether sorted files are merged, or None if no bucket has several files.

    Args:
        of_files: the bucket of each file.
        sizes: the bytes of each file.

    >>> decide_merge(np.array([0, 1, 0]), np.array([100, 100, 100])).text
    'merging up to 2 files a bucket'
    >>> decide_merge(np.array([0, 1, 2]), np.array([100, 100, 100])) is None
    True
    """
    counts = np.bincount(of_files) if of_files.size else np.zeros(1, np.int64)
    most = int(counts.max())
    if most < 2:
        return None
    if most > MAX_MERGED_FILES:
        return FileMerge(most, f"a task opens at most {MAX_MERGED_FILES}; compact makes fewer")
    needed = np.bincount(of_files, np.minimum(sizes, ROW_GROUP_BYTES))
    open_bytes = int(needed[counts > 1].max())
    if open_bytes > MAX_OPEN_BYTES:
        more = f"{size_text(open_bytes)} of them would be open at once"
        return FileMerge(most, f"{more}, more than {size_text(MAX_OPEN_BYTES)}; compact makes fewer")
    return FileMerge(most)
