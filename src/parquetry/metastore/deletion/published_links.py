"""Folders of hard links that were published for readers of another metastore; `publishing` makes them.

    shop.db/_published/<id of the table>/<version>-<id of its commit>/day=2026-11-27/part-0.parquet

A link keeps the bytes of a file on the disk. So a folder of links goes with its version: a vacuum removes the
links of versions that it ends, and a DROP removes all links. A Hive metastore that follows a table names
folders of earlier versions, too. These end with `-live`. A vacuum leaves them to the follower, which knows
what the metastore names. The folders are on local disks alone, and give no right to write.

A reader that another metastore leads to a folder that is gone finds no rows there, and no error. So a vacuum
leaves the folders of partitions, each with a file that is no data file. Its name says what to do.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from parquetry.locations import StoragePath, parent_folder

PUBLISHED_FOLDER = "_published"
"""The folder beside a table's folder. Parquetry's own readers, and `sync`, ignore it."""
SERVED = "-hive"
"""The end of the names of folders that `serve-hive` makes beside publications."""
LIVE = "-live"
"""The end of the names of folders for a Hive metastore that follows the table."""
_ENDED = ".ended"
"""A file in the folder of a publication whose links a vacuum has removed."""
_UNREADABLE = "this-version-was-vacuumed-publish-the-table-again"


def published_folder(location: StoragePath, table: bytes) -> Path | None:
    """Return the folder of a table's links, which may not exist, or None if there can be no links.

    Args:
        location: of the table, now or formerly.
        table: its id.
    """
    return None if location.root else Path(parent_folder(location).path, PUBLISHED_FOLDER, table.hex())


class PublishedLinks:
    """The folders of links of one table.

    Args:
        locations: of the table, now and formerly.
        table: its id.
    """

    def __init__(self, locations: Iterable[StoragePath], table: bytes) -> None:
        folders = (published_folder(location, table) for location in locations)
        self._folders = sorted({folder for folder in folders if folder is not None})

    def find_outdated(self, oldest: int | None, *, followed: bool = False) -> list[Path]:
        """Return the folders of versions before one, or of all versions.

        Args:
            oldest: the oldest version whose links stay, or None if none stays.
            followed: whether a Hive metastore follows the table, whose folders stay, too.
        """
        if oldest is None:
            return list(self._publications())
        return [
            each
            for each in self._publications()
            if version_of(each) < oldest
            and not (followed and each.name.endswith(LIVE))
            and not Path(each, _ENDED).exists()
        ]

    def _publications(self) -> Iterator[Path]:
        for folder in self._folders:
            if folder.is_dir():
                yield from sorted(folder.iterdir())

    def remove(self, publications: Iterable[Path], *, is_dropped: bool = False) -> list[str]:
        """Remove folders of links, and the folders above them that become empty.

        Args:
            publications: the folders of versions.
            is_dropped: whether the table is no more. Otherwise readers of a publication get errors from now
                on.

        Returns:
            A message for each folder that could not be removed.
        """
        failures = []
        for publication in publications:
            folders = [] if is_dropped or not _is_publication(publication) else _leaves(publication)
            remove_links(publication)
            if not publication.exists() and folders:
                _make_unreadable(publication, folders)
            elif publication.exists():
                failures.append(f"The links in {publication} cannot be removed: remove them by hand.")
        for folder in self._folders:
            for each in (folder, folder.parent):
                with contextlib.suppress(OSError):  # absent, or with other links
                    each.rmdir()
        return failures


def count_last_links(location: StoragePath, table: bytes) -> int:
    """Return how many deleted files only links keep that a Hive metastore may name.

    Args:
        location: of the table.
        table: its id.
    """
    folder = published_folder(location, table)
    links = [] if folder is None else [each for each in folder.glob(f"*{LIVE}/**/*") if each.is_file()]
    return sum(each.stat().st_nlink == 1 and each.name not in (_ENDED, _UNREADABLE) for each in links)


def _is_publication(folder: Path) -> bool:
    """Return whether a metastore may name a folder; `serve-hive` makes its own anew when a client asks."""
    return folder.name[0].isdigit() and not folder.name.endswith(SERVED)


def _leaves(folder: Path) -> list[Path]:
    """Return the folders with files within a folder."""
    return [Path(path) for path, below, _ in os.walk(folder) if not below]


def _make_unreadable(publication: Path, folders: Iterable[Path]) -> None:
    """Make folders again, with a file that no reader takes for data."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        Path(folder, _UNREADABLE).write_text("The version of the table that this was has been vacuumed.\n")
        folder.chmod(0o555)
    publication.chmod(0o755)
    Path(publication, _ENDED).touch()


def remove_links(folder: Path) -> None:
    """Remove a folder whose folders may not be written, as far as that is allowed."""
    for each, _, _ in os.walk(folder):
        if os.access(each, os.W_OK | os.X_OK):
            continue
        os.chmod(each, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def version_of(publication: Path) -> int:
    """Return the version of a folder of links, also of a folder that is not finished.

    >>> version_of(Path("17-0f3a")), version_of(Path(".17-0f3a.77")), version_of(Path("other"))
    (17, 17, -1)
    """
    number = publication.name.removeprefix(".").partition("-")[0]
    return int(number) if number.isdigit() else -1
