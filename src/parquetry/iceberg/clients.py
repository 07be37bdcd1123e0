"""Differences between clients and Iceberg's specification, and how clients get right rows nevertheless.

| client | what it does (version that was tried) | what is done |
|---|---|---|
| others than Iceberg's Java and PyIceberg, such as DuckDB | plan by themselves from manifests | manifests are made when they load a table |
| DuckDB 1.5 | opens no table without the region of an object store | for tables on a local disk it gets one |
| PyIceberg 0.12, if the server plans | takes partition values of dates and timestamps for texts | it gets the numbers that it stores |
| | has no partition values of decimals, of bytes, and no NULL | the plan is refused |
| PyIceberg 0.12 | reads NULL as an empty list or map where elements or values are structs | the column is refused |
| PyIceberg 0.12 | a condition on a partition column that is not in the file and not selected is true of no row | the plan is refused; tables that it plans itself need `partition-columns-in-files` |
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from parquetry.data_files import FileRecord, IdsInFile
from parquetry.errors import UnsupportedError
from parquetry.iceberg.requests import PlanRequest
from parquetry.iceberg.values import to_json
from parquetry.metastore import TableSnapshot
from parquetry.types import ColumnType, Value


class Client(Enum):
    """The library that a client uses."""

    JAVA = "Apache Iceberg"
    PYICEBERG = "PyIceberg"
    OTHER = ""

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> Client:
        """Return the library that a request's headers name.

        >>> Client.from_headers({"user-agent": "PyIceberg/0.12.0"}).name
        'PYICEBERG'
        """
        named = [headers.get(name, "").lower() for name in ("x-client-version", "user-agent")]
        for client in (cls.JAVA, cls.PYICEBERG):
            if any(text.startswith(client.value.lower()) for text in named):
                return client
        return cls.OTHER

    @property
    def asks_for_plans(self) -> bool:
        """Whether it asks the server for plans if the configuration says so."""
        return self is not Client.OTHER


@dataclass(frozen=True, slots=True)
class ClientValues:
    """Partition values of files in the form that a client takes.

    Attributes:
        table: the version that is scanned.
        client: the client.
    """

    table: TableSnapshot
    client: Client

    def of_file(self, values: tuple[Value, ...]) -> list[Any]:
        """Return a partition's values.

        Raises:
            UnsupportedError: the client would read other values.
        """
        metadata = self.table.metadata
        pairs = zip(metadata.partition_types, values, strict=True)
        if self.client is not Client.PYICEBERG:
            return [to_json(kind, value) for kind, value in pairs]
        return [
            self._for_pyiceberg(name, kind, value)
            for name, (kind, value) in zip(metadata.partition_by, pairs, strict=True)
        ]

    def _for_pyiceberg(self, name: str, kind: ColumnType, value: Value) -> Any:
        if value is None:
            raise UnsupportedError(
                f"Table {self.table.label}: PyIceberg takes no NULL of partition column {name} in a plan: add {name} IS NOT NULL to "
                "the filter, or read the table by another engine."
            )
        if not kind.facts.pyiceberg_keys:
            raise UnsupportedError(
                f"Table {self.table.label}: PyIceberg takes partition column {name}, which is {kind}, for a text: read the "
                "table by another engine."
            )
        return value  # dates and timestamps are numbers


def require_filter_columns(table: TableSnapshot, client: Client, request: PlanRequest) -> None:
    """Make sure that a client can test the filter of its request on the files' rows.

    Raises:
        UnsupportedError: PyIceberg would find no row.
    """
    if client is not Client.PYICEBERG or request.select is None:
        return
    names = {name.lower() for name in request.select}
    for name in _partition_columns_in(request.filter, table.metadata.partition_by):
        if name.lower() not in names:
            raise UnsupportedError(
                f"Table {table.label}: PyIceberg finds no row by a condition on partition column {name} unless the column is "
                f"selected: add {name} to selected_fields."
            )


def require_whole_values(table: TableSnapshot, client: Client, selected: Collection[str] | None) -> None:
    """Make sure that a client reads all values of the columns that it selects.

    Args:
        table: the version.
        client: that asks.
        selected: names of columns, or of fields within, or None for all columns.

    Raises:
        UnsupportedError: PyIceberg would read NULL as an empty list or map.
    """
    if client is not Client.PYICEBERG:
        return
    names = None if selected is None else {name.lower() for name in selected}
    for column in table.metadata.data_columns:
        name = column.name.lower()
        is_selected = names is None or any(each == name or each.startswith(f"{name}.") for each in names)
        if is_selected and _has_structs_within(column.type):
            raise UnsupportedError(
                f"Table {table.label}: PyIceberg reads NULL of column {column.name}, a list or map of structs, as empty: leave it out by "
                "selected_fields, or read the table by another engine."
            )


def _has_structs_within(kind: Any) -> bool:
    """Return whether a type has a list or a map whose elements or values are structs."""
    match kind:
        case {"type": "struct", "fields": fields}:
            return any(_has_structs_within(field["type"]) for field in fields)
        case {"type": "array", "elementType": inner} | {"type": "map", "valueType": inner}:
            is_struct = isinstance(inner, dict) and inner.get("type") == "struct"
            return is_struct or _has_structs_within(inner)
    return False


def _partition_columns_in(expression: Any, partition_by: Collection[str]) -> Iterator[str]:
    """Yield the partition columns that a filter names anywhere."""
    waiting = [expression]
    known = {name.lower(): name for name in partition_by}
    while waiting:
        match waiting.pop():
            case dict() as inner:
                for key, value in inner.items():
                    if key in ("term", "name") and isinstance(value, str) and value.lower() in known:
                        yield known[value.lower()]
                waiting += [inner[key] for key in ("left", "right", "child", "term") if key in inner]
            case list() as several:
                waiting += several


def manifest_refusal(table: TableSnapshot, client: Client, file: FileRecord) -> str | None:
    """Return why a client that plans by itself would read a file wrong, or None.

    Args:
        table: the version.
        client: the client.
        file: a file of the version.
    """
    if (
        client is not Client.PYICEBERG
        or not table.metadata.partition_by
        or file.field_ids == IdsInFile.WITH_PARTITION_COLUMNS
    ):
        return None
    return (
        "it lacks the partition columns, and PyIceberg finds no row by a condition on a column that is neither in the file nor "
        "selected: set the table property partition-columns-in-files and write the rows anew, or let the server plan"
    )
