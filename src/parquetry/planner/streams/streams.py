"""Streaming reads: where a stream begins, where its next batch ends, and which files it reads.

`pieces` lists the files of each version. This module divides them into batches by the limits, and prunes
files by partition values, directories, buckets and statistics. Spark evaluates the query's conditions again
on every row.

A position of a stream in a table is the content of its checkpoint. It says where the stream begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from parquetry.config import count_up_to, parse_boolean, parse_size
from parquetry.errors import PropertyError, StreamError, UnsupportedError
from parquetry.metastore import FileBlock, PartitionSnapshot, TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.scan_answer import file_list, statistics
from parquetry.planner.streams.change_pieces import VersionPiece, change_pieces, plan_changes
from parquetry.planner.streams.pieces import SKIP_CHANGES_OPTION, Piece, StreamedTable
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
    return answers.StreamPosition(_end(lake, table, start, until, options, budget).text)


def _end(
    lake: Lake,
    table: StreamedTable,
    start: Position,
    until: int,
    options: StreamOptions,
    budget: tuple[int, int] | None,
) -> Position:
    """Return the end of a batch.

    A version that the stream cannot read ends it, if the batch is not empty before that.

    Args:
        lake: the catalog.
        table: that is read.
        start: of the batch.
        until: the last version to read.
        options: of the read.
        budget: how many files and bytes to read, at least one file; or None for no limit.
    """
    at = start
    pieces: Iterator[tuple[int, Piece | VersionPiece]] = (
        change_pieces(lake, table, start.version, until, whole=start.whole)
        if options.changes
        else table.pieces(start.version, until, whole=start.whole, skip=options.skips)
    )
    try:
        for version, piece in pieces:
            whole, done = (start.whole, start.files) if version == start.version else (False, 0)
            if budget is not None:
                taken, budget = _take_files(
                    piece, done, budget, any_yet=budget != (options.most_files, options.most_bytes)
                )
                if done + taken < piece.count:
                    return position_at(table, version, done + taken, whole=whole)
            at = position_at(table, version + 1)
    except (StreamError, UnsupportedError):
        if at == start:
            raise
    return at


def _take_files(
    piece: Piece | VersionPiece, done: int, budget: tuple[int, int], any_yet: bool
) -> tuple[int, tuple[int, int]]:
    """Return how many files of a piece a batch takes, and the remaining budget of files and bytes."""
    files, size = budget
    if isinstance(piece, VersionPiece):
        if any_yet and (piece.count > files or piece.bytes > size):
            return 0, budget
        return piece.count, (max(0, files - piece.count), max(0, size - piece.bytes))
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
    begun, options = table.begun, StreamOptions(q.read_options)
    if options.changes:
        return plan_changes(lake, q, table, (start, end), options.keys)
    filters = conditions(begun, q.predicates)
    until = end.version if end.files else end.version - 1
    # a version that is read to its end needs no count of its files, so partitions may be pruned
    settled = start.version < end.version and not start.files
    early = [condition.filter for condition in filters] if settled else ()
    partitions: list[PartitionSnapshot] = []
    kept: list[FileBlock] = []
    skips = options.skips
    for version, piece in table.pieces(start.version, until, whole=start.whole, skip=skips, filters=early):
        first = start.files if version == start.version else 0
        stop = end.files if version == end.version else piece.count
        if first >= stop:
            continue
        block = _wanted(begun, filters, piece, piece.block(first, stop))
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
    knowledge = FileKnowledge(begun.metadata, piece.partitions, block)
    wanted = np.ones(block.count, np.bool_)
    for condition in conditions:
        wanted &= match(condition.filter, knowledge).astype(np.bool_)  # CANNOT is 0
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
    positions = [
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
        partitions=[[to_wire(types[position], row[position]) for position in positions] for row in rows],
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


READ_CHANGES_OPTION = "readChanges"
"""The option of a read that makes it read changes, with their types, versions and times."""
KEYS_OPTION = "keys"
"""The option of a read of changes that names the key's columns."""
STARTING_VERSION = "startingVersion"
STARTING_TIMESTAMP = "startingTimestamp"
MAX_FILES_OPTION = "maxFilesPerTrigger"
MAX_BYTES_OPTION = "maxBytesPerTrigger"

