"""The statements that give a table a layout."""

from __future__ import annotations

import re

from parquetry.adviser.input.sources import TableSource
from parquetry.adviser.layouts import VALUE, TableLayout, is_change
from parquetry.config import SORT_BY, TARGET_FILE_SIZE
from parquetry.identifiers import part_text

_KIB = 1 << 10
_NEW_NAME = "new_table"


def statements(source: TableSource, layout: TableLayout, catalog: str, *, is_resized: bool) -> list[str]:
    """Return what to type, in order.

    Args:
        source: the table.
        layout: that it is to have.
        catalog: the catalog's name in the session.
        is_resized: whether the size of files is a part of the advice.
    """
    properties = _properties(layout, is_resized=is_resized)
    if source.is_ours and is_change(source.layout, layout):
        return _changes(source, layout, properties, catalog)
    return [_creation(source, layout, properties, catalog)]


def _changes(source: TableSource, layout: TableLayout, properties: dict[str, str], catalog: str) -> list[str]:
    table = f"{catalog}.{source.name}"
    result = []
    if layout.bucket_count:
        result.append(f"ALTER TABLE {table} {bucket_clause(layout)}")
    if properties:
        result.append(f"ALTER TABLE {table} SET TBLPROPERTIES ({_property_list(properties)})")
    if source.layout.sort and not layout.sort:
        result.append(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{SORT_BY}')")
    call = "rebucket" if layout.bucket_count else "compact"
    more = "" if layout.bucket_count else ", rewrite_all => true"
    return [*result, f"CALL {catalog}.system.{call}('{source.name}'{more})"]


def _creation(source: TableSource, layout: TableLayout, properties: dict[str, str], catalog: str) -> str:
    name = source.name if source.is_ours else _new_name(source.name)
    lines = [
        f"CREATE {'OR REPLACE ' if source.is_ours else ''}TABLE {catalog}.{name} USING {source.file_format}"
    ]
    if layout.partition:
        lines.append(f"PARTITIONED BY ({', '.join(part_text(grain.name) for grain in layout.partition)})")
    if layout.bucket_count:
        lines.append(bucket_clause(layout))
    if layout.heavy is not None:
        heavy = layout.heavy
        lines.append(
            f"SKEWED BY ({part_text(heavy.column)}) ON ({', '.join(heavy.literals)}) STORED AS DIRECTORIES"
        )
    if layout.bucket_count and layout.heavy is not None:
        properties = {**properties, "list-bucketing-rules": "relaxed"}
    if properties:
        lines.append(f"TBLPROPERTIES ({_property_list(properties)})")
    computed = [
        f"{grain.expression} AS {part_text(grain.name)}"
        for grain in layout.partition
        if grain.unit != VALUE and grain.name not in source.columns
    ]
    origin = f"{catalog}.{source.name}" if source.is_ours else source.origin
    return "\n  ".join([*lines, f"AS SELECT {', '.join(['*', *computed])} FROM {origin}"])


def _new_name(name: str) -> str:
    """Return a table's name for a folder, or another catalog's table.

    >>> _new_name("/data/Visits 2026/"), _new_name("spark_catalog.web.visits"), _new_name("s3://bucket/2026")
    ('default.visits_2026', 'web.visits', 'default.t_2026')
    """
    if "/" not in name and name.count(".") == 2:
        return name.split(".", 1)[1]
    base = re.sub(r"\W+", "_", name.rstrip("/").rsplit("/", 1)[-1]).strip("_").lower() or _NEW_NAME
    return f"default.{base if not base[0].isdigit() else f't_{base}'}"


def _properties(layout: TableLayout, *, is_resized: bool) -> dict[str, str]:
    properties = {}
    if layout.sort:
        properties[SORT_BY] = layout.sort_by
    if is_resized:
        properties[TARGET_FILE_SIZE] = f"{max(1, round(layout.file_bytes / _KIB))}kb"
    return properties


def _property_list(properties: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def bucket_clause(layout: TableLayout) -> str:
    """Return the clause CLUSTERED BY of a layout."""
    order = f" SORTED BY ({', '.join(map(part_text, layout.sort))})" if layout.sort else ""
    return f"CLUSTERED BY ({', '.join(map(part_text, layout.bucket_by))}){order} INTO {layout.bucket_count} BUCKETS"
