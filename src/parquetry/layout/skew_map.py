"""The heavy values of a partition, as a part of its arrangement: a slot, and perhaps a directory, for each.

The directories have Hive's names: a level for each skewed column. A partition `ds=1`, skewed by `(x, y)`, has
for instance:

    ds=1/x=10/y=a                               rows with x = 10 and y = 'a'
    ds=1/x=20/y=__HIVE_DEFAULT_PARTITION__      rows with x = 20, where y is NULL or empty
    ds=1/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME      all other rows

Readers never take a file's cell from its path: the file's record has it (`data_files.records.DataFile.cell`).
So two cells may share a directory, as NULL and the empty text do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from decimal import Decimal
from typing import Any

import msgspec

from parquetry.config import SKEWED_BY, SKEWED_LOCATIONS
from parquetry.data_files import FileRecord, TableColumn
from parquetry.ddl import NOT_DIRECTORIES
from parquetry.errors import ArrangementError
from parquetry.identifiers import part_text
from parquetry.layout.cells import REST, AutoSkew, CellKey, cell_key, cell_text, recorded_value
from parquetry.layout.part import ArrangementPart, require_columns
from parquetry.locations import MAX_NAME_BYTES, is_absolute, join_location, storage_path
from parquetry.locations.partition_path import partition_path
from parquetry.texts import counted
from parquetry.types import STRING, ColumnType, Value, sql_literal, text_from_value

DEFAULT_DIRECTORY = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
"""Hive's name for the directory of all rows in no cell; repeated for each further skewed column."""


