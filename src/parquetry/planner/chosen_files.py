"""Reads of some files of a table alone: what compaction writes anew, it reads as every query reads, in that version.

A read names its files by a token in an option; they are listed here while the read lasts.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from parquetry.layout.places import join_location
from parquetry.metastore.file_blocks import FileBlock
from parquetry.metastore.partition import Partition

OPTION = "parquetry.chosen-files"
"""The option of a read, whose value is a token."""

_chosen: dict[str, frozenset[str]] = {}


@contextmanager
def chosen_files(paths: Iterator[str]) -> Iterator[str]:
    """List files for a read, under the token that is yielded.

    Args:
        paths: absolute.
    """
    token = uuid.uuid4().hex
    _chosen[token] = frozenset(paths)
    try:
        yield token
    finally:
        del _chosen[token]


def only_chosen(options: Mapping[str, str], partitions: Sequence[Partition], block: FileBlock) -> FileBlock:
    """Return the files that a read asks for by its options; all, if it names none.

    Args:
        options: of the read.
        partitions: of the files.
        block: of files.

    Raises:
        KeyError: the token is of no read that is under way.
    """
    token = options.get(OPTION)
    if token is None:
        return block
    wanted = _chosen[token]
    locations = Partition.locations(partitions)
    files = zip(block.parts.tolist(), block.files.paths, strict=True)
    return block.take(
        np.flatnonzero([join_location(locations[part], path) in wanted for part, path in files])
    )
