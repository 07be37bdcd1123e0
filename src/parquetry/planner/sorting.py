"""The columns that files are sorted by, from the setting `sort-by`."""

from __future__ import annotations

from parquetry.errors import ColumnNotFoundError
from parquetry.layout.records import Column
from parquetry.metastore.model import TableMetadata
from parquetry.precedence import Settings


def sort_columns(metadata: TableMetadata, settings: Settings) -> tuple[Column, ...]:
    """Return the columns by which the files of a table are sorted.

    Raises:
        PropertyError: `sort-by` is no list of columns, or names one that is not there or that has no order.
        ConfigurationError: the session's does.
    """
    asked = settings.effective("sort-by")
    columns = []
    for name in asked.value or ():
        try:
            column = metadata.column(name)
        except ColumnNotFoundError as error:
            raise asked.refused(f": {error.message}") from None
        if isinstance(column.type, dict) and column.type["type"] == "map":
            raise asked.refused(f": column {name} is a map, and maps have no order.")
        columns.append(column)
    return tuple(columns)
