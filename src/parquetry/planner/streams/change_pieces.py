"""The changes that a stream reads of each version, with the option `readChanges`.

A stream begins with all rows of one version, which count as inserted by it, or after a version. Then it reads
the files that each version removed and added, and the bridge compares their rows. So a batch has all files of
a version or none of them, however small its limits are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from parquetry.changes import ChangedVersion, changed_version, require_free_names, require_keys
from parquetry.data_files import FileRecord
from parquetry.errors import StreamError, TableNotFoundError
from parquetry.metastore import REWRITING_OPERATIONS, FileBlock
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions
from parquetry.planner.protocol import answers, questions
from parquetry.planner.scans.change_files import ChangedFiles, compared_files
from parquetry.planner.streams.pieces import StreamedTable, WholeVersion


class BatchEnd(Protocol):
    """An end of a batch; see `streams.Position`."""

    @property
    def version(self) -> int:
        """Return the first version with files to read."""
        ...

    @property
    def files(self) -> int:
        """Return how many of its files have been read."""
        ...

    @property
    def whole(self) -> bool:
        """Return whether all files of the version are read."""
        ...


class VersionPiece:
    """The files that a version removed and added. A batch reads all of them, or none.

    Args:
        changes: of the version.
    """

    def __init__(self, changes: ChangedVersion) -> None:
        self.changes = changes
        self._files: list[FileRecord] = [
            file for part in changes.partitions for file in (*part.removed, *part.added)
        ]
        self.count = len(self._files)

    @property
    def bytes(self) -> int:
        """Return the size of the files."""
        return sum(file.bytes for file in self._files)


def change_pieces(
    lake: Lake, table: StreamedTable, first: int, until: int, *, whole: bool
) -> Iterator[tuple[int, WholeVersion | VersionPiece]]:
    """Yield what a stream of changes reads of each version, in order.

    Args:
        lake: the catalog.
        table: that the stream reads.
        first: version to begin with.
        until: the last version.
        whole: whether to read all rows of the first version.

    Raises:
        StreamError: a needed version was vacuumed.
        UnsupportedError: rows of a version cannot be read with the columns of the stream.
    """
    if whole and first <= until:
        yield from table.whole_version(first, ())
        first += 1
    if first > until:
        return
    if first:
        table.version(first - 1)  # a version's changes are found by comparison
    try:
        for changes in table.versions.changes(first - 1, until, lake.touched):
            number = changes.version.version
            if changes.version.operation in REWRITING_OPERATIONS:
                yield number, VersionPiece(ChangedVersion(number, 0, ()))
            else:
                yield number, VersionPiece(changed_version(changes, table.begun))
    except TableNotFoundError as error:
        raise StreamError(f"{error.message} Start the query again.") from None


def plan_changes(
    lake: Lake, q: questions.PlanBatch, table: StreamedTable, span: tuple[BatchEnd, BatchEnd], keys: str
) -> answers.PlannedScan:
    """Return the files of a batch of changes. The report says whether their rows have to be compared.

    Args:
        lake: the catalog.
        q: the question.
        table: that the stream reads.
        span: where the batch begins and ends.
        keys: names of the key's columns, with commas between them, or an empty text.
    """
    begun, (start, end) = table.begun, span
    require_free_names(begun.metadata, table.name)
    by_key = bool(require_keys(begun.metadata, [name.strip() for name in keys.split(",") if name.strip()]))
    files = ChangedFiles()
    versions: list[ChangedVersion] = []
    until = end.version if end.files else end.version - 1
    for number, piece in change_pieces(lake, table, start.version, until, whole=start.whole):
        if isinstance(piece, VersionPiece):
            versions.append(piece.changes)
            continue
        first = start.files if number == start.version else 0
        stop = end.files if number == end.version else piece.count
        if first < stop:
            block: FileBlock = piece.block(first, stop)
            files.add_inserts(piece.snapshot, piece.partitions, block)
    compared = bool(compared_files(versions, by_key=by_key)[0].files)
    for version in versions:
        for part in version.partitions:
            files.add(version, part)
    what = f"changes of {table.name}, versions {start.version} to {max(start.version, until)}"
    answer = files.answer(begun, q.columns, conditions(begun, q.predicates), what)
    return msgspec.structs.replace(answer, report={"compared": compared})
