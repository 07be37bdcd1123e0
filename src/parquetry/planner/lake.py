"""An opened catalog of a session: its metastore, and the versions of tables that queries are using.

Estimates about versions are cached: each one costs the statistics of thousands of files.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from parquetry import hive
from parquetry.config import (
    CLUSTERED_BY,
    PARTITION_INDEXES,
    SKEWED_BY,
    SORT_BY,
    TRANSACTION_MAX_IDLE,
    check_catalog_options,
    read_catalog_option,
)
from parquetry.definition import bucket_transform, clustering
from parquetry.errors import NamespaceNotFoundError, TableNotFoundError, UnsupportedError, WarehouseError
from parquetry.identifiers import column_lists_text, is_spark_table, join_name, parse_name, paths_text
from parquetry.layout import logical_schema, physical_schema
from parquetry.locations import warehouse_location
from parquetry.metastore import (
    BRANCH_PREFIX,
    Draft,
    Metastore,
    Replacement,
    StagedTable,
    TableLocations,
    TableMetadata,
    TableSnapshot,
    TouchedPartitions,
    change_file,
    index_columns,
    metastore_file,
    name_parts,
    open_metastore,
    require_table,
)
from parquetry.planner.engine import Engine
from parquetry.planner.protocol.answers import Bucketing, LoadedTable, TableConstraint
from parquetry.planner.protocol.questions import TableRef
from parquetry.prune import PartitionCache, may_have_directories
from parquetry.store import others_nearby, passwords_among
from parquetry.workload import HistorySettings, HistoryWriter

_LOG = logging.getLogger("parquetry")
_MAX_CACHED_SNAPSHOTS = 256
_Version = tuple[str, int, str]
"""The id of a table, the number of a version, and the id of its commit."""
HIDDEN_PREFIX = "parquetry-hidden:"
"""Beginning of a reference to an option's value (`bridge/protocol/CatalogRef.scala`)."""


class Staged(NamedTuple):
    """A table, or the content that is to replace a table's, that Spark fills before others see it."""

    table: StagedTable | Replacement
    database: str
    name: str