class SkewMap(ArrangementPart, msgspec.Struct, frozen=True, omit_defaults=True):
    """The heavy values of a partition: tuples of values with many rows each, perhaps with directories.

    Its slots, if there are directories: 0 for all other rows, then one for each cell.

    Attributes:
        columns: physical names.
        cells: the heavy tuples, with values in the order of `columns`: internal values (`parquetry.types`),
            decimals as text. Empty if the rows were counted, and no tuple is heavy.
        directories: whether each cell has a directory of its own, and all other rows share one.
        locations: for each cell the absolute location of its directory, or None for the usual one; or empty.
        auto: the limits for measuring the cells of each new partition, or None if `cells` has them.

    Raises:
        ArrangementError: a column or a cell is named twice, a cell has a wrong number of values, or a value
            is no value of a column. Or a location is not absolute, or some cells lack one. Or there are cells
            although they are to be measured.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...] = ()
    directories: bool = False
    locations: tuple[str | None, ...] = ()
    auto: AutoSkew | None = None

    def __post_init__(self) -> None:
        require_columns("A skew map", self.columns)
        if self.auto is not None and self.cells:
            raise ArrangementError(
                f"A skew map over {', '.join(self.columns)} has {len(self.cells)} cells, and is to measure them: give "
                "either."
            )
        cells = tuple(tuple(map(recorded_value, cell)) for cell in self.cells)
        seen = set()
        for cell in cells:
            if len(cell) != len(self.columns):
                raise ArrangementError(
                    f"A skew map over {counted(len(self.columns), 'column')} ({', '.join(self.columns)}) has the cell {cell!r} of "
                    f"{counted(len(cell), 'value')}: give one value for each column."
                )
            key = cell_key(cell)
            if key in seen:
                raise ArrangementError(f"A skew map names the cell {cell!r} twice: name it once.")
            seen.add(key)
        if self.locations and len(self.locations) != len(cells):
            raise ArrangementError(
                f"A skew map has {len(self.locations)} locations for {len(cells)} cells: give one for each, or None."
            )
        for location in self.locations:
            if location is not None and not is_absolute(location):
                raise ArrangementError(
                    f"The location {location!r} of a cell is not absolute: begin it with / or a scheme."
                )
        msgspec.structs.force_setattr(self, "cells", cells)

    def numbers(self) -> dict[CellKey, int]:
        """Return the number of each cell by its key, see `cell_key`.

        >>> SkewMap(("x",), ((10,), (20,))).numbers()[cell_key((20,))]
        1
        """
        return {cell_key(cell): number for number, cell in enumerate(self.cells)}

    def with_cells(self, cells: Sequence[Sequence[Any]]) -> SkewMap:
        """Return the map with more cells, after its own."""
        if not cells:
            return self
        locations = (*self.locations, *(None,) * len(cells)) if self.locations else ()
        return SkewMap(
            self.columns, (*self.cells, *map(tuple, cells)), self.directories, locations, self.auto
        )

    def values(self, types: Sequence[ColumnType]) -> tuple[tuple[Value, ...], ...]:
        """Return the cells as internal values, given the columns' types."""
        return tuple(
            tuple(
                Decimal(value) if type.name == "decimal" and value is not None else value
                for type, value in zip(types, cell, strict=True)
            )
            for cell in self.cells
        )

    def columns_among(self, columns: Sequence[TableColumn]) -> list[TableColumn]:
        """Return the columns of the map, in its order, given all columns of the table."""
        by_physical = {column.physical: column for column in columns}
        return [by_physical[name] for name in self.columns]

    @property
    def slots(self) -> int:
        """Return the number of cells and one for all other rows; 0 without directories."""
        return 1 + len(self.cells) if self.directories else 0

    def slot_directory(self, slot: int, types: Mapping[str, ColumnType]) -> str:
        """Return the directory or the location of a slot; empty if there are no directories."""
        own = [types[name] for name in self.columns]
        return cell_location(self, own, slot - 1 if slot else REST) if self.directories else ""

    def record_slot(self, file: FileRecord, slot: int) -> FileRecord:
        """Return a file's record with its cell."""
        if not self.directories:
            return file
        return msgspec.structs.replace(file, cell=slot - 1 if slot else REST)

    def slot_of(self, file: FileRecord) -> int | None:
        """Return the slot of a file's cell, or None if its cell is unknown."""
        if not self.directories:
            return 0
        return None if file.cell is None else file.cell - REST

    def may_hold(self, file: FileRecord, slot: int) -> bool:
        """Return whether a file may have rows of a slot: none of the cells that an earlier rest excludes."""
        own = self.slot_of(file)
        return own == slot if own is not None else slot == 0 or slot > (file.rest_of or 0)

    def is_in_slot(self, file: FileRecord, types: Mapping[str, ColumnType], location: str) -> bool:
        """Return whether a file's cell is known, and the file is in its directory, below any partition."""
        slot = self.slot_of(file)
        if slot is None or not self.directories:
            return slot is not None
        directory = self.slot_directory(slot, types)
        folder = join_location(location, file.path).rpartition("/")[0]
        if is_absolute(directory):
            return storage_path(folder) == storage_path(directory)
        return folder.endswith(f"/{directory}")

    def require(self, file: FileRecord) -> None:
        """Make sure that a file's cell exists; see `ArrangementPart.require`."""
        require_cell(file, self)

    def choosing_columns(self, columns: AbstractSet[str]) -> AbstractSet[str]:
        """Return the skewed columns among some, if heavy values have directories: each chooses by itself."""
        return columns & frozenset(self.columns) if self.directories else frozenset()

    def describe(self, columns: Sequence[TableColumn], location: str | None = None) -> list[tuple[str, str]]:
        """Return the rows of DESCRIBE FORMATTED; see `ArrangementPart.describe`.

        >>> skew = SkewMap(("x",), ((10,), (None,)), directories=True)
        >>> for name, text in skew.describe([TableColumn("x", "integer")], "/t/ds=1"): print(f"{name}: {text}")
        Stored As SubDirectories: Yes
        Skewed Columns: [x]
        Skewed Values: [[10], [NULL]]
        Skewed Value to Truncated Path: {[10]=/t/ds=1/x=10, [NULL]=/t/ds=1/x=__HIVE_DEFAULT_PARTITION__}
        """
        chosen = self.columns_among(columns)
        types = [column.column_type for column in chosen]
        cells = [_plain(cell, types) for cell in self.values(types)]
        rows = [
            ("Stored As SubDirectories", "Yes" if self.directories else "No"),
            ("Skewed Columns", f"[{', '.join(column.name for column in chosen)}]"),
            ("Skewed Values", "AUTO" if self.auto else f"[{', '.join(cells)}]"),
        ]
        paths = [
            f"{cell}={join_location(location or '', path)}"
            for number, cell in enumerate(cells)
            if (path := self._path(types, number, location)) is not None
        ]
        if paths and self.directories:
            rows.append(("Skewed Value to Truncated Path", f"{{{', '.join(paths)}}}"))
        return rows

    def _path(self, types: Sequence[ColumnType], cell: int, location: str | None) -> str | None:
        """Return a cell's directory, below its partition or absolute; None if it depends on the partition."""
        given = self.locations[cell] if self.locations else None
        return given or (None if location is None else cell_directory(self, types, cell))

    def properties(self, columns: Sequence[TableColumn]) -> dict[str, str]:
        """Return the properties `skewed-by`, and `skewed-locations` if a cell has a location of its own."""
        locations = self.locations_clause(columns)
        shown = {SKEWED_BY: self.clause(columns)}
        return shown if locations is None else {**shown, SKEWED_LOCATIONS: locations}

    def clause(self, columns: Sequence[TableColumn]) -> str:
        """Return the text after the words `SKEWED BY`. Columns have their current names.

        >>> columns = [TableColumn("X", "integer"), TableColumn("s", "string")]
        >>> SkewMap(("s", "X"), (("it's", 1), (None, 2)), directories=True).clause(columns)
        "(s, X) ON (('it''s', 1), (NULL, 2)) STORED AS DIRECTORIES"
        >>> [SkewMap(("X",), (), each, auto=AutoSkew(0.05, 16)).clause(columns) for each in (True, False)]
        ['(X) ON AUTO STORED AS DIRECTORIES', '(X) ON AUTO NOT STORED AS DIRECTORIES']
        """
        chosen = self.columns_among(columns)
        names = ", ".join(part_text(column.name) for column in chosen)
        types = [column.column_type for column in chosen]
        cells = (
            "AUTO" if self.auto else f"({', '.join(cell_text(cell, types) for cell in self.values(types))})"
        )
        without = f" {NOT_DIRECTORIES}" if self.auto else ""  # AUTO alone means directories
        return f"({names}) ON {cells}{' STORED AS DIRECTORIES' if self.directories else without}"

    def locations_clause(self, columns: Sequence[TableColumn]) -> str | None:
        """Return the text after `SET SKEWED LOCATION`, or None if no cell has a location of its own.

        >>> skew = SkewMap(("x",), ((1,), (2,)), True, (None, "hdfs://h/b"))
        >>> skew.locations_clause([TableColumn("x", "integer")])
        "(2 = 'hdfs://h/b')"
        """
        types = [column.column_type for column in self.columns_among(columns)]
        pairs = [
            f"{cell_text(cell, types)} = {sql_literal(STRING, location)}"
            for cell, location in zip(self.values(types), self.locations, strict=False)
            if location is not None
        ]
        return f"({', '.join(pairs)})" if pairs else None