_UNLIMITED = 1 << 60
_T = TypeVar("_T")


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stream has read all versions before this one, and some files of this one.

    Attributes:
        table: id of the table, hexadecimal.
        version: the first version with files to read; it may not exist yet.
        files: how many of its files have been read, in their order.
        whole: whether the stream reads all files of the version, not only the files that it added.
        commit: the random id of the commit that made `last`, or an empty text if it is not known. After a
            restore of an older dump, another commit may have made a version of that number.
    """

    table: str
    version: int
    files: int = 0
    whole: bool = False
    commit: str = ""

    @property
    def last(self) -> int:
        """Return the last version that the stream has begun to read, or -1."""
        return self.version if self.files or self.whole else self.version - 1

    @property
    def text(self) -> str:
        """Return the position as a checkpoint stores it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> Position:
        """Return the position in a checkpoint's text.

        Raises:
            StreamError: the text belongs to another source.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError:
            raise StreamError(
                f"The checkpoint says {text!r}, which is no position in a table of Parquetry: another source wrote it. Start the query "
                "with a new checkpoint."
            ) from None


def position_at(table: StreamedTable, version: int, files: int = 0, *, whole: bool = False) -> Position:
    """Return a position in a table; see `Position` for its fields."""
    position = Position(table.newest.id.hex(), version, files, whole)
    commit = table.versions.commit_id(position.last)
    return position if commit is None else msgspec.structs.replace(position, commit=commit)


def require_same_history(table: StreamedTable, position: Position) -> None:
    """Make sure that a table still has the version that a stream has read last.

    A version that was vacuumed cannot be compared.

    Raises:
        StreamError: another commit has made it.
    """
    commit = table.versions.commit_id(position.last)
    if position.commit and commit is not None and position.commit != commit:
        raise StreamError(
            f"Version {position.last} of table {table.name} is another one than the stream has read: the metastore was restored from an older "
            "dump, and versions were made anew. Start the query with a new checkpoint."
        )


class StreamOptions:
    """Our options of a streaming read. Their names match in any letter case.

    Args:
        options: all options of the read.

    Raises:
        PropertyError: a value cannot be used.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        self.skips = self._read(SKIP_CHANGES_OPTION, parse_boolean, default=False)
        self.changes = self._read(READ_CHANGES_OPTION, parse_boolean, default=False)
        self.keys = self._options.get(KEYS_OPTION, "")
        if self.skips and self.changes:
            raise PropertyError(
                f"The options {SKIP_CHANGES_OPTION} and {READ_CHANGES_OPTION} of the streaming read exclude each other: "
                "a stream of changes reads all versions."
            )
        self.most_files = self._read(MAX_FILES_OPTION, count_up_to(_UNLIMITED), _UNLIMITED)
        self.most_bytes = self._read(MAX_BYTES_OPTION, parse_size, _UNLIMITED)
        self.limited = min(self.most_files, self.most_bytes) < _UNLIMITED
        self.version = self._read(STARTING_VERSION, _version, None)

    def _read(self, name: str, parse: Callable[[str], _T], default: _T) -> _T:
        text = self._options.get(name.lower())
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as error:
            raise PropertyError(f"The option {name} of the streaming read is {text!r}: {error}.") from None


def _version(text: str) -> int | str | None:
    lowered = text.strip().lower()
    if lowered in ("latest", "earliest"):
        return lowered
    if not (lowered.isascii() and lowered.isdigit()):
        raise ValueError("not a version, as CALL system.history lists them, nor latest or earliest")
    return int(lowered)


def first_position(table: StreamedTable, options: StreamOptions, starting_at: int | None) -> Position:
    """Return where a stream begins.

    Args:
        table: to read.
        options: of the read.
        starting_at: the time in the options, in microseconds since the epoch.

    Raises:
        PropertyError: the options name both a version and a time.
        StreamError: there is no such version, or the time is in the future.
    """
    oldest, newest = table.versions.oldest, table.versions.number
    if starting_at is not None:
        if options.version is not None:
            raise PropertyError(
                f"Both {STARTING_VERSION} and {STARTING_TIMESTAMP} are given of the stream of table {table.name}: give one of them."
            )
        return position_at(table, _version_at(table, starting_at))
    match options.version:
        case None if not table.newest.totals.files:
            return position_at(table, newest + 1)
        case None:
            return position_at(table, newest, whole=True)
        case "latest":
            return position_at(table, newest + 1)
        case "earliest":
            return position_at(table, oldest, whole=True)
        case version:
            assert isinstance(version, int)
            if version > newest + 1:
                raise StreamError(
                    f"Version {version}, with which the stream of table {table.name} is to start, is not there: the newest is {newest}. Take that or "
                    f"an earlier one, or {STARTING_VERSION} = latest."
                )
            if version and version - 1 < oldest:
                raise StreamError(
                    f"What version {version} of table {table.name} brought is not known any more: the versions before {oldest} have been vacuumed "
                    f"away. Start with {oldest + 1} or later, or with {STARTING_VERSION} = earliest, which reads all of version {oldest} first."
                )
            return position_at(table, version)


_TOLERANCE_MS = 60_000
"""Milliseconds: the clock of a session may be ahead of the metastore's by so much."""


def _version_at(table: StreamedTable, time: int) -> int:
    """Return the first version that was made at a time or later, or the next version if there is none yet."""
    versions = table.versions
    before = versions.as_of(-(-time // 1000) - 1)
    if before is not None:
        if before == versions.number and time > (versions.now() + _TOLERANCE_MS) * 1000:
            raise StreamError(
                f"The time that {STARTING_TIMESTAMP} names for the stream of table {table.name} is to come: take an earlier one, or "
                f"{STARTING_VERSION} = latest."
            )
        return before + 1
    if versions.oldest:
        raise StreamError(
            f"The versions of table {table.name} from before the time that {STARTING_TIMESTAMP} names have been vacuumed away; the oldest is "
            f"{versions.oldest}. Take a later time, or {STARTING_VERSION} = earliest."
        )
    return 0