class Lake:
    """An opened catalog.

    Attributes:
        name: of the catalog in the session.
        metastore: of the catalog.
        engine: runs the queries.
        locations: of its tables.
        recent: partitions that answered earlier questions.
        touched: partitions that writers changed, by the versions that streams read.
        estimates: about versions of tables, by subject.
        staged: tables that Spark is filling before they get their names, by id.
        warned: ids of tables whose overwrites the log has warned of.
        draft: the transaction of several tables whose view this is, or None.
        drafts: the transactions under way of all sessions, by their ids.
        used: when a statement of the transaction last asked, by `time.monotonic`.
        max_idle: seconds that a transaction may ask nothing.
        history: writes the history of queries.
    """

    def __init__(
        self,
        name: str,
        metastore: Metastore,
        engine: Engine,
        history: HistorySettings | None = None,
        *,
        draft: Draft | None = None,
        max_idle: float = math.inf,
    ) -> None:
        self.name = name
        self.draft = draft
        self.drafts: dict[str, Lake] = {}
        self._given_up: set[str] = set()
        self.max_idle = max_idle
        self.used = time.monotonic()
        self.metastore = metastore
        self.locations = TableLocations(metastore)
        self.engine = engine
        self._snapshots: OrderedDict[_Version, TableSnapshot] = OrderedDict()
        self._pinned: dict[_Version, TableSnapshot] = {}
        self._described: OrderedDict[_Version, tuple[TableRef, TableMetadata]] = OrderedDict()
        self._lock = threading.Lock()
        self.recent = PartitionCache()
        self.touched = TouchedPartitions()
        self.estimates = Estimates()
        self.staged: dict[str, Staged] = {}
        self.warned: set[bytes] = set()
        self.history = HistoryWriter(metastore, history or HistorySettings.read({}, name))
        self._file = metastore_file(metastore)
        self._change_file = change_file(metastore)
        hive.register_followers()

    @classmethod
    def open(cls, name: str, options: dict[str, str], engine: Engine) -> Lake:
        """Open a catalog as the session's settings describe it.

        Makes an absent warehouse, and warns if the path may be a slip.

        Raises:
            ConfigurationError: an option is missing or unknown.
            WarehouseError: the warehouse cannot be used.
            MetastoreVersionError: it was written by a later version.
        """
        options = {key: _resolved(value, engine) for key, value in options.items()}
        check_catalog_options(name, options)
        history = HistorySettings.read(options, f"The catalog {name}")
        max_idle = read_catalog_option(TRANSACTION_MAX_IDLE, options, f"The catalog {name}") / 1000
        warehouse = warehouse_location(options["warehouse"])
        if nearby := others_nearby(options.get("store"), warehouse):
            _LOG.warning(
                "The warehouse %s of the catalog %s is new and empty. An existing one is at %s: did you mean that?",
                warehouse, name, " and ".join(nearby[:3]),
            )  # fmt: skip
        passwords = passwords_among(options)
        metastore = open_metastore(warehouse, options.get("store"), create=True, passwords=passwords)
        _warn_of_owner(name, metastore)
        return cls(name, metastore, engine, history, max_idle=max_idle)

    @property
    def is_removed(self) -> bool:
        """Return whether the metastore's file is no longer the one that was opened: someone removed the
        warehouse.
        """
        return metastore_file(self.metastore) != self._file

    def begin(self) -> Draft:
        """Begin a transaction of several tables."""
        draft = Draft(self.metastore)
        view = Lake(self.name, draft.metastore, self.engine, draft=draft)
        view.history = self.history  # queries of a transaction stay in the history if it is given up
        self.drafts[draft.id] = view
        return draft

    def of_transaction(self, id: str) -> Lake:
        """Return the catalog as a transaction of several tables sees it.

        Raises:
            UnsupportedError: the planner does not know it.
        """
        if id in self._given_up:
            raise UnsupportedError(
                f"Transaction {id} of catalog {self.name} was given up, because it asked nothing for longer than {self.max_idle:,.0f} "
                f"seconds (the catalog's option {TRANSACTION_MAX_IDLE}); nothing of it was committed: CALL "
                f"{self.name}.system.rollback(), and run its statements again."
            )
        if (found := self.drafts.get(id)) is None:
            raise UnsupportedError(
                f"Transaction {id} of catalog {self.name} is lost, because the planner's process has ended; nothing of it was "
                f"committed: CALL {self.name}.system.rollback(), and run its statements again."
            )
        found.used = time.monotonic()
        return found

    def give_up_idle(self) -> None:
        """Give up the transactions that have asked nothing for too long: their sessions may be gone."""
        for id, lake in [*self.drafts.items()]:
            if lake.draft is None or lake.draft.is_over:
                self.drafts.pop(id, None)
            elif time.monotonic() - lake.used > self.max_idle:
                self.drafts.pop(id, None)
                self._given_up.add(id)
                with contextlib.suppress(UnsupportedError):  # it has just ended
                    lake.draft.rollback()

    @property
    def time_zone(self) -> str:
        """Return the zone of timestamps in conditions: the session's."""
        return self.engine.time_zone

    def database(self, namespace: list[str]) -> str:
        """Return the database that a namespace names.

        Raises:
            NamespaceNotFoundError: databases do not nest.
        """
        if len(namespace) != 1:
            raise NamespaceNotFoundError(
                f"{'.'.join([self.name, *namespace])} is not a database of catalog {self.name}: "
                f"databases do not nest; say {self.name}.database.table."
            )
        return namespace[0]

    def refuse_branch(self, namespace: list[str], name: str, done: str, remedy: str) -> None:
        """Make sure that users do not mean a branch by a name.

        Args:
            namespace: before the name.
            name: the name.
            done: for the message: what is not done with a branch.
            remedy: for the message.

        Raises:
            UnsupportedError: it is.
        """
        if len(namespace) == 2 and name.lower().startswith(BRANCH_PREFIX):
            label = join_name((self.name, *namespace, name))
            raise UnsupportedError(f"{label} is a branch of a table, and cannot be {done}: {remedy}.")

    def full_name(self, snapshot: TableSnapshot) -> str:
        """Return a table's name as Spark's users write it."""
        return join_name((self.name, snapshot.database, *name_parts(snapshot.name)))

    def cache(self, snapshot: TableSnapshot) -> TableSnapshot:
        """Cache a version for later questions about it."""
        with self._lock:
            self._snapshots[_version(table_ref(snapshot))] = snapshot
            while len(self._snapshots) > _MAX_CACHED_SNAPSHOTS:
                self._snapshots.popitem(last=False)
        return snapshot

    def snapshot(self, ref: TableRef) -> TableSnapshot:
        """Return the version of a table that a question names.

        Raises:
            TableNotFoundError: it was dropped since.
        """
        if (staged := self.staged.get(ref.id)) is not None and isinstance(staged.table, Replacement):
            return staged.table.snapshot
        cached = self._snapshots.get(_version(ref)) or self._pinned.get(_version(ref))
        if cached is not None:
            return cached
        loaded = self.cache(self.metastore.table(ref.database, ref.table, version=ref.version))
        if _version(table_ref(loaded)) != _version(ref):
            raise TableNotFoundError(
                f"Table {self.name}.{ref.database}.{ref.table} was replaced, or restored from a dump, since this query was planned: run it again."
            )
        return loaded

    def pinned(self, ref: TableRef) -> TableSnapshot:
        """Return the version that a question names, and keep it for longer than `snapshot` does.

        A stream reads the columns of a version that may have been vacuumed since.

        Raises:
            TableNotFoundError: it was dropped since.
        """
        key = _version(ref)
        pinned = self._pinned.get(key) or self.snapshot(ref)
        with self._lock:
            self._pinned.pop(key, None)
            while len(self._pinned) >= _MAX_CACHED_SNAPSHOTS:
                del self._pinned[next(iter(self._pinned))]
            self._pinned[key] = pinned  # at the end: the least recently used is dropped first
        return pinned

    def current(self, ref: TableRef) -> TableSnapshot:
        """Return a table as it is now.

        Raises:
            TableNotFoundError: it was dropped since.
        """
        return self.snapshot(ref).refresh()

    def find(self, name: str) -> TableSnapshot:
        """Return a table by its name within this catalog, as `qualified` gives it.

        Raises:
            TableNotFoundError: there is none.
        """
        return require_table(self.metastore.table(*_parts(name)))

    def qualified(self, name: str, catalog: str | None, namespace: Sequence[str]) -> str:
        """Return the name of a table given to a procedure of this catalog as `database.table`.

        Args:
            name: `t`, `db.t` or `catalog.db.t`; any part may be in backticks.
            catalog: the session's current catalog, as set by USE.
            namespace: the session's current namespace: where a SELECT from `t` would look.

        Raises:
            UnsupportedError: it names no table, or one of another catalog.
        """
        parts = _parts(name)
        if len(parts) == 1:
            if catalog != self.name or len(namespace) != 1:
                current = join_name([catalog, *namespace]) if catalog else "not known"
                raise UnsupportedError(
                    f"{name!r} names no database of catalog {self.name}, and the current "
                    f"database is {current}: say 'database.{name}', or USE {self.name}.database before."
                )
            parts = [*namespace, *parts]
        if len(parts) == 3 and parts[0].lower() == self.name.lower():
            parts = parts[1:]
        if len(parts) == 3:
            there = (
                "CREATE TABLE … AS SELECT makes a table of Parquetry from it"
                if is_spark_table(name)
                else f"CALL {join_name(parts[:1])}.system.…"
            )
            raise UnsupportedError(
                f"{name!r} names a table of catalog {parts[0]}, and the procedure called is of catalog {self.name}: "
                f"{there}, or say 'database.table' for a table of {self.name}."
            )
        if len(parts) != 2:
            raise UnsupportedError(
                f"{name!r} does not name a table of catalog {self.name}: say 'database.table', with backticks around "
                "a part that holds a dot."
            )
        return join_name(parts)

    def described(self, snapshot: TableSnapshot) -> LoadedTable:
        """Return a table as the bridge reads it, and cache it."""
        self.cache(snapshot)
        ref = table_ref(snapshot)
        with self._lock:
            self._described[_version(ref)] = ref, snapshot.metadata
            while len(self._described) > _MAX_CACHED_SNAPSHOTS:
                self._described.popitem(last=False)
        return self.described_as(ref, snapshot)

    def is_described(self, known: TableRef, snapshot: TableSnapshot) -> bool:
        """Return whether a description that this catalog gave before is still true of a version.

        A version's metadata are the same object, unless locations were rewritten.
        """
        ref, metadata = self._described.get(_version(known), (None, None))
        return ref == known == table_ref(snapshot) and metadata is snapshot.metadata

    def described_as(self, ref: TableRef, snapshot: TableSnapshot) -> LoadedTable:
        """Return a table as the bridge reads it, with the reference that later questions name it by."""
        metadata = snapshot.metadata
        reserved = {"provider": metadata.format, "location": metadata.location, "owner": metadata.owner or ""}
        if metadata.comment is not None:
            reserved["comment"] = metadata.comment
        reserved["external" if metadata.external else "is_managed_location"] = "true"
        logical, physical = logical_schema(metadata.columns), physical_schema(metadata.columns)
        return LoadedTable(
            name=self.full_name(snapshot),
            table=ref,
            schema=logical,
            physical_schema=None if physical == logical else physical,
            partition_by=list(metadata.partition_by),
            format=metadata.format,
            properties={
                **metadata.properties,
                **_indexes(metadata),
                **metadata.arrangement.properties(metadata.data_columns),
                **reserved,
            },
            bucketing=None if (buckets := bucket_transform(metadata)) is None else Bucketing(*buckets),
            clustered_by=clustering(metadata),
            constraints=msgspec.convert(metadata.constraints, list[TableConstraint], from_attributes=True),
            clauses=_clauses(metadata),
            details=[list(row) for row in metadata.arrangement.describe(metadata.data_columns)],
            directories=may_have_directories(snapshot),
            change_file=self._change_file,
        )


