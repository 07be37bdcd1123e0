"""Which files of others a sync passes over: those that a version took out on purpose, unless they have changed.

The metastore says what was taken out (`metastore.commits.removed_files`), `sync` what lies there. A record that no longer holds,
since its file is gone, rewritten or live again, is to be forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquetry.adoption.discover import FoundFile, FoundPartition
from parquetry.data_files.records import is_same
from parquetry.locations.uri import join_location, join_relative
from parquetry.maintenance.deletion.file_access import Files
from parquetry.maintenance.history import history
from parquetry.maintenance.results import Difference
from parquetry.metastore.commits.removed_files import TakenOutFile, taken_out
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.types import Value, identity


class PassingOver:
    """What a sync leaves out, and what it says of it.

    Args:
        snapshot: the table as it is.
        readopt: whether to take in again what was taken out.
    """

    def __init__(self, snapshot: TableSnapshot, readopt: bool) -> None:
        self._snapshot = snapshot
        self._readopt = readopt
        self._records = {file.path: file for file in taken_out(snapshot)}
        self._unseen = dict(self._records)
        self._live: list[str] = []
        self._kept: dict[tuple[Value, ...], tuple[tuple[Value, ...], list[TakenOutFile]]] = {}

    def meet(self, found: FoundPartition, live: Iterable[str]) -> None:
        """Note which files of a folder are live: whatever is recorded of them holds no longer.

        Args:
            found: the folder.
            live: paths of files below it.
        """
        for path in live if self._records else ():
            if known := self._unseen.pop(join_relative(found.relative_path, path), None):
                self._live.append(known.path)

    def sift(
        self, found: FoundPartition, values: tuple[Value, ...], files: Sequence[FoundFile]
    ) -> tuple[FoundFile, ...]:
        """Return those files that are to be taken in.

        Args:
            found: the folder in which they lie.
            values: of the partition to which they belong.
            files: of which the table lists none.
        """
        if not self._records:
            return tuple(files)
        left = []
        for file in files:
            known = self._unseen.pop(join_relative(found.relative_path, file.path), None)
            if known is None or self._readopt or not is_same(known.record, file.bytes, file.modified):
                left.append(file)  # the commit that lists it forgets the record
            else:
                self._kept.setdefault(identity(values), (values, []))[1].append(known)
        return tuple(left)

    def stale(self) -> list[str]:
        """Return the paths of records that hold no longer, after all folders have been met."""
        files, location = Files(), self._snapshot.metadata.location
        places = {files.place(join_location(location, path)): path for path in self._unseen}
        gone = [
            places[place]
            for place, info in files.infos(places)
            if info is None or not is_same(self._records[places[place]].record, info.bytes, info.modified)
        ]
        return [*self._live, *gone]

    def told(self) -> Iterator[Difference]:
        """Yield what to say of files that were passed over: one thing, however many, as it is said again by each sync to come."""
        if not self._kept:
            return
        versions = {commit.ticket: commit.version for commit in history(self._snapshot)}
        files = [file for _, of_partition in self._kept.values() for file in of_partition]
        (values, _), *others = self._kept.values()
        name = self._snapshot.describe(self._snapshot.key_of(values)) if values and not others else None
        size = sum(file.record.bytes for file in files)
        yield Difference("ignored", name, len(files), None, size, self._detail(files, versions))

    def _detail(self, files: Sequence[TakenOutFile], versions: dict[int, int]) -> str:
        known = sorted({versions[file.ticket] for file in files if file.ticket in versions})
        if len(known) > 1:
            when = f"in versions {known[0]} to {known[-1]}"
        elif known:
            when = f"in version {known[0]}"
        else:
            when = f"before version {min(versions.values())}"
        path, folders = files[0].path, {file.path.rpartition("/")[0] for file in files}
        if len(files) == 1:
            what = f"{path}:"
        elif len(folders) == 1:
            what = f"{min(folders) or '.'}: {len(files)} files"
        else:
            what = f"{len(files)} files in {len(folders)} folders, such as {path}:"
        return (
            f"{what} taken out {when}. CALL system.sync(table => '{self._snapshot.label}', readopt => true) "
            "takes in again what was taken out."
        )
