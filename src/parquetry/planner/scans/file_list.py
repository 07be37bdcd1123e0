"""The files of a selection in the form that the bridge reads: as columns, with each folder written once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN, FileColumns
from parquetry.locations import join_location
from parquetry.planner.protocol.answers import FileList


def file_list(
    files: FileColumns,
    partitions: NDArray[Any],
    locations: Sequence[str],
    buckets: NDArray[Any] | None = None,
) -> FileList:
    """Return files as an answer holds them.

    Args:
        files: to read.
        partitions: the index of each file's partition.
        locations: of the partitions.
        buckets: the number of each file's bucket, or None if the scan reports no buckets.
    """
    names = files.paths
    joined = "/".join(names)
    if joined.count("/") == len(names) - 1 and all(names):
        folders, folder = [location.rstrip("/") for location in locations], partitions
    else:
        folders, folder, joined = _split_paths(names, partitions.tolist(), locations)
    return FileList(
        folders,
        joined,
        folder.astype("<i4").tobytes(),
        partitions.astype("<i4").tobytes(),
        files.bytes.astype("<i8").tobytes(),
        np.where(files.modified == UNKNOWN, 0, files.modified).astype("<i8").tobytes(),
        b"" if buckets is None else buckets.astype("<i4").tobytes(),
    )


def _split_paths(
    paths: Sequence[str], partitions: Sequence[int], locations: Sequence[str]
) -> tuple[list[str], NDArray[Any], str]:
    """Return folders, each file's folder index and name, if some files are elsewhere or in subfolders."""
    numbers: dict[str, int] = {}
    found, names = [], []
    for path, partition in zip(paths, partitions, strict=True):
        folder, _, name = join_location(locations[partition], path).rpartition("/")
        found.append(numbers.setdefault(folder, len(numbers)))
        names.append(name)
    return list(numbers), np.array(found, np.int32), "/".join(names)
