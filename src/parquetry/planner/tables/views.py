"""Views: named queries, which Spark analyzes anew each time. They need no planning and have no files."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from parquetry import errors
from parquetry.layout import columns_from_fields, logical_schema
from parquetry.metastore import (
    Metastore,
    TableMetadata,
    TableSnapshot,
    Transaction,
    ViewDefinition,
    commit,
    load_beside,
)
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.tables.create import new_database
from parquetry.planner.tables.tables import find_version, rename_target

_COMMENT, _OWNER, _TYPE = "comment", "owner", "table_type"
_MAX_ATTEMPTS = 10


def _load_relation(lake: Lake, q: questions.LoadRelation) -> answers.Relation:
    beside = _beside(lake, q.beside)
    if not beside:
        return _described(lake, _find_relation(lake.metastore, q, lake.name), q.known)
    ((found, is_newest),) = load_beside(
        lake.metastore, beside, lambda metastore: [_find_relation(metastore, q, lake.name)]
    )
    assert found is not None  # or it would have raised
    return _described(lake, found, q.known, is_newest)


def _beside(lake: Lake, refs: Sequence[questions.TableRef]) -> list[TableSnapshot]:
    """Return the versions that a statement has loaded before, or none in a transaction."""
    found = []
    for ref in refs if lake.draft is None else ():
        with contextlib.suppress(errors.ParquetryError):  # what is gone fails where it is read
            found.append(lake.snapshot(ref))
    return found


def _find_relation(metastore: Metastore, q: questions.LoadRelation, catalog: str) -> TableSnapshot:
    try:
        return find_version(metastore, q, catalog)
    except errors.OtherKindError:
        return metastore.table(q.namespace[0], q.name, kind="view")


def _described(
    lake: Lake, found: TableSnapshot, known: questions.TableRef | None, is_newest: bool = True
) -> answers.Relation:
    if found.metadata.view is not None:
        return answers.Relation(view=_view_answer(found))
    if known is not None and lake.is_described(known, found):
        lake.cache(found)
        return answers.Relation(unchanged=True, past=not is_newest)
    return answers.Relation(table=lake.described(found), past=not is_newest)


def _load_relations(lake: Lake, q: questions.LoadRelations) -> answers.Relations:
    """Load what a statement names, all of one moment. A name that is not there may be another thing's."""

    def find(metastore: Metastore) -> list[TableSnapshot | None]:
        found: list[TableSnapshot | None] = []
        for each in q.relations:
            one = questions.LoadRelation(
                protocol=q.protocol,
                catalog=q.catalog,
                options=q.options,
                namespace=each.namespace,
                name=each.name,
            )
            try:
                found.append(_find_relation(metastore, one, lake.name))
            except errors.ParquetryError:
                found.append(None)
        return found

    beside = _beside(lake, q.beside)
    found = (
        load_beside(lake.metastore, beside, find)
        if beside
        else [
            (one, True)
            for one in lake.metastore.at_once(
                lambda: find(lake.metastore), lambda some: [one for one in some if one is not None]
            )
        ]
    )
    return answers.Relations(
        [
            None if one is None else _described(lake, one, each.known, is_newest)
            for (one, is_newest), each in zip(found, q.relations, strict=True)
        ]
    )


def _view_answer(snapshot: TableSnapshot) -> questions.View:
    metadata = snapshot.metadata
    view = metadata.view
    assert view is not None
    reserved = {_COMMENT: metadata.comment, _OWNER: metadata.owner}
    return questions.View(
        schema=logical_schema(metadata.columns),
        text=view.text,
        catalog=view.catalog,
        namespace=list(view.namespace),
        settings=view.settings,
        schema_mode=view.schema_mode,
        query_columns=list(view.query_columns),
        properties={
            **metadata.properties,
            **{key: text for key, text in reserved.items() if text is not None},
        },
    )


