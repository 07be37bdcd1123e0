"""Statements on tables: CREATE, DROP, RENAME and SHOW; `alter` has ALTER."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from parquetry import errors
from parquetry.config import PURGE_ON_OVERWRITE, settle
from parquetry.definition import require_rules
from parquetry.metastore import (
    Dropping,
    Metastore,
    Replacement,
    TableSnapshot,
    delete_replacement,
    purge_replaced,
    staged_deletion,
)
from parquetry.planner.lake import Lake, Staged, table_ref
from parquetry.planner.protocol import answers, questions
from parquetry.planner.tables.alter import alter, can_alter, describe_files
from parquetry.planner.tables.create import new_database, new_metadata

_LOG = logging.getLogger("parquetry")


def create(lake: Lake, q: questions.CreateTable) -> answers.LoadedTable:
    """Create an empty table."""
    database = new_database(lake, q.namespace, q.name)
    metadata = new_metadata(lake, database, q)
    try:
        created = lake.metastore.create_table(database, q.name, metadata)
    except (errors.TableExistsError, errors.NamespaceNotFoundError):
        lake.locations.delete_managed(metadata)
        raise
    if metadata.external and (lying := describe_files(metadata.location)) is not None:
        _LOG.warning(
            "Table %s is empty as yet: its LOCATION holds %s, which MSCK REPAIR TABLE %s takes in.",
            lake.full_name(created), lying, lake.full_name(created),
        )  # fmt: skip
    return lake.described(created)


def stage(lake: Lake, q: questions.StageTable) -> answers.LoadedTable:
    """Create a table that others see only once it is published."""
    database = new_database(lake, q.namespace, q.name)
    current = None if q.mode == "create" else _to_replace(lake, database, q)
    if current is not None:
        replacement = Replacement(current, new_metadata(lake, database, q, current.metadata))
        ref = msgspec.structs.replace(table_ref(current), id=replacement.id.hex())
        lake.staged[ref.id] = Staged(replacement, database, q.name)
        return lake.described_as(ref, replacement.snapshot)
    lake.metastore.database(database)
    if q.name.lower() in lake.metastore.views(database):  # before the rows are written
        raise errors.TableExistsError(f"View {database}.{q.name} exists already.")
    staged = lake.metastore.stage_table(database, q.name, new_metadata(lake, database, q))
    lake.staged[staged.id.hex()] = Staged(staged, database, q.name)
    described = lake.described(staged.snapshot)
    return msgspec.structs.replace(described, name=f"{lake.name}.{database}.{q.name}")


def _to_replace(lake: Lake, database: str, q: questions.StageTable) -> TableSnapshot | None:
    """Return the table that a statement replaces, or None if it makes a new one.

    Raises:
        TableNotFoundError: the statement needs a table, and there is none.
        TableExistsError: the name belongs to a view.
    """
    try:
        return lake.metastore.table(database, q.name)
    except errors.OtherKindError:
        raise errors.TableExistsError(
            f"{database}.{q.name} is a view, whose place no table takes: DROP VIEW it first, or choose another name."
        ) from None
    except errors.TableNotFoundError:
        if q.mode == "replace":
            raise
        return None


def publish(lake: Lake, q: questions.PublishTable) -> answers.Done:
    """Give a staged table its name, or replace a table's content by the staged one."""
    staged = lake.staged[q.table.id]
    try:
        published = lake.cache(staged.table.make_visible())
    except errors.TableExistsError as error:
        if q.mode == "create":
            raise
        raise errors.CommitConflictError(
            f"{error.message.removesuffix('.')}: others have made it since the statement began; nothing was written: run it again."
        ) from None
    except errors.TableNotFoundError as error:
        if q.mode != "create_or_replace":
            raise
        raise errors.CommitConflictError(
            f"{error.message.removesuffix('.')}: run it again, to make the table."
        ) from None
    del lake.staged[q.table.id]
    if isinstance(staged.table, Replacement):
        _purge_replaced(lake, published)
    return answers.Done()


def _purge_replaced(lake: Lake, table: TableSnapshot) -> None:
    """Delete the files that a replacement removed, if the table's properties say so.

    The replacement is visible: an error is logged, and the statement has succeeded.
    """
    try:
        before = lake.metastore.table(table.database, table.name, version=table.version - 1)
        purges = settle(properties=before.metadata.properties)[PURGE_ON_OVERWRITE]
        failures = purge_replaced(before.partitions(), table) if purges else []
    except Exception as error:  # noqa: BLE001  # whatever a file system or the store does
        failures = [str(error)]
    for failure in failures:
        _LOG.warning("a file that was replaced in %s is left: %s", table.label, failure)


