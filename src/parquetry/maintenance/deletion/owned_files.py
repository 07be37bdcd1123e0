"""The one rule by which data files are deleted, whatever the statement: DROP, REPLACE, PURGE, vacuum.

A file may go if all of this holds:

1. It is the table's own: its name begins with `pq-<table id>-`, behind the bucket if it is of one (`is_own`); or the
   table is managed, or its owner has said `purge-on-overwrite`, and its records name the file, which others wrote. Of other files nobody knows whose they are.
2. It really is below the table's location: `..` and links are resolved first, so that a link that leads out of
   the folder leads to nothing that is deleted. Of a partition with a location elsewhere those go that the table wrote there
   itself; of the others nobody knows whose they are (`external_folders`).
3. No other table has a claim to it. Of the files that others wrote, none goes that lies in another table's
   folder; of the table's own, none that a table lists whose folder overlaps with this one's.

With a file goes the checksum that Hadoop's local file system keeps beside it. Directories go when they are
empty, up to the table's location, but never one that is another table's location.

Files that a failing write has just made under names of its own are not asked for here: the write sweeps them up.

For rule 3 the locations of all tables are read, and the partitions of those tables only whose folders overlap:
in a metastore that was not made by older versions these are external tables over one folder.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator

from parquetry.errors import MetastoreDamagedError, TableNotFoundError, WarehouseError
from parquetry.locations import StoragePath, base_name, is_below, is_own, join_location, parent_folder
from parquetry.maintenance.deletion.claims import Claim, claims, overlap
from parquetry.maintenance.deletion.external_folders import former_folders, outer_folders
from parquetry.maintenance.deletion.file_access import (
    FileAccess,
    Info,
    RealPaths,
    checksum_file,
    checksummed_file,
)
from parquetry.metastore.cleanup import commit_rows
from parquetry.metastore.manifest import decode_entry, read_files
from parquetry.metastore.storage import (
    TICKET_BYTES,
    Head,
    TableMetadata,
    is_tombstone,
    partition_prefix,
    prefix_range,
    read_head,
    ticket_of,
)
from parquetry.metastore.versions import PartitionSnapshot, TablePlacement, TableSnapshot, keyed_by, load
from parquetry.store import Store

_LOG = logging.getLogger("parquetry")


class OwnedFiles:
    """What may be deleted of a table's files.

    Args:
        store: of the metastore.
        table: id.
        metadata: of the table.
        files: the file systems.
        read_claims: what tables hold, if that was read already; read when it is needed, otherwise.
        everything: whether files that others wrote may be deleted of an external table, too, as its owner has said.
        elsewhere: the folders of partitions elsewhere, and those that were the table's own before, if they were read already; read
            when they are needed, otherwise.

    Attributes:
        real: links and `..` resolved.
        root: where the table's location really is.
    """

    def __init__(
        self,
        store: Store,
        table: bytes,
        metadata: TableMetadata,
        files: FileAccess,
        read_claims: Callable[[], Iterable[Claim]] | None = None,
        everything: bool = False,
        elsewhere: tuple[frozenset[StoragePath], frozenset[StoragePath]] | None = None,
    ) -> None:
        self._store = store
        self._table = table
        self._location = metadata.location
        self._elsewhere = elsewhere
        self._managed = everything or not metadata.external
        self._files = files
        self._read_claims = read_claims
        self.real = RealPaths()
        place = files.storage_path(metadata.location)
        self.root = self.real.folder(place)
        self._is_link = self.real.file(place) != self.root

    def is_own(self, place: StoragePath) -> bool:
        """Return whether a file's name says that it was written for this table; also of its checksum."""
        return is_own(base_name(place.path).removeprefix("."), self._table)

    @functools.cached_property
    def outer(self) -> frozenset[StoragePath]:
        """The folders elsewhere in which partitions lie."""
        if self._elsewhere is not None:
            return self._elsewhere[0]
        return outer_folders(self._store, self._table, self._location, self.real)

    @functools.cached_property
    def former(self) -> frozenset[StoragePath]:
        """The folders that were the table's own before it was given another location."""
        if self._elsewhere is not None:
            return self._elsewhere[1]
        return former_folders(self._store, self._table, self._location, self.real)

    def own_elsewhere(self) -> Iterator[tuple[StoragePath, Info]]:
        """Yield the table's own files in those folders; one that cannot be looked at is passed over, and told to the log."""
        for folder in sorted(self.outer):
            try:
                yield from (each for each in self._files.below(folder) if self.is_own(each[0]))
            except WarehouseError as error:
                _LOG.warning(
                    "what the table at %s left elsewhere stays there: %s", self._location, error.message
                )

    @functools.cached_property
    def _claims(self) -> list[Claim]:
        """The claims of other tables."""
        every = claims(self._store, self.real) if self._read_claims is None else self._read_claims()
        return [claim for claim in every if claim.table != self._table]

    @functools.cached_property
    def _others(self) -> list[Claim]:
        """The claims of other tables whose folders overlap with this one's."""
        return [claim for claim in self._claims if overlap(claim.place, self.root)]

    @functools.cached_property
    def _within(self) -> list[StoragePath]:
        """The places of other tables in this one's folder."""
        places = (claim.place for claim in self._others)
        return [place for place in places if place == self.root or is_below(place, self.root)]

    def deletable(self, places: Iterable[StoragePath]) -> set[StoragePath]:
        """Return which files may be deleted.

        Args:
            places: of files that the table's records name, or whose names say that they are its own.
        """
        every = {place: self.real.file(place) for place in places}
        found = {place: real for place, real in every.items() if is_below(real, self.root)}
        found = {place: real for place, real in found.items() if self.is_own(place) or self._is_ours(real)}
        elsewhere = {place: real for place, real in every.items() if self._is_written_elsewhere(place, real)}
        if not found and not elsewhere:
            return set()
        folders = {parent_folder(real) for real in elsewhere.values()}
        others = self._others + [
            claim
            for claim in self._claims
            if claim not in self._others and any(overlap(claim.place, folder) for folder in folders)
        ]
        found |= elsewhere
        listed = self._listed_by_others({base_name(real.path) for real in found.values()}, others)
        return {place for place, real in found.items() if real not in listed}

    def _is_ours(self, real: StoragePath) -> bool:
        return self._managed and not any(is_below(real, place) for place in self._within)

    def _is_written_elsewhere(self, place: StoragePath, real: StoragePath) -> bool:
        """Return whether the table wrote a file to a partition that lies elsewhere; what links below the table lead to stays."""
        if not self.is_own(place) or is_below(real, self.root):
            return False
        if is_below(place, self._files.storage_path(self._location)) or not self.outer:
            return False
        folder = parent_folder(real)
        while folder not in self.outer:
            above = parent_folder(folder)
            if above == folder:
                return False
            folder = above
        return True

    def _listed_by_others(self, names: Collection[str], others: Iterable[Claim]) -> set[StoragePath]:
        """Return the files of some names that other tables list."""
        listed = set()
        for claim in others:
            for location in recorded_files(self._store, claim.table, claim.head):
                if base_name(location) in names:
                    listed.add(self.real.file(self._files.storage_path(location)))
        return listed

    def delete(self, places: Iterable[StoragePath]) -> list[str]:
        """Delete files with their checksums, and the directories that become empty.

        Args:
            places: of files that are deletable.

        Returns:
            what could not be deleted, with the reasons.
        """
        failures = []
        folders = set()
        remote = []
        for place in places:
            folders.add(self.real.folder(parent_folder(place)))
            if place.root:
                remote.append(place)
                continue
            try:  # the checksum first: without its file nobody would know it for ours
                self._files.delete(checksum_file(place))
                self._files.delete(place)
            except WarehouseError as error:
                failures.append(error.message)
        failures += self._files.delete_all(remote)
        self.prune(folders)
        return failures

    def prune(self, folders: Iterable[StoragePath], kept: Collection[StoragePath] = ()) -> None:
        """Delete directories that are empty, and those above them that become so, below the table's location or in a former one.

        Args:
            folders: of deleted files, resolved.
            kept: those that stay, resolved.
        """
        for folder in sorted(folders, reverse=True):
            while self._may_go(folder) and folder not in kept and not self._is_claimed(folder):
                if not self._files.delete_if_empty(folder):
                    break
                folder = parent_folder(folder)

    def _may_go(self, folder: StoragePath) -> bool:
        return is_below(folder, self.root) or any(
            folder == former or is_below(folder, former) for former in self.former
        )

    def delete_empty(self) -> None:
        """Delete the table's directory, and all in it that hold no file: the table is no more, or never was."""
        if self._managed:
            self._files.delete_empty_below(self.root, self._stays)

    def _stays(self, folder: StoragePath) -> bool:
        if self._is_link and folder == self.root:
            return True  # a link must lead somewhere
        return any(folder == place or is_below(folder, place) for place in self._within)

    def _is_claimed(self, folder: StoragePath) -> bool:
        return any(folder == claim.place for claim in self._claims)


