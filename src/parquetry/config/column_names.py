"""Columns that properties of tables name: which ones they are, and their new names after a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parquetry.config.registry import PROPERTIES
from parquetry.config.setting import parse_statistics_fields
from parquetry.identifiers import (
    ordered_columns_text,
    parse_columns,
    parse_ordered_columns,
    parse_sorted_by,
    paths_text,
)


def rename_column(properties: Mapping[str, str], path: Sequence[str], new: str) -> dict[str, str]:
    """Return table properties after a column, or a field of a struct, got another name.

    >>> rename_column({"sort-by": "A, b.a"}, ["a"], "x y"), rename_column({"sort-by": "a, b.a"}, ["b", "a"], "c")
    ({'sort-by': '`x y`, b.a'}, {'sort-by': 'a, b.c'})
    >>> rename_column({"sort-by": "zorder(a, b)"}, ["a"], "c")
    {'sort-by': 'zorder(c, b)'}
    """
    renamed = dict(properties)
    for name, setting in PROPERTIES.items():
        if name not in properties:
            continue
        if setting.parse == parse_sorted_by:
            order = parse_sorted_by(properties[name])
            if any(_begins(column_path, path) for column_path in order.paths):
                renamed[name] = str(order._replace(paths=_rename_in(order.paths, path, new)))
        elif setting.parse == parse_statistics_fields:
            paths = parse_statistics_fields(properties[name])
            if not isinstance(paths, int) and any(_begins(column_path, path) for column_path in paths):
                renamed[name] = paths_text(_rename_in(paths, path, new))
        elif setting.parse in (parse_columns, parse_ordered_columns) and len(path) == 1:
            columns = parse_ordered_columns(properties[name])
            if any(_begins([column], path) for column, _ in columns):
                renamed[name] = ordered_columns_text(
                    (new if _begins([column], path) else column, down) for column, down in columns
                )
    return renamed


def _rename_in(
    paths: Iterable[tuple[str, ...]], path: Sequence[str], new: str
) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (*each[: len(path) - 1], new, *each[len(path) :]) if _begins(each, path) else each for each in paths
    )


def naming(properties: Mapping[str, str], path: Sequence[str]) -> list[str]:
    """Return the table properties that name a column or a field of a struct, its parent, or its child.

    >>> naming({"sort-by": "A.x, b", "bloom-filter-columns": "b"}, ["a"]), naming({"sort-by": "a.x"}, ["a", "y"])
    (['sort-by'], [])
    """
    return [
        name
        for name, text in properties.items()
        if any(_begins(column_path, path) or _begins(path, column_path) for column_path in _paths(name, text))
    ]


def _paths(name: str, text: str) -> tuple[tuple[str, ...], ...]:
    """Return the columns and fields that a table property names."""
    parse = PROPERTIES[name].parse if name in PROPERTIES else str
    if parse == parse_sorted_by:
        return tuple(parse_sorted_by(text).paths)
    if parse in (parse_columns, parse_ordered_columns):
        return tuple((column,) for column, _ in parse_ordered_columns(text))
    return ()


def _begins(path: Sequence[str], begin: Sequence[str]) -> bool:
    """Return whether a path begins with another, in any letter case."""
    return [part.lower() for part in path[: len(begin)]] == [part.lower() for part in begin]
