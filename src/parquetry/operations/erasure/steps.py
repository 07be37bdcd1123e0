"""Delete rows, and remove all that a table keeps of them: versions, statistics, logs, links, statements.

The order matters. Rows go first, and heavy values that only they had. Then a vacuum takes the versions with
such rows. What it leaves is removed last: paths of files, logs for other readers, texts of statements, and
the bytes of deleted rows in the store's files. Each step can be repeated, so an interrupted run is ended by
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parquetry import compaction, metastore as ms, publishing
from parquetry.errors import WarehouseError
from parquetry.operations.erasure.record import NOT_REACHED, Erased, step
from parquetry.operations.operation import Context

_DELETE = "delete"
"""The operation in the history of a DELETE."""
_MAX_NAMED_FILES = 3


def delete_rows(context: Context, before: ms.TableSnapshot, condition: str) -> Erased:
    """Delete rows of the newest version.

    Args:
        context: the warehouse.
        before: the newest version.
        condition: of the rows, in SQL.
    """
    context.engine.delete_rows(context.full_name(before), condition)
    after = before.refresh()
    deleted: int | None = 0
    for commit in after.history(before.version + 1):
        if commit.operation == _DELETE and deleted is not None and commit.changes is not None:
            added, removed = commit.changes.rows_added, commit.changes.rows_removed
            deleted = None if added is None or removed is None else deleted + removed - added
    return step("rows", deleted, detail=None if deleted == 0 else f"version {after.version}")


def forget_heavy_values(snapshot: ms.TableSnapshot) -> tuple[ms.TableSnapshot, Erased]:
    """Take heavy values without rows out of partitions, if the table finds heavy values by itself.

    Returns:
        The newest version, and the step.
    """
    recutting = compaction.Recutting.for_table(snapshot.metadata)
    transaction, count = ms.Transaction(snapshot, "erase"), 0
    for partition in () if recutting is None else snapshot.partitions():
        assert recutting is not None
        if not recutting.follows(partition):
            continue
        smaller = recutting.without_empty_cells(partition.arrangement, partition.files)
        if smaller is not None:
            arrangement, files = smaller
            transaction.replace(partition.values, files, partition.entry.location, arrangement)
            count += 1
    after = ms.commit(transaction) if count else snapshot
    return after, step("heavy values", count, detail="partitions" if count else None)


def last_version_with_rows(context: Context, snapshot: ms.TableSnapshot, condition: str) -> int | None:
    """Return the newest readable version that may have rows which satisfy a condition, or None."""
    name = context.full_name(snapshot)
    for commit in ms.history(snapshot):
        if context.engine.may_have_rows(name, commit.version, condition):
            return commit.version
    return None


def vacuum_from(snapshot: ms.TableSnapshot, oldest: int, grace: int, *, planned: bool) -> Iterator[Erased]:
    """End the versions before one, and delete what only they need.

    Args:
        snapshot: the newest version.
        oldest: the oldest version that stays.
        grace: milliseconds after which a file that no version lists is deleted.
        planned: whether to report only.
    """
    first = ms.oldest_version(snapshot)
    ended = max(0, oldest - first)
    kept = min(oldest, snapshot.version)  # before a DELETE, the version to keep does not exist
    removed = ms.vacuum(snapshot, keep_from=kept, dry_run=planned, grace=grace, full=True)
    detail = f"versions {first} to {oldest - 1}: time travel and rollback to them end" if ended else None
    yield step("versions", ended, detail=detail, planned=planned)
    files = [each for each in removed if each.path is not None]
    size = sum(each.bytes or 0 for each in files)
    yield step("files", len(files), size, "data files, links and checksums", planned=planned)
    rows = [each for each in removed if each.path is None]
    kinds = ", ".join(each.kind for each in rows) or None
    yield step("metastore rows", sum(each.count for each in rows), detail=kinds, planned=planned)


def left_files(before: set[str], snapshot: ms.TableSnapshot, oldest: int) -> Iterator[Erased]:
    """Return files that had rows of ended versions, or may have them, and that a vacuum may not delete.

    Args:
        before: files that versions before listed, and the newest does not.
        snapshot: the newest version, after the vacuum.
        oldest: the oldest version that stays.
    """
    kept = ms.files_of_old_versions(snapshot)
    if left := ms.existing_files(before - kept):
        yield Erased("files of other writers", NOT_REACHED, len(left), None,
            f"The table may not delete them: of an external table, in a folder elsewhere, or another table lists them. Delete "
            f"them yourself, unless others need them: {_some(left)}.")  # fmt: skip
    young = [
        each
        for each in ms.vacuum(snapshot, keep_from=oldest, dry_run=True, grace=0, full=True)
        if each.kind == "left-over file"
    ]
    if young:
        size = sum(each.bytes or 0 for each in young)
        yield Erased("files of unfinished writes", NOT_REACHED, len(young), size,
            "A write may be running. Erase again when they are 24 hours old, or with grace_hours => 1 if nobody writes: "
            f"{_some([each.path or '' for each in young])}.")  # fmt: skip


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - _MAX_NAMED_FILES
    return ", ".join(paths[:_MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")


def renew_logs(snapshot: ms.TableSnapshot, *, planned: bool) -> Iterator[Erased]:
    """Delete Iceberg's manifests and the Delta log, and publish the log anew.

    Args:
        snapshot: the newest version.
        planned: whether to report only.

    Raises:
        WarehouseError: a file cannot be deleted.
    """
    logs = ms.find_logs(snapshot)
    if not planned:
        for failure in ms.delete_logs(snapshot, logs):
            raise WarehouseError(failure)
    detail = "written anew when a reader asks for them" if logs.manifests else None
    yield step("Iceberg's manifests", len(logs.manifests), detail=detail, planned=planned)
    detail = None
    if logs.delta and not planned:
        publishing.publish_delta(snapshot)
    if logs.delta:
        detail = "published anew, from version 0 of the log: readers of Delta have to open the table again"
    yield step("Delta log", len(logs.delta), detail=detail, planned=planned)


def forget_statements(snapshot: ms.TableSnapshot, *, planned: bool) -> Erased:
    """Take the texts of statements out of the history."""
    if planned:
        count = sum(each.author.statement is not None for each in ms.history(snapshot))
    else:
        count = ms.redact_statements(snapshot)
    return step("statements in the history", count, planned=planned)