def recorded_files(store: Store, table: bytes, head: Head, *, foreign: bool = False) -> Iterator[str]:
    """Yield the locations of the files that any row of a table lists, of older versions, too.

    Rows that cannot be read are passed over, and told to the log.

    Args:
        store: of the metastore.
        table: id.
        head: of the table.
        foreign: leave out those whose names say that they were written for the table.
    """
    placements = _placements(store, table, head)
    prefix = partition_prefix(table)
    for row_key, value in store.scan(*prefix_range(prefix)):
        if is_tombstone(value) or head.is_aborted(ticket_of(row_key)):
            continue
        try:
            entry = decode_entry(value)
            names = [file.path for file in read_files(store, table, entry)]
        except (MetastoreDamagedError, TableNotFoundError) as error:
            _LOG.warning(
                "the files of a partition of %s.%s are not known: %s", head.database, head.name, error
            )
            continue
        names = [name for name in names if not (foreign and is_own(name, table))]
        if not names:
            continue
        key = row_key[len(prefix) : -TICKET_BYTES]
        folders = (
            [entry.location]
            if entry.location
            else [placement.location_of(key) for placement in placements if placement.fits(key)]
        )
        yield from (join_location(folder, name) for folder in folders for name in names)


def _placements(store: Store, table: bytes, head: Head) -> list[TablePlacement]:
    """Return each placement that partitions had by default."""
    metadata = {commit.metadata: commit for _, commit in commit_rows(store, table)}
    found: dict[object, TablePlacement] = {}
    for commit in {**metadata, head.commit.metadata: head.commit}.values():
        try:
            snapshot = load(store, table, head, commit)
        except (MetastoreDamagedError, TableNotFoundError) as error:
            _LOG.warning("a version of %s.%s cannot be read: %s", head.database, head.name, error)
            continue
        found[snapshot.metadata.location, keyed_by(snapshot.metadata)] = snapshot.placement
    return list(found.values())


