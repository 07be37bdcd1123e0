"""The changes of a table between versions, for `table_changes` and `CHANGES FROM VERSION`.

`parquetry.changes` finds the versions and their files. The rows get the columns of the last version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.changes import (
    ChangeMode,
    RangeEnd,
    changed_versions,
    plan_changes,
    require_free_names,
    require_keys,
)
from parquetry.errors import TableNotFoundError
from parquetry.metastore import TableSnapshot, TableVersions
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions
from parquetry.planner.protocol import answers, questions
from parquetry.planner.scans.change_files import ChangedFiles, compared_files
from parquetry.planner.tables.tables import find_version


def load(lake: Lake, q: questions.LoadChanges) -> answers.LoadedChanges:
    """Return a table in the last version of a range, and the range.

    Raises:
        TableNotFoundError: there is no such table.
        VersionNotFoundError: there is no such version, or what it changed is no longer known.
        UnsupportedError: a column has the name of a column of changes.
        ColumnNotFoundError: the table has no column of the key.
    """
    table = questions.LoadTable(
        protocol=q.protocol, catalog=q.catalog, options=q.options, namespace=q.namespace, name=q.name
    )
    newest = find_version(lake.metastore, table, lake.name)
    versions, name = _versions(newest), lake.full_name(newest)
    start = (
        RangeEnd(version=versions.oldest, included=not versions.oldest)
        if q.start is None
        else _bound(versions, q.start)
    )
    first, last = changed_versions(versions, name, start, None if q.end is None else _bound(versions, q.end))
    asked = versions.version(max(last, versions.oldest))
    if asked is None:
        raise TableNotFoundError(f"Version {last} of table {name} was vacuumed just now.")
    require_free_names(asked.metadata, name)
    keys = list(require_keys(asked.metadata, q.keys))
    return answers.LoadedChanges(lake.described(asked), first, last, keys)


def _bound(versions: TableVersions, given: questions.ChangeBound) -> RangeEnd:
    if given.version is None:
        return RangeEnd(time=given.time, included=given.included)
    text = given.version.strip()
    number = int(text) if text.isascii() and text.isdigit() else versions.find_tagged(given.version)
    return RangeEnd(version=number, included=given.included)


def _versions(snapshot: TableSnapshot) -> TableVersions:
    versions = TableVersions.read(snapshot.store, snapshot.id)
    if versions is None:
        raise TableNotFoundError(f"Table {snapshot.label} was dropped just now.")
    return versions


def plan(lake: Lake, q: questions.PlanChanges) -> answers.PlannedScan:
    """Return the files that versions removed and added: the files to compare, or all others.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired a version meanwhile.
        UnsupportedError: rows of earlier versions cannot be read with the columns of the last one.
    """
    asked = lake.snapshot(q.table)
    mode = ChangeMode(q.mode)
    found = plan_changes(_versions(asked), asked, q.first, mode, lake.touched)
    if mode is ChangeMode.RAW:
        files, compared = ChangedFiles(), ChangedFiles()
        for version in found:
            for part in version.partitions:
                files.add(version, part)
        files = compared if q.compared else files
    else:
        files = compared_files(found, by_key=q.by_key)[not q.compared]
    words = {"each": "changes", "net": "net changes", "raw": "raw changes"}[q.mode]
    what = f"{lake.full_name(asked)}, {words} of versions {q.first} to {asked.version}"
    return files.answer(asked, q.columns, conditions(asked, q.predicates), what)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.LoadChanges: load,
    questions.PlanChanges: plan,
}
