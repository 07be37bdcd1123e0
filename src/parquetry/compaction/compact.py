r"""Choose the files that are worth rewriting: small files, and files in a wrong directory or bucket.

This is pure planning: it reads only the metastore, and writes nothing. Only files of the same cell (heavy
value) and bucket are merged. For example, a partition has directories for `x = 10` and `x = 20`, and files
should have 128 MB:

    x=10/a      60 MB    cell 0     \  one file of 100 MB
    x=10/b      40 MB    cell 0     /
    x=20/c      120 MB   cell 1        stays: alone, and large enough
    …DEFAULT…/d 50 MB    the rest      stays: alone
    e           5 MB     not known     its rows go to their cells

A file with the field ids of another table is rewritten alone, too. Readers that go by ids would read wrong
columns (`data_files.field_ids`).

A bucket is better as one file than as two, since one file is sorted as a whole. So files of 100 MB and 1 MB
of one bucket become one file.

In tables with the property `auto-compact`, a write compacts some files right after its commit.

Only partitions that the write has changed are looked at. A partition is chosen if it has so many small files
that each of its directories and buckets has `auto-compact-min-files` of them on average. So each row is
written anew once for as many small files, not with every write.

A file that is larger than all others to be merged together is left for later: its rows would be written anew
for few others. So files grow by doubling, and a row is written anew some log₂(target / first size) times,
however many writes there are. Partitions with directories or buckets, where one file is worth more, are
compacted as a whole.

A write may change many partitions. Those come first where most files go away for each byte, up to
`auto-compact-max-bytes`. A later write, or `compact`, chooses the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.compaction.recut import Look, Recutting, rest_files
from parquetry.data_files import FileRecord, IdsInFile
from parquetry.errors import FilterError, PartitionNotFoundError
from parquetry.layout import PLAIN, ArrangementSpec
from parquetry.metastore import PartitionSnapshot, TableSnapshot, cheapest_plan
from parquetry.predicate import Filter, parse_filter
from parquetry.predicate.evaluate import evaluate
from parquetry.progress import Progress, silent
from parquetry.types import ColumnType

_SMALL_FILE_SHARE = 0.75
"""Fraction of the target size; a file of at least this size is large enough, and is not merged."""
_MIN_FILES_PER_MERGED_FILE = 2
"""Files that each merged file replaces at least, on average: 21 files of 60 MB become 10 of 128 MB."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The plan to rewrite files of one partition.

    Attributes:
        partition: the partition before.
        files: the files to rewrite.
        kept: all other files.
        arrangement: the partition's arrangement afterwards.
    """

    partition: PartitionSnapshot
    files: tuple[FileRecord, ...]
    kept: tuple[FileRecord, ...]
    arrangement: ArrangementSpec

    @property
    def bytes(self) -> int:
        """Return the total size of the files to rewrite."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class _CompactionCandidate:
    """A partition that may be rewritten.

    Attributes:
        partition: the partition before.
        files: its files.
        follows: whether its heavy values follow its rows (`SKEWED BY … ON AUTO`).
        looked_at: whether to count its rows, for heavy values.
    """

    partition: PartitionSnapshot
    files: Sequence[FileRecord]
    follows: bool = False
    looked_at: bool = False