def discard(lake: Lake, q: questions.DiscardTable) -> answers.Done:
    """Drop a staged table or replacement, and delete the files that were written for it."""
    staged = lake.staged.pop(q.table.id).table
    if isinstance(staged, Replacement):
        if not staged.may_be_visible:
            delete_replacement(staged)
        return answers.Done()
    staged.discard(staged_deletion(staged))
    return answers.Done()


def load(lake: Lake, q: questions.LoadTable) -> answers.LoadedTable:
    """Return a table, in its newest or in an earlier version."""
    return lake.described(find_version(lake.metastore, q, lake.name))


def find_version(metastore: Metastore, q: questions.LoadTable, catalog: str) -> TableSnapshot:
    """Return the version of a table that a question names: the newest, or an earlier one.

    Args:
        metastore: that has the table.
        q: the question.
        catalog: name of the catalog, for messages.

    Raises:
        TableNotFoundError: there is no such table or version.
        OtherKindError: the name belongs to a view.
    """
    if len(q.namespace) != 1:
        raise errors.TableNotFoundError(
            f"{'.'.join([*q.namespace, q.name])} is not a table of catalog {catalog}."
        )
    version = None if q.version is None else _version(q.version)
    as_of = None if q.as_of is None else q.as_of // 1000
    try:
        return metastore.table(q.namespace[0], q.name, version=version, as_of=as_of)
    except errors.NamespaceNotFoundError as error:
        raise errors.TableNotFoundError(error.message) from None  # Spark asks so for IF EXISTS


def _version(text: str) -> int | str:
    """Return the number of a version, or its tag, as VERSION AS OF names it."""
    number = text.strip()
    return int(number) if number.isascii() and number.isdigit() else text


def drop(lake: Lake, q: questions.DropTable) -> answers.Confirmation:
    """Drop a table, and the files of a managed one.

    Raises:
        UnsupportedError: the name is a metadata table's.
    """
    lake.refuse_branch(q.namespace, q.name, "dropped", f"CALL {lake.name}.system.drop_branch drops it")
    if len(q.namespace) == 2:  # a metadata table: Spark has loaded it before it asks
        of = ".".join([lake.name, *q.namespace])
        raise errors.UnsupportedError(
            f"{of}.{q.name} shows what is known of {of} and cannot be dropped; to drop the table, say DROP TABLE {of}."
        )
    dropping = Dropping(lake.metastore)
    try:
        dropping.drop(lake.database(q.namespace), q.name)
    except (errors.NamespaceNotFoundError, errors.TableNotFoundError):
        return answers.Confirmation(False)
    dropping.delete_files()
    return answers.Confirmation(True)


def rename(lake: Lake, q: questions.RenameTable) -> answers.Done:
    """Rename a table. Its files stay where they are."""
    lake.refuse_branch(q.namespace, q.name, "renamed", "make another branch, and drop this one")
    database, name = rename_target(lake, q, "Table")
    lake.metastore.rename_table(lake.database(q.namespace), q.name, database, name)
    return answers.Done()


def rename_target(lake: Lake, q: questions.RenameTable, kind: str) -> tuple[str, str]:
    """Return the new database and name of a table or a view.

    Raises:
        UnsupportedError: they belong to another catalog, or the database is nested.
    """
    *namespace, name = q.to
    if len(namespace) == 2 and namespace[0].lower() == lake.name.lower():
        namespace = namespace[
            1:
        ]  # Spark takes the new name as relative to the catalog; users write the catalog, too
    if len(namespace) > 1:
        raise errors.UnsupportedError(
            f"{kind} {'.'.join([lake.name, *q.namespace, q.name])} cannot become {'.'.join(q.to)}: it stays in its catalog, "
            f"where databases do not nest; say RENAME TO database.{kind.lower()}, or make another with CREATE "
            f"{kind.upper()} … AS SELECT."
        )
    return (namespace or q.namespace)[0], name


def _refuse_load(lake: Lake, q: questions.RefuseLoad) -> NoReturn:
    """Refuse LOAD DATA, and say what to use instead."""
    label = f"{lake.name}.{q.table.database}.{q.table.table}"
    require_rules(label, lake.snapshot(q.table).metadata, "load")
    raise errors.UnsupportedError(
        f"LOAD DATA INTO {label} is not supported: add its rows with INSERT INTO {label} SELECT …; or move the files into a "
        f"partition's folder and take them in with CALL {lake.name}.system.sync."
    )


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.LoadTable: load,
    questions.CreateTable: create,
    questions.StageTable: stage,
    questions.PublishTable: publish,
    questions.DiscardTable: discard,
    questions.AlterTable: alter,
    questions.CanAlter: can_alter,
    questions.DropTable: drop,
    questions.RenameTable: rename,
    questions.RefuseLoad: _refuse_load,
}
