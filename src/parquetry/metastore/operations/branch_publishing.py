"""Publish a branch: make its changes a version of its table.

The partitions that differ between the branch and the version that it began with become one commit of the
table. It conflicts with others' commits like any transaction on that version, and its compare-and-set also
takes the branch out of the head. So a branch is published once. Before, the branch is closed to commits: a
commit that came later would be lost.

| step                                              | after a crash here                                     |
|---------------------------------------------------|--------------------------------------------------------|
| the branch's head says `publishing`               | a write is refused; publishing again, or a drop, works |
| the table's head notes the turn of the publisher  | the same; an earlier publisher can commit nothing      |
| the commit, which ends the branch                 | the branch is published                                |
| the branch's rows are deleted                     | the next vacuum deletes them                           |
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from parquetry.errors import CommitConflictError, CommitUnknownError, ParquetryError, TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.file_access import require_files
from parquetry.metastore.operations.branches import (
    PUBLISHES,
    TableBranch,
    describe_branch,
    remove_rows_of_branch,
    require_undropped,
)
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.refs.heads import branch_in, without_branch
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import BRANCHED, require_format
from parquetry.metastore.storage.head import Branch, Head, edit_head, live_head, merge, pause
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.vacuuming.delete_files import is_written
from parquetry.metastore.versions.changes_between import TouchedPartitions, file_difference, partitions_of
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.store import Store

PATIENCE_S = 30.0
"""Seconds to wait for running commits of a branch before it is published."""


@dataclass(frozen=True, slots=True)
class PublishedBranch:
    """A branch that was published.

    Attributes:
        branch: the branch as it was.
        before: the table's newest version before the commit.
        after: the version that shows the branch's rows; `before` if the branch had changed nothing.
    """

    branch: TableBranch
    before: TableSnapshot
    after: TableSnapshot


def publish_branch(table: TableSnapshot, name: str) -> PublishedBranch:
    """Make the changes of a branch a version of its table, in one commit which ends the branch.

    Files stay where they are. If a branch has only appended to a partition, its files are appended to what
    others have made of it since. Any other change of a partition conflicts with others' changes of it.

    Args:
        table: any version of the table.
        name: the branch.

    Raises:
        CommitConflictError: others have changed the same partitions, or the table's definition, since the
            branch began; commits to the branch go on; or others are publishing it. The branch stays.
        CommitUnknownError: the store does not answer whether the commit took place.
        TableNotFoundError: the table has no such branch, or was dropped meanwhile.
        FileMissingError: a file of the branch does not exist.
    """
    require_no_draft(table, "A branch")
    ownership_of(table.store).require(now=True)
    name = name.lower()
    with active_owner() as owner, _hold_closed(table, name, owner) as (branch, head):
        before = table.refresh()
        transaction = _changes(table, name, branch, head)
        if transaction.changes or transaction.metadata is not None:
            versions = head.commit.version - branch.version
            after = commit(transaction, {"branch": name, "branch_versions": str(versions)})
        else:
            after = before
            edit_head(
                table.store,
                table.id,
                lambda head: without_branch(head, name, branch),
                lambda head: name not in head.branches,
            )
    remove_rows_of_branch(table.store, branch.id)
    return PublishedBranch(describe_branch(name, branch, head), before, after)


@contextlib.contextmanager
def _hold_closed(table: TableSnapshot, name: str, owner: Owner) -> Iterator[tuple[Branch, Head]]:
    """Close a branch to commits while the block runs. Yield its record in the table's head, and its head."""
    store, deadline = table.store, time.monotonic() + PATIENCE_S
    base = live_head(store, table.id, f"Table {table.label} was dropped meanwhile.")
    id, attempt = branch_in(base, name).id, 0
    while (head := _close(table, name, id, owner)) is None:
        if time.monotonic() > deadline:
            raise CommitConflictError(
                f"Branch {name!r} of table {table.label} is not published: a write to it has gone on for {PATIENCE_S:.0f} s. "
                "Publish it when that has ended."
            )
        attempt += 1
        pause(attempt)
    try:
        yield _take_turn(table, name, id), head
    except CommitUnknownError:
        raise  # it may be published; the next publisher will see
    except BaseException:
        with contextlib.suppress(ParquetryError):  # a later publisher can go on
            _reopen(store, id, owner)
        raise


