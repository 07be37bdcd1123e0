"""Which files of a table are worth writing anew: small ones that make fewer together, and those that lie in a wrong place.

Pure planning: nothing is read but the metastore, and nothing is written. Files of one cell and bucket are merged with each other
alone. Example, of a partition with a directory for `x = 10`, where files should have 128 MB:

    x=10/a      60 MB    cell 0     \\  one file of 100 MB
    x=10/b      40 MB    cell 0     /
    x=20/c      120 MB   cell 1        stays: alone, and large enough
    …DEFAULT…/d 50 MB    the rest      stays: alone
    e           5 MB     not known     is written into the cells that its rows are of

A bucket is better one file than two, as its order is known as a whole then: 100 MB and 1 MB of one bucket become one file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import PartitionNotFoundError
from parquetry.layout import REST, ArrangementSpec, BucketSpec, SkewMap, cell_location
from parquetry.locations import is_absolute, join_location, storage_path
from parquetry.maintenance.compaction.recut import Look, Recutting, unplaced
from parquetry.maintenance.partition_condition import partition_condition
from parquetry.metastore.access import cheapest_plan
from parquetry.metastore.versions import PartitionSnapshot, TableSnapshot
from parquetry.predicate.evaluate import evaluate
from parquetry.progress import Progress, silent
from parquetry.types import ColumnType

_SMALL_FILE_SHARE = 0.75
"""Share of the size aimed at from which on a file is large enough."""
_MIN_FILES_PER_MERGED_FILE = 2
"""A group is merged if it then has at most a half of its files: of 21 of 60 MB there would be 10 of 128 MB."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What is written anew of one partition.

    Attributes:
        partition: as it is.
        files: that are written anew.
        kept: all others.
        arrangement: that the partition has then.
    """

    partition: PartitionSnapshot
    files: tuple[FileRecord, ...]
    kept: tuple[FileRecord, ...]
    arrangement: ArrangementSpec

    @property
    def bytes(self) -> int:
        """Return the size of the files that are written anew."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class _CompactionCandidate:
    """A partition that may be written anew.

    Attributes:
        partition: as it is.
        files: of the partition.
        own: its map, if that follows its rows.
        looked_at: whether its rows are counted, for heavy values.
    """

    partition: PartitionSnapshot
    files: Sequence[FileRecord]
    own: SkewMap | None = None
    looked_at: bool = False


def rewrites(
    snapshot: TableSnapshot,
    target: int,
    where: str | None = None,
    progress: Progress = silent,
    zone: str = "UTC",
    look: Look | None = None,
) -> list[Rewrite]:
    """Return what is worth writing anew of a table.

    Args:
        snapshot: of the table.
        target: bytes that a file should have.
        where: a condition on partition columns: only these partitions; None: all.
        progress: called with how many partitions have been looked at.
        zone: the time zone of the condition's timestamps.
        look: counts values, where a table's heavy values are found by themselves. Without it all partitions keep theirs.

    Raises:
        FilterError: the condition cannot be used.
    """
    names = {column.physical: column.column_type for column in snapshot.metadata.columns}
    recutting = None if look is None else Recutting.for_table(snapshot.metadata)

    def chosen(files: Sequence[FileRecord], arrangement: ArrangementSpec, location: str) -> list[int]:
        skew = arrangement.skew
        types = [] if skew is None else [names[name] for name in skew.columns]
        return worth_rewriting(files, arrangement, types, location, target)

    candidates: list[_CompactionCandidate] = []
    for done, partition in enumerate(selected_partitions(snapshot, where, zone), 1):
        if partition.file_count:
            files, own = partition.files, None if recutting is None else recutting.own(partition)
            small = [files[i] for i in chosen(files, partition.arrangement, partition.location)]
            if recutting is not None and own is not None:
                looked_at = recutting.is_looked_at(own, files, small)
                if looked_at or small or recutting.new_map(own, files, None) != own:
                    candidates.append(_CompactionCandidate(partition, files, own, looked_at))
            elif small:
                candidates.append(_CompactionCandidate(partition, files))
        progress("Looking for small files", done, snapshot.totals.partitions if where is None else None)
    wanted = [(each.partition, unplaced(each.files)) for each in candidates if each.looked_at]
    counted = look(wanted) if look is not None and wanted else {}
    found = []
    for each in candidates:
        now, arrangement = each.files, each.partition.arrangement
        if recutting is not None and each.own is not None:
            skew = recutting.new_map(each.own, now, counted.get(each.partition.key))
            now = recutting.reassigned(now, each.own, skew)
            arrangement = msgspec.structs.replace(arrangement, skew=skew)
        taken = set(chosen(now, arrangement, each.partition.location))
        if taken:
            anew = tuple(file for i, file in enumerate(now) if i in taken)
            kept = tuple(file for i, file in enumerate(now) if i not in taken)
            found.append(Rewrite(each.partition, anew, kept, arrangement))
    return found


