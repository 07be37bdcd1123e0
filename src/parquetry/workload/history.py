"""The history of queries in a warehouse's store: what it keeps, for how long, and how it is read and cleaned.

A row has the record of one query and the ids of its tables. So a renamed table keeps its history, and a new
table does not get the history of a dropped one of its name.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from parquetry import metastore as ms
from parquetry.config import (
    PRUNING_HISTORY,
    PRUNING_HISTORY_KEEP,
    PRUNING_HISTORY_ROWS,
    HistoryMode,
    read_catalog_option,
    settle,
)
from parquetry.errors import MetastoreDamagedError
from parquetry.identifiers import join_name
from parquetry.store import Store
from parquetry.workload.model import QueryRecord, TableRead
from parquetry.workload.redaction import without_values


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """The contents and the bounds of a history.

    Attributes:
        mode: whether tables are in it that say nothing.
        keep: for how long, in milliseconds.
        rows: how many queries, at most.
    """

    mode: HistoryMode
    keep: int
    rows: int

    @classmethod
    def read(cls, options: Mapping[str, str], where: str) -> HistorySettings:
        """Return the settings that the options of a catalog give.

        Args:
            options: by name.
            where: what gives them, for messages.

        Raises:
            ConfigurationError: a value cannot be used.
        """
        names = PRUNING_HISTORY, PRUNING_HISTORY_KEEP, PRUNING_HISTORY_ROWS
        return cls(*(read_catalog_option(name, options, where) for name in names))

    def mode_of(self, properties: Mapping[str, str], session: Mapping[str, str]) -> HistoryMode:
        """Return whether a query of a table is kept.

        Args:
            properties: the table's.
            session: the session's settings by their full names.

        Raises:
            ParquetryError: a value cannot be used.
        """
        given: HistoryMode | None = settle(session=session, properties=properties, names_checked=False)[
            PRUNING_HISTORY
        ]
        return self.mode if given is None else given


class StoredQuery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row of the history.

    Attributes:
        record: of the query.
        tables: the id of each read's table; empty for a table of another catalog.
    """

    record: QueryRecord
    tables: tuple[bytes, ...]


class _TablesOfQuery(msgspec.Struct, frozen=True):
    """The part of a row that a trim needs."""

    tables: tuple[bytes, ...] = ()


_TRIMS_PER_HISTORY = 20
"""A trim reads all rows. So it comes, on average, once while a 20th of the most rows is written."""
_MAX_ROWS_COUNTED_ALWAYS = 2_000
"""A history of so few rows is counted at each write."""


