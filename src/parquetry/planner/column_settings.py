"""The columns that settings name: those that files are sorted by (`sort-by`), and those with Bloom filters (`bloom-filter-columns`)."""

from __future__ import annotations

from collections.abc import Callable

from parquetry.config import BLOOM_FILTER_COLUMNS, SORT_BY
from parquetry.errors import ColumnNotFoundError
from parquetry.layout.records import Column
from parquetry.metastore.model import TableMetadata
from parquetry.precedence import Settings

_WITHOUT_FILTERS = ("boolean", "float", "double")
"""Of two values no filter is of use; of floats, it tells zeros apart that SQL holds equal."""


def require_columns(metadata: TableMetadata, settings: Settings) -> None:
    """Refuse settings that name columns which cannot be used so.

    Raises:
        PropertyError: see the functions below.
        ConfigurationError: the same.
    """
    sort_columns(metadata, settings)
    bloom_filter_columns(metadata, settings)


def sort_columns(metadata: TableMetadata, settings: Settings) -> tuple[Column, ...]:
    """Return the columns by which the files of a table are sorted.

    Raises:
        PropertyError: `sort-by` is no list of columns, or names one that is not there or that has no order.
        ConfigurationError: the session's does.
    """

    def fault(column: Column) -> str | None:
        return "is a map, and maps have no order" if _kind(column) == "map" else None

    return _columns(metadata, settings, SORT_BY, fault)


def bloom_filter_columns(metadata: TableMetadata, settings: Settings) -> tuple[Column, ...]:
    """Return the columns for which files are to have Bloom filters.

    Raises:
        PropertyError: `bloom-filter-columns` is no list of columns, or names one that is not there or that files have none for.
        ConfigurationError: the session's does.
    """

    def fault(column: Column) -> str | None:
        if column.name in metadata.partition_by:
            return "is a partition column, which files do not hold"
        if not column.column_type.primitive or column.column_type.name in _WITHOUT_FILTERS:
            return f"is a {_kind(column)}, and files have no Bloom filters of these"
        return None

    return _columns(metadata, settings, BLOOM_FILTER_COLUMNS, fault)


def bloom_filter_options(metadata: TableMetadata, settings: Settings) -> dict[str, str]:
    """Return what makes the writer of a table's files write Bloom filters, each as large as its values need.

    Raises:
        PropertyError: see `bloom_filter_columns`.
        ConfigurationError: the same.
    """
    names = [column.physical for column in bloom_filter_columns(metadata, settings)]
    if not names:
        return {}
    if metadata.format == "orc":
        return {"orc.bloom.filter.columns": ",".join(names)}
    # Nobody says how many values to expect: without these, Parquet would write a megabyte for each row group, and with the first of
    # them 64 kB at least. A candidate is half as large as the one before, and the smallest that serves is kept.
    options = {"parquet.bloom.filter.adaptive.enabled": "true"}
    for name in names:
        options[f"parquet.bloom.filter.enabled#{name}"] = "true"
        options[f"parquet.bloom.filter.candidates.number#{name}"] = "12"
    return options


def _columns(
    metadata: TableMetadata, settings: Settings, setting: str, fault: Callable[[Column], str | None]
) -> tuple[Column, ...]:
    asked = settings.effective(setting)
    columns = []
    for name in asked.value or ():
        try:
            column = metadata.column(name)
        except ColumnNotFoundError as error:
            raise asked.refused(f": {error.message}") from None
        if (reason := fault(column)) is not None:
            raise asked.refused(f": column {name} {reason}.")
        columns.append(column)
    return tuple(columns)


def _kind(column: Column) -> str:
    return str(column.type["type"]) if isinstance(column.type, dict) else str(column.type)
