"""Files of many lists of records, decoded together and only as far as needed.

A list is a msgpack array of `FileRecord`: the inline list of a partition's row, or a chunk row of format 1.
Many lists are joined into one array and decoded in one call, with a type that has the wanted columns only.
Example: a file has statistics of 23 columns, and the condition is about one. Then the decoder skips the other
22.

The type for the columns `id` and `day` has the fields `columns.c0` and `columns.c1`. A field is None if the
file has no statistics of the column, and `columns` is None if the file has no statistics at all.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from parquetry.data_files import (
    MAX_FILES_AS_RECORDS,
    UNKNOWN,
    ColumnStatistics,
    FileColumns,
    FileRecord,
    Flags,
    Indices,
    Numbers,
    RecordedColumn,
    RecordedFiles,
    StatisticsColumn,
    numbers,
    with_owners,
)
from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage.model import PartitionEntry
from parquetry.metastore.storage.wire import RecordDecoder, decoder, join_values, look_at_types

_CACHED_DECODERS = 64
"""Decoders that are cached, each for the statistics of some columns."""
_NO_FIELD = re.compile(r'["\\\x00-\x1f]')
"""Characters that msgspec does not accept in the name of a field."""
_List: TypeAlias = msgspec.Raw | bytes


def files_in_lists(
    lists: Sequence[_List], sizes: Sequence[int], names: Collection[str] | None
) -> FileColumns:
    """Return the files of lists of records, one list after the other.

    Args:
        lists: the lists as msgpack.
        sizes: number of files of each list.
        names: columns whose statistics will be needed, as the table spells them in its files; None for all.
            Statistics of other columns are available, too, but take longer.

    Raises:
        MetastoreDamagedError: one of them is not a list of files.
    """
    # To make a type for some columns takes longer than to decode a few files completely.
    if names is None or sum(sizes) <= MAX_FILES_AS_RECORDS or not can_narrow(names):
        return decode_files(lists)
    wanted = tuple(sorted(with_owners(names)))
    try:
        decoded = lists_decoder(wanted).decode(join_values(lists))
    except MetastoreDamagedError:
        return decode_files(lists)  # decodes the lists one by one, so that its error names the damaged one
    files = InlineFiles.from_lists(
        decoded, wanted, lambda positions: [lists[position] for position in positions]
    )
    return _files_in_all_spellings(lists, wanted) if files is None else files


def _files_in_all_spellings(lists: Sequence[_List], wanted: Iterable[str]) -> FileColumns:
    """Return files if some of them spell a wanted column in another way, or are older than the column."""
    said = [file.columns for each in names_decoder().decode(join_values(lists)) for file in each]
    names = sorted(set[str]().union(*[columns for columns in said if columns]))
    lower = {name.lower() for name in wanted}
    spelled = tuple(name for name in names if name.lower() in lower)
    if not can_narrow(spelled):
        return decode_files(lists)
    decoded = lists_decoder(spelled).decode(join_values(lists))
    files = [file for each in decoded for file in each]
    columns: dict[str, StatisticsColumn] = {
        name: RecordedColumn([file.columns and getattr(file.columns, f"c{position}") for file in files])
        for position, name in enumerate(spelled)
    }
    sizes = np.array(list(map(len, decoded)), np.intp)
    entries = np.array([bool(columns) for columns in said], np.bool_)
    return InlineFiles(
        files,
        sizes,
        columns,
        lambda positions: [lists[position] for position in positions],
        AllNames(names, entries),
    )


def decode_files(lists: Iterable[_List]) -> RecordedFiles:
    """Return the files of lists with all their statistics decoded."""
    decode = decoder(list[FileRecord]).decode
    return RecordedFiles([file for each in lists for file in decode(each)])


class AllNames(NamedTuple):
    """The columns that any of some files has statistics of.

    Attributes:
        names: the columns' names.
        entries: for each file, whether it has statistics of any column.
    """

    names: Sequence[str]
    entries: Flags


class InlineFiles(FileColumns):
    """Files of lists of records, with the statistics of some columns decoded.

    Args:
        files: the partly decoded files.
        sizes: number of files of each list.
        columns: the decoded statistics by the columns' names.
        lists: returns some of the lists by their positions, to decode other columns later.
        all_names: the columns of all files, or None if each file has statistics of all wanted columns or of
            none.
    """

    def __init__(
        self,
        files: Sequence[Any],
        sizes: Indices,
        columns: dict[str, StatisticsColumn],
        lists: Callable[[Sequence[int]], list[_List]],
        all_names: AllNames | None = None,
    ) -> None:
        self._files = files
        self._sizes = sizes
        self._columns = columns
        self._lists = lists
        self._all_names = all_names
        self._all: RecordedFiles | None = None
        self.count = len(files)
        self.rows = numbers([file.rows for file in files])
        if columns and all_names is None:
            self.described = next(iter(columns.values())).there
        else:
            self.described = np.array([file.columns is not None for file in files], np.bool_)

    @classmethod
    def from_lists(
        cls,
        decoded: Sequence[Sequence[Any]],
        names: Sequence[str],
        lists: Callable[[Sequence[int]], list[_List]],
    ) -> InlineFiles | None:
        """Return the files of lists that were decoded by `lists_decoder`.

        Args:
            decoded: the decoded lists.
            names: the wanted columns, in the order of their fields.
            lists: returns some of the lists as msgpack, by their positions.

        Returns:
            the files; or None if a file has statistics, but none of a wanted column. Then the file spells the
            column in another way, or was written before the column was added.
        """
        files = [file for each in decoded for file in each]
        said = [file.columns for file in files] if names else []
        described = len(said) - said.count(None)
        columns: dict[str, StatisticsColumn] = {}
        for position, name in enumerate(names):
            get = operator.attrgetter(f"c{position}")
            records = (
                list(map(get, said)) if described == len(said) else [each and get(each) for each in said]
            )
            columns[name] = RecordedColumn(records)
            if np.count_nonzero(columns[name].there) < described:
                return None
        return cls(files, np.array(list(map(len, decoded)), np.intp), columns, lists)

    @cached_property
    def bytes(self) -> Numbers:  # type: ignore[override]
        """Return the sizes of the files."""
        return numbers([file.bytes for file in self._files])

    @cached_property
    def modified(self) -> Numbers:  # type: ignore[override]
        """Return the modification times of the files."""
        return numbers([file.modified for file in self._files])

    @property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """Return the names of all columns. If they are not known yet, the files are decoded completely."""
        return self._whole.names if self._all_names is None else self._all_names.names

    @property
    def _whole(self) -> RecordedFiles:
        if self._all is None:
            self._all = decode_files(self._lists(range(len(self._sizes))))
        return self._all

    @property
    def paths(self) -> list[str]:
        """Return the paths."""
        return [file.path for file in self._files]

    @property
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return the cell, the bucket and the sorted flag of each file, or None if no file has any."""
        in_order = np.array([file.sorted for file in self._files], np.bool_)
        cells = numbers([file.cell_number for file in self._files])
        buckets = numbers([file.bucket for file in self._files])
        if not in_order.any() and (cells == UNKNOWN).all() and (buckets == UNKNOWN).all():
            return None
        return cells, buckets, in_order

    @property
    def field_ids(self) -> Numbers:
        """Return what is known of the field ids in each file."""
        return numbers([file.field_ids for file in self._files])

    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return the files' statistics of a column, or None if no file has any."""
        if name in self._columns:
            return self._columns[name]
        if self._all_names is not None and name not in self._all_names.names:
            return None
        return self._whole.statistics(name)

    def with_entries(self) -> Flags:
        """Return which files have statistics of any column."""
        if self._all_names is not None:
            return self._all_names.entries
        if self._columns:
            return next(iter(self._columns.values())).there
        return self._whole.with_entries()

    def records(self) -> list[FileRecord]:
        """Return an object for each file."""
        return self._whole.records()

    def narrow(self, positions: Indices, names: Collection[str] | None) -> FileColumns:
        """Return some of the files.

        If other columns are wanted, the lists of these files are decoded again.
        """
        if names is not None and self._columns.keys() >= set(names):
            return self.take(positions)
        list_of = np.repeat(np.arange(len(self._sizes)), self._sizes)[positions]
        kept = np.unique(list_of)
        again = files_in_lists(self._lists(kept.tolist()), self._sizes[kept].tolist(), names)
        ends = np.cumsum(self._sizes)
        before = ends - np.cumsum(np.where(np.isin(np.arange(len(ends)), kept), self._sizes, 0))
        # Subtract the files of the lists that are left out before each list.
        return again.take(positions - before[list_of])


