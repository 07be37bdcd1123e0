"""Find the cells of files that others wrote into directories for heavy values.

A wrong cell would lose rows. So a directory's name counts only if the file's own statistics prove it:

| directory                    | x in the file, by its statistics  | is read as                          |
|------------------------------|-----------------------------------|-------------------------------------|
| x=10                         | 10 to 10, no NULL                 | the cell of 10                      |
| x=6_copy_1                   | '6' to '6', no NULL               | the cell of '6'                     |
| x=6_copy_1                   | '6_copy_1' to '6_copy_1', no NULL | the cell of '6_copy_1'              |
| x=__HIVE_DEFAULT_PARTITION__ | '' to '', no NULL                 | the cell of ''                      |
| x=__HIVE_DEFAULT_PARTITION__ | NULL in all rows                  | the cell of NULL                    |
| x=10                         | 3 to 20                           | any cell, with a warning            |
| x=0.5                        | 0.5 to 0.5                        | any cell: statistics omit NaN       |
| x=10                         | no such column                    | nothing: it is no list bucketing    |
| HIVE_DEFAULT_LIST_…          | 11 to 500, no cell in it          | the rest                            |
| HIVE_DEFAULT_LIST_…          | 1 to 500, a cell in it            | the rest if its rows have no cell's |
|                              |                                   | value, else any cell                |

In the last case Hive's map is no proof. Its INSERT into dynamic partitions follows the table's map, so a
value may get a directory while older rows with it are in the default one. So the column is read
(`verification.tuple_check`). Every query reads a file of any cell, unless its statistics exclude it, until a
compaction moves each row to its own directory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.adoption.cell_directories import COPY_SUFFIX, Level, parse_levels
from parquetry.data_files import FileRecord, StatedTuples, TableColumn, bounds_reader, lacks
from parquetry.errors import ValueTypeError
from parquetry.layout import MAX_CELLS, REST, ArrangementSpec, SkewMap
from parquetry.locations import DEFAULT_PARTITION, is_absolute, unescape_path_name
from parquetry.types import Value, order_key, value_from_text
from parquetry.verification import Lacks


@dataclass(frozen=True, slots=True)
class Adopted:
    """Files that others wrote into a partition, after the check of their cells.

    Attributes:
        files: the new files that are adopted.
        before: the older files. The cell of some may be unknown from now on.
        arrangement: of the partition, with its map.
        refused: directories whose files are not adopted.
        doubted: files whose statistics contradict their directories' names.
    """

    files: list[FileRecord]
    before: list[FileRecord]
    arrangement: ArrangementSpec
    refused: list[str]
    doubted: list[str]


def adopt(
    files: Sequence[FileRecord],
    columns: Sequence[TableColumn],
    own: ArrangementSpec,
    lacks: Lacks,
    before: Sequence[FileRecord] = (),
) -> Adopted:
    """Find the cells of a partition's new files.

    Args:
        files: with statistics, their paths below the partition.
        columns: of the table, without partition columns.
        own: how the partition is arranged, or would be.
        lacks: reads files of all other rows, if their statistics do not prove that.
        before: the partition's other files.
    """
    by_name = {column.physical.lower(): column for column in columns}
    accepted_files: list[FileRecord] = []
    refused: dict[str, None] = {}
    levels: dict[str, tuple[Level, ...]] = {}
    for file in files:
        directory = "" if is_absolute(file.path) else file.path.rpartition("/")[0]
        cell_levels = parse_levels(directory) if directory else ()
        if cell_levels is None or not _in_file(cell_levels, file):
            refused[directory] = None
        else:
            accepted_files.append(file)
            levels[file.path] = cell_levels
    own_map = own.skew
    if (
        accepted_files and own_map is not None and own_map.auto is not None
    ):  # these rows exist already, and were not measured
        own_map = msgspec.structs.replace(own_map, auto=None)
    named = next(
        (file_levels for file_levels in levels.values() if file_levels and file_levels[0].column), ()
    )
    skew = _map(own_map, [by_name[level.column] for level in named if level.column in by_name])
    physical = {column.physical: column for column in columns}
    if skew is None or not skew.directories or any(name not in physical for name in skew.columns):
        return Adopted(accepted_files, list(before), own, list(refused), [])
    cells = _Cells([physical[name] for name in skew.columns], skew, lacks)
    new, still, doubted = cells.assign_cells(accepted_files, levels, before)
    now = own if cells.skew == own.skew else msgspec.structs.replace(own, skew=cells.skew)
    return Adopted(new, still, now, list(refused), doubted)


def _in_file(levels: Sequence[Level], file: FileRecord) -> bool:
    """Return whether a file contains the columns that its directory names; it has no partition columns."""
    names = {name.lower() for name in file.columns or ()}
    return all(level.column in names for level in levels if level.column)


def _map(own_map: SkewMap | None, named: Sequence[TableColumn]) -> SkewMap | None:
    """Return the map before new cells are added."""
    names = tuple(column.physical for column in named)
    if own_map is not None and (not names or set(names) == set(own_map.columns)):
        return own_map
    return SkewMap(names, (), directories=True) if names and own_map is None else own_map


class _Cells:
    """The cells of a map, with the proved cells that are added to it.

    Attributes:
        skew: the map.
    """

    def __init__(self, columns: Sequence[TableColumn], skew: SkewMap, lacks: Lacks) -> None:
        self._lacks = lacks
        self._columns = columns
        self._readers = [bounds_reader(column) for column in columns]
        self._stated = StatedTuples(columns)
        self.skew = skew
        self._rows = [*skew.values([column.column_type for column in columns])]
        self._numbers = {tuple(map(order_key, row)): number for number, row in enumerate(self._rows)}

    def assign_cells(
        self,
        files: Sequence[FileRecord],
        levels: Mapping[str, tuple[Level, ...]],
        before: Sequence[FileRecord],
    ) -> tuple[list[FileRecord], list[FileRecord], list[str]]:
        """Return the new and the older files with their cells, and the paths of doubted files."""
        cells: dict[str, int] = {}
        doubted = []
        for file in files:
            directory_texts = {level.column: level.text for level in levels[file.path] if level.column}
            if directory_texts.keys() != {column.physical.lower() for column in self._columns}:
                continue
            row = self._stated.only(file)
            if row is None:
                if self._contradicts(file, directory_texts):
                    doubted.append(file.path)
            elif not self._is_named(row, directory_texts):
                doubted.append(file.path)
            elif (number := self._number(row)) is not None:
                cells[file.path] = number
        added = self._rows[len(self.skew.cells) :]
        if added:
            self.skew = self.skew.with_cells(added)
        new = [self._with_cell(file, cells.get(file.path), levels[file.path]) for file in files]
        return new, [self._still(file, added) for file in before], doubted

    def _is_named(self, row: Sequence[Value], directory_texts: Mapping[str, str]) -> bool:
        """Return whether a tuple matches a directory's name."""
        pairs = zip(self._columns, row, strict=True)
        return all(
            _can_mean(directory_texts[column.physical.lower()], column, value) for column, value in pairs
        )

    def _contradicts(self, file: FileRecord, directory_texts: Mapping[str, str]) -> bool:
        """Return whether a file's statistics exclude the values in its directory's name."""
        for column, read in zip(self._columns, self._readers, strict=True):
            texts = _texts(directory_texts[column.physical.lower()])
            values = [value for text in texts if (value := _value(column, text)) is not None]
            bounds = read(file)
            if bounds is not None and values and all(lacks(bounds, value) for value in values):
                return True
        return False

    def _number(self, row: tuple[Value, ...]) -> int | None:
        key = tuple(map(order_key, row))
        if key not in self._numbers:
            if len(self._rows) >= MAX_CELLS:
                return None
            self._numbers[key] = len(self._rows)
            self._rows.append(row)
        return self._numbers[key]

    def _with_cell(self, file: FileRecord, cell: int | None, levels: Sequence[Level]) -> FileRecord:
        if cell is None and not any(level.column for level in levels) and self._is_rest(file, self._rows):
            cell = REST
        return file if cell is None else msgspec.structs.replace(file, cell=cell)

    def _still(self, file: FileRecord, added: Sequence[tuple[Value, ...]]) -> FileRecord:
        """Return an older file of the rest. It may have rows of the added cells."""
        if file.cell != REST or self._is_rest(file, added):
            return file
        return msgspec.structs.replace(file, cell=None)

    def _is_rest(self, file: FileRecord, rows: Sequence[tuple[Value, ...]]) -> bool:
        """Return whether a file has no row with one of some tuples, by its statistics or else by its rows."""
        open_ = self._stated.possible(file, rows)
        return not open_ or self._lacks(file, self._columns, open_)


def _texts(text: str) -> list[str]:
    """Return the texts that a directory's text may stand for: with and without Hive's mark of a copy."""
    return list(dict.fromkeys((text, COPY_SUFFIX.sub("", text))))


def _value(column: TableColumn, text: str) -> Value:
    """Return the value of a directory's text, or None for no value or a timestamp (its zone is unknown)."""
    plain = unescape_path_name(text)
    if plain == DEFAULT_PARTITION or column.column_type.name == "timestamp":
        return None
    try:
        return value_from_text(column.column_type, plain)
    except ValueTypeError:
        return None


def _can_mean(text: str, column: TableColumn, value: Value) -> bool:
    if column.column_type.name == "timestamp":
        return True
    if value is None or value in ("", b""):
        return any(unescape_path_name(candidate) == DEFAULT_PARTITION for candidate in _texts(text))
    candidates = [_value(column, candidate) for candidate in _texts(text)]
    return any(candidate is not None and order_key(candidate) == order_key(value) for candidate in candidates)
