"""What is recorded of columns and of data files.

Plain immutable records, which the metastore keeps as msgpack. A field added later goes to the end with a
default, so that older records stay readable.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from parquetry.types import ColumnType, type_from_json

PHYSICAL_NAME = "parquetry.physical"
"""Key in a column's metadata: the name the column has in the files, where that is not its name."""

CURRENT_DEFAULT = "CURRENT_DEFAULT"
"""Spark's key in a column's metadata: the expression that a row gets of which nothing else is said, as SQL."""

EXISTS_DEFAULT = "EXISTS_DEFAULT"
"""Likewise: what the rows of files without the column hold, as SQL; Spark's readers give it to them. It never changes."""


NO_CELL = -2
"""As the number of a cell: of no cell anything is known."""


class TableColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column of a table.

    Attributes:
        name: as the user wrote it; compared case-insensitively.
        type: Spark's JSON type, e.g. ``"integer"`` or ``{"type": "struct", …}``.
        nullable: whether NULL may occur.
        metadata: Spark's column metadata; `comment`, the physical name and default values live here.
    """

    name: str
    type: Any
    nullable: bool = True
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        """Return the user's comment."""
        comment = self.metadata.get("comment")
        return None if comment is None else str(comment)

    @property
    def physical(self) -> str:
        """Return the name of the column in the files and in the paths of partitions."""
        return str(self.metadata.get(PHYSICAL_NAME, self.name))

    @property
    def column_type(self) -> ColumnType:
        """Return the type as `parquetry.types` knows it."""
        return type_from_json(self.type)


class ColumnStatistics(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """What a file says about one top-level column.

    Attributes:
        size: compressed bytes.
        nulls: number of NULLs.
        min: lower bound, as an internal value (see `parquetry.types`); a decimal as text. None: not known.
        max: upper bound.
        min_exact: whether `min` occurs in the file; a truncated string is only a bound.
        max_exact: likewise.
    """

    size: int | None = None
    nulls: int | None = None
    min: Any = None
    max: Any = None
    min_exact: bool = True
    max_exact: bool = True


class FileRecord(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A data file of a partition.

    Attributes:
        path: relative to the partition's location, or absolute (starts with ``/`` or a URI scheme).
        bytes: size of the file.
        rows: number of rows; None: not known.
        modified: milliseconds since the epoch, as the file system says.
        columns: statistics by the columns' physical names; None: not collected.
        cell: of its partition's skew map (`arrangement`), which all rows are of; `arrangement.REST`: none is of any;
            None: not known.
        bucket: that all rows are of; None: not known.
        sorted: whether the rows are in the order that the partition's arrangement says.
        rest_of: where `cell` is not known: of how many of the map's cells, from the first on, no row is. The map has grown
            by the others since the file was written. None: of none. Libraries that do not know of it read the file by its
            statistics alone, which loses no row.
    """

    path: str
    bytes: int
    rows: int | None = None
    modified: int | None = None
    columns: dict[str, ColumnStatistics] | None = None
    cell: int | None = None
    bucket: int | None = None
    sorted: bool = False
    rest_of: int | None = None

    @property
    def is_arranged(self) -> bool:
        """Whether anything is said of where the rows belong in their partition's arrangement."""
        return self.cell is not None or self.bucket is not None or self.sorted or self.rest_of is not None

    @property
    def cell_number(self) -> int | None:
        """Return the cell as one number: -2 - n for an earlier rest, where no row is of any of the first n cells."""
        return self.cell if self.rest_of is None else NO_CELL - self.rest_of


class SizeAndTime(Protocol):
    """What tells one file from another of the same path."""

    @property
    def bytes(self) -> int:
        """Return the file's size."""

    @property
    def modified(self) -> int | None:
        """Return when it was changed, in milliseconds since the epoch, or None if that is not known."""


def is_same(recorded: SizeAndTime, size: int, modified: int | None) -> bool:
    """Return whether a file that lies there is the one that was recorded, as far as its size and its time tell.

    Args:
        recorded: what is known of it.
        size: its bytes now.
        modified: when it was changed, in milliseconds since the epoch; None: the file system does not say.
    """
    return recorded.bytes == size and (None in (recorded.modified, modified) or recorded.modified == modified)
