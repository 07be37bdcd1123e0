"""The columns in settings: files are sorted by `sort-by`, and `bloom-filter-columns` get Bloom filters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parquetry.config import BLOOM_FILTER_COLUMNS, SORT_BY, Settings
from parquetry.data_files import TableColumn, physical_name
from parquetry.definition.bucket_clause import has_order
from parquetry.errors import ColumnNotFoundError, UnsupportedError
from parquetry.identifiers import SortedBy, join_name, parse_sorted_by, paths_text
from parquetry.layout import Field, fields_from_columns
from parquetry.metastore import TableMetadata
from parquetry.types import type_text


def require_columns(metadata: TableMetadata, settings: Settings) -> None:
    """Refuse settings with columns that cannot be used.

    Raises:
        PropertyError: see the functions below.
        ConfigurationError: see the functions below.
    """
    sorted_by(metadata, settings)
    bloom_filter_columns(metadata, settings)


def sorted_by(metadata: TableMetadata, settings: Settings) -> SortedBy:
    """Return what a table's files are sorted by, with paths of names in the files.

    Raises:
        PropertyError: `sort-by` cannot be parsed, or names a column that does not exist or has no order.
        ConfigurationError: the same of the session's setting.
    """
    asked = settings.effective(SORT_BY)
    order = asked.value or SortedBy(())
    paths = []
    for path in order.paths:
        try:
            fields = _sortable(metadata, path)
        except (ColumnNotFoundError, UnsupportedError) as error:
            raise asked.error(f": {error.message}") from None
        paths.append(tuple(physical_name(field) for field in fields))
    return SortedBy(tuple(paths), order.is_curve)


def clustering(metadata: TableMetadata) -> list[list[str]]:
    """Return the columns and fields that CLUSTER BY would name, each as a path of names.

    It returns none for tables with partitions or buckets: Spark does not allow the clause there. It cannot
    name a curve either.
    """
    text = metadata.properties.get(SORT_BY)
    if text is None or metadata.partition_by or metadata.arrangement.buckets is not None:
        return []
    try:
        order = parse_sorted_by(text)
        paths = () if order.is_curve else order.paths
        return [[str(field["name"]) for field in _sortable(metadata, path)] for path in paths]
    except (ValueError, ColumnNotFoundError, UnsupportedError):  # set by an older library; writes raise it
        return []


def translate_cluster_by(label: str, metadata: TableMetadata, paths: Sequence[Sequence[str]]) -> str:
    """Return the property `sort-by` that means the same as CLUSTER BY.

    Raises:
        ColumnNotFoundError: there is no such column or field.
        UnsupportedError: a column or field has no order.
    """
    for path in paths:
        try:
            _sortable(metadata, path)
        except (ColumnNotFoundError, UnsupportedError) as error:
            raise type(error)(f"CLUSTER BY of table {label}: {error.message}") from None
    return paths_text(paths)


def _sortable(metadata: TableMetadata, path: Sequence[str]) -> list[Field]:
    """Return the column that a path begins with, and the fields that it passes through.

    Raises:
        ColumnNotFoundError: there is no such column or field.
        UnsupportedError: the last of them has no order. The message begins with the path.
    """
    names = [column.name.lower() for column in metadata.columns]
    if len(path) > 1 and path[0].lower() not in names and ".".join(path).lower() in names:
        path = [".".join(path)]  # a name with a dot: it needed no backticks before fields could be named
    steps: list[Field] = []
    fields: Sequence[Field] = fields_from_columns([metadata.column(path[0])])
    for depth, name in enumerate(path):
        field = next((each for each in fields if each["name"].lower() == name.lower()), None)
        if field is None:
            above = join_name(each["name"] for each in steps)
            there = (
                f"its fields are: {', '.join(each['name'] for each in fields)}"
                if fields
                else "it is no struct"
            )
            raise ColumnNotFoundError(f"Column {above} has no field {name!r}; {there}.")
        steps.append(field)
        of = field["type"]
        fields = (
            of["fields"] if depth + 1 < len(path) and isinstance(of, dict) and of["type"] == "struct" else []
        )
    what, shown = ("field" if len(path) > 1 else "column"), join_name(path)
    if _kind(steps[-1]["type"]) == "map":
        raise UnsupportedError(f"{what} {shown} is a map, and maps have no order.")
    if not has_order(steps[-1]["type"]):
        raise UnsupportedError(
            f"{what} {shown} is of type {type_text(steps[-1]['type'])}, whose values have no order."
        )
    return steps


def bloom_filter_columns(metadata: TableMetadata, settings: Settings) -> tuple[TableColumn, ...]:
    """Return the columns that get Bloom filters in the files.

    Raises:
        PropertyError: `bloom-filter-columns` cannot be parsed, or names a column that does not exist or can
            have none.
        ConfigurationError: the same of the session's setting.
    """

    def fault(column: TableColumn) -> str | None:
        if column.name in metadata.partition_by:
            return "is a partition column, which files do not hold"
        if not column.column_type.facts.bloom_filter:
            return f"is a {_kind(column.type)}, and files have no Bloom filters of these"
        return None

    asked = settings.effective(BLOOM_FILTER_COLUMNS)
    columns = []
    for name in asked.value or ():
        try:
            column = metadata.column(name)
        except ColumnNotFoundError as error:
            raise asked.error(f": {error.message}") from None
        if (reason := fault(column)) is not None:
            raise asked.error(f": column {name} {reason}.")
        columns.append(column)
    return tuple(columns)


def bloom_filter_options(metadata: TableMetadata, settings: Settings) -> dict[str, str]:
    """Return the writer's options for Bloom filters, each as large as its values need.

    Raises:
        PropertyError: see `bloom_filter_columns`.
        ConfigurationError: see `bloom_filter_columns`.
    """
    names = [column.physical for column in bloom_filter_columns(metadata, settings)]
    if not names:
        return {}
    if metadata.format == "orc":
        return {"orc.bloom.filter.columns": ",".join(names)}
    # The number of values is unknown in advance. Without these options, Parquet would write a megabyte for
    # each row group, and with the first of them alone 64 kB at least. Each candidate is half as large as the
    # one before, and Parquet keeps the smallest that serves.
    options = {"parquet.bloom.filter.adaptive.enabled": "true"}
    for name in names:
        options[f"parquet.bloom.filter.enabled#{name}"] = "true"
        options[f"parquet.bloom.filter.candidates.number#{name}"] = "12"
    return options


def _kind(type_: Any) -> str:
    return str(type_["type"]) if isinstance(type_, dict) else str(type_)
