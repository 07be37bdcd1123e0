"""The changes of a table between versions, for libraries that take Arrow.

`Catalog.changes` makes a `ChangeScan`. Its rows have the table's columns, and then the type of the change,
the version that made it and the time of that version's commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from parquetry import metastore as ms
from parquetry.catalog.scans.arrow_rows import ArrowRows
from parquetry.catalog.scans.planning import bind_filter, resolve_columns
from parquetry.catalog.scans.reading import read_batches
from parquetry.changes import (
    ChangedVersion,
    ChangeMode,
    ChangeRequest,
    PartitionChange,
    RangeEnd,
    change_batches,
    change_schema,
    changed_versions,
    plan_changes,
    require_free_names,
    require_keys,
)
from parquetry.data_files import RecordedFiles
from parquetry.errors import TableNotFoundError
from parquetry.identifiers import field_path
from parquetry.locations import FileSystems
from parquetry.metastore import FileBlock, PartitionSnapshot, TableVersions
from parquetry.predicate import EVERY_ROW, Filter, Predicate, columns_of, conjuncts, match
from parquetry.prune import FileKnowledge
from parquetry.rows import ReadRequest, matching_rows, require_exact


@dataclass(frozen=True)
class ChangeScan(ArrowRows):
    """The difference of versions of a table as rows.

    `Catalog.changes` makes one. It is immutable, and can be used several times. The rows have the columns of
    the last version of the range. They come version by version. Within a version their order is no promise.

    `_change_type` is ``insert`` or ``delete``. With a key, an update is a row with ``update_preimage``, and
    then one with ``update_postimage``.

    Attributes:
        first: the first version whose changes are read.
        last: the last one. It is one less than `first` if the range is empty.
    """

    _asked: ms.TableSnapshot
    _versions: TableVersions
    first: int
    last: int
    _mode: ChangeMode
    _keys: tuple[str, ...]
    _filter: Filter
    _columns: tuple[str, ...]
    _zone: str | None
    _file_systems: FileSystems

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows.

        Raises:
            UnsupportedError: a column's type is read by Spark alone.
        """
        return change_schema([self._asked.metadata.column(name) for name in self._columns])

    def select(self, *columns: str) -> ChangeScan:
        """Return the same changes with some of the table's columns. All are read, to compare rows.

        Raises:
            ColumnNotFoundError: the table has no such column.
        """
        return replace(self, _columns=resolve_columns(self._asked, columns))

    def files(self) -> list[str]:
        """Return the paths of the files that are read: in these the versions differ."""
        return [path for version in self._plan() for part in version.partitions for path in part.paths]

    def __repr__(self) -> str:
        name = f"{self._asked.database}.{self._asked.name}"
        return f"<changes of {name}, versions {self.first} to {self.last}: {', '.join(self._columns)}>"

    def _plan(self) -> Iterator[ChangedVersion]:
        conditions, _ = self._conditions()
        for version in plan_changes(self._versions, self._asked, self.first, self._mode):
            parts = [_prune(self._asked, part, conditions) for part in version.partitions]
            chosen = tuple(part for part in parts if part.removed or part.added)
            yield ChangedVersion(version.number, version.timestamp, chosen)

    def _conditions(self) -> tuple[list[Filter], list[Filter]]:
        """Return the conditions for rows of files, and the conditions for changes.

        A condition on other columns than the key's could take away one row of a pair.
        """
        parts = [] if self._filter == EVERY_ROW else [Filter(node) for node in conjuncts(self._filter.node)]
        if not self._keys:
            return parts, []
        about = [{field_path(name)[0] for name in columns_of(part.node)} for part in parts]
        early = [part for part, names in zip(parts, about, strict=True) if names <= set(self._keys)]
        return early, [part for part in parts if part not in early]

    def _rows(self) -> Iterator[pa.RecordBatch]:
        metadata = self._asked.metadata
        early, late = (Filter.all_of(some) for some in self._conditions())
        for condition in (early, late):
            require_exact(condition.node)
        read = ReadRequest(
            metadata.format,
            metadata.columns,
            metadata.data_columns,
            metadata.partition_columns,
            early,
            self._zone,
        )
        request = ChangeRequest(
            read, self._keys, lambda what, files: read_batches(what, files, self._file_systems)
        )
        names = self.schema.names
        for batch in change_batches(request, self._plan()):
            rows = batch
            if late != EVERY_ROW:
                arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
                rows = batch.filter(matching_rows(late.node, arrays, batch.num_rows))
            if rows.num_rows:
                yield rows.select(names)