def worth_rewriting(
    files: Sequence[FileRecord],
    arrangement: ArrangementSpec,
    types: Sequence[ColumnType],
    location: str,
    target: int,
) -> list[int]:
    """Return the positions of the files of a partition that are worth writing anew.

    Args:
        files: of the partition.
        arrangement: of the partition.
        types: of the columns of its skew map.
        location: of the partition, which paths are relative to.
        target: bytes that a file should have.

    >>> from parquetry.layout import PLAIN
    >>> files = [FileRecord("a", 60), FileRecord("b", 40), FileRecord("c", 120), FileRecord("d", 99)]
    >>> worth_rewriting(files, PLAIN, [], "/t", 128)
    [0, 1]
    """
    skew = arrangement.skew if arrangement.skew is not None and arrangement.skew.directories else None
    buckets = arrangement.buckets
    chosen: set[int] = set()
    groups: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    for i, file in enumerate(files):
        if (skew is None or _is_in_cell_directory(file, skew, types, location)) and in_bucket(file, buckets):
            groups[file.cell, file.bucket].append(i)
        else:
            chosen.add(i)
    moved = {(files[i].cell, files[i].rest_of or 0, files[i].bucket) for i in chosen}
    for (cell, bucket), group in groups.items():
        # rows from a wrong place may well come here
        joined = any(
            (from_cell == cell or (from_cell is None and (cell == REST or (cell or 0) >= first)))
            and of in (bucket, None)
            for from_cell, first, of in moved
        )
        if buckets is not None and sum(files[i].bytes for i in group) <= target:
            merged = group
        else:
            merged = [i for i in group if files[i].bytes < _SMALL_FILE_SHARE * target]
        needed = max(1, -(-sum(files[i].bytes for i in merged) // target))
        if len(merged) + joined >= _MIN_FILES_PER_MERGED_FILE * needed:
            empty = buckets is not None and not joined and all(files[i].rows == 0 for i in group)
            chosen.update(merged[1:] if empty else merged)  # an empty bucket keeps its file
    return sorted(chosen)


def in_bucket(file: FileRecord, buckets: BucketSpec | None) -> bool:
    """Return whether a file is of a bucket that is known, and sorted as it is to be, where there are buckets."""
    return buckets is None or (file.bucket is not None and (file.sorted or not buckets.sort))


def _is_in_cell_directory(
    file: FileRecord, skew: SkewMap, types: Sequence[ColumnType], location: str
) -> bool:
    """Return whether the cell of a file is known and the file lies in its directory, below whichever partition."""
    if file.cell is None:
        return False
    place = cell_location(skew, types, file.cell)
    folder = join_location(location, file.path).rpartition("/")[0]
    if is_absolute(place):
        return storage_path(folder) == storage_path(place)
    return folder.endswith(f"/{place}")


def selected_partitions(snapshot: TableSnapshot, where: str | None, zone: str) -> Iterator[PartitionSnapshot]:
    """Return the partitions for which a condition holds, or all.

    Args:
        snapshot: of the table.
        where: on partition columns; None: all.
        zone: the time zone of the condition's timestamps.

    Raises:
        FilterError: the condition cannot be used.
    """
    if where is None:
        return snapshot.partitions()
    condition = partition_condition(snapshot, where, zone)
    names = snapshot.metadata.partition_by
    return (
        partition
        for partition in snapshot.partitions(cheapest_plan(snapshot, condition))
        if evaluate(condition.node, dict(zip(names, partition.values, strict=True))) is True
    )


def require_selected(snapshot: TableSnapshot, where: str, zone: str) -> None:
    """Make sure that a table has a partition for which a condition holds.

    Raises:
        PartitionNotFoundError: it has none.
    """
    if next(iter(selected_partitions(snapshot, where, zone)), None) is None:
        raise PartitionNotFoundError(
            f"Table {snapshot.label} has no partition where {where}: SHOW PARTITIONS lists them."
        )