def _list(lake: Lake, q: questions.ListViews) -> answers.NameList:
    return answers.NameList(lake.metastore.views(lake.database(q.namespace)))


def _put(lake: Lake, q: questions.PutView) -> answers.Done:
    """Make a view or replace its query, even if others make, drop or alter the view meanwhile."""
    database = new_database(lake, q.namespace, q.name)
    metadata = _metadata(f"{database}.{q.name}", q.view)
    for attempt in range(_MAX_ATTEMPTS):
        last = attempt == _MAX_ATTEMPTS - 1
        if q.mode != "create":
            try:
                snapshot = lake.metastore.table(database, q.name, kind="view")
                if q.mode == "evolve" and not _has_same_query(snapshot, q.view):
                    return answers.Done()  # the view has another query by now, so these columns do not apply
                _replace(snapshot, metadata)
                return answers.Done()
            except errors.OtherKindError as error:
                if q.mode == "create_or_replace":
                    raise errors.TableExistsError(error.message) from None
                raise
            except errors.CommitConflictError:
                if last or q.mode == "replace":  # the new view is built on one that has changed
                    raise
                continue
            except errors.NamespaceNotFoundError:
                raise
            except errors.TableNotFoundError:
                if q.mode in ("replace", "evolve"):
                    raise
        try:
            lake.metastore.create_table(database, q.name, metadata)
            return answers.Done()
        except errors.TableExistsError:
            if last or q.mode == "create":
                raise
    raise AssertionError("the last attempt returns or raises")


def _has_same_query(snapshot: TableSnapshot, view: questions.View) -> bool:
    """Return whether a view still has the query that the new columns belong to."""
    current = snapshot.metadata.view
    return current is not None and (current.text, current.schema_mode) == (view.text, view.schema_mode)


def _replace(snapshot: TableSnapshot, metadata: TableMetadata) -> None:
    transaction = Transaction(snapshot, "alter")
    transaction.set_metadata(msgspec.structs.replace(metadata, created_at=snapshot.metadata.created_at))
    commit(transaction)


def _metadata(label: str, view: questions.View) -> TableMetadata:
    """Return a view's metadata.

    Raises:
        UnsupportedError: it is no view by a query.
    """
    kind = view.properties.get(_TYPE, "VIEW")
    if kind != "VIEW":
        raise errors.UnsupportedError(
            f"{label} would be a {kind.lower().replace('_', ' ')}, and views here are queries: say CREATE VIEW … AS SELECT, or "
            "make it in spark_catalog."
        )
    reserved = (_COMMENT, _OWNER, _TYPE)
    return TableMetadata(
        columns=columns_from_fields(view.schema["fields"]),
        partition_by=(),
        format="parquet",
        location="",
        external=True,
        properties={key: value for key, value in view.properties.items() if key not in reserved},
        comment=view.properties.get(_COMMENT),
        owner=view.properties.get(_OWNER),
        created_at=int(time.time() * 1000),
        view=ViewDefinition(
            text=view.text,
            catalog=view.catalog,
            namespace=tuple(view.namespace),
            settings=view.settings,
            schema_mode=view.schema_mode,
            query_columns=tuple(view.query_columns),
        ),
    )


def _drop(lake: Lake, q: questions.DropView) -> answers.Confirmation:
    try:
        lake.metastore.drop_table(lake.database(q.namespace), q.name, kind="view")
    except (errors.NamespaceNotFoundError, errors.TableNotFoundError):
        return answers.Confirmation(False)
    return answers.Confirmation(True)


def _rename(lake: Lake, q: questions.RenameView) -> answers.Done:
    database, name = rename_target(lake, q, "View")
    lake.metastore.rename_table(lake.database(q.namespace), q.name, database, name, kind="view")
    return answers.Done()


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.LoadRelation: _load_relation,
    questions.LoadRelations: _load_relations,
    questions.ListViews: _list,
    questions.PutView: _put,
    questions.DropView: _drop,
    questions.RenameView: _rename,
}
