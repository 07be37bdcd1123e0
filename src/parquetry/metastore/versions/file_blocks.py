"""The files of many partitions, in blocks of some thousand.

Each block is read, tested and released before the next.

Example: the partitions 0, 1 and 2 have these files.

| partition | chunks          | inline |
|-----------|-----------------|--------|
| 0         |                 | a, b   |
| 1         |                 | c      |
| 2         | (d, e, f), (g, h) | i    |

Their blocks:

| block | `parts`    | `files`    |
|-------|------------|------------|
| 0     | 2, 2, 2    | d, e, f    |
| 1     | 2, 2       | g, h       |
| 2     | 0, 0, 1, 2 | a, b, c, i |

So a million files are never in memory at once, nor their bytes. A hundred thousand partitions of one file
each are decoded in a few calls, with only the needed statistics. When the remaining files of the blocks are
joined, they are again in the order of their partitions, and oldest first in each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import (
    MAX_FILES_AS_RECORDS,
    FileColumns,
    FileRecord,
    Flags,
    Indices,
    Interleaving,
    RecordedFiles,
    joined,
    project_files,
)
from parquetry.metastore.manifest.chunks import read_summaries, read_together
from parquetry.metastore.manifest.inline import InlineFiles, can_narrow, files_in_lists
from parquetry.metastore.storage.model import PartitionEntry
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.store import Store

_PARTITIONS_PER_BLOCK = 4096
"""Partitions whose records are decoded at once, and whose inline files make a block."""
_NO_SUMMARY = FileRecord("", 0)
"""Stands for the summary of a chunk without one."""


@dataclass(frozen=True, slots=True)
class FileBlock:
    """Files of several partitions.

    Attributes:
        parts: for each file, the position of its partition in the list of partitions.
        files: the files, as many as `parts`.
        skipped: number of further files in chunks that need not be read.
    """

    parts: NDArray[np.int32]
    files: FileColumns
    skipped: int = 0

    @property
    def count(self) -> int:
        """Return the number of files."""
        return self.files.count

    def take(self, positions: Indices) -> FileBlock:
        """Return some of the files."""
        return FileBlock(self.parts[positions], self.files.take(positions))

    def project(self, positions: Indices | None, names: Collection[str] | None) -> FileBlock:
        """Return some of the files, or all, without references to others; see `data_files.project_files`."""
        return FileBlock(
            self.parts if positions is None else self.parts[positions],
            project_files(self.files, positions, names),
        )

    @classmethod
    def concatenate(cls, blocks: Sequence[FileBlock], names: Collection[str] | None) -> FileBlock:
        """Join the files of several blocks, in the order of their partitions."""
        if len(blocks) == 1:
            return blocks[0]
        parts = [block.parts for block in blocks] or [np.zeros(0, np.int32)]
        turns = Interleaving(parts)
        return cls(turns.array(parts), joined([block.files for block in blocks], names, turns))


Chooses = Callable[[FileBlock], Flags]
"""Returns which chunks may have rows of the result, given a block of their summaries."""


def file_blocks(
    store: Store,
    table: bytes,
    partitions: Sequence[PartitionSnapshot],
    names: Collection[str] | None = None,
    chooses: Chooses | None = None,
) -> Iterator[FileBlock]:
    """Yield the files of partitions, in blocks that `FileBlock.concatenate` puts in order.

    Args:
        store: store of the metastore.
        table: id of the table.
        partitions: partitions of one version of a table.
        names: columns whose statistics are needed first, as the table spells them in its files; None for all.
        chooses: returns which chunks of long lists must be read; None to read all.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    together = names is not None and can_narrow(names)
    for first in range(0, len(partitions), _PARTITIONS_PER_BLOCK):
        batch = partitions[first : first + _PARTITIONS_PER_BLOCK]
        if together and len(batch) > MAX_FILES_AS_RECORDS:
            block = _block_from_inline(batch, first, names or ())
            if block is not None:
                yield block
                continue
            together = False
        entries = PartitionSnapshot.entries(batch)
        sizes = [entry.file_count for entry in entries]
        if any(entry.chunks for entry in entries):
            yield from _blocks_from_chunks(store, table, entries, first, chooses)
            in_chunks = [sum([chunk.files for chunk in entry.chunks]) for entry in entries]
            sizes = [size - less for size, less in zip(sizes, in_chunks, strict=True)]
        if any(sizes):
            parts = np.arange(first, first + len(batch), dtype=np.int32)
            files = files_in_lists([entry.inline for entry in entries], sizes, names)
            yield FileBlock(np.repeat(parts, sizes), files)


def _blocks_from_chunks(
    store: Store, table: bytes, entries: Sequence[PartitionEntry], first: int, chooses: Chooses | None
) -> Iterator[FileBlock]:
    """Yield the files of the chunks that some partitions refer to."""
    chunks = [chunk for entry in entries for chunk in entry.chunks]
    parts = np.repeat(
        np.arange(first, first + len(entries), dtype=np.int32), [len(entry.chunks) for entry in entries]
    )
    if chooses is not None:
        summaries = [each or _NO_SUMMARY for each in read_summaries(store, table, chunks)]
        chosen = chooses(FileBlock(parts, RecordedFiles(summaries)))
        skipped = sum([chunk.files for chunk, read in zip(chunks, chosen.tolist(), strict=True) if not read])
        if skipped:
            yield FileBlock(np.zeros(0, np.int32), RecordedFiles(()), skipped)
        chunks, parts = list(compress(chunks, chosen)), parts[chosen]
    done = 0
    for counts, files in read_together(store, table, chunks):
        yield FileBlock(np.repeat(parts[done : done + len(counts)], counts), files)
        done += len(counts)


def _block_from_inline(
    batch: Sequence[PartitionSnapshot], first: int, names: Collection[str]
) -> FileBlock | None:
    """Return the files of partitions in one block, decoded with the partitions' records in one call.

    Return None if one of the partitions has chunks, or if the files spell a column in different ways.
    """
    wanted = tuple(sorted(names))
    entries = PartitionSnapshot.with_files(batch, wanted)
    if entries is None or any(map(operator.attrgetter("chunks"), entries)):
        return None
    lists = [entry.inline for entry in entries]
    files = InlineFiles.from_lists(
        lists, wanted, lambda positions: [batch[position].entry.inline for position in positions]
    )
    if files is None:
        return None
    parts = np.arange(first, first + len(batch), dtype=np.int32)
    return FileBlock(np.repeat(parts, list(map(len, lists))), files)
