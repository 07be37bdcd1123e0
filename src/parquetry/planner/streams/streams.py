"""Streaming reads: where a stream begins, where its next batch ends, and which files it reads.

`pieces` lists the files of each version. This module divides them into batches by the limits, and prunes
files by partition values, directories, buckets and statistics. Spark evaluates the query's conditions again
on every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from parquetry.errors import StreamError
from parquetry.metastore import FileBlock, PartitionSnapshot, TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.scan_answer import file_list, statistics
from parquetry.planner.streams.pieces import Piece, StreamedTable
from parquetry.planner.streams.position import (
    Position,
    StreamOptions,
    first_position,
    position_at,
    require_same_history,
)
from parquetry.predicate import match
from parquetry.prune import Condition, FileKnowledge, files_by_arrangement


def begin(lake: Lake, q: questions.BeginStream) -> answers.StreamPosition:
    """Return where a stream without a checkpoint begins."""
    table = StreamedTable(lake, q.table, q.table.id)
    return answers.StreamPosition(first_position(table, StreamOptions(q.read_options), q.starting_at).text)


def advance(lake: Lake, q: questions.AdvanceStream) -> answers.StreamPosition:
    """Return the end of the next batch: the end of the table, or the end that the limits set."""
    options = StreamOptions(q.read_options)
    start = None if q.start is None else Position.from_text(q.start)
    table = StreamedTable(lake, q.table, q.table.id if start is None else start.table)
    newest = table.versions.number
    if start is None:
        return answers.StreamPosition(position_at(table, newest + 1).text)
    require_same_history(table, start)
    until = newest if q.until is None else min(newest, Position.from_text(q.until).version - 1)
    if start.whole:
        # the stream begins with this version, even if it was committed after the question for `until`
        until = max(until, start.version)
    if start.version > newest + 1:
        table.version(start.version - 1)  # raises: there is no such version
    budget = (options.most_files, options.most_bytes) if q.limited and options.limited else None
    return answers.StreamPosition(_end(table, start, until, options, budget).text)


def _end(
    table: StreamedTable, start: Position, until: int, options: StreamOptions, budget: tuple[int, int] | None
) -> Position:
    """Return the end of a batch.

    A version that the stream cannot read ends it, if the batch is not empty before that.

    Args:
        table: that is read.
        start: of the batch.
        until: the last version to read.
        options: of the read.
        budget: how many files and bytes to read, at least one file; or None for no limit.
    """
    at = start
    try:
        for version, piece in table.pieces(start.version, until, whole=start.whole, skip=options.skips):
            whole, done = (start.whole, start.files) if version == start.version else (False, 0)
            if budget is not None:
                taken, budget = _take_files(
                    piece, done, budget, any_yet=budget != (options.most_files, options.most_bytes)
                )
                if done + taken < piece.count:
                    return position_at(table, version, done + taken, whole=whole)
            at = position_at(table, version + 1)
    except StreamError:
        if at == start:
            raise
    return at


def _take_files(
    piece: Piece, done: int, budget: tuple[int, int], any_yet: bool
) -> tuple[int, tuple[int, int]]:
    """Return how many files of a piece a batch takes, and the remaining budget of files and bytes."""
    files, size = budget
    taken = 0
    for each in piece.sizes(done):
        if files == 0 or (any_yet and each > size):
            break
        taken, files, size, any_yet = taken + 1, files - 1, max(0, size - each), True
    return taken, (files, size)


def plan(lake: Lake, q: questions.PlanBatch) -> answers.PlannedScan:
    """Return the files of a batch."""
    start, end = Position.from_text(q.start), Position.from_text(q.end)
    table = StreamedTable(lake, q.table, start.table)
    for position in (start, end):
        require_same_history(table, position)
    begun = table.begun
    asked = conditions(begun, q.predicates)
    until = end.version if end.files else end.version - 1
    # a version that is read to its end needs no count of its files, so partitions may be pruned
    settled = start.version < end.version and not start.files
    early = [condition.filter for condition in asked] if settled else ()
    partitions: list[PartitionSnapshot] = []
    kept: list[FileBlock] = []
    skips = StreamOptions(q.read_options).skips
    for version, piece in table.pieces(start.version, until, whole=start.whole, skip=skips, filters=early):
        first = start.files if version == start.version else 0
        stop = end.files if version == end.version else piece.count
        if first >= stop:
            continue
        block = _wanted(begun, asked, piece, piece.block(first, stop))
        kept.append(FileBlock((block.parts + len(partitions)).astype(np.int32), block.files))
        partitions += piece.partitions
    return _answer(lake, begun, q.columns, partitions, FileBlock.concatenate(kept, frozenset()), (start, end))


def _wanted(
    begun: TableSnapshot, conditions: Sequence[Condition], piece: Piece, block: FileBlock
) -> FileBlock:
    """Return the files that may hold rows for all conditions, by directories, buckets and statistics."""
    if not conditions:
        return block
    if _same_names(begun, piece.snapshot):
        block = files_by_arrangement(piece.snapshot, conditions, piece.partitions, block)
    known = FileKnowledge(begun.metadata, piece.partitions, block)
    wanted = np.ones(block.count, np.bool_)
    for condition in conditions:
        wanted &= match(condition.filter, known).astype(np.bool_)  # CANNOT is 0
    return block.take(np.flatnonzero(wanted))


def _same_names(begun: TableSnapshot, version: TableSnapshot) -> bool:
    """Return whether each column that the conditions may name is the same column in a version."""
    names = {column.name: column.physical for column in version.metadata.columns}
    return all(names.get(column.name) == column.physical for column in begun.metadata.columns)


def _answer(
    lake: Lake,
    begun: TableSnapshot,
    columns: Sequence[str],
    partitions: Sequence[PartitionSnapshot],
    block: FileBlock,
    span: tuple[Position, Position],
) -> answers.PlannedScan:
    metadata = begun.metadata
    places = [
        metadata.partition_by.index(column.name)
        for name in columns
        if (column := metadata.column(name)).name in metadata.partition_by
    ]
    used, numbers = np.unique(block.parts, return_inverse=True)
    chosen = [partitions[part] for part in used.tolist()]
    types = metadata.partition_types
    rows = PartitionSnapshot.all_values(chosen)
    first, last = span[0].version, max(span[0].version, span[1].version - (not span[1].files))
    return answers.PlannedScan(
        files=file_list(block.files, numbers, PartitionSnapshot.locations(chosen)),
        partitions=[[to_wire(types[place], row[place]) for place in places] for row in rows],
        statistics=statistics(int(block.files.bytes.sum()), None, block.count),
        metrics=[],
        description=f"{lake.full_name(begun)}, versions {first} to {last}",
        report={},
        counts=questions.ScanCounts([], by_totals=False),
    )


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.BeginStream: begin,
    questions.AdvanceStream: advance,
    questions.PlanBatch: plan,
}
