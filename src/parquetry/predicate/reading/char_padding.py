"""Conditions on columns of type char, as Spark states them.

Spark pads a char that it reads to its length, and from there on compares texts, blanks and all. Of a `c` of type char(3):

    CHAR_PADDED(c, 3) = 'a  '      as a rule; the bridge names what pads so
    RPAD(c, 3, ' ') = 'a  '        with spark.sql.readSideCharPadding=false
    RPAD(c, 5, ' ') = 'a    '      beside a text of five characters
    c = 'a'                        with spark.sql.legacy.charVarcharAsString=true

What is known of chars is known of the padded text: partitions hold it, heavy values are taken to it, and so are the bounds of files
(`data_files.bounds`). So the first two are comparisons of plain texts; literals stay as they are, for Spark has padded those that are
to be. Of a column that is not padded the same holds where partitions have it. The rows of files may have fewer blanks: what is
equal there is equal padded, too, and of anything else nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from parquetry.errors import ColumnNotFoundError
from parquetry.predicate import bind, like
from parquetry.predicate.nodes import FALSE, Compare, Like, Not, Opaque, Predicate
from parquetry.types import STRING, ColumnType

AS_STORED_REASON = "compared as it is stored, with however many blanks"
"""Why a condition on a char of files is not understood."""

_PADDING_FUNCTIONS = ("CHAR_PADDED", "RPAD")


class SparkColumns(dict[str, ColumnType]):
    """The types of a table's columns by name, for conditions that Spark evaluates on rows.

    Attributes:
        partition_by: the columns of which partitions hold the values.
    """

    def __init__(self, types: Mapping[str, ColumnType], partition_by: Collection[str]) -> None:
        super().__init__(types)
        self.partition_by = frozenset(partition_by)


def padded_column(tree: Mapping[str, Any], columns: Mapping[str, ColumnType]) -> Mapping[str, Any] | None:
    """Return the char column that an expression pads to its own length; None if it is anything else.

    >>> tree = {'fn': 'RPAD', 'args': [{'col': ['c']}, {'lit': '3', 'type': 'int'}, {'lit': ' ', 'type': 'string'}]}
    >>> padded_column(tree, {'c': ColumnType('char', length=3)})
    {'col': ['c']}
    >>> padded_column(tree, {'c': ColumnType('char', length=2)}) is None
    True
    """
    found = _padded(tree, columns)
    return found[0] if found is not None and found[1] == found[2] else None


def as_stored(name: str, type: ColumnType, columns: Mapping[str, ColumnType]) -> bool:
    """Return whether a condition on a column that is not padded is about texts of files, as these have them."""
    return type.name == "char" and isinstance(columns, SparkColumns) and name not in columns.partition_by


def fits(type: ColumnType, text: str) -> bool:
    """Return whether a char can have a text, but for blanks: a file of others may hold what is too long."""
    return len(text.rstrip(" ")) <= type.length


def comparison(op: str, name: str, type: ColumnType, text: str) -> Predicate:
    """Compare a char that is padded with a text as it stands, as BETWEEN and LIKE do with one of fewer characters.

    >>> str(comparison('=', 'c', ColumnType('char', length=2), 'ab'))
    "c = 'ab'"
    """
    if len(text) >= type.length:
        return Compare(op, name, text, type)
    if op in ("=", "!=", "<=>"):
        return FALSE if op == "<=>" else bind.never(name) if op == "=" else Not(bind.never(name))
    # what begins with the text is greater, and none of it is less than the text with the least of all characters behind it
    least = text.ljust(type.length, "\0")
    implied = Compare("<" if op in ("<", "<=") else ">=", name, least, type)
    return Opaque(str(Compare(op, name, text, STRING)), (name,), "compared without its blanks", implied)


def begins_like(tree: Mapping[str, Any], text: str, columns: Mapping[str, ColumnType]) -> Predicate | None:
    """Return what it says of a char that it equals a text once it is padded, to whatever length; None if nothing."""
    found = _padded(tree, columns)
    if found is None:
        return None
    name, type = bind.resolve(found[0]["col"][0], columns)
    begins = like.starts_with(name, text.rstrip(" "))
    return Like(begins.column, begins.pattern, begins.escape, type)


def _padded(
    tree: Mapping[str, Any], columns: Mapping[str, ColumnType]
) -> tuple[Mapping[str, Any], int, int] | None:
    """Return a char column, to how many characters it is padded, and how many it has; None: the tree is none padded."""
    match tree:
        case {"fn": str(function), "args": [inner, {"lit": str(length)}, *blank]}:
            if function.upper() not in _PADDING_FUNCTIONS or any(each.get("lit") != " " for each in blank):
                return None
        case _:
            return None
    if "col" not in inner:
        within = _padded(inner, columns)
        return None if within is None or int(length) < within[1] else (within[0], int(length), within[2])
    if len(inner["col"]) != 1:
        return None
    try:
        type = bind.resolve(inner["col"][0], columns)[1]
    except ColumnNotFoundError:
        return None
    return (inner, int(length), type.length) if type.name == "char" and int(length) >= type.length else None
