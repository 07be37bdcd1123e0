"""`erase`: delete rows of a table for good, with all that the warehouse keeps of them.

It deletes the rows, and removes all that a table keeps of them: versions, statistics, logs, links,
statements.

The order matters. Rows go first, and heavy values that only they had. Then a vacuum takes the versions with
such rows. What it leaves is removed last: paths of files, logs for other readers, texts of statements, and
the bytes of deleted rows in the store's files. Each step can be repeated, so an interrupted run is ended by
another one.

Some places may have copies of erased rows that `erase` cannot reach: each is listed with what to do there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from parquetry import compaction, metastore as ms, publishing, workload
from parquetry.errors import CommitConflictError, UnsupportedError, WarehouseError
from parquetry.locations import storage_path, take_apart
from parquetry.operations.operation import Context, DryRun, TableName, operation

_HOUR_MS = 60 * 60 * 1000


@operation(
    "Erases rows for good: deletes them, ends all versions that have them, and removes what statistics, logs, "
    "links and the history keep of them. Says what it cannot reach.",
    changes=True,
    by_engine=True,
)
def erase(
    context: Context,
    table: TableName,
    condition: Annotated[str, "The rows, as in DELETE … WHERE."],
    dry_run: DryRun = False,
    grace_hours: Annotated[
        int | None,
        "The age at which a file that no version lists is deleted, as for vacuum; an hour at least.",
    ] = None,
) -> list[Erased]:
    """Erase rows for good; all versions with such rows end, however young they are."""
    snapshot = context.find(table)
    if not condition.strip():
        raise UnsupportedError(
            f"Erase from table {snapshot.label} needs a condition, such as 'id = 1', and got {condition!r}."
        )
    if tags := ms.tags_of(snapshot):
        raise UnsupportedError(
            f"Erase from table {snapshot.label} would have to end version {tags[0].version}, which tag {tags[0].name!r} keeps, and "
            "all later ones: drop the table's tags first (CALL system.drop_tag)."
        )
    if branches := ms.branches_of(snapshot):
        raise UnsupportedError(
            f"Erase from table {snapshot.label} would leave the rows in branch {branches[0].name!r}: publish the table's branches "
            "(CALL system.publish_branch), or drop them (CALL system.drop_branch), first."
        )
    grace = ms.grace_of(snapshot, grace_hours)
    if dry_run:
        return list(_plan(context, snapshot, condition, grace))
    return list(_erase(context, snapshot, condition, grace))


def _plan(context: Context, snapshot: ms.TableSnapshot, condition: str, grace: int) -> Iterator[Erased]:
    """Yield the steps as they would be."""
    rows = context.engine.count_rows(context.full_name(snapshot), condition)
    yield step("rows", rows, detail="and the files that the DELETE rewrites" if rows else None, planned=True)
    last = snapshot.version if rows else last_version_with_rows(context, snapshot, condition)
    oldest = ms.oldest_version(snapshot) if last is None else last + 1
    yield from vacuum_from(snapshot, oldest, grace, planned=True)
    yield from renew_logs(snapshot, planned=True)
    yield forget_statements(snapshot, planned=True)
    yield forget_queries(context, snapshot, planned=True)
    yield from out_of_reach(snapshot, None)


def _erase(context: Context, before: ms.TableSnapshot, condition: str, grace: int) -> Iterator[Erased]:
    """Do the steps."""
    yield delete_rows(context, before, condition)
    snapshot, heavy_values = forget_heavy_values(before.refresh())
    yield heavy_values
    last = last_version_with_rows(context, snapshot, condition)
    if last == snapshot.version:
        yield Erased(
            "new rows", NOT_REACHED, detail="Others have written such rows meanwhile: erase once more."
        )
        last = snapshot.version - 1
    oldest = ms.oldest_version(snapshot) if last is None else last + 1
    if heavy_values.count:
        oldest = snapshot.version
    old_files = ms.files_of_old_versions(snapshot)
    yield from vacuum_from(snapshot, oldest, grace, planned=False)
    withdrawn = ms.withdraw_removed_files(snapshot.refresh())
    if withdrawn is not None:
        snapshot, oldest = withdrawn, withdrawn.version
        yield from vacuum_from(snapshot, oldest, grace, planned=False)
    yield forget_statements(snapshot, planned=False)
    yield forget_queries(context, snapshot, planned=False)
    snapshot = context.cache(snapshot.refresh())
    yield from renew_logs(snapshot, planned=False)
    remains = ms.scrub_store(snapshot)
    yield from left_files(old_files, snapshot, oldest)
    yield from out_of_reach(snapshot, remains)


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
    if not planned and ms.oldest_version(snapshot) < kept:
        raise CommitConflictError(
            f"A tag that was made meanwhile keeps versions of table {snapshot.label} with such rows: drop it, and erase once more."
        )
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


def forget_queries(context: Context, snapshot: ms.TableSnapshot, *, planned: bool) -> Erased:
    """Take the values and statements out of the queries in the history that read the table."""
    count = workload.forget_values(context.metastore, snapshot.id, dry_run=planned)
    return step(
        "values in the history of queries", count, detail="queries" if count else None, planned=planned
    )


DONE, NOTHING, PLANNED, NOT_REACHED = "done", "nothing", "planned", "not reached"


@dataclass(frozen=True, slots=True)
class Erased:
    """One step of `erase`, or one place that it cannot reach.

    Attributes:
        step: the rows, versions, files, logs or the place.
        outcome: ``done``; ``nothing``, as there was nothing to do; ``planned`` in a dry run; or ``not
            reached``.
        count: the number of rows, versions or files.
        bytes: the size of files.
        detail: more about it, or what to do about a place that was not reached.
    """

    step: str
    outcome: str
    count: int | None = None
    bytes: int | None = None
    detail: str | None = None


def step(
    name: str, count: int | None, size: int | None = None, detail: str | None = None, *, planned: bool = False
) -> Erased:
    """Return the record of a step that is done, or planned, by its count; None if that is not known."""
    outcome = NOTHING if count == 0 else PLANNED if planned else DONE
    return Erased(name, outcome, count, size, detail)


_EVERYWHERE = {
    "other tables": "Copies in other tables and their histories, and in views' texts: erase there, too. Clones and CREATE TABLE AS "
    "are tables of their own.",
    "dumps": "parquetry dump before now has bounds of columns, partition values and statements: delete old dumps, and dump anew.",
    "backups": "Backups and copies of the warehouse or of the metastore, replicas, and snapshots of disks: end them by their own means.",
    "streams": "Checkpoints and state of streams that read the table: state of joins, aggregates and deduplication has rows.",
    "sessions": "Spark's event logs, logs of drivers and the statements in them; cached tables and shuffle files of sessions that run; "
    "files of failed audits (parquetry-audit in the driver's temporary folder); queries of the last seconds, which go into the history "
    "of queries. Close the sessions, and delete logs and files; erase again if the history keeps values.",
    "other catalogs": "A Hive metastore that the table was published to has partition values: publish again. Caches of readers end with "
    "their processes.",
    "definition": "Names, comments, properties, defaults, constraints and SKEWED BY … ON (values) of the table: ALTER TABLE if they have "
    "the value.",
}  # fmt: skip
"""Places of every table, and what to do there."""


def out_of_reach(snapshot: ms.TableSnapshot, store: str | None) -> Iterator[Erased]:
    """Yield the places that may have copies, each with what to do.

    Args:
        snapshot: the newest version.
        store: what keeps bytes of deleted rows in the store, or None.
    """
    if store is not None:
        yield Erased("store", NOT_REACHED, detail=store)
    if links := ms.count_last_links(storage_path(snapshot.metadata.location), snapshot.id):
        yield Erased(
            "links for Hive", NOT_REACHED, links,
            detail="The Hive metastore that follows the table was not reached, and names old files: start it, and erase again.",
        )  # fmt: skip
    for name, detail in _EVERYWHERE.items():
        yield Erased(name, NOT_REACHED, detail=detail)
    if snapshot.metadata.partition_by:
        yield Erased(
            "partition values", NOT_REACHED,
            detail=f"Values of {', '.join(snapshot.metadata.partition_by)} are names of folders. Empty ones are deleted; object stores and "
            "logs of servers may keep names.",
        )  # fmt: skip
    if not take_apart(snapshot.metadata.location).is_local:
        yield Erased(
            "object versions", NOT_REACHED,
            detail="A bucket with versioning keeps deleted objects, and HDFS may have snapshots: expire them, and look at rules of retention.",
        )  # fmt: skip
    else:
        yield Erased(
            "disk", NOT_REACHED,
            detail="Free blocks of the disk have bytes of deleted files until they are written over: encrypt disks.",
        )  # fmt: skip