def table_ref(snapshot: TableSnapshot) -> TableRef:
    """Return how later questions name a version."""
    return TableRef(snapshot.id.hex(), snapshot.version, snapshot.commit.id, snapshot.database, snapshot.name)


def _version(ref: TableRef) -> _Version:
    """Return what does not change if the table is renamed."""
    return ref.id, ref.version, ref.commit


def _resolved(value: str, engine: Engine) -> str:
    """Return an option's value; the bridge sends a reference in place of a password."""
    return engine.hidden_option(value) if value.startswith(HIDDEN_PREFIX) else value


def _warn_of_owner(name: str, metastore: Metastore) -> None:
    """Log that a catalog may only be read: its metastore is retired, or new in a warehouse of another one.

    The warehouse's mark is read only if the metastore has no identity yet. So most sessions read no file.
    """
    if metastore.ownership is None:
        return
    try:
        refusal = metastore.ownership.refusal(of_new=True)
    except WarehouseError:  # the first write says what cannot be reached
        return
    if refusal is not None:
        _LOG.warning("The catalog %s may be out of date: %s", name, refusal.message)


def _parts(name: str) -> list[str]:
    """Return the parts of a table's name.

    Raises:
        UnsupportedError: it is no such name.
    """
    try:
        return parse_name(name)
    except ValueError:
        raise UnsupportedError(
            f"{name!r} cannot be read as the name of a table: say 'database.table', with backticks around a part "
            "that holds a dot or a backtick, which is doubled."
        ) from None