def _close(table: TableSnapshot, name: str, id: bytes, owner: Owner) -> Head | None:
    """Close a branch, and return its head, or None if a commit to it is under way."""
    now = store_now_ms(table.store)
    mine = msgspec.structs.replace(owner, started_at=now)

    def change(head: Head) -> Head:
        if head.is_deleted:
            raise TableNotFoundError(
                f"Branch {name!r} of table {table.label} was dropped or published meanwhile."
            )
        others = head.author is not None and head.author.nonce != owner.nonce
        if head.state == "publishing" and others and head.author is not None and not head.author.is_dead(now):
            raise CommitConflictError(
                f"Branch {name!r} of table {table.label} is being published by others; nothing was written."
            )
        if is_written(head, now):
            return head
        aborted = merge(head.aborted, ((ticket, ticket) for ticket in head.pending))
        return msgspec.structs.replace(head, state="publishing", author=mine, pending={}, aborted=aborted)

    def is_done(head: Head) -> bool:
        return head.state == "publishing" and head.author == mine

    head = edit_head(table.store, id, change, is_done)
    return head if is_done(head) else None


def _reopen(store: Store, branch: bytes, owner: Owner) -> None:
    """Open a branch to commits again, if it is still this process that has closed it."""

    def is_mine(head: Head) -> bool:
        return head.state == "publishing" and head.author is not None and head.author.nonce == owner.nonce

    edit_head(
        store,
        branch,
        lambda head: msgspec.structs.replace(head, state="branch", author=None) if is_mine(head) else head,
        lambda head: not is_mine(head),
    )


def _take_turn(table: TableSnapshot, name: str, id: bytes) -> Branch:
    """Note in the table's head that a publisher begins, so that an earlier one commits nothing."""
    made: list[Branch] = []

    def change(head: Head) -> Head:
        require_undropped(table, head)
        require_format(table.store, BRANCHED)
        branch = branch_in(head, name)
        if branch.id != id:
            raise TableNotFoundError(
                f"Branch {name!r} of table {table.label} was dropped or published meanwhile."
            )
        made.append(msgspec.structs.replace(branch, turn=branch.turn + 1))
        return msgspec.structs.replace(head, branches={**head.branches, name: made[-1]})

    edit_head(table.store, table.id, change, lambda head: bool(made) and head.branches.get(name) == made[-1])
    return made[-1]


def _changes(table: TableSnapshot, name: str, branch: Branch, own: Head) -> Transaction:
    """Return what a branch has changed, as a transaction on the version that it began with."""
    store = table.store
    head = live_head(store, table.id, f"Table {table.label} was dropped meanwhile.")
    begun = load_commit(store, table.id, head, branch.version)
    first = load_commit(store, branch.id, own, branch.version)
    if begun is None or first is None or begun.id != first.id:
        raise CommitConflictError(
            f"Branch {name!r} of table {table.label} cannot be published: the metastore was restored from a dump, which lacks "
            "the version that it began with. INSERT its rows, and drop it (CALL system.drop_branch)."
        )
    base = load(store, table.id, head, begun)
    new, old = load(store, branch.id, own), load(store, branch.id, own, first)
    transaction = Transaction(base, PUBLISHES)
    transaction.ends_branch = name, branch
    if new.metadata != old.metadata:  # a write has added columns
        transaction.set_metadata(msgspec.structs.replace(new.metadata, indexes=base.metadata.indexes))
    locations: list[str] = []
    commits = list(new.history(first.version + 1))
    keys = TouchedPartitions().find_written_keys(new, commits) if commits else []
    now, before = partitions_of(new, keys), partitions_of(old, keys)
    for key in keys:
        locations += _change(transaction, new, key, before.get(key), now.get(key))
    transaction.requirements.adopt(lambda: require_files(table.label, locations, base.metadata.location))
    return transaction


def _change(
    transaction: Transaction,
    branch: TableSnapshot,
    key: bytes,
    old: PartitionSnapshot | None,
    new: PartitionSnapshot | None,
) -> list[str]:
    """Add the change of one partition to a transaction, and return the locations of its new files."""
    values = branch.placement.values_of(key)
    if new is None:
        if old is not None:
            transaction.drop(values)
        return []
    brought, lost = file_difference(old, new)
    if old is None:
        location, appends = new.entry.location, bool(brought)
    else:
        location = None if old.location == new.location else new.location
        appends = location is None and old.arrangement == new.arrangement and not lost
    if not appends:
        transaction.replace(values, new.files, location, new.arrangement)
    elif brought:
        transaction.append(values, brought, location, new.arrangement)
    return [join_location(new.location, file.path) for file in brought]
