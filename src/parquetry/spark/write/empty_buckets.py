"""Find the buckets without rows after a write, which get an empty file: Hive 1 needs a file for each bucket.

A bucket that already has a file in its partition gets none. If a partition has directories for heavy values,
each directory with files gets a file for each bucket.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from parquetry.data_files import FileRecord
from parquetry.metastore import TableSnapshot
from parquetry.spark.write.committed_files import values_in
from parquetry.spark.write.slots import RowSlots

FilesKept = Callable[[Collection[bytes]], Mapping[bytes, Sequence[FileRecord]]]
"""Returns, for some partitions by their keys, the files that they keep."""


def nothing_kept(_keys: Collection[bytes]) -> Mapping[bytes, Sequence[FileRecord]]:
    """Return no files: the write replaces all files of the partitions."""
    return {}


def empty_slots(
    snapshot: TableSnapshot,
    slots: RowSlots,
    files: Sequence[dict[str, Any]],
    wanted: bool | None,
    kept: FilesKept,
) -> list[tuple[str, int]]:
    """Return a pair for each empty file to write: its partition's directory below the table, and its slot.

    Args:
        snapshot: of the table.
        slots: of the rows.
        files: the files with the rows.
        wanted: whether empty buckets get files; None means yes, but only with version 1.
        kept: the other files of partitions.
    """
    filled: dict[tuple[str, int], set[int]] = defaultdict(set)
    for file in files:
        slot_directory = slots.numbers.directory(file["slot"])
        layout = slot_directory.layout
        if layout is None or not layout.one_file_per_slot:
            continue
        if layout.files_for_empty_slots if wanted is None else wanted:
            filled[file["directory"], slot_directory.first].add(file["slot"])
    if not filled:
        return []
    keys = {directory: snapshot.key_of(values_in(snapshot, directory)) for directory, _ in filled}
    there = kept(set(keys.values()))
    missing = []
    for (directory, first), with_rows in filled.items():
        slot_directory = slots.numbers.directory(first)
        with_files = slots.numbers.numbers_of(there.get(keys[directory], ()), slot_directory)
        missing += [(directory, slot) for slot in slot_directory.slots if slot not in with_rows | with_files]
    return missing
