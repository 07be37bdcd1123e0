"""Which buckets of what a write has written are without rows, and get an empty file: Hive 1 wants one for each bucket.

A bucket that has a file in its partition gets none. Where partitions have directories for heavy values, each directory that has
files has one for each bucket.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from parquetry.data_files import FileRecord
from parquetry.metastore.versions import TableSnapshot
from parquetry.spark.write.committed_files import values_in
from parquetry.spark.write.slots import RowSlots

FilesKept = Callable[[Collection[bytes]], Mapping[bytes, Sequence[FileRecord]]]
"""Returns, for some partitions by their keys, the files that they keep."""


def nothing_kept(_keys: Collection[bytes]) -> Mapping[bytes, Sequence[FileRecord]]:
    """Return no files: what is there is replaced."""
    return {}


def empty_slots(
    snapshot: TableSnapshot,
    slots: RowSlots,
    files: Sequence[dict[str, Any]],
    wanted: bool | None,
    kept: FilesKept,
) -> list[tuple[str, int]]:
    """Return the slots that are to get an empty file, each after the directory of its partition below the table.

    Args:
        snapshot: of the table.
        slots: of the rows.
        files: that the rows were written to.
        wanted: whether empty buckets get files; None: those of version 1 alone.
        kept: the files that partitions have besides.
    """
    filled: dict[tuple[str, int], set[int]] = defaultdict(set)
    for file in files:
        slot_directory = slots.directory(file["slot"])
        spec = None if slot_directory.layout is None else slot_directory.layout.buckets
        if spec is not None and (spec.version == 1 if wanted is None else wanted):
            filled[file["directory"], slot_directory.first].add(file["slot"])
    if not filled:
        return []
    keys = {directory: snapshot.key_of(values_in(snapshot, directory)) for directory, _ in filled}
    there = kept(set(keys.values()))
    missing = []
    for (directory, first), with_rows in filled.items():
        slot_directory = slots.directory(first)
        with_files = {
            file.bucket for file in there.get(keys[directory], ()) if file.cell == slot_directory.cell
        }
        missing += [
            (directory, slot)
            for slot in slot_directory.slots
            if slot not in with_rows and slot_directory.bucket(slot) not in with_files
        ]
    return missing
