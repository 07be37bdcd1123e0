"""Branches: a line of versions beside a table's own, which readers of the table do not see.

A branch begins as a copy of the rows of one version. It is a table of its own to the code that reads and
commits: it has an id, a head and rows. No name leads to it. The head of its table names it, so one
compare-and-set decides between a new branch and a vacuum or a DROP. A branch that no head names is an orphan,
whose rows the next vacuum of any table deletes.

**Files.** A branch writes into the table's folder, and its files bear the table's id. So publishing moves no
file. A branch never deletes a file. The table's vacuum does, and it keeps what any row of a branch lists
(`vacuuming.find_unneeded_files`). It also keeps the version that the branch began with.

`branch_publishing` makes a branch a version of its table.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from parquetry.errors import (
    ParquetryError,
    StoreError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from parquetry.metastore.cleanup.retention import delete_table, end_branch
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.namespace.names import new_token
from parquetry.metastore.operations.tags import require_ref_name
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.partition_rows.indexes import entry_rows
from parquetry.metastore.refs.heads import branch_in, without_branch
from parquetry.metastore.refs.names import branch_name
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import BRANCHED, require_format
from parquetry.metastore.storage.head import Branch, Head, edit_head, live_head, read_head, swap
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.store import Store, in_batches

MAX_BRANCHES = 100
"""Branches of one table: each commit of it writes their records again, and each vacuum reads their rows."""
PUBLISHES = "publish_branch"
"""The operation of the commit that publishes a branch, in the history."""
_FORBIDDEN = frozenset("/\\`")
_ROWS_PER_BATCH = 1000


@dataclass(frozen=True, slots=True)
class TableBranch:
    """A branch of a table.

    Attributes:
        name: the branch.
        version: number of its newest version.
        begins: number of the table's version that it began with.
        created_at: when it was made, in milliseconds since the epoch.
    """

    name: str
    version: int
    begins: int
    created_at: int


def branches_of(table: TableSnapshot) -> list[TableBranch]:
    """Return the branches of a table, by name.

    Args:
        table: any version of the table.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.")
    branches = []
    for name, branch in sorted(head.branches.items()):
        own = read_head(table.store, branch.id)
        if own is not None and not own.is_deleted:  # else it has just ended
            branches.append(describe_branch(name, branch, own))
    return branches


def describe_branch(name: str, branch: Branch, head: Head) -> TableBranch:
    """Return a branch by its name, its record in the table's head, and its own head."""
    return TableBranch(name, head.commit.version, branch.version, branch.created_at)


def create_branch(table: TableSnapshot, name: str) -> TableBranch:
    """Make a branch that begins with a version of a table.

    The first branch raises the format of the metastore to 9.

    Args:
        table: the version.
        name: the branch, in any letter case.

    Raises:
        UnsupportedError: no branch can have the name, or a branch or a tag has it. Or the table has too many
            branches, is a branch itself, or has files of the original of a copied warehouse.
        VersionNotFoundError: a vacuum has retired the version meanwhile.
        TableNotFoundError: the table was dropped meanwhile.
    """
    name = _require_possible(table, name)
    require_format(table.store, BRANCHED)
    now = store_now_ms(table.store)
    made = Branch(os.urandom(keyspace.TABLE_ID_BYTES), table.version, now)

    def change(head: Head) -> Head:
        require_undropped(table, head)
        _require_free(table, head, name, made)
        if not head.oldest <= table.version <= head.commit.version:
            raise VersionNotFoundError(
                f"Version {table.version} of table {table.label} was vacuumed away meanwhile, so branch {name!r} cannot begin "
                f"with it; the oldest is {head.oldest}."
            )
        branches = {**head.branches, name: made}
        return msgspec.structs.replace(head, branches=branches, next_ticket=head.next_ticket + 1)

    _require_free(
        table, live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile."), name
    )
    with active_owner() as owner:
        head = _copy_rows(table, name, made.id, msgspec.structs.replace(owner, started_at=now))
        edit_head(table.store, table.id, change, lambda head: head.branches.get(name) == made)
        # It was taken for dead if this took a week: then it is not to be found empty.
        live_head(table.store, made.id, f"Branch {name!r} of table {table.label} was dropped meanwhile.")
    return describe_branch(name, made, head)


def _require_possible(table: TableSnapshot, name: str) -> str:
    """Make sure that a table can have a branch of a name, and return the name as it is kept."""
    require_no_draft(table, "A branch")
    require_ref_name(table, name, "a branch")
    if any(char in _FORBIDDEN for char in name):
        raise UnsupportedError(
            f"{name!r} cannot be a branch of table {table.label}: it holds a slash, a backslash or a backtick. Choose "
            "another name."
        )
    if table.branch_of:
        raise UnsupportedError(
            f"{table.label} is a branch already: branches begin with versions of tables. Publish it first."
        )
    ownership_of(table.store).require(now=True)
    if ownership_of(table.store).shares(table.id):
        raise UnsupportedError(
            f"Table {table.label} cannot have a branch: its files belong to the original of this copied warehouse."
        )
    return name.lower()


def require_undropped(table: TableSnapshot, head: Head) -> None:
    """Make sure that a head is no dropped table's."""
    if head.is_deleted:
        raise TableNotFoundError(f"Table {table.label} was {head.state} meanwhile; nothing was changed.")


