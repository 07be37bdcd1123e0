"""Publish a table's versions as a Delta log in its folder, so that Delta's readers read its files in place.

Each version becomes one commit of the log, with the files that it added and removed. The log is JSON in the
folder `_delta_log`, which Parquetry's own readers ignore. Commits are numbered from 0, and name the version
that they are of, and the random id of its commit. A later `publish` adds the commits of later versions.

A log outlives the metastore. After a restore of an older dump, its last commits are of versions that the
table has lost, and the table goes on with the same numbers. So a publication looks for the last commit in the
log that this table has made, by its id. It adds a commit for each later version. The first one takes out the
files of the lost history. Commits of that history stay readable by their numbers.

Readers of Delta find columns by their names, and know no default for a column that a file lacks. So a table
is refused if they would read other rows. The log has a feature that no writer of Delta knows
(`parquetry-readonly`), so that they refuse to write to the table.

A torn commit of ours is distinguished from one of another program.

A library before this one could leave half a commit, where a file system has no hard links or is HDFS: its
writer was killed, or the disk was full. Only the last commit of a log can be torn, since no publication goes
on behind it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import pyarrow.fs as pafs

from parquetry._version import __version__
from parquetry.data_files import FileRecord
from parquetry.errors import CommitConflictError, UnsupportedError
from parquetry.exchange import DELTA, FileCheck, history_id
from parquetry.locations import create_small_file, join_location, open_location, read_small_file, take_away
from parquetry.metastore import (
    CommitRecord,
    PartitionSnapshot,
    TableSnapshot,
    TableVersions,
    require_place_beside,
)
from parquetry.progress import Progress, silent
from parquetry.publishing.delta_record import (
    add_action,
    metadata_action,
    protocol_action,
    reader_version,
    relative_path,
    remove_action,
)
from parquetry.publishing.hive import Published

_MAX_ATTEMPTS = 5
"""Number of times that a publication begins again, because another one has written to the log meanwhile."""
_SECONDS_OF_A_WRITE = 1.0
"""Seconds after which a commit that has not become whole counts as torn."""
_OWN_REWRITES = ("compact", "rebucket")
"""Operations that change files, and no rows."""


class _Entry(NamedTuple):
    """The version that a commit of the log is of."""

    version: int
    commit: str | None
    """The random id of the version's commit, or None in a log of an older library."""
    time: int

    def is_of(self, commit: CommitRecord) -> bool:
        """Return whether a commit of the table made the version."""
        if self.commit is None:
            return (self.version, self.time) == (commit.version, commit.time)
        return self.commit == commit.id


@dataclass(slots=True)
class DeltaLog:
    """A Delta log, as far as it has been written.

    Attributes:
        folder: location of the log.
        table: id of the table that the log is of, or empty.
        entries: one for each commit.
        metadata: the last action with the table's metadata, or None.
        protocol: the last action with the protocol, or None.
        files: the actions of the files of the last commit, by their paths.
    """

    folder: str
    table: str = ""
    entries: list[_Entry] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    protocol: dict[str, Any] | None = None
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: str, label: str) -> DeltaLog:
        """Read a log.

        Args:
            folder: its location.
            label: the table's name for messages.

        Raises:
            UnsupportedError: another program has written to the log.
        """
        log = cls(folder)
        filesystem, path = open_location(folder)
        names = {
            each.base_name for each in filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True))
        }
        while f"{log.commits:020d}.json" in names:
            text = read_small_file(log.commit_location) or b""
            actions = decode_commit(text)
            if actions is None and is_torn(text) and f"{log.commits + 1:020d}.json" not in names:
                log.take_torn_away(text)
                break
            if actions is None:
                raise UnsupportedError(
                    f"Table {label}: commit {log.commits} of the Delta log in {folder} is damaged, or by another program: move the "
                    "log away, and publish again."
                )
            log.apply(actions, information(actions))
        return log

    def take_torn_away(self, text: bytes) -> None:
        """Delete the next commit, which a killed publication left torn, so that it is written anew.

        A library before this one may be writing it at this moment. So it counts as torn if its text stays.
        """
        time.sleep(_SECONDS_OF_A_WRITE)
        take_away(self.commit_location, text)

    @property
    def commits(self) -> int:
        """Return the number of commits."""
        return len(self.entries)

    @property
    def commit_location(self) -> str:
        """Return the location of the next commit."""
        return join_location(self.folder, f"{self.commits:020d}.json")

    def apply(self, actions: list[dict[str, Any]], info: dict[str, Any]) -> None:
        """Bring the log to the state after a commit."""
        self.table = info["parquetry.table"]
        entry = _Entry(info["parquetry.version"], info.get("parquetry.commit"), info.get("timestamp", 0))
        self.entries.append(entry)
        for action in actions:
            if "metaData" in action:
                self.metadata = action
            elif "protocol" in action:
                self.protocol = action
            elif "add" in action:
                self.files[action["add"]["path"]] = action
            elif "remove" in action:
                self.files.pop(action["remove"]["path"], None)


