"""Databases, which Spark calls namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.locations import absolute_location
from parquetry.metastore import Dropping, delete_empty_folder
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.tables.create import new_database


def _namespaces(lake: Lake, _q: questions.ListNamespaces) -> answers.NameList:
    return answers.NameList(list(lake.metastore.databases()))


def _load_namespace(lake: Lake, q: questions.LoadNamespace) -> answers.Properties:
    record = lake.metastore.database(lake.database(q.namespace))
    location = absolute_location(lake.metastore.database_location(record.name))
    return answers.Properties({"location": location, **record.properties})


def _create_namespace(lake: Lake, q: questions.CreateNamespace) -> answers.Done:
    name = new_database(lake, q.namespace)
    given = q.properties.get("location")
    location = lake.locations.database(name, given)
    properties = q.properties if given is None else {**q.properties, "location": location}
    lake.metastore.create_database(name, properties)
    return answers.Done()


def _alter_namespace(lake: Lake, q: questions.AlterNamespace) -> answers.Done:
    record = lake.metastore.database(lake.database(q.namespace))
    properties = dict(record.properties)
    for change in q.changes:
        key, value = str(change["key"]), change["value"]
        if value is None:
            properties.pop(key, None)
        else:
            properties[key] = lake.locations.database(record.name, value) if key == "location" else value
    lake.metastore.alter_database(record.name, properties)
    return answers.Done()


def _drop_namespace(lake: Lake, q: questions.DropNamespace) -> answers.Confirmation:
    database = lake.database(q.namespace)
    record = lake.metastore.database(database)
    folder = absolute_location(lake.metastore.database_location(record.name))
    dropping = Dropping(lake.metastore)
    try:
        lake.metastore.drop_database(
            database, q.cascade, lambda database, name: dropping.drop(database, name, kind=None)
        )
    finally:
        dropping.delete_files()  # of the dropped tables, even if others keep the database from being dropped
    if "location" not in record.properties:  # a folder that a user named stays
        delete_empty_folder(folder)
    return answers.Confirmation(True)


def _list_tables(lake: Lake, q: questions.ListTables) -> answers.NameList:
    return answers.NameList(list(lake.metastore.tables(lake.database(q.namespace))))


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.ListNamespaces: _namespaces,
    questions.LoadNamespace: _load_namespace,
    questions.CreateNamespace: _create_namespace,
    questions.AlterNamespace: _alter_namespace,
    questions.DropNamespace: _drop_namespace,
    questions.ListTables: _list_tables,
}