def require_cell(file: FileRecord, skew: SkewMap | None) -> None:
    """Make sure that the cell in a file's record exists, and the cells that it excludes.

    Raises:
        ArrangementError: they do not.
    """
    cells = -1 if skew is None else len(skew.cells)
    if file.cell is not None and not REST <= file.cell < cells:
        there = "there are no cells" if skew is None else f"there are {cells} cells and the rest, {REST}"
        raise ArrangementError(f"File {file.path} is of cell {file.cell}, and {there}.")
    if file.rest_of is not None and (file.cell is not None or not 0 < file.rest_of <= cells):
        raise ArrangementError(
            f"File {file.path} has no row of the first {file.rest_of} cells, and there are {max(cells, 0)}."
        )


def cell_directory(skew: SkewMap, types: Sequence[ColumnType], cell: int) -> str:
    """Return the usual directory of a cell, below its partition.

    Args:
        skew: the partition's map.
        types: of its columns.
        cell: the position of the cell in the map, or `REST`.

    >>> from parquetry.types import parse_type
    >>> skew = SkewMap(("x", "Y"), ((10, "a/b"),), directories=True)
    >>> cell_directory(skew, [parse_type("int"), parse_type("string")], 0)
    'x=10/y=a%2Fb'
    """
    if cell == REST:
        return "/".join([DEFAULT_DIRECTORY] * len(skew.columns))
    return partition_path([name.lower() for name in skew.columns], types, skew.values(types)[cell])


def cell_location(skew: SkewMap, types: Sequence[ColumnType], cell: int) -> str:
    """Return where files of a cell are written: below the partition, or in the cell's own location.

    A cell whose directory would have too long a name for file systems shares the directory of the rest.

    Args:
        skew: the partition's map.
        types: of its columns.
        cell: the position of the cell in the map, or `REST`.

    >>> from parquetry.types import parse_type
    >>> skew = SkewMap(("x",), (("a",), ("b" * 300,), ("c",)), True, (None, None, "/far/c"))
    >>> [cell_location(skew, [parse_type("string")], cell) for cell in (0, 1, 2)]
    ['x=a', 'HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME', '/far/c']
    """
    given = skew.locations[cell] if skew.locations and cell != REST else None
    if given is not None:
        return given
    directory = cell_directory(skew, types, cell)
    fits = all(len(name.encode()) <= MAX_NAME_BYTES for name in directory.split("/"))
    return directory if fits else cell_directory(skew, types, REST)


def _plain(cell: Sequence[Value], types: Sequence[ColumnType]) -> str:
    texts = (
        "NULL" if value is None else text_from_value(type, value)
        for type, value in zip(types, cell, strict=True)
    )
    return f"[{', '.join(texts)}]"
