"""Find the files in subdirectories of a partition: list bucketing, as Hive and Parquetry write it.

    ds=1/x=10/y=a/000000_0
    ds=1/x=20_copy_1/y=b/000000_0           of a second INSERT into Hive's table, or for the text '20_copy_1'
    ds=1/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME/000000_0

All have one depth, and each level stands for one data column. Other directories have no known meaning, and
only files in them that the partition lists already count. This module does not look into files; `cells` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from parquetry.layout import DEFAULT_DIRECTORY
from parquetry.locations import join_relative, unescape_path_name

COPY_SUFFIX = re.compile(r"_copy_\d+$", re.ASCII)
"""The end of a directory's name that Hive adds if the name exists already."""

_REST_COLUMN = ""
"""Stands for the column's name in the directory of all other rows."""


class DiscoveredFile(NamedTuple):
    """A file: its path relative to its partition, its size, and when it was modified (milliseconds)."""

    path: str
    bytes: int
    modified: int | None


class DirectoryListing(NamedTuple):
    """The content of a directory: names of directories, and files."""

    directories: Sequence[str]
    files: Sequence[DiscoveredFile]


DirectoryLister = Callable[[Iterable[str]], Iterable[DirectoryListing]]
"""Lists directories, given their paths below a partition."""


class Level(NamedTuple):
    """One level of a directory's path: a column in lower case, and a value's text. Empty for the rest."""

    column: str
    text: str


def parse_levels(directory: str) -> tuple[Level, ...] | None:
    """Return the levels of a directory below a partition, or None if it is neither a cell's nor the rest's.

    >>> parse_levels("x=10/y=a%2Fb_copy_1")
    (Level(column='x', text='10'), Level(column='y', text='a%2Fb_copy_1'))
    >>> parse_levels("HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME_copy_1"), parse_levels("backup")
    ((Level(column='', text=''),), None)
    """
    levels = tuple(map(_level, directory.split("/")))
    return None if None in levels else levels  # type: ignore[return-value]


def _level(name: str) -> Level | None:
    if COPY_SUFFIX.sub("", name) == DEFAULT_DIRECTORY:
        return Level(_REST_COLUMN, "")
    column, equals, text = name.partition("=")
    return Level(unescape_path_name(column).lower(), text) if column and equals and text else None


def files_in_cells(
    lists: DirectoryLister, directories: Sequence[str], columns: Collection[str], listed: Collection[str]
) -> tuple[list[DiscoveredFile], list[str]]:
    """Return the files in a partition's directories, and the directories of unknown meaning.

    Args:
        lists: lists some of them.
        directories: names of the directories directly below the partition.
        columns: names of the data columns in the files, in lower case.
        listed: paths of files below the partition that it lists already. These are found in any directory.
    """
    ours = [
        name
        for name in directories
        if (level := _level(name)) is not None and level.column in (_REST_COLUMN, *columns)
    ]
    cell_files = _walk_directories(lists, ours, columns)
    read = set() if cell_files is None else set(ours)
    files = {file.path: file for file in cell_files or ()}
    elsewhere = sorted(
        {path.rpartition("/")[0] for path in listed if "/" in path and path.partition("/")[0] not in read}
    )
    there = [path for path in elsewhere if path.partition("/")[0] in directories]
    for path, listing in zip(there, lists(there), strict=True):
        names = ((join_relative(path, file.path), file) for file in listing.files)
        files |= {name: file._replace(path=name) for name, file in names if name in listed}
    known = {path.partition("/")[0] for path in there}
    return sorted(files.values()), [name for name in directories if name not in read and name not in known]


def _walk_directories(
    lists: DirectoryLister, paths: Sequence[str], columns: Collection[str]
) -> list[DiscoveredFile] | None:
    """Return the files in directories of one depth, or None if depths or columns differ."""
    columns_above: list[str] = []
    while paths:
        level_columns = {
            level.column for path in paths if (level := _level(path.rpartition("/")[2])) is not None
        }
        level_columns.discard(_REST_COLUMN)
        if len(level_columns) > 1 or not level_columns <= set(columns) - set(columns_above):
            return None
        columns_above += level_columns
        listings = list(zip(paths, lists(paths), strict=True))
        deeper = [(path, name) for path, listing in listings for name in listing.directories]
        files = [
            file._replace(path=join_relative(path, file.path))
            for path, listing in listings
            for file in listing.files
        ]
        if not deeper:
            return files
        # on each of its levels, a directory belongs to a cell or to the rest
        if files or any(_is_rest(path.partition("/")[0]) != _is_rest(name) for path, name in deeper):
            return None
        if any(_level(name) is None for _, name in deeper):
            return None
        paths = [f"{path}/{name}" for path, name in deeper]
    return []


def _is_rest(name: str) -> bool:
    level = _level(name)
    return level is not None and level.column == _REST_COLUMN
