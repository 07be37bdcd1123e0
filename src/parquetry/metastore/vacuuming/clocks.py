"""Clocks: they decide for a vacuum, and for a write that lasts long, what is old.

A machine whose clock is a day ahead would take the files of a running write for left over. So the
earliest of the known clocks counts: this machine's, and the store's server's. If the store has no clock,
the file system's time counts, too, once there is something that this machine would call old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from parquetry.config import VACUUM_GRACE_HOURS, settle
from parquetry.errors import CommitConflictError, ConfigurationError, WarehouseError
from parquetry.locations import StoragePath
from parquetry.metastore.cleanup.in_flight import WriteInFlight, is_alive
from parquetry.metastore.deletion.file_access import FileAccess, require_files
from parquetry.metastore.storage.clock import server_time
from parquetry.metastore.storage.owner import now_ms
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import Store

HOUR_MS = 60 * 60 * 1000
MAX_DIFFERENCE_MS = 5 * 60 * 1000
"""Milliseconds: if two clocks differ by more, a vacuum asks to be forced."""


def grace_of(table: TableSnapshot, hours: int | None = None) -> int:
    """Return the grace period of a table in milliseconds.

    Args:
        table: the table, whose property `vacuum-grace-hours` counts.
        hours: the hours to take instead, or None.

    Raises:
        ConfigurationError: it is shorter than an hour: files of running writes would be deleted.
    """
    if hours is None:
        hours = settle(properties=table.metadata.properties)[VACUUM_GRACE_HOURS]
    if hours < 1:
        raise ConfigurationError(
            f"A grace period of {hours} hours would delete the files of running writes: give 1 hour or more."
        )
    return hours * HOUR_MS


@dataclass(frozen=True, slots=True)
class Clocks:
    """The times of this machine and of the store's server, in milliseconds since the epoch.

    Attributes:
        own: this machine's.
        server: the server's, or None if the store has no clock.
    """

    own: int
    server: int | None

    @classmethod
    def read(cls, store: Store) -> Clocks:
        """Read the clocks."""
        return cls(now_ms(), server_time(store))

    @property
    def now(self) -> int:
        """Return the earlier of the two times."""
        return self.own if self.server is None else min(self.own, self.server)

    def beside_files(self, files: FileAccess, folder: StoragePath) -> int:
        """Return the earliest time, with the file system's, which is asked if the store has no clock.

        Args:
            files: the file systems.
            folder: where a file can be written for a moment.
        """
        return self.now if self.server is not None else min(self.now, files.time(folder) or self.now)

    def require_agreement(self, label: str) -> None:
        """Make sure that the clocks agree.

        Args:
            label: the table's name.

        Raises:
            WarehouseError: they differ by more than five minutes.
        """
        if self.server is None or abs(self.own - self.server) <= MAX_DIFFERENCE_MS:
            return
        seconds = (self.own - self.server) / 1000
        raise WarehouseError(
            f"Table {label} is not vacuumed: this machine's clock is {abs(seconds):,.0f} s {'ahead of' if seconds > 0 else 'behind'} "
            "that of the metastore's server, and files of running writes could be taken for old ones. Set the clock, or force "
            "it (force => true, --force): then the earlier of the two counts."
        )


class FileAges:
    """The age of files that no row lists. All clocks are read once something is old by the nearest one.

    Args:
        clocks: of this machine and of the store.
        files: the file systems.
        folder: the table's folder.
        writes: the table's writes in flight, by the keys of their rows.
        grace: the age in milliseconds at which such a file may be deleted.
        dry_run: whether nothing may be written, so that the file system's clock is not asked.
    """

    def __init__(
        self,
        *,
        clocks: Clocks,
        files: FileAccess,
        folder: StoragePath,
        writes: Mapping[bytes, WriteInFlight],
        grace: int,
        dry_run: bool,
    ) -> None:
        self.clocks = clocks
        self._files = files
        self._folder = folder
        self._writes = writes
        self.grace = grace
        self._dry_run = dry_run

    @cached_property
    def now(self) -> int:
        """Return the earliest of all known clocks."""
        return self.clocks.now if self._dry_run else self.clocks.beside_files(self._files, self._folder)

    @cached_property
    def _old(self) -> int:
        living = [write.began for write in self._writes.values() if is_alive(write, self.now)]
        return min([self.now - self.grace, *(began - MAX_DIFFERENCE_MS for began in living)])

    def is_old(self, time: int | None) -> bool:
        """Return whether a file from a time may be deleted."""
        return time is not None and time < self.clocks.now - self.grace and time < self._old

    def dead_writes(self) -> list[bytes]:
        """Return the keys of the rows of writes that have died."""
        return [key for key, write in self._writes.items() if not is_alive(write, self.now)]


def check_of_old_files(table: TableSnapshot, files: Mapping[str, int]) -> Callable[[], None] | None:
    """Return a check for a commit whose first files a vacuum may have deleted, or None if all are young.

    A write may last longer than the grace period. So a write with a file older than half of it
    looks once for all its files, while no vacuum can come in between (`Requirements.adopt`).

    Args:
        table: the version that the write is based on.
        files: the new files with their times of change, in milliseconds since the epoch.
    """
    if not files or min(files.values()) > max(now_ms(), *files.values()) - grace_of(table) // 2:
        return None
    return lambda: require_files(table.label, files, table.metadata.location)


def check_of_new_files(table: TableSnapshot, files: Sequence[str]) -> Callable[[bool], None]:
    """Return a check for a commit of new files after a vacuum that deleted files of no version.

    The time that a writer recorded of a file does not count here. A vacuum goes by the file system's.

    Args:
        table: the version that the write is based on.
        files: locations of the new files.
    """

    def check(is_deleting: bool) -> None:
        access = FileAccess()
        old = now_ms() - grace_of(table) // 2
        for _, info in access.infos(map(access.storage_path, files)) if is_deleting else ():
            if info is not None and info.modified is not None and info.modified <= old:
                raise CommitConflictError(
                    f"A vacuum of table {table.label} is deleting old files, and those of this write are old, too; nothing was "
                    "written: run it again after the vacuum."
                )
        require_files(table.label, files, table.metadata.location)

    return check
