"""Cells of a skew map: how tuples of values are recorded, compared and shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, TypeAlias

import msgspec

from parquetry.errors import ArrangementError
from parquetry.types import ColumnType, Value, sql_literal

REST = -1
"""The cell of files whose rows are all in none of a map's cells: the files of Hive's default directory."""
MAX_CELLS = 1000
"""Most cells of a map, whether named or measured: each costs a comparison for every row that is written."""

_ALL_DIGITS = Context(prec=200)  # more than a decimal(38, s) has

CellKey: TypeAlias = tuple[tuple[type, Any], ...]


def recorded_value(value: Any) -> Any:
    """Return a value as it is recorded. Equal values are recorded alike, so that records can be compared.

    Raises:
        ArrangementError: it is no value of a column.
    """
    match value:
        case float() if math.isnan(value):
            return math.nan
        case float():
            return value + 0.0  # -0.0 becomes 0.0
        case Decimal():
            plain = format(value.normalize(_ALL_DIGITS), "f")
            return plain.removeprefix("-") if not value else plain
        case None | bool() | int() | str() | bytes():
            return value
    raise ArrangementError(
        f"A cell holds {value!r} of type {type(value).__name__}, which is no value of a column: give an internal value."
    )


def cell_key(cell: Sequence[Any]) -> CellKey:
    """Return a key that identifies a cell by its recorded or internal values: 1 is not True, 0.0 is -0.0."""
    return tuple((type(value), value) for value in map(recorded_value, cell))


def cell_text(values: Sequence[Value], types: Sequence[ColumnType]) -> str:
    """Return a cell as SQL writes it: a literal, or several in parentheses.

    >>> from parquetry.types import parse_type
    >>> cell_text((1, None), [parse_type("int"), parse_type("string")])
    '(1, NULL)'
    """
    literals = [sql_literal(type, value) for type, value in zip(types, values, strict=True)]
    return literals[0] if len(literals) == 1 else f"({', '.join(literals)})"


class AutoSkew(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits for heavy values, in tables that measure them in each partition while it is loaded.

    Attributes:
        share: the least share of a partition's rows that a heavy tuple has; above 0, at most 1.
        most: greatest number of cells of a partition.

    Raises:
        ArrangementError: the share or the number is out of bounds.

    >>> AutoSkew(share=0.05, most=16)
    AutoSkew(share=0.05, most=16)
    """

    share: float
    most: int

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ArrangementError(
                f"A heavy value has a share of {self.share} of the rows: give one above 0 and at most 1."
            )
        if not 1 <= self.most <= MAX_CELLS:
            raise ArrangementError(
                f"At most {self.most} values are to be heavy: give a number from 1 to {MAX_CELLS}."
            )