def publish_delta(snapshot: TableSnapshot, progress: Progress = silent) -> list[Published]:
    """Add the versions of a table to its Delta log that the log does not have yet.

    Args:
        snapshot: the newest version to publish.
        progress: called with the number of versions.

    Returns:
        The changes: the commits, and the files of the last one.

    Raises:
        UnsupportedError: Delta's readers would read other rows, or another program has written to the log.
        CommitConflictError: other publications wrote to the log each time.
        ForeignWarehouseError: warehouse or folder belong to another metastore.
    """
    DELTA.raise_if_refused(snapshot.label, DELTA.definition_refusal(snapshot.metadata))
    folder = join_location(snapshot.metadata.location, "_delta_log")
    require_place_beside(snapshot, folder)
    for _ in range(_MAX_ATTEMPTS):
        log = DeltaLog.read(folder, snapshot.label)
        if log.table and not log.table.startswith(snapshot.id.hex()):
            raise UnsupportedError(
                f"Table {snapshot.label}: the Delta log in {log.folder} is of another table: move the log away, and publish "
                "again."
            )
        before = log.commits
        if _append(log, snapshot, progress):
            return [
                Published("versions added", log.commits - before, f"{log.folder}: version {log.commits - 1}"),
                Published("files", len(log.files), snapshot.label),
            ]
    raise CommitConflictError(
        f"Table {snapshot.label}: others publish it at the same time. Publish it again."
    )


def _append(log: DeltaLog, snapshot: TableSnapshot, progress: Progress) -> bool:
    """Write a commit for each version that a log lacks; return False if another publication has written one.

    Earlier versions that Delta's readers would read wrong are left out. If they would read the newest one
    wrong, the log stays as it is.
    """
    files = _VersionFiles()
    earlier = [version.metadata for version in _versions(snapshot, -1)]
    DELTA.raise_if_refused(snapshot.label, DELTA.widened_refusal(snapshot.metadata, earlier))
    versions = _versions_to_add(log, snapshot)
    commits: list[tuple[str, bytes]] = []
    for done, version in enumerate(versions, 1):
        try:
            actions = _actions(log, version, files.actions(version))
        except UnsupportedError:
            if version is versions[-1]:
                raise
            continue
        commits.append((log.commit_location, b"\n".join(map(msgspec.json.encode, actions))))
        log.apply(actions, actions[0]["commitInfo"])
        progress("Publishing versions", done, len(versions))
    return all(create_small_file(location, text) == text for location, text in commits)


def _versions_to_add(log: DeltaLog, snapshot: TableSnapshot) -> list[TableSnapshot]:
    """Return the versions that a log lacks, of this history of the table.

    If the log's last commits are of another history, the last version of this one is among them in any case.
    """
    known = TableVersions.read(snapshot.store, snapshot.id)
    common, newest = -1, None
    for entry in reversed(log.entries):
        version = None if known is None else known.version(entry.version)
        if version is not None and entry.is_of(version.commit):
            common, newest = entry.version, version
            break
    versions = list(_versions(snapshot, common))
    is_of_another = bool(log.entries) and log.entries[-1].version != common
    if versions or not is_of_another:
        return versions
    return [snapshot if newest is None else _with_name(newest, snapshot)]


def _versions(snapshot: TableSnapshot, after: int) -> Iterator[TableSnapshot]:
    """Yield the readable versions after one version, up to a snapshot, that have its definition's id."""
    known = TableVersions.read(snapshot.store, snapshot.id)
    oldest = snapshot.version if known is None else max(known.oldest, after + 1)
    for number in range(oldest, snapshot.version):
        version = None if known is None else known.version(number)
        if version is not None and version.metadata.replacement == snapshot.metadata.replacement:
            yield _with_name(version, snapshot)
    if snapshot.version > after:
        yield snapshot


def _with_name(version: TableSnapshot, snapshot: TableSnapshot) -> TableSnapshot:
    """Return a version with the table's name for messages."""
    version.database, version.name = snapshot.database, snapshot.name
    return version


class _VersionFiles:
    """The actions of the files of versions, in the order of the versions.

    Unchanged partitions are not read again.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[tuple[int, int], dict[str, dict[str, Any]]]] = {}

    def actions(self, version: TableSnapshot) -> dict[str, dict[str, Any]]:
        """Return the actions that add a version's files, by the paths in the log."""
        known: dict[bytes, tuple[tuple[int, int], dict[str, dict[str, Any]]]] = {}
        for partition in version.partitions():
            earlier, state = self._known.get(partition.key), (partition.ticket, version.commit.metadata)
            if earlier is None or earlier[0] != state:
                earlier = state, dict(_partition_actions(version, partition))
            known[partition.key] = earlier
        self._known = known
        return {path: action for _, actions in known.values() for path, action in actions.items()}


