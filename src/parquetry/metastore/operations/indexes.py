"""Create and drop secondary indexes while the table is in use.

1. A commit announces the new index. From then on every commit writes entries for the partitions that it
   changes.
2. Entries are written for the partitions that existed at the announcement.
3. Another commit marks the index as ready. Only now queries use it.

If this is interrupted, the index stays announced: commits maintain it, but no query reads it. Creating the
same index again begins anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import msgspec

from parquetry.errors import CommitConflictError, IndexExistsError, IndexNotFoundError, ParquetryError
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.partition_rows.indexes import entry_rows, find_index, index_columns, new_index
from parquetry.metastore.storage.keyspace import complement, fields_of
from parquetry.metastore.storage.model import PartitionIndex, TableMetadata
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.progress import Progress, silent
from parquetry.store import in_batches

MAX_COMMIT_ATTEMPTS = 20
"""Attempts to commit while others keep changing the table's metadata."""
_ROWS_PER_BATCH = 5000

Indexes = tuple[PartitionIndex, ...]


def create_index(
    table: TableSnapshot,
    columns: Sequence[str],
    name: str | None = None,
    progress: Progress = silent,
) -> TableSnapshot:
    """Create an index over partition columns.

    Args:
        table: any version of the table.
        columns: the partition columns; queries should have conditions on the first ones.
        name: the index's name, or None for the names of the columns, joined by ``_``.
        progress: called with the number of partitions that have their entry, and of all.

    Returns:
        The first version that uses the index.

    Raises:
        ColumnNotFoundError: a column is not a partition column.
        IndexExistsError: such an index exists, or another process has begun it meanwhile.
        UnsupportedError: the index would not help any query.
        CommitConflictError: others keep changing the table's metadata.
        IndexNotFoundError: the index was dropped, or the table replaced, while it was being built.
        TableNotFoundError: the table was dropped.
    """

    def announce(metadata: TableMetadata) -> tuple[PartitionIndex, Indexes]:
        index = new_index(metadata, columns, name)
        unfinished = [i for i in metadata.indexes if i.name == index.name or i.order == index.order]
        return index, (*(i for i in metadata.indexes if i not in unfinished), index)

    return _build(table, announce, progress)


def rebuild_index(
    table: TableSnapshot, index: str | Sequence[str], progress: Progress = silent
) -> TableSnapshot:
    """Build an index anew; meanwhile queries use the old one.

    Args:
        table: any version of the table.
        index: the index's name, or its columns.
        progress: called with the number of partitions that have their entry, and of all.

    Returns:
        The first version that uses the new index.

    Raises:
        IndexExistsError: another process has begun to build the same index meanwhile.
        IndexNotFoundError: no such index exists, or it was dropped, or the table replaced, meanwhile.
        CommitConflictError: others keep changing the table's metadata.
        TableNotFoundError: the table was dropped.
    """

    def announce(metadata: TableMetadata) -> tuple[PartitionIndex, Indexes]:
        old = _find_index(metadata, index)
        others = tuple(i for i in metadata.indexes if i.name != old.name or i.ready)
        bare = msgspec.structs.replace(metadata, indexes=())
        new = new_index(bare, index_columns(metadata, old), old.name)
        return new, (*others, new)

    return _build(table, announce, progress)


def drop_index(table: TableSnapshot, index: str | Sequence[str]) -> TableSnapshot:
    """Drop an index. The next vacuum deletes its entries, since queries of earlier versions may still use it.

    Args:
        table: any version of the table.
        index: the index's name, or its columns.

    Raises:
        IndexNotFoundError: no such index exists.
        CommitConflictError: others keep changing the table's metadata.
        TableNotFoundError: the table was dropped.
    """

    def remove_index(metadata: TableMetadata) -> Indexes:
        name = _find_index(metadata, index).name
        return tuple(other for other in metadata.indexes if other.name != name)

    return _commit(table, "drop index", remove_index)


def _find_index(metadata: TableMetadata, index: str | Sequence[str]) -> PartitionIndex:
    if isinstance(index, str):
        return find_index(metadata, index)
    asked = [column.lower() for column in index]
    for each in metadata.indexes:
        if [column.lower() for column in index_columns(metadata, each)] == asked:
            return each
    return find_index(metadata, f"({', '.join(index)})")


def _build(
    table: TableSnapshot,
    announce: Callable[[TableMetadata], tuple[PartitionIndex, Indexes]],
    progress: Progress,
) -> TableSnapshot:
    announced: list[PartitionIndex] = []

    def begin(metadata: TableMetadata) -> Indexes:
        index, indexes = announce(metadata)
        announced[:] = [index]
        return indexes

    def finish(metadata: TableMetadata) -> Indexes:
        if index not in metadata.indexes:
            raise _overtaken_error(index, metadata, table.label)
        ready = msgspec.structs.replace(index, ready=True)
        others = (other for other in metadata.indexes if other.name != index.name)
        return (*others, ready)

    first = _commit(table, "create index", begin)
    (index,) = announced
    _fill(first, index, progress)
    return _commit(first, "index built", finish)


def _overtaken_error(index: PartitionIndex, metadata: TableMetadata, table: str) -> ParquetryError:
    """Return the error of an index that the table no longer has when all its entries are written.

    Args:
        index: as it was announced.
        metadata: of the table now.
        table: its name.
    """
    others = [each for each in metadata.indexes if each.name == index.name or each.order == index.order]
    if not others:
        return IndexNotFoundError(
            f"Index {index.name!r} of table {table} was dropped, or the table replaced, while it was being built: create it "
            "again."
        )
    other = next((each for each in others if each.ready), others[0])
    state = "built" if other.ready else "begun to build"
    use = (
        "It is in use: nothing is left to do"
        if other.ready
        else "Wait for that, or create it again if it was interrupted"
    )
    return IndexExistsError(
        f"Index {index.name!r} of table {table} was not made: another process has {state} the index {other.name!r} on "
        f"({', '.join(index_columns(metadata, other))}) meanwhile. {use}; for another index, drop this one first, or choose "
        "another name and other columns."
    )


def _fill(table: TableSnapshot, index: PartitionIndex, progress: Progress) -> None:
    """Write the entries of all partitions of the version that announced the index."""
    rows = ((partition.key, complement(partition.ticket), b"") for partition in table.partitions())
    done = 0
    for batch in in_batches(rows, _ROWS_PER_BATCH):
        table.store.put_many(entry_rows(table.id, [index], batch), fields_of)
        done += len(batch)
        progress("Indexing partitions", done, table.totals.partitions)


def _commit(
    table: TableSnapshot, operation: str, change: Callable[[TableMetadata], Indexes]
) -> TableSnapshot:
    """Change the indexes in a table's metadata; repeat after conflicts."""
    for _ in range(MAX_COMMIT_ATTEMPTS - 1):
        with contextlib.suppress(CommitConflictError):
            return _try_commit(table, operation, change)
    return _try_commit(table, operation, change)


def _try_commit(
    table: TableSnapshot, operation: str, change: Callable[[TableMetadata], Indexes]
) -> TableSnapshot:
    now = table.refresh()
    transaction = Transaction(now, operation)
    transaction.set_metadata(msgspec.structs.replace(now.metadata, indexes=change(now.metadata)))
    return commit(transaction)
