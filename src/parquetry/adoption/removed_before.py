"""Find the files of others that a sync ignores: a version removed them, and they have not changed since.

The metastore records removed files (`metastore.commits.removed_files`), and `sync` finds the existing ones.
If the file is deleted, rewritten or listed again, its record is obsolete and is to be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquetry.adoption.cell_directories import DiscoveredFile
from parquetry.adoption.difference import Difference
from parquetry.adoption.discover import DiscoveredPartition
from parquetry.data_files import is_same
from parquetry.locations import join_location, join_relative
from parquetry.metastore import FileAccess, RemovedFile, TableSnapshot, files_removed, history
from parquetry.texts import quantity
from parquetry.types import Value, identity


class RemovedFilesFilter:
    """Separates the files that a sync ignores from the files that it adopts, and reports the ignored ones.

    Args:
        snapshot: the table as it is.
        readopt: whether to adopt removed files again.
    """

    def __init__(self, snapshot: TableSnapshot, readopt: bool) -> None:
        self._snapshot = snapshot
        self._readopt = readopt
        self._records = {file.path: file for file in files_removed(snapshot)}
        self._unseen = dict(self._records)
        self._live: list[str] = []
        self._kept: dict[tuple[Value, ...], tuple[tuple[Value, ...], list[RemovedFile]]] = {}

    def meet(self, folder: DiscoveredPartition, live: Iterable[str]) -> None:
        """Note the live files of a folder: their records as removed are obsolete.

        Args:
            folder: the folder.
            live: paths of files below it.
        """
        for path in live if self._records else ():
            if record := self._unseen.pop(join_relative(folder.relative_path, path), None):
                self._live.append(record.path)

    def sift(
        self, folder: DiscoveredPartition, values: tuple[Value, ...], files: Sequence[DiscoveredFile]
    ) -> tuple[DiscoveredFile, ...]:
        """Return the files to adopt.

        Args:
            folder: the folder with the files.
            values: of the partition of the files.
            files: that the table does not list.
        """
        if not self._records:
            return tuple(files)
        adopted = []
        for file in files:
            record = self._unseen.pop(join_relative(folder.relative_path, file.path), None)
            if record is None or self._readopt or not is_same(record.record, file.bytes, file.modified):
                adopted.append(file)  # the commit that lists it deletes the record
            else:
                self._kept.setdefault(identity(values), (values, []))[1].append(record)
        return tuple(adopted)

    def stale(self) -> list[str]:
        """Return the paths of obsolete records, after all folders have been met."""
        files, location = FileAccess(), self._snapshot.metadata.location
        paths_by_entry = {files.storage_path(join_location(location, path)): path for path in self._unseen}
        obsolete_paths = [
            paths_by_entry[entry]
            for entry, info in files.infos(paths_by_entry)
            if info is None
            or not is_same(self._records[paths_by_entry[entry]].record, info.bytes, info.modified)
        ]
        return [*self._live, *obsolete_paths]

    def differences(self) -> Iterator[Difference]:
        """Yield the report of ignored files: one line for any number, as each later sync repeats it."""
        if not self._kept:
            return
        versions = {commit.ticket: commit.version for commit in history(self._snapshot)}
        files = [file for _, of_partition in self._kept.values() for file in of_partition]
        (values, _), *others = self._kept.values()
        name = self._snapshot.describe(self._snapshot.key_of(values)) if values and not others else None
        size = sum(file.record.bytes for file in files)
        yield Difference("ignored", name, len(files), None, size, self._detail(files, versions))

    def _detail(self, files: Sequence[RemovedFile], versions: dict[int, int]) -> str:
        known_versions = sorted({versions[file.ticket] for file in files if file.ticket in versions})
        if len(known_versions) > 1:
            when = f"in versions {known_versions[0]} to {known_versions[-1]}"
        elif known_versions:
            when = f"in version {known_versions[0]}"
        else:
            when = f"before version {min(versions.values())}"
        path, folders = files[0].path, {file.path.rpartition("/")[0] for file in files}
        if len(files) == 1:
            what = f"{path}:"
        elif len(folders) == 1:
            what = f"{min(folders) or '.'}: {len(files)} files"
        else:
            what = f"{quantity(len(files), 'file')} in {quantity(len(folders), 'folder')}, such as {path}:"
        return (
            f"{what} taken out {when}. CALL system.sync(table => '{self._snapshot.label}', readopt => true) "
            "takes in again what was taken out."
        )