def _partition_actions(
    version: TableSnapshot, partition: PartitionSnapshot
) -> Iterator[tuple[str, dict[str, Any]]]:
    check = FileCheck(version.metadata, DELTA)
    for file in partition.each_file():
        path = relative_path(version, join_location(partition.location, file.path), partition.values)
        check.require_readable(version.label, path, file)
        yield path, add_action(version.metadata, partition.values, file, path, _file_time(file, version))


def _file_time(file: FileRecord, version: TableSnapshot) -> int:
    return version.committed_at if file.modified is None else file.modified


def _actions(log: DeltaLog, version: TableSnapshot, files: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the actions of the commit that brings a log to a version."""
    DELTA.raise_if_refused(version.label, DELTA.definition_refusal(version.metadata))
    info: dict[str, Any] = {
        "timestamp": version.committed_at,
        "operation": version.operation,
        "engineInfo": f"Parquetry/{__version__}",
        "parquetry.table": history_id(version),
        "parquetry.version": version.version,
        "parquetry.commit": version.commit.id,
    }
    actions: list[dict[str, Any]] = [{"commitInfo": info}]
    protocol = protocol_action(version.metadata)
    if log.protocol is None or reader_version(protocol) > reader_version(log.protocol):
        actions.append(protocol)
    metadata = metadata_action(version, log.metadata)
    if metadata != log.metadata:
        actions.append(metadata)
    changes_rows = version.operation not in _OWN_REWRITES
    removed = [action for path, action in log.files.items() if path not in files]
    actions += [remove_action(each, version.committed_at, changes_rows) for each in removed]
    for path, action in files.items():
        earlier = log.files.get(path)
        if earlier is None:
            actions.append(_with_change(action, changes_rows))
        elif _with_change(earlier, False) != _with_change(action, False):
            # An ADD replaces the one before. A REMOVE beside it would remove the file: readers take no order.
            actions.append(_with_change(action, False))
    info[ACTIONS] = len(actions)
    return actions


def _with_change(action: dict[str, Any], changes_rows: bool) -> dict[str, Any]:
    """Return the action that adds a file, and say whether rows are added with it."""
    return {"add": {**action["add"], "dataChange": changes_rows}}


ACTIONS = "parquetry.actions"
"""The field of a commit's information with the number of its actions. Commits of earlier libraries lack it.
"""
_BEGINNING = b'{"commitInfo":{"timestamp":'
_ENGINE = b'"engineInfo":"'
_OURS = b"Parquetry/"
_MAX_BYTES_BEFORE_ENGINE = 200
"""Bytes of our commits before the name of their engine, at most: a time and an operation."""


def decode_commit(text: bytes) -> list[dict[str, Any]] | None:
    """Return the actions of a commit of ours, or None if it is another program's, torn or damaged.

    >>> decode_commit(b'{"commitInfo":{"parquetry.table":"a","parquetry.version":3}}')
    [{'commitInfo': {'parquetry.table': 'a', 'parquetry.version': 3}}]
    >>> decode_commit(b'{"commitInfo":{"parquetry.table":"a"')
    """
    try:
        actions = msgspec.json.decode(
            b"[" + b",".join(filter(None, text.splitlines())) + b"]", type=list[dict[str, Any]]
        )
    except (msgspec.MsgspecError, RecursionError):
        return None
    info = information(actions)
    if not isinstance(info.get("parquetry.table"), str) or not isinstance(info.get("parquetry.version"), int):
        return None
    return actions if info.get(ACTIONS, len(actions)) == len(actions) else None


def information(actions: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the information about a commit among its actions, or an empty dictionary."""
    info: Any = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
    return info if isinstance(info, dict) else {}


def is_torn(text: bytes) -> bool:
    """Return whether a text that `decode_commit` refuses is the beginning of a commit of ours.

    >>> is_torn(b""), is_torn(b'{"commitInfo":{"timestamp":17'), is_torn(b'{"protocol":{"minReaderVersion":1')
    (True, True, False)
    """
    if not text.startswith(_BEGINNING[: len(text)]):
        return False
    engine = text.find(_ENGINE)
    if engine < 0:
        return len(text) <= _MAX_BYTES_BEFORE_ENGINE
    rest = text[engine + len(_ENGINE) :]
    if not rest.startswith(_OURS[: len(rest)]):
        return False
    try:
        msgspec.json.decode(text.splitlines()[0])
    except msgspec.DecodeError:
        return True
    return b'"parquetry.table":' in text.splitlines()[0]
