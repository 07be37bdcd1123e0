"""Keep a table in another Hive metastore, version by version, as `serve-hive` would show it.

The metastore gets the records that `serve-hive` answers, and the same folders of links (`mirror`). A commit
costs links and calls for the partitions that it changed. Then the table's parameters there name the version,
and the random id of its commit. So the next publication knows what has changed since. If that version is
gone, or the metastore has others, all partitions are compared:

| the metastore has | what is put there |
|---|---|
| a version of this history that is kept, and the same columns | partitions that have changed since, or that it lacks |
| no such table, other columns, a version that was vacuumed or lost | all partitions; folders that are whole are named again |
| a table that was not published from this one, or from another copy of it | none: an error |

Readers see the partitions of a commit one after the other: a Hive metastore shows a group of partitions at
once, and not several.

A reader that is led to a folder that is gone finds no rows there, and no error. So folders stay until a
vacuum has ended their version, and no record in the metastore names them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from parquetry.errors import TableExistsError
from parquetry.exchange import HIVE, history_id
from parquetry.hive.metastore_client import PARTITIONS_PER_CALL, MetastoreClient, MetastoreRefusalError
from parquetry.hive.mirror import Mirror, folder_name, is_whole, links_folder
from parquetry.hive.records.partitions import partition_names, partition_record
from parquetry.hive.records.tables import (
    TableRecord,
    data_columns,
    require_files,
    require_served,
    table_record,
)
from parquetry.metastore import (
    LIVE,
    PartitionSnapshot,
    TableSnapshot,
    TableVersions,
    remove_links,
    require_place_beside,
    version_of,
)
from parquetry.publishing import OWNED_BY, Published, flat_files

_VERSION, _COMMIT, _HISTORY = "parquetry.version", "parquetry.commit", "parquetry.history"
"""Parameters of a table in the metastore: what it shows of our table."""
_DEFAULT_PORT = 9083
_TABLE_FOLDER = f"table{LIVE}"
"""An empty folder: the location of a partitioned table, all of whose partitions have their own."""


@dataclass(frozen=True, slots=True)
class HivePlace:
    """A table's place in a Hive metastore.

    Attributes:
        servers: host and port of each server.
        database: the name of the database there.
        name: the name of the table there.
    """

    servers: tuple[tuple[str, int], ...]
    database: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a place as the table property `publish` has it.

        >>> HivePlace.parse("thrift://a:9083,b/shop.Sales")
        HivePlace(servers=(('a', 9083), ('b', 9083)), database='shop', name='sales')
        """
        servers, _, table = text.removeprefix("thrift://").partition("/")
        database, _, name = table.partition(".")
        return cls(tuple(map(_server, servers.split(","))), database.lower(), name.lower())