def _require_free(table: TableSnapshot, head: Head, name: str, made: Branch | None = None) -> None:
    """Make sure that a table has no other branch, and no tag, of a name."""
    if name in head.branches and head.branches[name] != made:
        raise UnsupportedError(
            f"Table {table.label} has a branch {name!r} already: choose another name, or drop it (CALL "
            "system.drop_branch)."
        )
    if any(tag.lower() == name for tag in head.tags):
        raise UnsupportedError(
            f"Table {table.label} has a tag {name!r}, so no branch can have this name: choose another one."
        )
    if len(head.branches) >= MAX_BRANCHES:
        raise UnsupportedError(
            f"Table {table.label} has {MAX_BRANCHES} branches already, so it cannot have branch {name!r}: publish or drop "
            "some first."
        )


def _copy_rows(table: TableSnapshot, name: str, id: bytes, author: Owner) -> Head:
    """Write the rows of a branch that nothing names yet, and return its head."""
    store, commit = table.store, msgspec.structs.replace(table.commit, ranges=b"", aborted=())
    head = Head(
        "branch",
        table.database,
        branch_name(table.name, name),
        new_token(),
        commit.next_ticket,
        {},
        (),
        commit,
        oldest=commit.version,
        author=author,
        branch_of=table.id,
    )
    # As for a new table, the head comes first: it says whose the other rows are.
    if not swap(store, keyspace.head_key(id), None, encode(head)):
        raise StoreError(f"The head of a new branch, {id.hex()}, could not be written; try again.")
    indexes = tuple(index for index in table.metadata.indexes if index.ready)
    metadata = msgspec.structs.replace(table.metadata, indexes=indexes)
    store.put_many([(keyspace.metadata_key(id, commit.metadata), encode(metadata))])
    rows = table.visible.scan([(b"", None)], single=not table.partition_types)
    for batch in in_batches(rows, _ROWS_PER_BATCH):
        chunks = {
            (chunk.ticket, chunk.number) for _, _, value in batch for chunk in decode_entry(value).chunks
        }
        _copy_chunks(store, table.id, id, sorted(chunks))
        copied = [(keyspace.partition_prefix(id) + key + age, value) for key, age, value in batch]
        copied += entry_rows(id, indexes, batch)
        store.put_many(copied, keyspace.fields_of)
    records = keyspace.removed_files_prefix(id)
    for batch in in_batches(table.visible.removed_file_records().scan([(b"", None)]), _ROWS_PER_BATCH):
        store.put_many([(records + key + age, value) for key, age, value in batch])
    table.check_kept()
    return head


def _copy_chunks(store: Store, table: bytes, branch: bytes, chunks: Sequence[tuple[int, int]]) -> None:
    for batch in in_batches(chunks, _ROWS_PER_BATCH // 10):
        for key_of in (keyspace.chunk_key, keyspace.summary_key):
            values = store.get_many([key_of(table, *chunk) for chunk in batch])
            rows = zip(batch, values, strict=True)
            store.put_many([(key_of(branch, *chunk), value) for chunk, value in rows if value is not None])


def drop_branch(table: TableSnapshot, name: str) -> TableBranch:
    """Drop a branch. The next vacuum of the table deletes the files that only the branch has listed.

    Args:
        table: any version of the table.
        name: the branch.

    Returns:
        The branch as it was.

    Raises:
        TableNotFoundError: the table has no such branch, or was dropped meanwhile.
    """
    require_no_draft(table, "A branch")
    ownership_of(table.store).require(now=True)
    name = name.lower()
    seen: list[tuple[Branch, int]] = []

    def change(head: Head) -> Head:
        require_undropped(table, head)
        require_format(table.store, BRANCHED)
        branch = branch_in(head, name)
        seen.append((branch, head.commit.version))
        return msgspec.structs.replace(without_branch(head, name, branch), next_ticket=head.next_ticket + 1)

    head = edit_head(table.store, table.id, change, lambda head: name not in head.branches)
    branch, version = seen[-1]
    # Others may have ended it, and this looks like a change of ours whose answer was lost.
    for commit_ in load(table.store, table.id, head).history(version + 1):
        if commit_.operation == PUBLISHES and commit_.summary.get("branch") == name:
            raise TableNotFoundError(
                f"Branch {name!r} of table {table.label} was published in version {commit_.version}, and not dropped."
            )
    own = read_head(table.store, branch.id)
    remove_rows_of_branch(table.store, branch.id)
    return TableBranch(
        name, branch.version if own is None else own.commit.version, branch.version, branch.created_at
    )


def remove_rows_of_branch(store: Store, branch: bytes) -> None:
    """Remove the rows of a branch that its table no longer names. If that fails, a vacuum does it."""
    with contextlib.suppress(ParquetryError):
        end_branch(store, branch)
        delete_table(store, branch)


def require_table(table: TableSnapshot) -> TableSnapshot:
    """Return a version of a table, which must not be of a branch: no operation works on branches.

    Raises:
        UnsupportedError: it is of a branch.
    """
    if table.branch_of:
        raise UnsupportedError(
            f"{table.label} is a branch, on which this does not work: name the table, or publish the branch first (CALL "
            "system.publish_branch)."
        )
    return table
