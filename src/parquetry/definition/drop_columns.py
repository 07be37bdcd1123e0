"""Drop columns and fields of structs: check that nothing needs them; split REPLACE COLUMNS into changes.

No file is rewritten. Readers ignore the values under the physical name. The name is recorded, so that a later
column of the same name gets another one in the files (`schema_changes`). So old values never appear in a new
column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from parquetry.config import naming
from parquetry.data_files import CURRENT_DEFAULT, TableColumn
from parquetry.definition.bucketing import all_arrangements
from parquetry.definition.changes import (
    AddColumn,
    DropColumn,
    OrderColumns,
    TableChange,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnType,
)
from parquetry.definition.skew import require_unskewed
from parquetry.errors import BucketColumnChangeError, PropertyError, SkewedColumnChangeError, UnsupportedError
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.types import type_text


def require_droppable(snapshot: TableSnapshot, metadata: TableMetadata, path: Sequence[str]) -> None:
    """Make sure that nothing depends on a column, or on a field in it, that is to be dropped.

    Args:
        snapshot: the table, with its partitions.
        metadata: of the table with the other changes of the statement.
        path: names of the column and of the fields within.

    Raises:
        UnsupportedError: it is a partition column, or part of the keys of a map.
        PropertyError: a property of the table names it.
        SkewedColumnChangeError: rows have directories by its values, in the table or in a partition.
        BucketColumnChangeError: rows have buckets or an order by its values.
    """
    column = _find_column(metadata, path[0])
    if column is None:
        return  # the change itself reports it
    label = ".".join([column.name, *path[1:]])
    if column.name in metadata.partition_by:
        raise UnsupportedError(
            f"Column {label} is a partition column of table {snapshot.label}, by which its rows are found, and cannot be "
            "dropped: make another table with CREATE TABLE … AS SELECT, or a view that leaves it out."
        )
    if _within_keys(column.type, path[1:]):
        raise UnsupportedError(
            f"Field {label} is part of the keys of a map. Without it two keys could be equal: drop the whole column."
        )
    for name in naming(metadata.properties, [column.name, *path[1:]]):
        raise PropertyError(
            f"Column {label} cannot be dropped, as the property {name!r} of table {snapshot.label} names it: say ALTER TABLE "
            f"{snapshot.label} SET TBLPROPERTIES ('{name}' = '…'), or UNSET it, before."
        )
    require_unskewed(snapshot.label, metadata, column.name, renamed=False)
    for arrangement, holder in all_arrangements(snapshot, metadata):
        if column.physical not in arrangement.columns:
            continue
        rewrite = "write the partitions anew that are arranged by it, with INSERT OVERWRITE"
        remedy = (
            f"say ALTER TABLE {snapshot.label} NOT CLUSTERED before, and {rewrite}"
            if holder is None
            else f"{rewrite}; {holder} is one"
        )
        message = f"Column {label} cannot be dropped, as rows of table {snapshot.label} are arranged by it: {remedy}."
        if arrangement.skew is not None and column.physical in arrangement.skew.columns:
            raise SkewedColumnChangeError(message)
        raise BucketColumnChangeError(message)


def split_into_elementary_changes(
    metadata: TableMetadata, changes: Sequence[TableChange]
) -> list[TableChange | OrderColumns]:
    """Return changes with simple ones instead of REPLACE COLUMNS.

    Spark sends it as dropping all columns, partition columns too, and adding the columns of the statement. As
    in Hive, a column that the statement names again is kept, with its values, and so are partition columns
    that it does not name. The last change in the result sets the order of the columns.

    Raises:
        UnsupportedError: a column that is named again would be NOT NULL and may contain NULL.
    """
    count = len(metadata.columns)
    dropped = [each.column for each in changes[:count] if isinstance(each, DropColumn)]
    added = [each for each in changes[count:] if isinstance(each, AddColumn)]
    if (
        dropped != [[column.name] for column in metadata.columns]
        or not 0 < len(added) == len(changes) - count
    ):
        return list(changes)
    simple: list[TableChange | OrderColumns] = []
    kept: list[str] = []
    for change in added:
        column = _find_column(metadata, change.column[0])
        if column is None:
            simple.append(change)
        else:
            kept.append(column.name)
            simple += _differences(column, change)
    gone = [
        DropColumn([column.name])
        for column in metadata.columns
        if column.name not in kept and column.name not in metadata.partition_by
    ]
    return [*simple, *gone, OrderColumns([change.column[0] for change in added])]


def _differences(column: TableColumn, new: AddColumn) -> Iterator[TableChange]:
    """Yield the changes that make a column what a statement that names it again says."""
    path = [column.name]
    if type_text(new.type) != type_text(column.type):  # marks of nested fields stay
        yield UpdateColumnType(path, new.type, new.metadata)
    if new.nullable != column.nullable:
        yield UpdateColumnNullability(path, new.nullable)
    if new.comment != column.comment:
        yield UpdateColumnComment(path, new.comment)
    default = new.metadata.get(CURRENT_DEFAULT)
    if default != column.metadata.get(CURRENT_DEFAULT):
        yield UpdateColumnDefault(path, default)


def order_columns(metadata: TableMetadata, names: Sequence[str]) -> tuple[TableColumn, ...]:
    """Return columns in an order. Columns that it does not name are partition columns, and come last."""
    wanted = {name.lower(): index for index, name in enumerate(names)}
    return tuple(
        sorted(metadata.columns, key=lambda column: wanted.get(column.name.lower(), len(wanted)))
    )  # stable: keeps the order of the others


def _within_keys(type_: Any, path: Sequence[str]) -> bool:
    """Return whether a path within a type passes through a map's keys (not a struct's field named `key`)."""
    if not path or not isinstance(type_, dict):
        return False
    step = path[0].lower()
    match type_["type"]:
        case "map":
            return step == "key" or _within_keys(type_["valueType"], path[1:])
        case "array":
            return _within_keys(type_["elementType"], path[1:])
    return any(
        _within_keys(each["type"], path[1:]) for each in type_["fields"] if each["name"].lower() == step
    )


def _find_column(metadata: TableMetadata, name: str) -> TableColumn | None:
    return next((column for column in metadata.columns if column.name.lower() == name.lower()), None)
