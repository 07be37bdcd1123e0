"""Tables whose files PyArrow writes, with the table's field ids or without, for tests without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquetry.adoption.sync import synchronise
from parquetry.data_files import PHYSICAL_NAME, TableColumn
from parquetry.data_files.footers.footer_reader import ArrowFooters
from parquetry.layout import fields_from_columns
from parquetry.metastore import Metastore, TableMetadata, TableSnapshot, Transaction, commit, open_metastore
from parquetry.types import type_from_json

_ARROW = {
    "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip


class PythonLake:
    """A warehouse without Spark.

    Args:
        folder: of the warehouse, which is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metastore: Metastore = open_metastore(str(folder), create=True)

    def create(
        self, name: str, columns: Mapping[str, Any], by: Sequence[str] = (), **more: Any
    ) -> TableSnapshot:
        """Create a table of the database `default`; columns have Spark's JSON types, or are whole columns."""
        location = self.folder / "default.db" / name
        location.mkdir(parents=True)
        listed = tuple(
            kind if isinstance(kind, TableColumn) else TableColumn(column, kind)
            for column, kind in columns.items()
        )
        metadata = TableMetadata(listed, tuple(by), "parquet", location.as_uri(), **more)
        return self.metastore.create_table("default", name, metadata)

    def table(self, name: str) -> TableSnapshot:
        """Return a table as it is now."""
        return self.metastore.table("default", name)

    def alter(self, name: str, **changes: Any) -> TableSnapshot:
        """Commit other metadata of a table."""
        table = self.table(name)
        transaction = Transaction(table, "alter")
        transaction.set_metadata(table.metadata.__replace__(**changes))
        return commit(transaction)

    def write(
        self, name: str, path: str, rows: Sequence[Mapping[str, Any]], *, ids: bool = True
    ) -> TableSnapshot:
        """Write rows as one file, by the names of columns in files, and adopt it.

        Args:
            name: of the table.
            path: of the file below the table's folder.
            rows: the rows, without partition columns.
            ids: whether the file has the table's field ids.
        """
        metadata = self.table(name).metadata
        schema = arrow_schema(metadata, ids=ids)
        self.put(name, path, pa.Table.from_pylist([dict(row) for row in rows], schema))
        return self.sync(name)

    def put(self, name: str, path: str, table: pa.Table) -> None:
        """Write a file into a table's folder, and do not adopt it."""
        file = self.folder / "default.db" / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file)

    def sync(self, name: str) -> TableSnapshot:
        """Adopt the files in a table's folder."""
        synchronise(self.table(name), ArrowFooters("UTC"))
        return self.table(name)


def arrow_schema(metadata: TableMetadata, *, ids: bool = True) -> pa.Schema:
    """Return the schema of a table's files."""
    numbers = metadata.ids_by_path

    def field(path: tuple[str, ...], kind: Any, nullable: bool = True) -> pa.Field:
        number = {"PARQUET:field_id": str(numbers[path])} if ids else None
        return pa.field(path[-1], arrow_type(path, kind), nullable, number)

    def arrow_type(path: tuple[str, ...], kind: Any) -> pa.DataType:
        match kind:
            case {"type": "struct", "fields": fields}:
                names = [each.get("metadata", {}).get(PHYSICAL_NAME, each["name"]) for each in fields]
                return pa.struct(
                    [field((*path, name), each["type"]) for name, each in zip(names, fields, strict=True)]
                )
            case {"type": "array", "elementType": element}:
                return pa.list_(field((*path, "element"), element))
            case {"type": "map", "keyType": key, "valueType": value}:
                return pa.map_(field((*path, "key"), key, False), field((*path, "value"), value))
        if kind in _ARROW:
            return _ARROW[kind]
        known = type_from_json(kind)
        return pa.decimal128(known.precision, known.scale) if known.name == "decimal" else pa.string()

    columns = fields_from_columns(metadata.data_columns)
    names = [column.physical for column in metadata.data_columns]
    return pa.schema([field((name,), each["type"]) for name, each in zip(names, columns, strict=True)])