def _indexes(metadata: TableMetadata) -> dict[str, str]:
    """Return the indexes as the table property that creates them."""
    lists = [index_columns(metadata, index) for index in metadata.indexes if index.ready]
    return {PARTITION_INDEXES: column_lists_text(lists)} if lists else {}


def _clauses(metadata: TableMetadata) -> dict[str, str]:
    """Return the properties that SHOW CREATE TABLE shows as clauses instead."""
    shown = metadata.arrangement.properties(metadata.data_columns)
    if paths := clustering(metadata):
        shown[SORT_BY] = f"({paths_text(paths)})"
    words = {CLUSTERED_BY: "CLUSTERED BY", SKEWED_BY: "SKEWED BY", SORT_BY: "CLUSTER BY"}
    return {name: f"{clause} {shown[name]}" for name, clause in words.items() if name in shown}


_T = TypeVar("_T")
_MAX_CACHED_ESTIMATES = 4096
"""Estimates that a session keeps: some hundred bytes each, and a kilobyte with a histogram."""


class Estimates:
    """The estimates used last, by their subject. Several threads may use it.

    >>> estimates = Estimates()
    >>> estimates.get_or_make(("rows", "t", 7), lambda: 30), estimates.get_or_make(("rows", "t", 7), lambda: 31)
    (30, 30)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, what: Hashable) -> bool:
        """Return whether the estimate of a subject is cached."""
        with self._lock:
            return what in self._known

    def get_or_make(self, what: Hashable, estimate: Callable[[], _T]) -> _T:
        """Return an estimate from the cache, or make it.

        Args:
            what: the subject of the estimate, with the version of the table.
            estimate: makes it.
        """
        with self._lock:
            if what in self._known:
                self._known.move_to_end(what)
                known: _T = self._known[what]
                return known
        made = estimate()
        with self._lock:
            self._known[what] = made
            while len(self._known) > _MAX_CACHED_ESTIMATES:
                self._known.popitem(last=False)
        return made
