"""`lake.db.t.partitions`, `.files`, `.history`, `.refs` and `.queries`: metadata that are read as a table.

The partition columns come first, by name and type, and the facts follow. A fact whose name is also the name
of a partition column gets an underscore before it. `VERSION AS OF` works here, too. A million rows are read
page by page. Conditions on partition columns, and on the version of `.history`, become key ranges
(`_MetadataScan`). Spark evaluates all of them again on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError, UnsupportedError
from parquetry.identifiers import join_name
from parquetry.layout import logical_schema
from parquetry.locations import join_location
from parquetry.metastore import BRANCH_PREFIX, PartitionSnapshot, TableSnapshot, branch_name
from parquetry.operations import OPERATIONS, readable_versions, table_refs
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.signature import Row, wire_rows
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.tables.query_table import COLUMNS as QUERY_COLUMNS, query_rows
from parquetry.planner.tables.tables import load as load_table
from parquetry.predicate import Filter, KnownValues, SparkColumns, filter_from_json, match
from parquetry.prune import on_partitions, partition_plan
from parquetry.scan import EVERYTHING
from parquetry.types import Value, parse_type

_PARTITION_COLUMNS = (("location", "string"), ("files", "long"), ("rows", "long"), ("bytes", "long"))
_FILE_COLUMNS = (("path", "string"), ("rows", "long"), ("bytes", "long"), ("modified", "timestamp"))

_ICEBERG_HISTORIES = ("snapshots", "metadata_log_entries")
_ICEBERG_CHANGES = "changes"
_ICEBERG_FILES = (
    *("data_files", "all_data_files", "all_files", "entries", "all_entries", "manifests", "all_manifests"),
    *("delete_files", "all_delete_files", "position_deletes"),
)
_ICEBERG_NAMES = (
    dict.fromkeys(_ICEBERG_HISTORIES, "history")
    | dict.fromkeys(_ICEBERG_FILES, "files")
    | dict.fromkeys(("branches", "tags"), "refs")
)
"""Names of Iceberg's metadata tables, and the table here that has the same facts."""

_ICEBERG_SELECTORS = ("tag_", "snapshot_id_", "at_timestamp_")
"""Prefixes of a name's last part: with them, Iceberg's users read a version."""

_OF_WHOLE_TABLES = ("history", "refs", "queries")
"""Metadata tables whose rows are of no partition."""

ROWS_PER_PAGE = 5_000
"""Rows in one answer, about a megabyte of JSON. A shorter answer is the last page."""
_VERSION, _LONG = "version", parse_type("long")
_FIRST_PAGE = questions.PageCursor("", 0)
_Placed: TypeAlias = tuple[bytes, int, Row]
"""A row, and the cursor after it: the key of its partition, and how many of its rows have been read."""


def load(lake: Lake, q: questions.LoadMetadataTable) -> answers.MetadataTable:
    """Return a metadata table's name and columns, and the version that it describes; or a branch of a table.

    Raises:
        TableNotFoundError: there is no such table, or it has no metadata table of this name.
        UnsupportedError: the name is Iceberg's, and another metadata table has the same facts here.
    """
    name = q.name.lower()
    if len(q.namespace) == 2 and name.startswith(_ICEBERG_SELECTORS):
        table = join_name((lake.name, *q.namespace))
        raise UnsupportedError(
            f"{table}.{q.name} does not exist here: {table}.history and {table}.refs list versions and tags, and"
            f" {table} VERSION AS OF 3 (or 'a tag'), or TIMESTAMP AS OF '…', reads one."
        )
    is_branch = len(q.namespace) == 2 and name.startswith(BRANCH_PREFIX)
    if not is_branch and (
        len(q.namespace) != 2 or name not in _READERS.keys() | _ICEBERG_NAMES.keys() | {_ICEBERG_CHANGES}
    ):
        full = ".".join([lake.name, *q.namespace, q.name])
        known = ", ".join(f"{lake.name}.db.t.{known}" for known in _READERS)
        raise TableNotFoundError(f"{full} is not a table; about a table there are {known}.")
    database, table = q.namespace
    question = questions.LoadTable(
        protocol=q.protocol,
        catalog=q.catalog,
        options=q.options,
        namespace=[database],
        name=branch_name(table, name.removeprefix(BRANCH_PREFIX)) if is_branch else table,
        version=q.version,
        as_of=q.as_of,
    )
    try:
        found = load_table(lake, question)
    except NamespaceNotFoundError as error:
        raise TableNotFoundError(error.message) from None
    if is_branch:
        return answers.MetadataTable(found.name, "branch", found.table, found.schema, found)
    if name == _ICEBERG_CHANGES:
        raise UnsupportedError(
            f"{found.name}.{q.name} does not exist here: table_changes('{found.name}', 3, 9) gives the changes of "
            "the versions 3 to 9 as rows."
        )
    if name in _ICEBERG_NAMES:
        raise UnsupportedError(
            f"{found.name}.{q.name} does not exist here: read {found.name}.{_ICEBERG_NAMES[name]}."
        )
    snapshot = lake.snapshot(found.table)
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in _columns(snapshot, name)]
    if name not in _OF_WHOLE_TABLES:
        fields = [*logical_schema(snapshot.metadata.partition_columns)["fields"], *fields]
    schema = {"type": "struct", "fields": fields}
    return answers.MetadataTable(f"{found.name}.{name}", name, found.table, schema)


