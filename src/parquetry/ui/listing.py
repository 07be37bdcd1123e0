"""Pages of partitions, in the order of their keys, and of the files of one partition.

A page names the key after which the next one begins. So each page reads its own rows of the metastore, also
the last page of a million.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from parquetry.locations import path_within
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.prune import partition_plan
from parquetry.scan import EVERYTHING
from parquetry.texts import plain
from parquetry.types import to_python
from parquetry.ui.filters import read_filter

MAX_PAGE = 500
"""Things on a page, at most."""


def partition_page(
    snapshot: TableSnapshot, where: str | None, start: bytes, limit: int, *, after: bool
) -> dict[str, Any]:
    """Return a page of partitions.

    Args:
        snapshot: the version.
        where: a condition on partition columns, or None.
        start: the key at which the page begins.
        limit: how many partitions at most.
        after: whether the partition of that key is left out.

    Raises:
        FilterError: the condition cannot be read, or names other columns.
    """
    limit = max(1, min(limit, MAX_PAGE))
    plan = EVERYTHING
    if where:
        condition = read_filter(snapshot, where, partitions_only=True)
        plan = partition_plan(snapshot, [condition]) or EVERYTHING
    # No key is the beginning of another one, so this is behind the key and before the next.
    first = start + b"\0" if after else start
    partitions = snapshot.partitions(plan.starting_at(first)) if first else snapshot.partitions(plan)
    partitions_ahead = list(islice((each for each in partitions if each.key >= first), limit + 1))
    shown = partitions_ahead[:limit]
    return {
        "version": snapshot.version,
        "columns": list(snapshot.metadata.partition_by),
        "rows": [_row(snapshot, each) for each in shown],
        "next": shown[-1].key.hex() if len(partitions_ahead) > limit else None,
    }


def _row(snapshot: TableSnapshot, partition: PartitionSnapshot) -> dict[str, Any]:
    types = snapshot.metadata.partition_types
    values = [plain(to_python(kind, value)) for kind, value in zip(types, partition.values, strict=True)]
    location, usual = partition.location, snapshot.placement.location_of(partition.key)
    return {
        "key": partition.key.hex(),
        "values": values,
        "files": partition.file_count,
        "rows": partition.rows,
        "bytes": partition.bytes,
        "location": None if location == usual else path_within(snapshot.metadata.location, location),
    }


def file_page(snapshot: TableSnapshot, key: bytes, first: int, limit: int) -> dict[str, Any]:
    """Return a page of the files of a partition, in the order of the partition's list.

    Args:
        snapshot: the version.
        key: of the partition.
        first: how many files are passed over.
        limit: how many files at most.
    """
    limit = max(1, min(limit, MAX_PAGE))
    plan = EVERYTHING.starting_at(key)
    partition = next(iter(snapshot.partitions(plan, limit=1)), None)
    if partition is None or partition.key != key:
        return {"version": snapshot.version, "rows": [], "next": None}
    files = list(islice(partition.each_file(), first, first + limit + 1))
    return {
        "version": snapshot.version,
        "name": snapshot.describe(key),
        "rows": [
            {
                "path": file.path,
                "rows": file.rows,
                "bytes": file.bytes,
                "bucket": file.bucket,
                "sorted": file.sorted,
                "statistics": 0 if file.columns is None else len(file.columns),
            }
            for file in files[:limit]
        ],
        "next": first + limit if len(files) > limit else None,
    }
