"""Read Hive's clauses about heavy values for the columns of a table, with Hive's checks.

Hive keeps any text as a value, in lower case. Here a value has to belong to its column's type: for an `int`
column, `'1'` and `1` are the same, and `'one'` is an error. Names of columns match in any letter case; values
keep theirs.

Hive's checks come first, in Hive's order (`ValidationUtility` in Hive): an unknown column, a column that is
named twice, no values, tuples of another width than the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from parquetry import errors
from parquetry.data_files import TableColumn
from parquetry.ddl import SkewedBy
from parquetry.layout import DEFAULT_DIRECTORY, MAX_CELLS, AutoSkew, SkewMap, cell_directory, cell_text
from parquetry.locations import MAX_NAME_BYTES, take_apart
from parquetry.sqltext import LiteralConstant
from parquetry.types import ColumnType, Value, type_text, value_from_text

DEFAULT_KEY = "HIVE_DEFAULT_LIST_BUCKETING_KEY"
"""Hive's users write this in SET SKEWED LOCATION for all other values. Hive stores it and never reads it."""

Zone = Callable[[], str]
"""Returns the time zone for timestamps without one; called only if it is needed."""

_MAX_SHOWN_VALUES = 20


def skew_map(clause: SkewedBy, columns: Sequence[TableColumn], auto: AutoSkew, zone: Zone) -> SkewMap:
    """Return the map that a clause defines.

    Args:
        clause: as it was parsed.
        columns: of the table's files.
        auto: the limits for heavy values, if they are to be measured.
        zone: returns the time zone for timestamps without one; called only if it is needed.

    Raises:
        SkewError: a check fails; each check has a class of its own.

    >>> from parquetry.ddl import parse_skewed_by
    >>> columns = [TableColumn("X", "integer"), TableColumn("s", "string")]
    >>> clause = parse_skewed_by("(s, x) ON (('UP', '1'), (NULL, 2))")
    >>> skew_map(clause, columns, AutoSkew(0.05, 16), lambda: "UTC").cells
    (('UP', 1), (None, 2))
    """
    chosen = [_column(name, columns) for name in clause.columns]
    for i, column in enumerate(chosen):
        if column in chosen[:i]:
            raise errors.DuplicateSkewedColumnError(
                f"Duplicate skewed column name: {clause.columns[i]}. Name it once in SKEWED BY."
            )
    for column in chosen:
        if not column.column_type.primitive:
            raise errors.SkewedValueError(
                f"Skewed column {column.name} is of type {type_text(column.type)}: choose a column of numbers, texts, "
                "booleans, bytes, dates or timestamps."
            )
    physical = tuple(column.physical for column in chosen)
    if clause.tuples is None:
        return SkewMap(physical, (), clause.directories, auto=auto)
    if not clause.tuples:
        raise errors.NoSkewedValuesError("No skewed values. Write the heavy values behind ON, or ON AUTO.")
    for each in clause.tuples:
        _check_width(len(chosen), each)
    if len(clause.tuples) > MAX_CELLS:
        raise errors.SkewedValueError(
            f"SKEWED BY names {len(clause.tuples)} values, and at most {MAX_CELLS} can be: each costs a comparison for "
            "every row that is written. Name the heaviest, or say ON AUTO."
        )
    cells = tuple(_parse_values(each, chosen, zone) for each in clause.tuples)
    if len(set(map(_same, cells))) < len(cells):
        twice = next(cell for i, cell in enumerate(cells) if _same(cell) in map(_same, cells[:i]))
        shown = cell_text(twice, [column.column_type for column in chosen])
        raise errors.SkewedValueError(f"SKEWED BY names the value {shown} twice: name it once.")
    skew = SkewMap(physical, cells, clause.directories)
    if clause.directories:
        _check_directories(skew, [column.column_type for column in chosen])
    return skew


