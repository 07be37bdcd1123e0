"""Files that readers of Iceberg or Delta cannot read right, as their footers show.

| a file with | what such a reader reads |
|---|---|
| encrypted columns | an error about bytes |
| early days of another calendar (`calendars`) | other days |
| lists or maps that are not in the form of Parquet's specification | DuckDB 1.5 by names: NULL; by ids: an error |
"""

from __future__ import annotations

from collections.abc import Iterable

from parquetry.data_files.footers.calendars import may_have_old_days
from parquetry.data_files.footers.parquet_footer import ParquetFooter
from parquetry.data_files.footers.parquet_schema import SchemaNode
from parquetry.data_files.records import IdsInFile


def find_obstacle(footer: ParquetFooter) -> IdsInFile | None:
    """Return what is recorded of a Parquet file that only Spark reads right, or None.

    Args:
        footer: of the file.
    """
    if footer.has_encrypted_columns:
        return IdsInFile.ENCRYPTED
    if may_have_old_days(footer):
        return IdsInFile.OLD_CALENDAR
    return IdsInFile.OLD_LISTS if has_old_lists(footer.columns) else None


def has_old_lists(columns: Iterable[SchemaNode]) -> bool:
    """Return whether a column, or a field within one, is a list or a map in a form of older writers.

    The specification's list is a group `list` with one element, here of any name. Its map has entries with a
    `key` and a `value`. Hive, Spark 1 and Spark's `writeLegacyFormat` have a group `bag`, or no group.

    Args:
        columns: of the file.
    """
    return any(map(_is_old, columns))


def _is_old(node: SchemaNode) -> bool:
    if node.annotation == "VARIANT":
        return False
    if node.repeated:
        return True
    if node.annotation in ("LIST", "MAP"):
        if len(node.children) != 1 or not node.children[0].repeated:
            return True
        (repeated,) = node.children
        names = [child.name for child in repeated.children]
        if node.annotation == "LIST":
            return repeated.name != "list" or len(names) != 1 or has_old_lists(repeated.children)
        return names != ["key", "value"] or has_old_lists(repeated.children)
    return has_old_lists(node.children)
