"""`lake.db.t.partitions`, `.files` and `.history`: what the metastore knows of a table, as a table to read.

Columns are those of the partition first, by name and type, then what is known; a name that is a partition
column's already gets an underscore before it. `VERSION AS OF` holds here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError
from parquetry.layout.places import join_location
from parquetry.layout.schema_json import logical_schema
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.planner import answers, questions
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.history import HISTORY, history_rows
from parquetry.planner.procedures.procedure import Row, wire_rows
from parquetry.planner.tables import load as load_table
from parquetry.planner.values import to_wire
from parquetry.types import Value

_PARTITIONS = (("location", "string"), ("files", "long"), ("rows", "long"), ("bytes", "long"))
_FILES = (("path", "string"), ("rows", "long"), ("bytes", "long"), ("modified", "timestamp"))


def load(lake: Lake, q: questions.LoadMetadataTable) -> answers.MetadataTable:
    """Return a metadata table's name and columns, and which version of the table it is about.

    Raises:
        TableNotFoundError: there is no such table, or nothing of this name about it.
    """
    name = q.name.lower()
    if len(q.namespace) != 2 or name not in _ROWS:
        full = ".".join([lake.name, *q.namespace, q.name])
        known = ", ".join(f"{lake.name}.db.t.{known}" for known in _ROWS)
        raise TableNotFoundError(f"{full} is not a table; about a table there are {known}.")
    database, table = q.namespace
    asked = questions.LoadTable(
        protocol=q.protocol,
        catalog=q.catalog,
        options=q.options,
        namespace=[database],
        name=table,
        version=q.version,
        as_of=q.as_of,
    )
    try:
        found = load_table(lake, asked)
    except NamespaceNotFoundError as error:
        raise TableNotFoundError(error.message) from None
    snapshot = lake.snapshot(found.table)
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in _columns(snapshot, name)]
    if name != "history":
        fields = [*logical_schema(snapshot.metadata.partition_columns)["fields"], *fields]
    schema = {"type": "struct", "fields": fields}
    return answers.MetadataTable(f"{found.name}.{name}", name, found.table, schema)


def _columns(snapshot: TableSnapshot, name: str) -> list[tuple[str, str]]:
    if name == "history":
        return list(HISTORY.columns)
    taken = {column.lower() for column in snapshot.metadata.partition_by}
    columns: tuple[tuple[str, str], ...] = _PARTITIONS if name == "partitions" else _FILES
    while any(column in taken for column, _ in columns):
        columns = tuple((f"_{column}" if column in taken else column, type_) for column, type_ in columns)
    return list(columns)


def read(lake: Lake, q: questions.ReadMetadataTable) -> answers.Rows:
    """Return the rows of a metadata table."""
    return answers.Rows(wire_rows(_ROWS[q.kind](lake.snapshot(q.table))))


def _partitions(snapshot: TableSnapshot) -> Iterator[Row]:
    for found in snapshot.partitions():
        values = _values(snapshot, found.values)
        yield *values, found.location, found.file_count, found.rows, found.bytes


def _files(snapshot: TableSnapshot) -> Iterator[Row]:
    for found in snapshot.partitions():
        values = _values(snapshot, found.values)
        for file in found.files:
            modified = None if file.modified is None else file.modified * 1000
            yield *values, join_location(found.location, file.path), file.rows, file.bytes, modified


def _values(snapshot: TableSnapshot, values: tuple[Value, ...]) -> list[str | None]:
    types = snapshot.metadata.partition_types
    return [to_wire(type_, value) for type_, value in zip(types, values, strict=True)]


_ROWS: dict[str, Callable[[TableSnapshot], Iterator[Row]]] = {
    "partitions": _partitions,
    "files": _files,
    "history": history_rows,
}

ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.LoadMetadataTable: load,
    questions.ReadMetadataTable: read,
}
