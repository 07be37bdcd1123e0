"""`lake.db.t.partitions`, `.files` and `.history`: what the metastore knows of a table, as a table to read.

Columns are those of the partition first, by name and type, then what is known; a name that is a partition
column's already gets an underscore before it. `VERSION AS OF` holds here, too. A million rows are read page by page.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import islice
from typing import Any, TypeAlias

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
from parquetry.scan.plan import KeyScan, ScanPlan
from parquetry.types import Value

_PARTITIONS = (("location", "string"), ("files", "long"), ("rows", "long"), ("bytes", "long"))
_FILES = (("path", "string"), ("rows", "long"), ("bytes", "long"), ("modified", "timestamp"))

PAGE = 5_000
"""Rows of an answer, which are about a megabyte of JSON; fewer say that there are no more."""
_FIRST = questions.Cursor("", 0)
_Placed: TypeAlias = tuple[bytes, int, Row]
"""A row, and the cursor behind it: the key of its partition, and how many rows have been given of that."""


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


def read(lake: Lake, q: questions.ReadMetadataTable) -> answers.Page:
    """Return some rows of a metadata table, and where the next ones begin.

    Raises:
        TableNotFoundError: the table was dropped, or its version vacuumed away; rows may have been missing.
    """
    snapshot = lake.snapshot(q.table)
    with closing(_ROWS[q.kind](snapshot, q.after or _FIRST)) as found:
        placed = list(islice(found, PAGE))
    snapshot.check_kept()
    rows = wire_rows(row for _, _, row in placed)
    if len(rows) < PAGE:
        return answers.Page(rows, None)
    key, passed, _ = placed[-1]
    return answers.Page(rows, questions.Cursor(key.hex(), passed))


def _partitions(snapshot: TableSnapshot, after: questions.Cursor) -> Generator[_Placed]:
    for found in islice(snapshot.partitions(_since(after)), after.passed, None):
        values = _values(snapshot, found.values)
        yield found.key, 1, (*values, found.location, found.file_count, found.rows, found.bytes)


def _files(snapshot: TableSnapshot, after: questions.Cursor) -> Generator[_Placed]:
    passed = after.passed
    for found in snapshot.partitions(_since(after)):
        values, location = _values(snapshot, found.values), found.location
        for number, file in enumerate(found.each_listed(passed), passed + 1):
            modified = None if file.modified is None else file.modified * 1000
            path = join_location(location, file.path)
            yield found.key, number, (*values, path, file.rows, file.bytes, modified)
        passed = 0


def _history(snapshot: TableSnapshot, after: questions.Cursor) -> Generator[_Placed]:
    rows = islice(history_rows(snapshot), after.passed, None)
    for number, row in enumerate(rows, after.passed + 1):
        yield b"", number, row


def _since(after: questions.Cursor) -> ScanPlan:
    """Return the plan that reads a partition and all behind it."""
    return ScanPlan((KeyScan("range", bytes.fromhex(after.partition), None, None),))


def _values(snapshot: TableSnapshot, values: tuple[Value, ...]) -> list[str | None]:
    types = snapshot.metadata.partition_types
    return [to_wire(type_, value) for type_, value in zip(types, values, strict=True)]


_ROWS: dict[str, Callable[[TableSnapshot, questions.Cursor], Generator[_Placed]]] = {
    "partitions": _partitions,
    "files": _files,
    "history": _history,
}

ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.LoadMetadataTable: load,
    questions.ReadMetadataTable: read,
}
