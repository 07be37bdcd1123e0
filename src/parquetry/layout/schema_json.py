"""Convert between Spark's JSON of a schema and the columns of a table.

Pure functions; `parquetry.definition.schema_changes` changes columns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from parquetry.data_files import PHYSICAL_NAME, SPARK_FIELD_ID, TableColumn
from parquetry.errors import ColumnExistsError, UnsupportedError
from parquetry.types import UNKNOWN_TYPE, type_from_json

Field = dict[str, Any]
"""A field of Spark's JSON of a struct: name, type, nullable, metadata."""

_COLLATIONS = "__COLLATIONS"
"""Key of the collations in Spark's JSON of a field. The type itself is `string`."""
_COLLATED = "column {} has a collation, and values are found by their bytes: leave COLLATE out."


def fields_from_columns(columns: Iterable[TableColumn]) -> list[Field]:
    """Return columns as fields of Spark's JSON of a struct."""
    return [
        {"name": c.name, "type": copy.deepcopy(c.type), "nullable": c.nullable, "metadata": dict(c.metadata)}
        for c in columns
    ]


def columns_from_fields(fields: Iterable[Field]) -> tuple[TableColumn, ...]:
    """Return the fields of Spark's JSON of a struct as columns."""
    return tuple(
        TableColumn(f["name"], f["type"], f.get("nullable", True), f.get("metadata", {})) for f in fields
    )


def logical_schema(columns: Iterable[TableColumn]) -> dict[str, Any]:
    """Return the schema that queries see, without our own marks."""
    return struct_type(
        _walk(fields_from_columns(columns), lambda f: {**f, "metadata": _remove_marks(f["metadata"])})
    )


def physical_schema(columns: Iterable[TableColumn]) -> dict[str, Any]:
    """Return the same schema under the names in the files."""
    return struct_type(
        _walk(
            fields_from_columns(columns),
            lambda f: {
                **f,
                "name": f["metadata"].get(PHYSICAL_NAME, f["name"]),
                "metadata": _remove_marks(f["metadata"]),
            },
        )
    )


def declare_columns(fields: Iterable[Field], file_format: str) -> tuple[TableColumn, ...]:
    """Return the columns of a new table, without marks from another table's schema.

    Raises:
        ColumnExistsError: two columns, or two fields of a struct, differ only in letter case.
        UnsupportedError: files of the format cannot hold a column's type.
    """
    unmarked = _walk(
        list(fields),
        lambda f: {**f, "metadata": _without_physical_name(f.get("metadata", {}))},
        remove_collation,
    )
    check_fields(unmarked, file_format)
    return columns_from_fields(unmarked)


def check_fields(fields: Sequence[Field], file_format: str, path: tuple[str, ...] = ()) -> None:
    """Make sure that fields have distinct names, and types that files can store.

    Raises:
        ColumnExistsError: two names differ only in letter case, under any setting of the session.
        UnsupportedError: files of the format cannot store a type, or its values need another comparison than
            by bytes.
    """
    seen: dict[str, str] = {}
    for field in fields:
        name = field["name"]
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise ColumnExistsError(
                f"Columns {'.'.join([*path, other])} and {'.'.join([*path, name])} differ in letter case only, which "
                "names do not count here: choose another name."
            )
        label = ".".join([*path, name])
        if field.get("metadata", {}).get(_COLLATIONS):
            raise UnsupportedError(_COLLATED.format(label))
        _check_type(field["type"], file_format, (*path, name))


def _check_type(type_: Any, file_format: str, path: tuple[str, ...]) -> None:
    if isinstance(type_, str):
        if " collate " in type_:
            raise UnsupportedError(_COLLATED.format(".".join(path)))
        facts = type_from_json(type_).facts
        if facts == UNKNOWN_TYPE:
            raise UnsupportedError(
                f"Column {'.'.join(path)} is of type {type_}, which this version of Parquetry does not know: leave the column "
                "out, or install a newer version."
            )
        if file_format == "orc" and not facts.orc:
            raise UnsupportedError(
                f"Column {'.'.join(path)} is of type {type_}, which ORC has not: say USING parquet."
            )
        return
    if file_format == "parquet" and type_["type"] == "struct" and not type_["fields"]:
        raise UnsupportedError(
            f"Column {'.'.join(path)} is a struct without fields, which Spark neither writes to Parquet nor reads: add a field, or leave the column "
            "out. Where the columns are those of files in a LOCATION, name the others; for a new table, USING orc has such structs, too."
        )
    check_fields(type_.get("fields", ()), file_format, path)
    for part in ("elementType", "keyType", "valueType"):
        if part in type_:
            _check_type(type_[part], file_format, (*path, part.removesuffix("Type")))


def struct_type(fields: list[Field]) -> dict[str, Any]:
    """Return the struct of some fields, without copying them."""
    return {"type": "struct", "fields": fields}


def _remove_marks(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata without marks. Field ids would have Spark's readers look for ids in all files."""
    return {key: value for key, value in metadata.items() if key not in (PHYSICAL_NAME, SPARK_FIELD_ID)}


def _without_physical_name(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != PHYSICAL_NAME}


def remove_collation(type_: Any) -> Any:
    """Return a type without `COLLATE UTF8_BINARY`. SHOW CREATE TABLE writes it, and it means no collation.

    >>> remove_collation({"type": "array", "elementType": "string collate UTF8_BINARY", "containsNull": True})
    {'type': 'array', 'elementType': 'string', 'containsNull': True}
    """
    return _walk_type(type_, lambda field: field, lambda text: text.removesuffix(" collate UTF8_BINARY"))


def _walk(
    fields: list[Field], visit: Callable[[Field], Field], leaf: Callable[[str], str] = str
) -> list[Field]:
    return [{**visit(f), "type": _walk_type(f["type"], visit, leaf)} for f in fields]


def _walk_type(type_: Any, visit: Callable[[Field], Field], leaf: Callable[[str], str]) -> Any:
    if not isinstance(type_, dict):
        return leaf(type_)
    walked = dict(type_)
    if type_["type"] == "struct":
        walked["fields"] = _walk(type_["fields"], visit, leaf)
    for part in ("elementType", "keyType", "valueType"):
        if part in type_:
            walked[part] = _walk_type(type_[part], visit, leaf)
    return walked