def _columns(snapshot: TableSnapshot, name: str) -> list[tuple[str, str]]:
    if name in _OF_WHOLE_TABLES:
        operation = OPERATIONS.get("tags" if name == "refs" else name)
        return list(QUERY_COLUMNS if operation is None else operation.result.items())
    taken = {column.lower() for column in snapshot.metadata.partition_by}
    columns: tuple[tuple[str, str], ...] = _PARTITION_COLUMNS if name == "partitions" else _FILE_COLUMNS
    while any(column in taken for column, _ in columns):
        columns = tuple((f"_{column}" if column in taken else column, type_) for column, type_ in columns)
    return list(columns)


def read(lake: Lake, q: questions.ReadMetadataTable) -> answers.MetadataPage:
    """Return some rows of a metadata table, and where the next page begins.

    Raises:
        TableNotFoundError: the table was dropped, or its version vacuumed away; rows may have been missing.
    """
    snapshot = lake.snapshot(q.table)
    if q.kind == "queries" and q.after is None:
        lake.engine.flush_history()
    wanted = _MetadataScan(snapshot, q.kind, q.predicates)
    with closing(_READERS[q.kind](wanted, q.after or _FIRST_PAGE)) as pages:
        placed = list(islice(pages, ROWS_PER_PAGE))
    snapshot.check_kept()
    rows = wire_rows(row for _, _, row in placed)
    after = None
    if len(rows) == ROWS_PER_PAGE:
        key, passed, _ = placed[-1]
        after = questions.PageCursor(key.hex(), passed)
    return answers.MetadataPage(rows, after, wanted.pushed)


class _MetadataScan:
    """One read of a metadata table.

    Attributes:
        pushed: the conditions that became key ranges.
    """

    def __init__(self, snapshot: TableSnapshot, kind: str, trees: Sequence[dict[str, Any]]) -> None:
        self.snapshot = snapshot
        metadata = snapshot.metadata
        types = dict(zip(metadata.partition_by, metadata.partition_types, strict=True))
        columns = {_VERSION: _LONG} if kind == "history" else {} if kind in _OF_WHOLE_TABLES else types
        filters = [filter_from_json(tree, SparkColumns(columns, columns)) for tree in trees]
        parts = [(filter, on_partitions(filter, frozenset(columns))) for filter in filters]
        self._filters = [part for _, part in parts if part is not None]
        self.pushed = [str(filter) for filter, part in parts if part is not None]

    def partitions(self, after: questions.PageCursor) -> Iterator[PartitionSnapshot]:
        """Yield the partitions that the conditions select, from the cursor's partition on."""
        start = bytes.fromhex(after.partition)
        plan = (partition_plan(self.snapshot, self._filters) or EVERYTHING).starting_at(start)
        if not plan.indexes:
            return self.snapshot.partitions(plan)
        return (each for each in self.snapshot.partitions(plan) if each.key >= start)

    def versions(self) -> tuple[int, int]:
        """Return the oldest and the newest version that the conditions select."""
        if not self._filters:
            return 0, self.snapshot.version
        every = range(self.snapshot.version + 1)
        versions = KnownValues((_VERSION,), [(version,) for version in every])
        left = np.flatnonzero(match(Filter.all_of(self._filters), versions)).tolist()
        return (left[0], left[-1]) if left else (1, 0)


def _partitions(wanted: _MetadataScan, after: questions.PageCursor) -> Generator[_Placed]:
    for found in islice(wanted.partitions(after), after.passed, None):
        values = _values(wanted.snapshot, found.values)
        yield found.key, 1, (*values, found.location, found.file_count, found.rows, found.bytes)


def _files(wanted: _MetadataScan, after: questions.PageCursor) -> Generator[_Placed]:
    passed = after.passed
    for found in wanted.partitions(after):
        values, location = _values(wanted.snapshot, found.values), found.location
        for number, file in enumerate(found.each_listed(passed), passed + 1):
            modified = None if file.modified is None else file.modified * 1000
            path = join_location(location, file.path)
            yield found.key, number, (*values, path, file.rows, file.bytes, modified)
        passed = 0


def _history(wanted: _MetadataScan, after: questions.PageCursor) -> Generator[_Placed]:
    rows = islice(readable_versions(wanted.snapshot, *wanted.versions()), after.passed, None)
    for number, row in enumerate(rows, after.passed + 1):
        yield b"", number, row


def _refs(wanted: _MetadataScan, after: questions.PageCursor) -> Generator[_Placed]:
    for number, row in enumerate(islice(table_refs(wanted.snapshot), after.passed, None), after.passed + 1):
        yield b"", number, row


def _queries(wanted: _MetadataScan, after: questions.PageCursor) -> Generator[_Placed]:
    # a query may have read the table several times, and a page may end between two of its rows
    last, passed = bytes.fromhex(after.partition), after.passed
    rows = query_rows(wanted.snapshot, last + b"\0" if last else b"")
    for key, of_query in groupby(rows, key=itemgetter(0)):
        for number, (_, row) in enumerate(of_query, 1):
            if key != last or number > passed:
                yield key, number, row


def _values(snapshot: TableSnapshot, values: tuple[Value, ...]) -> list[str | None]:
    types = snapshot.metadata.partition_types
    return [to_wire(type_, value) for type_, value in zip(types, values, strict=True)]


_READERS: dict[str, Callable[[_MetadataScan, questions.PageCursor], Generator[_Placed]]] = {
    "partitions": _partitions,
    "files": _files,
    "history": _history,
    "refs": _refs,
    "queries": _queries,
}

ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.LoadMetadataTable: load,
    questions.ReadMetadataTable: read,
}
