"""Directories of a list-bucketed partition: one for each heavy tuple of values, and one for all other rows.

They have Hive's names: a level for each skewed column. A partition `ds=1`, skewed by `(x, y)`, has for
instance:

    ds=1/x=10/y=a                               rows with x = 10 and y = 'a'
    ds=1/x=20/y=__HIVE_DEFAULT_PARTITION__      rows with x = 20, where y is NULL or empty
    ds=1/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME      all other rows

Readers never take a file's cell from its path: the file's record has it (`data_files.records.DataFile.cell`).
So two cells may share a directory, as NULL and the empty text do.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.layout.arrangement import REST, SkewMap
from parquetry.locations import MAX_NAME_BYTES
from parquetry.locations.partition_path import partition_path
from parquetry.types import ColumnType

DEFAULT_DIRECTORY = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"
"""Hive's name for the directory of all rows in no cell; repeated for each further skewed column."""


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