def _server(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    return (host.strip("[]"), int(port)) if colon else (text, _DEFAULT_PORT)


def publish_followed(version: TableSnapshot, place: HivePlace, *, whole: bool = False) -> list[Published]:
    """Bring a Hive metastore to the newest version of a table.

    Args:
        version: any version of the table.
        place: the table's place in the metastore.
        whole: whether to compare all partitions with their folders, as others may have changed them.

    Returns:
        The changes.

    Raises:
        UnsupportedError: readers would read other rows, or the files are where no hard links can be made.
        TableExistsError: the metastore has another table of this name.
        HiveError: the metastore is not reached, or refuses a call.
        ForeignWarehouseError: warehouse or folder belong to another metastore.
    """
    with _turn(version) as newest, MetastoreClient.connect(place.servers) as client:
        return [] if newest is None else _Publication(newest, place, client).publish(whole)


@contextlib.contextmanager
def _turn(version: TableSnapshot) -> Iterator[TableSnapshot | None]:
    """Wait until no other process publishes a table, and yield its newest version; None if it was dropped.

    A slow publication of an older version would take back a newer one. The wait ends with the other process.
    """
    import fcntl

    folder = links_folder(version)
    require_place_beside(version, f"file:{folder}")
    folder.mkdir(parents=True, exist_ok=True)
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        known = TableVersions.read(version.store, version.id)
        newest = None if known is None else known.newest
        if newest is not None:
            newest.database, newest.name = version.database, version.name
        yield newest
    finally:
        os.close(opened)


@dataclass(slots=True)
class _Publication:
    """One publication of a version.

    Attributes:
        snapshot: the version.
        place: the table's place in the metastore.
        client: of the metastore.
        mirror: makes the folders.
        counts: the numbers of partitions by what was done to them.
    """

    snapshot: TableSnapshot
    place: HivePlace
    client: MetastoreClient
    mirror: Mirror = field(default_factory=lambda: Mirror(ending=LIVE))
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        """Return the names of database and table in the metastore."""
        return self.place.database, self.place.name

    def publish(self, whole: bool) -> list[Published]:
        """Tell the metastore what has changed."""
        snapshot = self.snapshot
        require_served(snapshot, spark_alone=False, utc=False)
        known = self._known_table()
        base = None if whole or known is None else self._base(known["parameters"])
        if snapshot.metadata.partition_by:
            made = self._publish_partitions(known, base)
        else:
            made = self._publish_files(known)
        action = "table created" if made else "table updated"
        return [
            Published(action, 1, ".".join(self.names)),
            *(Published(action, count, "") for action, count in self.counts.items() if count),
        ]

    # --- the table

    def _known_table(self) -> dict[str, Any] | None:
        """Return the metastore's record of the table, or None.

        A REPLACE TABLE may give columns or partition columns that no change of a table there leads to. So the
        table is made anew.

        Raises:
            TableExistsError: it is another table.
        """
        known = self.client.table(*self.names)
        if known is None:
            return None
        _require_ours(self.snapshot, self.place, known)
        if known["parameters"].get(_HISTORY) != history_id(self.snapshot):
            self.client.drop_table(*self.names)
            return None
        return known

    def _base(self, parameters: Mapping[str, str]) -> TableSnapshot | None:
        """Return the version that the metastore shows, or None if all partitions are to be compared."""
        versions = TableVersions.read(self.snapshot.store, self.snapshot.id)
        number = parameters.get(_VERSION, "")
        base = versions.version(int(number)) if versions is not None and number.isdigit() else None
        if base is None or base.commit.id != parameters.get(_COMMIT):
            return None
        return base if _shared(base) == _shared(self.snapshot) else None

    def _record(self, location: str, part: PartitionSnapshot | None, *, done: bool) -> TableRecord:
        """Return the table's record.

        Args:
            location: of the table.
            part: the only partition of a table without partition columns, if it has one.
            done: whether the metastore has all partitions of the version.
        """
        snapshot = self.snapshot
        shown = {_VERSION: str(snapshot.version), _COMMIT: snapshot.commit.id} if done else {_VERSION: ""}
        own = {OWNED_BY: snapshot.id.hex(), _HISTORY: history_id(snapshot), **shown}
        return table_record(snapshot, self.place.name, location, part, database=self.place.database, more=own)

    def _put_table(self, known: dict[str, Any] | None, record: TableRecord) -> bool:
        """Create or change the table, and return whether it was created.

        Hive refuses some changes of columns, such as dropping one. Then the table is made anew.
        """
        if known is not None:
            try:
                self.client.alter_table(*self.names, record.encoded)
            except MetastoreRefusalError:
                if _columns(known) == [
                    (each.name.lower(), each.type) for each in data_columns(self.snapshot)
                ]:
                    raise
                self.client.drop_table(*self.names)
            else:
                return False
        self.client.create_table(self.place.database, record.encoded)
        return True

    # --- files

    def _publish_files(self, known: dict[str, Any] | None) -> bool:
        """Tell a table without partition columns, whose location is its folder."""
        part = next(self.snapshot.partitions(), None)
        if part is None:
            return self._put_table(known, self._record(self.mirror.empty(self.snapshot), None, done=True))
        require_files(self.snapshot, part)
        location = "" if known is None else known["sd"]["location"]
        if not self._is_whole(part, location):
            (location,) = self.mirror.folders(self.snapshot, [part])
        return self._put_table(known, self._record(location, part, done=True))

    def _publish_partitions(self, known: dict[str, Any] | None, base: TableSnapshot | None) -> bool:
        """Tell the metastore of partitions that have changed since a version, or that it lacks."""
        snapshot = self.snapshot
        folder = links_folder(snapshot) / _TABLE_FOLDER
        if not folder.is_dir():  # a vacuum took it, and others, while nothing followed the table
            folder.mkdir()
            folder.chmod(0o555)
            base = None
        record = self._record(f"file:{folder}", None, done=False)
        ours = self._named_partitions(record)
        former = {} if base is None else {each.key: each.ticket for each in base.partitions()}
        changed = {name for name, each in ours.items() if former.get(each.key) != each.ticket}
        for name in changed:  # before the first call that changes something
            require_files(snapshot, ours[name])
        made = base is None and self._put_table(known, record)
        there = set() if made else set(self.client.partition_names(*self.names))
        new = [name for name in ours if name not in there]
        old = [name for name in ours if name in there and name in changed]
        locations = self._locations(old) if base is None else {}
        for start in range(0, len(new), PARTITIONS_PER_CALL):
            some = [ours[name] for name in new[start : start + PARTITIONS_PER_CALL]]
            self.client.add_partitions(self._partition_records(record, some, {}))
        for start in range(0, len(old), PARTITIONS_PER_CALL):
            some = [ours[name] for name in old[start : start + PARTITIONS_PER_CALL]]
            self.client.alter_partitions(*self.names, self._partition_records(record, some, locations))
        gone = sorted(there - ours.keys())
        for name in gone:
            self.client.drop_partition(*self.names, name)
        self.counts |= {"partitions added": len(new), "partitions updated": len(old)}
        self.counts |= {"partitions dropped": len(gone)}
        self.client.alter_table(*self.names, self._record(f"file:{folder}", None, done=True).encoded)
        return made

    def _named_partitions(self, record: TableRecord) -> dict[str, PartitionSnapshot]:
        """Return the version's partitions by their names in the metastore.

        Raises:
            UnsupportedError: two have one name.
        """
        partitions = list(self.snapshot.partitions())
        named: dict[str, PartitionSnapshot] = {}
        for name, each in zip(partition_names(self.snapshot, record, partitions), partitions, strict=True):
            if name in named:
                raise HIVE.error(
                    self.snapshot.label,
                    f"two partitions are called {name} there, such as those of NULL and of an empty text. Write the rows of one with "
                    "another value",
                )
            named[name] = each
        return named

    def _locations(self, names: Sequence[str]) -> dict[tuple[str, ...], str]:
        """Return the locations that the metastore has of partitions, by their values."""
        records = self.client.partitions(*self.names, names)
        return {tuple(each["values"]): each["sd"]["location"] for each in records}

    def _partition_records(
        self,
        table: TableRecord,
        partitions: Sequence[PartitionSnapshot],
        locations: Mapping[tuple[str, ...], str],
    ) -> list[dict[str, Any]]:
        """Return the records of partitions. Folders that the metastore has, and that are whole, stay."""
        records = []
        for each in partitions:
            record = partition_record(self.snapshot, self.place.name, table, each, "")
            location = locations.get(tuple(record["values"]), "")
            if not self._is_whole(each, location):
                (location,) = self.mirror.folders(self.snapshot, [each])
            record["sd"]["location"] = location
            records.append({**record, "dbName": self.place.database})
        return records

    def _is_whole(self, partition: PartitionSnapshot, location: str | None) -> bool:
        """Return whether a location is a folder of links that has exactly a partition's files."""
        folder = Path((location or "").removeprefix("file:"))
        return links_folder(self.snapshot) in folder.parents and is_whole(
            partition, flat_files(partition), folder
        )


def require_place(version: TableSnapshot, place: HivePlace) -> None:
    """Make sure that a Hive metastore can follow a table from now on.

    Raises:
        the errors of `publish_followed`.
    """
    require_served(version, spark_alone=False, utc=False)
    with _turn(version), MetastoreClient.connect(place.servers) as client:
        known = client.table(place.database, place.name)
        if known is not None:
            _require_ours(version, place, known)


def _shared(snapshot: TableSnapshot) -> tuple[Any, ...]:
    """Return what the records of partitions have from the table. If it changes, all are put there again."""
    metadata = snapshot.metadata
    return (
        history_id(snapshot),
        metadata.columns,
        metadata.partition_by,
        metadata.arrangement,
    )


def _columns(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    storage = record.get("sd") or {}
    return [(each["name"], each["type"]) for each in storage.get("cols") or ()]


def _require_ours(snapshot: TableSnapshot, place: HivePlace, known: Mapping[str, Any]) -> None:
    """Make sure that a table in the metastore was published from this one.

    Raises:
        TableExistsError: it was not, or it was published from another copy of the warehouse.
    """
    label = f"{place.database}.{place.name}"
    if (known["parameters"] or {}).get(OWNED_BY) != snapshot.id.hex():
        raise TableExistsError(
            f"Hive has a table {label} already that was not published from {snapshot.label}: publish under another name, or drop "
            "Hive's table first."
        )
    location = known["sd"]["location"] or ""
    if (
        _HISTORY in known["parameters"]
        and links_folder(snapshot) not in Path(location.removeprefix("file:")).parents
    ):
        raise TableExistsError(
            f"Hive's table {label} was published from another copy of {snapshot.label}, and leads to {location}: publish under another "
            "name, or drop Hive's table first."
        )


def remove_unnamed_folders(version: TableSnapshot, place: HivePlace) -> None:
    """Publish the newest version, and remove the folders of ended versions that no record names any more.

    Raises:
        HiveError: the metastore is not reached. All folders stay.
        the errors of `publish_followed`.
    """
    publish_followed(version, place)
    with _turn(version) as newest, MetastoreClient.connect(place.servers) as client:
        if newest is None:
            return
        named = _named_folders(client, place)
        versions = TableVersions.read(newest.store, newest.id)
        for folder in links_folder(newest).glob(f"*{LIVE}"):
            number = version_of(folder)
            commit = None if versions is None or number < 0 else versions.commit_id(number)
            kept = _TABLE_FOLDER if commit is None else folder_name(number, commit, LIVE)
            if folder.name not in (kept, _TABLE_FOLDER):
                _remove_unnamed(folder, named)


def _named_folders(client: MetastoreClient, place: HivePlace) -> set[str]:
    """Return the paths of all folders that a table and its partitions have in the metastore."""
    names = place.database, place.name
    table = client.table(*names)
    if table is None:
        return set()
    partitions = client.partitions(*names, client.partition_names(*names)) if table["partitionKeys"] else ()
    return {(each["sd"]["location"] or "").removeprefix("file:") for each in (table, *partitions)}


def _remove_unnamed(folder: Path, named: set[str]) -> None:
    """Remove the folders with files below a folder, but for some, and then the empty ones above them."""
    for path, below, _ in os.walk(folder, topdown=False):
        if not below and path not in named:
            remove_links(Path(path))
        elif below:
            with contextlib.suppress(OSError):  # a named folder is below it
                os.rmdir(path)
    if folder.is_dir() and not any(each.is_dir() for each in folder.iterdir()):
        remove_links(folder)


def drop_followed(version: TableSnapshot, place: HivePlace) -> None:
    """Drop a table in the metastore that follows it, if it was published from this one.

    Raises:
        HiveError: the metastore is not reached, or refuses.
        TableExistsError: it has another table of this name.
    """
    with MetastoreClient.connect(place.servers) as client:
        known = client.table(place.database, place.name)
        if known is not None:
            _require_ours(version, place, known)
            client.drop_table(place.database, place.name)
