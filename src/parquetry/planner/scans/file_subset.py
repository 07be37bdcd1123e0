"""Read only some files of a table, such as the files that compaction rewrites, in one version.

Such a read has a token in an option, and the files are registered here under the token while the read lasts.
A statement that changes rows names its files itself, after it has found them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
import numpy as np
from msgspec.structs import replace

from parquetry.locations import join_location
from parquetry.metastore import FileBlock, PartitionSnapshot
from parquetry.planner.protocol import questions
from parquetry.prune import Selection

CHOSEN_FILES_OPTION = "parquetry.chosen-files"
"""The option of a read that has the token."""

MATCHES_REASON = "rows that match"
"""The reason in a report for files that were pruned because they hold no row that the statement changes."""

_chosen: dict[str, frozenset[str]] = {}


@contextmanager
def chosen_files(paths: Iterator[str]) -> Iterator[str]:
    """Register files for a read, under the token that is yielded.

    Args:
        paths: absolute.
    """
    token = uuid.uuid4().hex
    _chosen[token] = frozenset(paths)
    try:
        yield token
    finally:
        del _chosen[token]


def is_of_chosen_files(q: questions.PlanScan) -> bool:
    """Return whether a question is about files that its statement or a read's options name."""
    return q.files is not None or CHOSEN_FILES_OPTION in q.read_options


def only_chosen(
    options: Mapping[str, str], partitions: Sequence[PartitionSnapshot], block: FileBlock
) -> FileBlock:
    """Return the files that a read's options name, or all files if the options name none.

    Args:
        options: of the read.
        partitions: of the files.
        block: of files.

    Raises:
        KeyError: no current read has this token.
    """
    token = options.get(CHOSEN_FILES_OPTION)
    if token is None:
        return block
    return _named_files(_chosen[token], partitions, block)


def with_matches(selection: Selection, paths: Collection[str]) -> Selection:
    """Keep only the files with matching rows, for a statement that rewrites files, and report that.

    Args:
        selection: all files that the statement's condition selects.
        paths: of the files with matching rows, absolute.
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
