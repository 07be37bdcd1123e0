"""Remove what a table keeps of rows beside its files and versions: statements, logs, paths of removed files.

`operations.erase` calls these functions after it has deleted rows. A vacuum removes the versions that have
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from parquetry.locations import StoragePath, join_location
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed, live_files
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.deletion.owned_files import OwnedFiles, recorded_files
from parquetry.metastore.range_manifests.upkeep import has_ranges
from parquetry.metastore.storage.head import Head, edit_head, live_head
from parquetry.metastore.storage.keyspace import COMMITS, RANGE_MANIFESTS, delete_prefix, prefix_range
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.scrub import scrub
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot, load


@dataclass(frozen=True, slots=True)
class Logs:
    """Files that a table has written for other readers.

    Attributes:
        manifests: Iceberg's manifests, and lists of them.
        delta: files of the table's Delta log; none if another program wrote the log.
    """

    manifests: frozenset[StoragePath]
    delta: frozenset[StoragePath]


def find_logs(table: TableSnapshot) -> Logs:
    """Return the files in a table's folder that it has written for other readers.

    Raises:
        WarehouseError: the folder cannot be listed.
    """
    files = FileAccess()
    owned = OwnedFiles(table.store, table.id, table.metadata, files)
    manifests, delta = owned.logs({path for path, _ in files.below(owned.root)})
    return Logs(frozenset(manifests), frozenset(delta))


def delete_logs(table: TableSnapshot, logs: Logs) -> list[str]:
    """Delete files for other readers, and return a message for each one that could not be deleted.

    The first commit of a Delta log goes first, so that no reader takes the rest for an older version.
    """
    owned = OwnedFiles(table.store, table.id, table.metadata, FileAccess())
    return owned.delete(sorted(logs.manifests | logs.delta))


def redact_statements(table: TableSnapshot) -> int:
    """Take the statements out of the history, and return the number of versions that had one.

    Args:
        table: any version of the table.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    store, id = table.store, table.id
    newest = live_head(store, id, f"Table {table.label} was dropped meanwhile.")
    count = 0 if newest.commit.author.statement is None else 1

    def change(head: Head) -> Head:
        # The head comes first: a writer who moves its commit to a row now has to begin again.
        if head.commit.author.statement is None:
            return head
        return msgspec.structs.replace(head, commit=_without_statement(head.commit))

    edit_head(store, id, change, lambda head: head.commit.author.statement is None)
    decode = decoder(CommitRecord).decode
    for key, value in list(store.scan(*prefix_range(COMMITS + id))):
        record: CommitRecord = decode(value)
        if record.author.statement is not None:
            # a vacuum may delete the row meanwhile, and it must not come back
            count += store.compare_and_set(key, value, encode(_without_statement(record)))
    return count


def _without_statement(record: CommitRecord) -> CommitRecord:
    assert record.origin is not None  # else there is no statement
    author = msgspec.structs.replace(record.origin.author, statement=None)
    return msgspec.structs.replace(record, origin=msgspec.structs.replace(record.origin, author=author))


def withdraw_removed_files(table: TableSnapshot) -> TableSnapshot | None:
    """Withdraw the records of removed files that do not exist any more: their paths may have values.

    Args:
        table: the newest version.

    Returns:
        The new version, or None if there is no such record.
    """
    location = table.metadata.location
    paths = {each.path: join_location(location, each.path) for each in files_removed(table)}
    existing = set(existing_files(paths.values()))
    withdrawn = [path for path, whole in paths.items() if whole not in existing]
    if not withdrawn:
        return None
    transaction = Transaction(table, "erase")
    transaction.record_removed_files(dict.fromkeys(withdrawn))
    return commit(transaction)


def files_of_old_versions(table: TableSnapshot) -> set[str]:
    """Return the locations of files that some row of a table lists, and the version does not.

    Args:
        table: the newest version.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.")
    return set(recorded_files(table.store, table.id, head)) - {path for path, _ in live_files(table)}


def existing_files(locations: Iterable[str]) -> list[str]:
    """Return the locations at which files are, in order."""
    files = FileAccess()
    paths = {files.storage_path(location): location for location in locations}
    return sorted(paths[path] for path, info in files.infos(paths) if info is not None)


def scrub_store(table: TableSnapshot) -> str | None:
    """Remove lists that no plan uses any more, and write the store's files anew, as far as it has any.

    Returns:
        What keeps bytes of deleted rows nevertheless, or None.
    """
    store, id = table.store, table.id
    head = live_head(store, id, f"Table {table.label} was dropped meanwhile.")
    if head.commit.ranges and not has_ranges(load(store, id, head)):

        def change(head: Head) -> Head:
            return msgspec.structs.replace(head, commit=msgspec.structs.replace(head.commit, ranges=b""))

        edit_head(store, id, change, lambda head: not head.commit.ranges)
        delete_prefix(store, RANGE_MANIFESTS + id)
    return scrub(store, whole=True)