def rewrites(
    snapshot: TableSnapshot,
    target: int,
    where: str | None = None,
    progress: Progress = silent,
    zone: str = "UTC",
    look: Look | None = None,
    has_to_change: Callable[[FileRecord], bool] = lambda _: False,
) -> list[Rewrite]:
    """Return the partitions with files that are worth rewriting.

    Args:
        snapshot: the table's version.
        target: the size in bytes that a file should have.
        where: a condition on partition columns that selects partitions, or None for all.
        progress: called with the number of partitions done.
        zone: the time zone of the condition's timestamps.
        look: counts values, for tables whose heavy values are found automatically, or None: then all
            partitions keep their heavy values.
        has_to_change: whether a file is rewritten for another reason than its size and slot.

    Raises:
        FilterError: the condition cannot be used.
    """
    types = {column.physical: column.column_type for column in snapshot.metadata.columns}
    recutting = None if look is None else Recutting.for_table(snapshot.metadata)

    def choose_files(files: Sequence[FileRecord], arrangement: ArrangementSpec, location: str) -> list[int]:
        worth = set(worth_rewriting(files, arrangement, types, location, target))
        return sorted(worth | {i for i, file in enumerate(files) if has_to_change(file)})

    candidates: list[_CompactionCandidate] = []
    for done, partition in enumerate(select_partitions(snapshot, where, zone), 1):
        if partition.file_count:
            files, own = partition.files, partition.arrangement
            small = [files[i] for i in choose_files(files, own, partition.location)]
            if recutting is not None and recutting.follows(partition):
                looked_at = recutting.is_looked_at(own, files, small)
                if looked_at or small or recutting.new_arrangement(own, files, None) != own:
                    candidates.append(_CompactionCandidate(partition, files, True, looked_at))
            elif small:
                candidates.append(_CompactionCandidate(partition, files))
        progress("Looking for small files", done, snapshot.totals.partitions if where is None else None)
    wanted = [
        (candidate.partition, rest_files(candidate.files)) for candidate in candidates if candidate.looked_at
    ]
    counted = look(wanted) if look is not None and wanted else {}
    chosen_rewrites = []
    for candidate in candidates:
        now, arrangement = candidate.files, candidate.partition.arrangement
        if recutting is not None and candidate.follows:
            before = arrangement
            arrangement = recutting.new_arrangement(before, now, counted.get(candidate.partition.key))
            now = recutting.reassign_cells(now, before, arrangement)
        chosen_indices = set(choose_files(now, arrangement, candidate.partition.location))
        if chosen_indices:
            anew = tuple(file for i, file in enumerate(now) if i in chosen_indices)
            kept = tuple(file for i, file in enumerate(now) if i not in chosen_indices)
            chosen_rewrites.append(Rewrite(candidate.partition, anew, kept, arrangement))
    return chosen_rewrites


