"""The files of one partition, some thousand at a time: a partition may list a million.

However the rows are coded that hold long lists (`entries`), an entry that names some of them lists some of the files:

    chunks   0: 3,000 files   1: 3,000 files   2: 500 files   inline: 20 files
    read     0 | 1, 2 | inline                                from the first file on
             1, 2 | inline                                    from file 4,000 on, of which the first 1,000 are passed over
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from parquetry.metastore.entries import NO_FILES
from parquetry.metastore.model import FileChunk, PartitionEntry

FILES = 4096
"""How many are read at once, unless one row holds more."""
_T = TypeVar("_T")


def in_parts(
    entry: PartitionEntry, read: Callable[[PartitionEntry], Sequence[_T]], start: int = 0
) -> Iterator[_T]:
    """Yield the files of an entry, and read no more of them at a time than need be.

    Args:
        entry: of the partition.
        read: gives the files of an entry, in order.
        start: how many files to pass over.
    """
    left = start
    for chunks in _together(entry.chunks):
        count = sum(chunk.files for chunk in chunks)
        if left < count:
            yield from read(replace(entry, chunks=chunks, inline=NO_FILES))[left:]
        left = max(0, left - count)
    yield from read(replace(entry, chunks=()))[left:]


def _together(chunks: Sequence[FileChunk]) -> Iterator[tuple[FileChunk, ...]]:
    """Yield chunks in order, as many together as list up to `FILES`; one at least."""
    group: list[FileChunk] = []
    files = 0
    for chunk in chunks:
        if group and files + chunk.files > FILES:
            yield tuple(group)
            group, files = [], 0
        group.append(chunk)
        files += chunk.files
    if group:
        yield tuple(group)