def now() -> int:
    """Return the present time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def write_queries(metastore: ms.Metastore, queries: Sequence[StoredQuery], settings: HistorySettings) -> None:
    """Write queries, and remove the ones that are too old or too many.

    Raises:
        ParquetryError: the store cannot be written.
    """
    present = now()
    rows = [(ms.query_key(each.record.time or present), ms.encode(each)) for each in queries]
    ms.put_query_rows(metastore.store, rows)
    old = [row.key for row in ms.query_rows(metastore.store, 0, present - settings.keep)]
    ms.delete_query_rows(metastore.store, old)
    share = len(rows) * _TRIMS_PER_HISTORY / settings.rows
    if settings.rows <= _MAX_ROWS_COUNTED_ALWAYS or random.random() < share:
        trim(metastore, settings.rows)


def trim(metastore: ms.Metastore, most: int) -> int:
    """Remove the oldest queries until so many are left, and those whose tables were all dropped.

    Returns:
        How many were removed.
    """
    kept: list[bytes] = []
    removed: list[bytes] = []
    alive: dict[bytes, bool] = {}
    decode: Callable[[bytes], _TablesOfQuery] = ms.decoder(_TablesOfQuery).decode
    for row in ms.query_rows(metastore.store):
        try:
            ids = decode(row.value).tables
        except MetastoreDamagedError:
            ids = ()
        alive |= {id: bool(metastore.names_of([id])) for id in ids if id not in alive}
        (kept if any(alive[id] for id in ids) else removed).append(row.key)
    removed += kept[: max(0, len(kept) - most)]
    ms.delete_query_rows(metastore.store, removed)
    return len(removed)


def read_queries(
    metastore: ms.Metastore, table: bytes | None = None, *, since: int = 0, limit: int | None = None
) -> Iterator[QueryRecord]:
    """Yield the queries of a history, the newest first.

    Tables have the names that they have now. Reads of dropped tables are left out, and so are queries without
    another read.

    Args:
        metastore: of the warehouse.
        table: id of a table: only queries that read it; None for all.
        since: the first time, in milliseconds since 1970.
        limit: how many at most.
    """
    if limit == 0:
        return
    names: dict[bytes, str | None] = {}
    count = 0
    for _, query in _stored(metastore.store, since, newest_first=True):
        if table is not None and table not in query.tables:
            continue
        for id in query.tables:
            if id not in names:
                found = metastore.names_of([id]).get(id) if id else None
                names[id] = None if found is None else join_name(found)
        record = _with_names(query, names)
        if record is not None:
            yield record
            count += 1
            if count == limit:
                return


def forget_values(metastore: ms.Metastore, table: bytes, *, dry_run: bool = False) -> int:
    """Take values and statements out of all queries that read a table.

    A condition of another table of the query may have the same value by a join, so that goes, too.

    Args:
        metastore: of the warehouse.
        table: its id.
        dry_run: count only.

    Returns:
        The number of queries that had some.
    """
    changed = []
    for key, query in _stored(metastore.store):
        if table in query.tables:
            bare = msgspec.structs.replace(query, record=strip_values(query.record))
            if bare != query:
                changed.append((key, ms.encode(bare)))
    if not dry_run:
        ms.put_query_rows(metastore.store, changed)
    return len(changed)


def strip_values(record: QueryRecord) -> QueryRecord:
    """Return a record without values and without its statement."""
    replace = msgspec.structs.replace
    reads = tuple(
        replace(
            read,
            conditions=tuple(
                replace(each, text=without_values(each.text), has_values=False) if each.has_values else each
                for each in read.conditions
            ),
            not_more=tuple(map(without_values, read.not_more)),
        )
        for read in record.reads
    )
    return replace(record, reads=reads, statement=None)


def stored_reads(
    store: Store, table: bytes, after: bytes = b""
) -> Iterator[tuple[bytes, QueryRecord, TableRead]]:
    """Yield the reads of a table with their queries and keys, the newest first.

    Args:
        store: of the metastore.
        table: its id.
        after: the key of the last query that was read, or empty to begin with the newest.
    """
    for key, query in _stored(store, newest_first=True, before=after):
        for read, id in zip(query.record.reads, query.tables, strict=True):
            if id == table:
                yield key, query.record, read


def _stored(
    store: Store, since: int = 0, *, newest_first: bool = False, before: bytes = b""
) -> Iterator[tuple[bytes, StoredQuery]]:
    """Yield the rows that can be read. A damaged row, or one of a later library, is left out."""
    decode: Callable[[bytes], StoredQuery] = ms.decoder(StoredQuery).decode
    for row in ms.query_rows(store, since, newest_first=newest_first, before=before):
        try:
            yield row.key, decode(row.value)
        except MetastoreDamagedError:
            continue


def _with_names(query: StoredQuery, names: Mapping[bytes, str | None]) -> QueryRecord | None:
    """Return a query with the present names of its tables, or None if none of them is left."""
    reads = list(_present_reads(query, names))
    return msgspec.structs.replace(query.record, reads=tuple(reads)) if reads else None


def _present_reads(query: StoredQuery, names: Mapping[bytes, str | None]) -> Iterable[TableRead]:
    pairs = list(zip(query.record.reads, query.tables, strict=True))
    renamed = {read.table: name for read, id in pairs if id and (name := names[id]) is not None}
    for read, id in pairs:
        name = names[id] if id else read.table
        if name is None:
            continue
        joins = read.joins
        if any(each.other_table in renamed for each in joins):
            joins = tuple(
                msgspec.structs.replace(
                    each, other_table=renamed.get(each.other_table or "", each.other_table)
                )
                for each in joins
            )
        yield msgspec.structs.replace(read, table=name, joins=joins)
