"""Choose what a write should compact right after its commit, for tables with the property `auto-compact`.

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

from collections.abc import Iterable, Sequence

from parquetry.compaction.compact import Rewrite, slots_of, worth_rewriting
from parquetry.data_files import FileRecord, IdsInFile
from parquetry.layout import PLAIN
from parquetry.metastore import PartitionSnapshot, TableSnapshot


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
