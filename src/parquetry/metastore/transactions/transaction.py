"""The changes of a commit with what they rely on, collected before anything is written.

`change_set` gathers the changes, `requirements` what must be true, and `committer.commit` makes them visible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from parquetry.errors import UnsupportedError
from parquetry.metastore.storage.head import Branch
from parquetry.metastore.storage.model import RemovedFileRecord, StreamBatch, TableMetadata
from parquetry.metastore.transactions.change_set import ChangeSet
from parquetry.metastore.transactions.changes import Change, Requirements, Scope
from parquetry.metastore.versions.partition import TablePlacement
from parquetry.metastore.versions.snapshot import TableSnapshot


class Transaction(ChangeSet):
    """Changes to a table on top of one version of it, which one commit makes visible together.

    **What it is.** A list of changes to partitions, at most one for each, and perhaps new metadata. Several
    calls for one partition add up. Gathering changes writes nothing. `commit` then checks the changes against
    `base`, compares them with what others have committed since, and makes all of them visible in one step.

    **Example.** Version 1 has the partitions d=1 with files a and b, and d=2 with file c. We append file m to
    d=1 and drop d=2. Before we commit, another writer appends file z to d=1.

    >>> from parquetry.metastore import (
    ...     FileRecord, TableColumn, TableMetadata, Transaction, commit, open_metastore
    ... )
    >>> a, b, c, m, z = (FileRecord(name, bytes=100, rows=10) for name in "abcmz")
    >>> metadata = TableMetadata((TableColumn("d", "int"), TableColumn("x", "int")), ("d",), "parquet", "/lake/t")
    >>> fill = Transaction(open_metastore("/lake", "memory").create_table("default", "t", metadata), "fill")
    >>> fill.append((1,), [a, b])
    >>> fill.append((2,), [c])
    >>> version_1 = commit(fill)

    >>> ours, theirs = Transaction(version_1, "change"), Transaction(version_1, "append")
    >>> ours.append((1,), [m])
    >>> ours.drop((2,))
    >>> theirs.append((1,), [z])
    >>> commit(theirs).version, commit(ours).version
    (2, 3)
    >>> [(each.values, [file.path for file in each.files]) for each in version_1.refresh().partitions()]
    [((1,), ['a', 'b', 'z', 'm'])]

    Our append was merged with theirs. Other commits of the other writer would have had these outcomes:

    | the other writer  | our commit                                                                |
    |-------------------|---------------------------------------------------------------------------|
    | replaces d=1 by z | succeeds: d=1 has z and m, as an append does not depend on other files    |
    | drops d=1         | succeeds: d=1 is made anew with m                                         |
    | appends z to d=9  | succeeds: d=1 has a, b and m, and d=9 has z                               |
    | appends z to d=2  | raises CommitConflictError: we decided to drop d=2 before it had z        |

    **What it is not.**

    - It holds no lock, and reads nothing for its caller. If the changes depend on partitions that the caller
      has read, `requirements.rely_on` names them; then the commit fails if they have changed.
    - It covers one table. Two tables need two commits.
    - It neither writes nor deletes data files. The caller writes them before the commit. If the commit fails,
      the caller may delete them, but only if `may_be_visible` is False.
    - It cannot be committed twice, even after a failure: begin another one on the newest version.

    **Why not otherwise.** Locks on partitions would outlive a writer that dies, and HBase offers nothing to
    take many of them at once. Conflicts of whole versions instead of partitions would let one of two writers
    to different partitions fail.

    **Reference.** Kung and Robinson, *On Optimistic Methods for Concurrency Control*, ACM TODS 1981. The
    protocol is in `commits.committer`, and its rules in `commits.conflicts`.

    Args:
        base: the version.
        operation: name of the change in the history, such as ``append``.

    Attributes:
        may_be_visible: whether a version may show the changes, because the commit took place or may have.
            Only if it is False may the files of a failed transaction be deleted.
        requirements: what must be true when the changes become visible.
        records: whether the commit records the foreign files that it removes; see `removed_files`.
        ends_branch: name and record of the branch that the commit publishes and takes out of the head, or
            None.
        untouched: makes the notes for the history if a scope drops partitions that get no files; see
            `note_untouched`.
    """

    def __init__(self, base: TableSnapshot, operation: str) -> None:
        super().__init__(base)
        self.may_be_visible = False
        self.operation = operation
        self.requirements = Requirements(base.commit.next_ticket)
        self.records = True
        self.removed_files: dict[str, RemovedFileRecord | None] = {}
        self.batch: StreamBatch | None = None
        self.successor: TableSnapshot | None = None
        self.ends_branch: tuple[str, Branch] | None = None
        self.untouched: Callable[[int, int], Mapping[str, str]] | None = None
        self._done = False

    @property
    def remedy(self) -> str:
        """Return what to do after a conflict with others' changes, for messages."""
        if self.ends_branch is None:
            return "run it again"
        return (
            "repeat the statements in another branch, and drop this one (CALL system.drop_branch): "
            f"{self.ends_branch[0]!r}"
        )

    def leave_records(self) -> None:
        """Write no records of the files that this transaction removes: they are deleted or other files now.

        The records of files that it lists are still withdrawn.
        """
        self.records = False

    def record_removed_files(self, files: Mapping[str, RemovedFileRecord | None]) -> None:
        """Set records of removed foreign files, besides the records that follow from the changes.

        Args:
            files: the records by paths below the table's location; None withdraws a record.
        """
        self.removed_files.update(files)

    def note_untouched(self, notes: Callable[[int, int], Mapping[str, str]]) -> None:
        """Say in the history that the commit takes out partitions which get no rows, if it does.

        Args:
            notes: returns texts by key, from the number of these partitions and the version before.
        """
        self.untouched = notes

    def set_stream_batch(self, batch: StreamBatch) -> None:
        """Name the batch of a streaming query that this transaction writes.

        A batch is committed only once.
        """
        self.batch = batch

    def become(self, successor: TableSnapshot, changes: Mapping[bytes, Change]) -> None:
        """Replace the table's columns, partition columns and content.

        The next version keeps nothing of `base`.

        The commit conflicts with any other commit.

        Args:
            successor: the table with its new definition, which decodes the keys and sets default locations.
            changes: changes to a table without partitions, by the keys of the partitions.
        """
        self.come_back(successor, successor.metadata)
        self.changes = dict(changes)
        self.scopes = [Scope(None)]

    def come_back(self, version: TableSnapshot, metadata: TableMetadata) -> None:
        """Give the table the partition columns of an earlier version, to decode keys of restored partitions.

        The commit conflicts with any other commit.

        Args:
            version: the earlier version of the same table.
            metadata: the metadata of that version, except for its indexes.
        """
        self._replace_metadata(metadata)
        self.successor = version

    @property
    def placement(self) -> TablePlacement:
        """Return the keys and default locations of partitions that get files."""
        return (self.successor or self.base).placement

    def end(self) -> None:
        """Mark this transaction as committed or tried, which is possible only once.

        Raises:
            UnsupportedError: it was marked before.
        """
        if self._done:
            raise UnsupportedError("This transaction was already committed or has failed; begin another.")
        self._done = True
