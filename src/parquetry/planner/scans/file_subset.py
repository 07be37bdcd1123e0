"""Reads of some files of a table alone: what compaction writes anew, it reads as every query reads, in that version.

A read names its files by a token in an option; they are listed here while the read lasts. A statement that changes rows names
its files itself, once it has found them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import numpy as np

from parquetry.locations import join_location
from parquetry.metastore.versions import FileBlock, PartitionSnapshot
from parquetry.prune import Selection

CHOSEN_FILES_OPTION = "parquetry.chosen-files"
"""The option of a read, whose value is a token."""

MATCHES_REASON = "rows that match"
"""What a report tells of why files were left out that hold no row which a statement changes."""

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


def only_chosen(
    options: Mapping[str, str], partitions: Sequence[PartitionSnapshot], block: FileBlock
) -> FileBlock:
    """Return the files that a read asks for by its options; all, if it names none.

    Args:
        options: of the read.
        partitions: of the files.
        block: of files.

    Raises:
        KeyError: the token is of no read that is under way.
    """
    token = options.get(CHOSEN_FILES_OPTION)
    if token is None:
        return block
    return _named_files(_chosen[token], partitions, block)


def with_matches(selection: Selection, paths: Collection[str]) -> Selection:
    """Return of the files that a statement may have to rewrite those that hold rows which match, and the report of that.

    Args:
        selection: all that its condition leaves.
        paths: of the files, absolute.
    """
    block = _named_files(frozenset(paths), selection.partitions, selection.block)
    of_bytes = int(block.files.bytes.sum())
    steps = tuple(
        msgspec.structs.replace(step, kept=block.count, by=(*step.by, MATCHES_REASON), origins=())
        if step.name == "files" and block.count < step.kept
        else msgspec.structs.replace(step, kept=min(step.kept, of_bytes))
        if step.counts_bytes
        else step
        for step in selection.report.steps
    )
    return replace(
        selection, block=block, bytes=of_bytes, report=msgspec.structs.replace(selection.report, steps=steps)
    )


def _named_files(
    wanted: Collection[str], partitions: Sequence[PartitionSnapshot], block: FileBlock
) -> FileBlock:
    locations = PartitionSnapshot.locations(partitions)
    files = zip(block.parts.tolist(), block.files.paths, strict=True)
    return block.take(
        np.flatnonzero([join_location(locations[part], path) in wanted for part, path in files])
    )