def can_narrow(names: Iterable[str]) -> bool:
    """Return whether msgspec can make a type for columns of these names."""
    return not any(map(_NO_FIELD.search, names))


@functools.lru_cache(_CACHED_DECODERS)
def lists_decoder(names: tuple[str, ...]) -> RecordDecoder:
    """Return the decoder of lists of files with the statistics of some columns, by their names in files."""
    with look_at_types:
        file = _file(names)
        return RecordDecoder(list[list[file]])  # type: ignore[valid-type]


@functools.lru_cache(_CACHED_DECODERS)
def entries_decoder(names: tuple[str, ...]) -> RecordDecoder:
    """Return the decoder of a list of partitions' entries, with a decoded list of files as `inline`."""
    with look_at_types:
        file = _file(names)
        types = [(each.name, each.type) for each in msgspec.structs.fields(PartitionEntry)]
        fields = [(name, list[file] if name == "inline" else type) for name, type in types]  # type: ignore[valid-type]
        entry: Any = msgspec.defstruct("PartitionEntry", fields, array_like=True, gc=False)
        return RecordDecoder(list[entry])


@functools.cache
def names_decoder() -> RecordDecoder:
    """Return the decoder of lists of files with the names of all columns, and no statistics decoded."""
    with look_at_types:
        file = _file_with(dict[str, msgspec.Raw])
        return RecordDecoder(list[list[file]])  # type: ignore[valid-type]


def _file(names: tuple[str, ...]) -> Any:
    fields = [f"c{position}" for position in range(len(names))]
    columns = msgspec.defstruct(
        "Statistics",
        [(field, ColumnStatistics | None, None) for field in fields],
        rename=dict(zip(fields, names, strict=True)),
        gc=False,
    )
    return _file_with(columns)


def _file_with(columns: Any) -> Any:
    return msgspec.defstruct(
        "DataFile",
        [
            ("path", str),
            ("bytes", int),
            ("rows", int | None, None),
            ("modified", int | None, None),
            ("columns", columns | None, None),
            ("cell", int | None, None),
            ("bucket", int | None, None),
            ("sorted", bool, False),
            ("rest_of", int | None, None),
            ("field_ids", int | None, None),
        ],
        namespace={"cell_number": FileRecord.cell_number},
        array_like=True,
        gc=False,
    )
