"""Compare range manifests with the rows of their partitions, and write them anew if they differ."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from parquetry.metastore.range_manifests.opening import different_ranges, open_ranges
from parquetry.metastore.range_manifests.upkeep import refresh_ranges
from parquetry.metastore.results import Finding
from parquetry.metastore.storage.head import Head, edit_head, live_head
from parquetry.metastore.versions.snapshot import TableSnapshot, load


def check_ranges(table: TableSnapshot, repair: bool) -> Iterator[Finding]:
    """Yield the ranges of partitions whose manifest is not what the partitions' own rows say.

    Args:
        table: any version of the table; the newest is checked.
        repair: write the range manifests anew.

    Raises:
        TableNotFoundError: the table was dropped.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")
    now = load(table.store, table.id, head)
    ranged = open_ranges(now)
    wrong = [] if ranged is None else list(different_ranges(ranged))
    if wrong and repair:
        state = head.commit.ranges

        def change(head: Head) -> Head:
            if head.commit.ranges != state:
                return head
            return msgspec.structs.replace(head, commit=msgspec.structs.replace(head.commit, ranges=b""))

        edit_head(table.store, table.id, change, lambda head: head.commit.ranges != state)
        refresh_ranges(table)
    for first in wrong:
        text = (
            "the manifest of the partitions from this one on is not what their own rows say: plans by data columns "
            "are misled; with repair => true it is written anew"
        )
        yield Finding("range manifest", now.describe(first), None, text, repair)
