"""`erase`: delete rows of a table for good, with all that the warehouse keeps of them; see `erasure`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from parquetry import metastore as ms
from parquetry.errors import UnsupportedError
from parquetry.operations.erasure.out_of_reach import out_of_reach
from parquetry.operations.erasure.record import NOT_REACHED, Erased, step
from parquetry.operations.erasure.steps import (
    delete_rows,
    forget_heavy_values,
    forget_statements,
    last_version_with_rows,
    left_files,
    renew_logs,
    vacuum_from,
)
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
    """Erase rows for good; see `erasure`. All versions with such rows end, however young they are."""
    snapshot = context.find(table)
    if not condition.strip():
        raise UnsupportedError(
            f"Erase from table {snapshot.label} needs a condition, such as 'id = 1', and got {condition!r}."
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
    snapshot = context.cache(snapshot.refresh())
    yield from renew_logs(snapshot, planned=False)
    remains = ms.scrub_store(snapshot)
    yield from left_files(old_files, snapshot, oldest)
    yield from out_of_reach(snapshot, remains)