class DroppedTableFiles:
    """The files of a table that is about to be dropped: its records are read now, its files deleted later.

    Of a managed table all that is its own goes, whichever version listed it. Of an external table the live
    files stay; but those that an overwrite has left for readers of older versions would be taken for data by
    whoever reads the folder next.

    Args:
        table: as it is now.
        given_up: whether it never had a name: then nothing that it lists is live.

    Attributes:
        store: of the metastore.
        label: of the table, for messages.
    """

    def __init__(self, table: TableSnapshot, *, given_up: bool = False) -> None:
        self.store = table.store
        self.label = table.label
        self._snapshot = table
        self._files = FileAccess()
        real = RealPaths()
        place = table.store, table.id, table.metadata.location, real
        self._elsewhere = outer_folders(*place), former_folders(*place)
        head = read_head(table.store, table.id)
        self._recorded: set[StoragePath] = set()
        self._live: set[StoragePath] = set()
        if not table.metadata.external and head is not None:
            found = recorded_files(table.store, table.id, head, foreign=True)
            self._recorded = {real.file(self._files.storage_path(location)) for location in found}
        elif table.metadata.external and not given_up:
            self._live = {
                real.file(self._files.storage_path(join_location(partition.location, file.path)))
                for partition in table.partitions()
                for file in partition.files
            }

    def delete(self, read_claims: Callable[[], Iterable[Claim]] | None = None) -> list[str]:
        """Delete the files; those of a table that is there stay: another may have been dropped by the name that this one had.

        Args:
            read_claims: reads what tables hold, if that was read already.

        Returns:
            what could not be deleted, with the reasons.
        """
        table = self._snapshot
        head = read_head(table.store, table.id)
        if head is not None and not head.is_deleted:
            return []
        own = OwnedFiles(
            table.store, table.id, table.metadata, self._files, read_claims, elsewhere=self._elsewhere
        )
        try:
            there = {place for place, _ in self._files.below(own.root)}
            there |= {place for place, _ in own.own_elsewhere()}
        except WarehouseError as error:
            # an external table that nobody has written into left nothing there, wherever that is
            return [] if table.metadata.external and not table.version else [error.message]
        unneeded = {place for place in there if own.is_own(place) or place in self._recorded}
        stray = {
            place for place in unneeded if (file := checksummed_file(place)) is not None and file in there
        }
        failures = own.delete(own.deletable(unneeded - stray - self._live))
        own.delete_empty()
        return failures


def purge_replaced(before: Iterable[PartitionSnapshot], table: TableSnapshot) -> list[str]:
    """Delete the files that an overwrite has replaced, of an external table those of others, too: its owner has asked for that.

    Args:
        before: the partitions that were overwritten, as they were.
        table: after that.

    Returns:
        what could not be deleted, with the reasons.
    """
    gone: set[str] = set()
    for partition in before:
        gone.update(join_location(partition.location, file.path) for file in partition.files)
        fits = table.placement.fits(partition.key)  # a REPLACE TABLE may have changed the partition columns
        if fits and (now := table.partition(partition.values)) is not None:
            gone.difference_update(join_location(now.location, file.path) for file in now.files)
    return _purge(table, gone, everything=True)


def purge(table: TableSnapshot, locations: Iterable[str]) -> list[str]:
    """Delete the files of partitions that a managed table has dropped.

    Files that another of its partitions lists stay. The partitions are gone through only if there are files
    that others wrote: the table's own are in one partition each.

    Args:
        table: without those partitions.
        locations: of the files.

    Returns:
        what could not be deleted, with the reasons.
    """
    return [] if table.metadata.external else _purge(table, locations, everything=False)


def _purge(table: TableSnapshot, locations: Iterable[str], everything: bool) -> list[str]:
    files = FileAccess()
    own = OwnedFiles(table.store, table.id, table.metadata, files, everything=everything)
    unneeded = own.deletable({files.storage_path(location) for location in locations})
    foreign = {place for place in unneeded if not own.is_own(place)}
    if foreign:
        names = {base_name(place.path) for place in foreign}
        kept = {
            own.real.file(files.storage_path(join_location(partition.location, file.path)))
            for partition in table.partitions()
            for file in partition.files
            if base_name(file.path) in names
        }
        unneeded -= {place for place in foreign if own.real.file(place) in kept}
    return own.delete(unneeded)
