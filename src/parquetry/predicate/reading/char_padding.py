"""Read conditions on columns of type char, in the forms that Spark sends.

Spark pads a char to its length when it reads it, and then compares texts including their blanks. A column `c`
of type char(3) comes in four forms:

| condition                   | when                                                             |
|-----------------------------|------------------------------------------------------------------|
| `CHAR_PADDED(c, 3) = 'a  '` | by default; `CHAR_PADDED` is the bridge's name for the padding   |
| `RPAD(c, 3, ' ') = 'a  '`   | with `spark.sql.readSideCharPadding=false`                       |
| `RPAD(c, 5, ' ') = 'a    '` | when the other side is a text of five characters                 |
| `c = 'a'`                   | with `spark.sql.legacy.charVarcharAsString=true`                 |

Statistics describe the padded text: partitions store it, and skewed values and the bounds of files are padded
(`data_files.bounds`). So the first two forms are comparisons of plain texts. Literals are not changed: Spark
has padded them where needed.

For a column that is not padded (the last form), the same is true if it is a partition column. The rows of
files may have fewer blanks. Texts that are equal there are also equal when padded; nothing else can be
concluded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from parquetry.errors import ColumnNotFoundError
from parquetry.identifiers import field_name
from parquetry.predicate import bind, like
from parquetry.predicate.nodes import FALSE, Compare, Like, Not, Opaque, Predicate
from parquetry.types import STRING, ColumnType

AS_STORED_REASON = "compared as it is stored, with however many blanks"
"""The reason why a condition on a char column of files is not understood."""

_PADDING_FUNCTIONS = ("CHAR_PADDED", "RPAD")


class SparkColumns(dict[str, ColumnType]):
    """The types of a table's columns by name, for conditions that Spark evaluates on rows.

    Attributes:
        partition_by: the partition columns.
    """

    def __init__(self, types: Mapping[str, ColumnType], partition_by: Collection[str]) -> None:
        super().__init__(types)
        self.partition_by = frozenset(partition_by)


def padded_column(tree: Mapping[str, Any], columns: Mapping[str, ColumnType]) -> Mapping[str, Any] | None:
    """Return the char column that an expression pads to the column's length, or None for another one.

    >>> tree = {'fn': 'RPAD', 'args': [{'col': ['c']}, {'lit': '3', 'type': 'int'}, {'lit': ' ', 'type': 'string'}]}
    >>> padded_column(tree, {'c': ColumnType('char', length=3)})
    {'col': ['c']}
    >>> padded_column(tree, {'c': ColumnType('char', length=2)}) is None
    True
    """
    padding = _padded(tree, columns)
    return padding[0] if padding is not None and padding[1] == padding[2] else None


def as_stored(name: str, type: ColumnType, columns: Mapping[str, ColumnType]) -> bool:
    """Return whether a condition on a column that is not padded compares texts as files store them."""
    return type.name == "char" and isinstance(columns, SparkColumns) and name not in columns.partition_by


def fits(type: ColumnType, text: str) -> bool:
    """Return whether a text without its blanks fits a char; other writers' files may have longer texts."""
    return len(text.rstrip(" ")) <= type.length


def comparison(op: str, name: str, type: ColumnType, text: str) -> Predicate:
    """Compare a padded char with a text that is not padded; BETWEEN and LIKE send such shorter texts.

    >>> str(comparison('=', 'c', ColumnType('char', length=2), 'ab'))
    "c = 'ab'"
    """
    if len(text) >= type.length:
        return Compare(op, name, text, type)
    if op in ("=", "!=", "<=>"):
        return FALSE if op == "<=>" else bind.never(name) if op == "=" else Not(bind.never(name))
    # texts that begin with this text are greater; the least of them is the text followed by the least
    # characters
    least = text.ljust(type.length, "\0")
    implied = Compare("<" if op in ("<", "<=") else ">=", name, least, type)
    return Opaque(str(Compare(op, name, text, STRING)), (name,), "compared without its blanks", implied)


def begins_like(tree: Mapping[str, Any], text: str, columns: Mapping[str, ColumnType]) -> Predicate | None:
    """Return the condition on a char that its padded text implies, or None if `tree` pads no char."""
    padding = _padded(tree, columns)
    if padding is None:
        return None
    name, type = bind.resolve(field_name(padding[0]["col"]), columns)
    begins = like.starts_with(name, text.rstrip(" "))
    return Like(begins.column, begins.pattern, begins.escape, type)


def _padded(
    tree: Mapping[str, Any], columns: Mapping[str, ColumnType]
) -> tuple[Mapping[str, Any], int, int] | None:
    """Return a char column, the length it is padded to and its own, or None if the tree pads no char."""
    match tree:
        case {"fn": str(function), "args": [inner, {"lit": str(length)}, *blank]}:
            if function.upper() not in _PADDING_FUNCTIONS or any(each.get("lit") != " " for each in blank):
                return None
        case _:
            return None
    if "col" not in inner:
        within = _padded(inner, columns)
        return None if within is None or int(length) < within[1] else (within[0], int(length), within[2])
    try:
        type = bind.resolve(field_name(inner["col"]), columns)[1]
    except ColumnNotFoundError:
        return None
    return (inner, int(length), type.length) if type.name == "char" and int(length) >= type.length else None
