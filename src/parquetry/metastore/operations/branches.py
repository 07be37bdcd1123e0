"""Branches: a line of versions beside a table's own, which readers of the table do not see.

A branch begins as a copy of the rows of one version. It is a table of its own to the code that reads and
commits: it has an id, a head and rows. No name leads to it. The head of its table names it, so one
compare-and-set decides between a new branch and a vacuum or a DROP. A branch that no head names is an orphan,
whose rows the next vacuum of any table deletes.

**Files.** A branch writes into the table's folder, and its files bear the table's id. So publishing moves no
file. A branch never deletes a file. The table's vacuum does, and it keeps what any row of a branch
lists (`vacuuming.find_unneeded_files`). It also keeps the version that the branch began with.

**Publishing.** The partitions that differ between the branch and the version that it began with become one
commit of the table. It conflicts with others' commits like any transaction on that version, and its
compare-and-set also takes the branch out of the head. So a branch is published once. Before, the branch is
closed to commits: a commit that came later would be lost.

| step                                              | after a crash here                                     |
|---------------------------------------------------|--------------------------------------------------------|
| the branch's head says `publishing`               | a write is refused; publishing again, or a drop, works |
| the table's head notes the turn of the publisher  | the same; an earlier publisher can commit nothing      |
| the commit, which ends the branch                 | the branch is published                                |
| the branch's rows are deleted                     | the next vacuum deletes them                           |
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.errors import (
    CommitConflictError,
    CommitUnknownError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from parquetry.locations import join_location
from parquetry.metastore.cleanup.retention import delete_table, end_branch
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.file_access import require_files
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.namespace.names import new_token
from parquetry.metastore.operations.tags import require_ref_name
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.refs.heads import branch_in, without_branch
from parquetry.metastore.refs.names import branch_name
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import BRANCHED, require_format
from parquetry.metastore.storage.head import Branch, Head, edit_head, live_head, merge, pause, read_head, swap
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.vacuuming.delete_files import is_written
from parquetry.metastore.versions.changes_between import TouchedPartitions, file_difference, partitions_of
from parquetry.metastore.versions.indexes import entry_rows
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.store import Store, in_batches

MAX_BRANCHES = 100
"""Branches of one table: each commit of it writes their records again, and each vacuum reads their rows."""
PUBLISHES = "publish_branch"
"""The operation of the commit that publishes a branch, in the history."""
PATIENCE_S = 30.0
"""Seconds to wait for running commits of a branch before it is published."""
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


def branches_of(table: TableSnapshot) -> list[TableBranch]:
    """Return the branches of a table, by name.

    Args:
        table: any version of the table.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped meanwhile.")
    found = []
    for name, branch in sorted(head.branches.items()):
        own = read_head(table.store, branch.id)
        if own is not None and not own.is_deleted:  # else it has just ended
            found.append(_describe(name, branch, own))
    return found


def _describe(name: str, branch: Branch, head: Head) -> TableBranch:
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
        _require_open(table, head)
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
    return _describe(name, made, head)


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


def _require_open(table: TableSnapshot, head: Head) -> None:
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
            found = zip(batch, values, strict=True)
            store.put_many([(key_of(branch, *chunk), value) for chunk, value in found if value is not None])


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
        _require_open(table, head)
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
    _remove_rows(table.store, branch.id)
    return TableBranch(
        name, branch.version if own is None else own.commit.version, branch.version, branch.created_at
    )


def _remove_rows(store: Store, branch: bytes) -> None:
    """Remove the rows of a branch that its table no longer names. If that fails, a vacuum does it."""
    with contextlib.suppress(ParquetryError):
        end_branch(store, branch)
        delete_table(store, branch)


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
    with active_owner() as owner, _closed(table, name, owner) as (branch, head):
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
    _remove_rows(table.store, branch.id)
    return PublishedBranch(_describe(name, branch, head), before, after)


@contextlib.contextmanager
def _closed(table: TableSnapshot, name: str, owner: Owner) -> Iterator[tuple[Branch, Head]]:
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
        _require_open(table, head)
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
    is_same_place = old is None or (old.location, old.arrangement) == (new.location, new.arrangement)
    location = None if old is not None and old.location == new.location else new.entry.location
    if is_same_place and not lost and (old is not None or brought):
        if brought:
            transaction.append(values, brought, location, new.arrangement)
    else:
        place = location or (None if old is None or old.location == new.location else new.location)
        transaction.replace(values, new.files, place, new.arrangement)
    return [join_location(new.location, file.path) for file in brought]


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