def set_cell_locations(
    skew: SkewMap,
    pairs: Sequence[tuple[tuple[LiteralConstant, ...], str]],
    columns: Sequence[TableColumn],
    zone: Zone,
) -> SkewMap:
    """Return a map with other locations for the directories of some cells. The other cells keep theirs.

    Args:
        skew: the map.
        pairs: for each cell the constants of its values, and the URI.
        columns: of the table's files.
        zone: returns the time zone for timestamps without one; called only if it is needed.

    Raises:
        SkewedLocationError: a location is no absolute URI.
        SkewedWidthError: the number of values in a key differs from the number of skewed columns.
        SkewedValueError: there is no such cell, a cell is named twice, or the map has no directories.
    """
    if not skew.directories:
        raise errors.SkewedValueError(
            "The skewed values have no directories that could be elsewhere: say STORED AS DIRECTORIES first."
        )
    chosen = skew.columns_among(columns)
    types = [column.column_type for column in chosen]
    positions = {_same(cell): position for position, cell in enumerate(skew.values(types))}
    locations = list(skew.locations or [None] * len(skew.cells))
    seen = set()
    for key, uri in pairs:
        if any(value.text == DEFAULT_KEY for value in key):
            raise errors.SkewedValueError(
                f"{DEFAULT_KEY} cannot be given a location: the rows of all other values stay below their partition."
            )
        _check_width(len(chosen), key)
        values = _parse_values(key, chosen, zone)
        position = positions.get(_same(values))
        if position is None:
            raise errors.SkewedValueError(
                f"{cell_text(values, types)} is none of the skewed values, which are {_list_values(skew, types)}."
            )
        if position in seen:
            raise errors.SkewedValueError(
                f"The skewed value {cell_text(values, types)} is given two locations: give one."
            )
        _check_location(uri)
        seen.add(position)
        locations[position] = uri
    return msgspec.structs.replace(skew, locations=tuple(locations))


def _column(name: str, columns: Sequence[TableColumn]) -> TableColumn:
    for column in columns:
        if column.name.lower() == name.lower():
            return column
    known = ", ".join(column.name for column in columns)
    raise errors.InvalidSkewedColumnError(
        f"Invalid skewed column name: {name}. Those that can be skewed are {known}; partition columns cannot."
    )


def _check_width(width: int, values: Sequence[LiteralConstant]) -> None:
    if len(values) != width:
        raise errors.SkewedWidthError(
            "The number of skewed column names and the number of skewed column values are different: "
            f"{width} : {len(values)}. Give one value for each skewed column."
        )


def _parse_values(
    values: Sequence[LiteralConstant], columns: Sequence[TableColumn], zone: Zone
) -> tuple[Value, ...]:
    typed = []
    for value, column in zip(values, columns, strict=True):
        type = column.column_type
        try:
            typed.append(_value(value, type, zone() if type.name == "timestamp" else "UTC"))
        except errors.ValueTypeError as error:
            raise errors.SkewedValueError(
                f"The skewed value {value.text!r} does not fit column {column.name}: {error.message}"
            ) from None
    return tuple(typed)


def _value(constant: LiteralConstant, type: ColumnType, zone: str) -> Value:
    """Return a constant as a value of a type.

    Raises:
        ValueTypeError: it is no value of the type.
    """
    kind, text = constant.kind, constant.text
    if kind == "null":
        return None
    if kind == "text" or kind in type.facts.constants:
        if kind == "binary":
            return _bytes(text)
        return value_from_text(type, _whole(text) if kind == "number" and type.integral else text, zone)
    raise errors.ValueTypeError(f"A {constant.kind} is no value of type {type}; write one that is.")


def _whole(text: str) -> str:
    """Return a number such as `1e3` in digits, if it is a whole number."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return f"{number:f}".partition(".")[0] if number == number.to_integral_value() else text


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise errors.ValueTypeError(f"X'{text}' is not made of pairs of hexadecimal digits.") from None


def _same(cell: Sequence[Any]) -> tuple[Any, ...]:
    """Return a key that is equal for tuples of the same cell: NaN equals NaN, and zero has no sign."""
    return tuple("NaN" if value != value else (isinstance(value, bool), value) for value in cell)


def _check_directories(skew: SkewMap, types: Sequence[ColumnType]) -> None:
    for cell, values in enumerate(skew.values(types)):
        shown = cell_text(values, types)
        if DEFAULT_DIRECTORY in values:
            raise errors.SkewedValueError(
                f"The skewed value {shown} is the name of the directory of all other rows: leave it out."
            )
        for name in cell_directory(skew, types, cell).split("/"):
            if len(name.encode()) > MAX_NAME_BYTES:
                raise errors.SkewedValueError(
                    f"The skewed value {shown} would need a directory whose name has {len(name.encode())} bytes, and "
                    f"file systems take {MAX_NAME_BYTES}: leave it out, so that its rows stay with the rest."
                )


def _check_location(uri: str) -> None:
    parts = take_apart(uri)
    if not parts.scheme or not parts.path.startswith("/"):
        raise errors.SkewedLocationError(
            f"{uri} is not absolute or has no scheme information. Please specify a complete absolute uri with scheme "
            "information."
        )


def _list_values(skew: SkewMap, types: Sequence[ColumnType]) -> str:
    shown = [cell_text(values, types) for values in skew.values(types)[:_MAX_SHOWN_VALUES]]
    more = len(skew.cells) - len(shown)
    return (", ".join(shown) or "found anew for each partition") + (f" and {more} more" if more else "")
