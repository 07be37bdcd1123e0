"""Write heavy values as text: as clauses of a statement, and as the rows of DESCRIBE, in Hive's words."""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.data_files import TableColumn
from parquetry.ddl import NOT_DIRECTORIES
from parquetry.identifiers import part_text
from parquetry.layout import SkewMap, cell_directory
from parquetry.locations import join_location
from parquetry.types import ColumnType, Value, sql_literal, text_from_value


def cell_text(values: Sequence[Value], types: Sequence[ColumnType]) -> str:
    """Return a cell as SQL writes it: a literal, or several in parentheses.

    >>> from parquetry.types import parse_type
    >>> cell_text((1, None), [parse_type("int"), parse_type("string")])
    '(1, NULL)'
    """
    literals = [sql_literal(type, value) for type, value in zip(types, values, strict=True)]
    return literals[0] if len(literals) == 1 else f"({', '.join(literals)})"


def skewed_by_text(skew: SkewMap, columns: Sequence[TableColumn]) -> str:
    """Return the text after the words `SKEWED BY` for a map. Columns have their current names.

    >>> columns = [TableColumn("X", "integer"), TableColumn("s", "string")]
    >>> skewed_by_text(SkewMap(("s", "X"), (("it's", 1), (None, 2)), directories=True), columns)
    "(s, X) ON (('it''s', 1), (NULL, 2)) STORED AS DIRECTORIES"
    >>> from parquetry.layout import AutoSkew
    >>> [skewed_by_text(SkewMap(("X",), (), each, auto=AutoSkew(0.05, 16)), columns) for each in (True, False)]
    ['(X) ON AUTO STORED AS DIRECTORIES', '(X) ON AUTO NOT STORED AS DIRECTORIES']
    """
    chosen = _columns(skew, columns)
    names = ", ".join(part_text(column.name) for column in chosen)
    types = [column.column_type for column in chosen]
    cells = "AUTO" if skew.auto else f"({', '.join(cell_text(cell, types) for cell in skew.values(types))})"
    without = f" {NOT_DIRECTORIES}" if skew.auto else ""  # AUTO alone means directories
    return f"({names}) ON {cells}{' STORED AS DIRECTORIES' if skew.directories else without}"


def skewed_locations_text(skew: SkewMap, columns: Sequence[TableColumn]) -> str | None:
    """Return the text after the words `SET SKEWED LOCATION`, or None if no cell has a location of its own.

    >>> skew = SkewMap(("x",), ((1,), (2,)), True, (None, "hdfs://h/b"))
    >>> skewed_locations_text(skew, [TableColumn("x", "integer")])
    "(2 = 'hdfs://h/b')"
    """
    types = [column.column_type for column in _columns(skew, columns)]
    pairs = [
        f"{cell_text(cell, types)} = {sql_literal(ColumnType('string'), location)}"
        for cell, location in zip(skew.values(types), skew.locations, strict=False)
        if location is not None
    ]
    return f"({', '.join(pairs)})" if pairs else None


def describe_skew(
    skew: SkewMap, columns: Sequence[TableColumn], location: str | None = None
) -> list[tuple[str, str]]:
    """Return the rows of DESCRIBE FORMATTED about a map, as names and texts, like Hive's.

    Args:
        skew: of a table or of a partition.
        columns: of the table's files.
        location: the partition's path from its table's folder on, or None for a table.

    >>> skew = SkewMap(("x",), ((10,), (None,)), directories=True)
    >>> for name, text in describe_skew(skew, [TableColumn("x", "integer")], "/t/ds=1"): print(f"{name}: {text}")
    Stored As SubDirectories: Yes
    Skewed Columns: [x]
    Skewed Values: [[10], [NULL]]
    Skewed Value to Truncated Path: {[10]=/t/ds=1/x=10, [NULL]=/t/ds=1/x=__HIVE_DEFAULT_PARTITION__}
    """
    chosen = _columns(skew, columns)
    types = [column.column_type for column in chosen]
    cells = [_plain(cell, types) for cell in skew.values(types)]
    rows = [
        ("Stored As SubDirectories", "Yes" if skew.directories else "No"),
        ("Skewed Columns", f"[{', '.join(column.name for column in chosen)}]"),
        ("Skewed Values", "AUTO" if skew.auto else f"[{', '.join(cells)}]"),
    ]
    paths = [
        f"{cell}={join_location(location or '', path)}"
        for number, cell in enumerate(cells)
        if (path := _path(skew, types, number, location)) is not None
    ]
    if paths and skew.directories:
        rows.append(("Skewed Value to Truncated Path", f"{{{', '.join(paths)}}}"))
    return rows


def _path(skew: SkewMap, types: Sequence[ColumnType], cell: int, location: str | None) -> str | None:
    """Return a cell's directory, below its partition or absolute, or None if it depends on the partition."""
    given = skew.locations[cell] if skew.locations else None
    return given or (None if location is None else cell_directory(skew, types, cell))


def _plain(cell: Sequence[Value], types: Sequence[ColumnType]) -> str:
    texts = (
        "NULL" if value is None else text_from_value(type, value)
        for type, value in zip(types, cell, strict=True)
    )
    return f"[{', '.join(texts)}]"


def _columns(skew: SkewMap, columns: Sequence[TableColumn]) -> list[TableColumn]:
    by_physical = {column.physical: column for column in columns}
    return [by_physical[name] for name in skew.columns]