def worth_rewriting(
    files: Sequence[FileRecord],
    arrangement: ArrangementSpec,
    types: Mapping[str, ColumnType],
    location: str,
    target: int,
) -> list[int]:
    """Return the indices of a partition's files that are worth rewriting.

    Args:
        files: the partition's files.
        arrangement: the partition's arrangement.
        types: the types of the table's columns, by physical names.
        location: the partition's location; paths are relative to it.
        target: the size in bytes that a file should have.

    >>> from parquetry.layout import PLAIN
    >>> files = [FileRecord("a", 60), FileRecord("b", 40), FileRecord("c", 120), FileRecord("d", 99)]
    >>> worth_rewriting(files, PLAIN, {}, "/t", 128)
    [0, 1]
    """
    parts = arrangement.parts
    one_file = any(part.one_file_per_slot for part in parts)
    chosen: set[int] = set()
    groups: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
    for i, file in enumerate(files):
        if file.field_ids == IdsInFile.FOREIGN:
            chosen.add(i)
        elif all(part.is_in_slot(file, types, location) for part in parts):
            groups[tuple(part.slot_of(file) for part in parts)].append(i)
        else:
            chosen.add(i)
    moved = {_slot_record(files[i]) for i in chosen}
    for slots, group in groups.items():
        # rows of files in a wrong directory may come here
        joined = any(
            all(part.may_hold(file, slot or 0) for part, slot in zip(parts, slots, strict=True))
            for file in moved
        )
        if one_file and sum(files[i].bytes for i in group) <= target:
            merged = group
        else:
            merged = [i for i in group if files[i].bytes < _SMALL_FILE_SHARE * target]
        needed = max(1, -(-sum(files[i].bytes for i in merged) // target))
        if len(merged) + joined >= _MIN_FILES_PER_MERGED_FILE * needed:
            empty = one_file and not joined and all(files[i].rows == 0 for i in group)
            chosen.update(merged[1:] if empty else merged)  # an empty bucket keeps its file
    return sorted(chosen)


def slots_of(files: Iterable[FileRecord]) -> int:
    """Return in how many cells and buckets the rows of files are, all unknown ones counted as one."""
    return len({_slot_record(file) for file in files})


def _slot_record(file: FileRecord) -> FileRecord:
    """Return what a file's record says of its slot. Files of one slot have equal ones."""
    return msgspec.structs.replace(
        file, path="", bytes=0, rows=None, modified=None, columns=None, field_ids=None
    )


def select_partitions(snapshot: TableSnapshot, where: str | None, zone: str) -> Iterator[PartitionSnapshot]:
    """Return the partitions that satisfy a condition.

    Args:
        snapshot: the table's version.
        where: a condition on partition columns, or None for all partitions.
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
    """Make sure that a table has a partition that satisfies a condition.

    Raises:
        PartitionNotFoundError: it has none.
    """
    if next(iter(select_partitions(snapshot, where, zone)), None) is None:
        raise PartitionNotFoundError(
            f"Table {snapshot.label} has no partition where {where}: SHOW PARTITIONS lists them."
        )


def partition_condition(snapshot: TableSnapshot, where: str, zone: str = "UTC") -> Filter:
    """Parse a condition on partition columns.

    Args:
        snapshot: the table's version.
        where: the condition's text.
        zone: the time zone of timestamps that name none.

    Raises:
        FilterError: the text cannot be parsed, or names another column.
    """
    types = snapshot.metadata.types_of_partitions
    if not types:
        raise FilterError(f"Table {snapshot.label} has no partition columns to filter by.", where, 0)
    return parse_filter(where, types, zone)


def rewrites_after_write(
    snapshot: TableSnapshot,
    partitions: Iterable[PartitionSnapshot],
    target: int,
    min_files: int,
    max_bytes: int,
) -> list[Rewrite]:
    """Return the partitions to rewrite after a write, those first where most files go away for each byte.

    Args:
        snapshot: the version that the write has made.
        partitions: that the write has changed, in this version.
        target: the size in bytes that a file should have.
        min_files: the least number of small files, for each directory and bucket on average.
        max_bytes: the most bytes to rewrite.
    """
    types = {column.physical: column.column_type for column in snapshot.metadata.columns}
    candidates: list[tuple[float, Rewrite]] = []
    for partition in partitions:
        if partition.file_count < min_files:
            continue
        files, arrangement = partition.files, partition.arrangement
        chosen = set(worth_rewriting(files, arrangement, types, partition.location, target))
        if arrangement == PLAIN:
            chosen = _without_larger(files, chosen)
        anew = tuple(files[i] for i in sorted(chosen))
        slots = slots_of(anew)
        if anew and len(anew) >= min_files * slots:
            kept = tuple(file for i, file in enumerate(files) if i not in chosen)
            rewrite = Rewrite(partition, anew, kept, arrangement)
            candidates.append((rewrite.bytes / (len(anew) - slots), rewrite))
    left = max_bytes
    rewrites = []
    for _, rewrite in sorted(candidates, key=lambda pair: pair[0]):
        if rewrite.bytes <= left:
            rewrites.append(rewrite)
            left -= rewrite.bytes
    return rewrites


def _without_larger(files: Sequence[FileRecord], chosen: set[int]) -> set[int]:
    """Leave out the largest files as long as each is larger than all remaining others together."""
    by_size = sorted(chosen, key=lambda i: files[i].bytes)
    total = sum(files[i].bytes for i in by_size)
    while by_size:
        largest = files[by_size[-1]]
        if 2 * largest.bytes <= total or largest.field_ids == IdsInFile.FOREIGN:
            break
        total -= largest.bytes
        by_size.pop()
    return set(by_size)