def _prune(asked: ms.TableSnapshot, part: PartitionChange, conditions: Sequence[Filter]) -> PartitionChange:
    """Return the files of a partition that may have rows for all conditions."""
    sides = []
    for partition, files in ((part.before, part.removed), (part.now, part.added)):
        kept = files
        if partition is not None and files and conditions:
            kept = tuple(
                file
                for file, wanted in zip(files, _may_match(asked, partition, files, conditions), strict=True)
                if wanted
            )
        sides.append(kept)
    return PartitionChange(part.before, sides[0], part.now, sides[1])


def _may_match(
    asked: ms.TableSnapshot,
    partition: PartitionSnapshot,
    files: Sequence[ms.FileRecord],
    conditions: Sequence[Filter],
) -> list[bool]:
    import numpy as np

    block = FileBlock(np.zeros(len(files), np.int32), RecordedFiles(files))
    knowledge = FileKnowledge(asked.metadata, [partition], block)
    wanted = np.ones(len(files), np.bool_)
    for condition in conditions:
        wanted &= match(condition, knowledge).astype(np.bool_)  # CANNOT is 0
    return list(wanted.tolist())


def new_change_scan(
    newest: ms.TableSnapshot,
    file_systems: FileSystems,
    span: tuple[int | str | datetime, int | str | datetime | None],
    *,
    net: bool,
    keys: str | Sequence[str],
    where: str | Predicate | None,
    zone: str | None,
) -> ChangeScan:
    """Return a scan of changes; see `Catalog.changes`."""
    versions = TableVersions.read(newest.store, newest.id)
    if versions is None:
        raise TableNotFoundError(f"Table {newest.label} was dropped just now.")
    start, end = (None if each is None else _range_end(versions, each) for each in span)
    assert start is not None
    first, last = changed_versions(versions, newest.label, start, end)
    asked = versions.version(max(last, versions.oldest))
    if asked is None:
        raise TableNotFoundError(f"Version {last} of table {newest.label} was vacuumed just now.")
    require_free_names(asked.metadata, newest.label)
    return ChangeScan(
        asked,
        versions,
        first,
        last,
        ChangeMode.NET if net else ChangeMode.EACH,
        require_keys(asked.metadata, [keys] if isinstance(keys, str) else keys),
        EVERY_ROW if where is None else bind_filter(asked, where, zone),
        resolve_columns(asked, None),
        zone,
        file_systems,
    )


def _range_end(versions: TableVersions, given: int | str | datetime) -> RangeEnd:
    if isinstance(given, str):
        return RangeEnd(version=versions.find_tagged(given))
    if isinstance(given, bool) or not isinstance(given, int | datetime):
        raise TypeError(f"{given!r} is no version: give its number, its tag, or a datetime with a time zone.")
    if isinstance(given, int):
        if given < 0:
            raise ValueError(f"Version {given} is negative: the first version of a table is 0.")
        return RangeEnd(version=given)
    if given.tzinfo is None:
        raise ValueError(
            f"The time {given.isoformat()} has no time zone: give one, as {given.isoformat()}+00:00."
        )
    since = given - datetime(1970, 1, 1, tzinfo=UTC)
    return RangeEnd(time=(since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
