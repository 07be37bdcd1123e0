"""The position of a stream in a table: the content of its checkpoint, and where it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from parquetry.config import count_up_to, parse_boolean, parse_size
from parquetry.errors import PropertyError, StreamError
from parquetry.planner.streams.pieces import SKIP_CHANGES_OPTION, StreamedTable

STARTING_VERSION = "startingVersion"
STARTING_TIMESTAMP = "startingTimestamp"
MAX_FILES_OPTION = "maxFilesPerTrigger"
MAX_BYTES_OPTION = "maxBytesPerTrigger"

_UNLIMITED = 1 << 60
_T = TypeVar("_T")


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stream has read all versions before this one, and some files of this one.

    Attributes:
        table: id of the table, hexadecimal.
        version: the first version with files to read; it may not exist yet.
        files: how many of its files have been read, in their order.
        whole: whether the stream reads all files of the version, not only the files that it added.
        commit: the random id of the commit that made `last`, or an empty text if it is not known. After a
            restore of an older dump, another commit may have made a version of that number.
    """

    table: str
    version: int
    files: int = 0
    whole: bool = False
    commit: str = ""

    @property
    def last(self) -> int:
        """Return the last version that the stream has begun to read, or -1."""
        return self.version if self.files or self.whole else self.version - 1

    @property
    def text(self) -> str:
        """Return the position as a checkpoint stores it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_text(cls, text: str) -> Position:
        """Return the position in a checkpoint's text.

        Raises:
            StreamError: the text belongs to another source.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError:
            raise StreamError(
                f"The checkpoint says {text!r}, which is no position in a table of Parquetry: another source wrote it. Start the query "
                "with a new checkpoint."
            ) from None


def position_at(table: StreamedTable, version: int, files: int = 0, *, whole: bool = False) -> Position:
    """Return a position in a table; see `Position` for its fields."""
    position = Position(table.newest.id.hex(), version, files, whole)
    commit = table.versions.commit_id(position.last)
    return position if commit is None else msgspec.structs.replace(position, commit=commit)


def require_same_history(table: StreamedTable, position: Position) -> None:
    """Make sure that a table still has the version that a stream has read last.

    A version that was vacuumed cannot be compared.

    Raises:
        StreamError: another commit has made it.
    """
    commit = table.versions.commit_id(position.last)
    if position.commit and commit is not None and position.commit != commit:
        raise StreamError(
            f"Version {position.last} of table {table.name} is another one than the stream has read: the metastore was restored from an older "
            "dump, and versions were made anew. Start the query with a new checkpoint."
        )


class StreamOptions:
    """Our options of a streaming read. Their names match in any letter case.

    Args:
        options: all options of the read.

    Raises:
        PropertyError: a value cannot be used.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}
        self.skips = self._read(SKIP_CHANGES_OPTION, parse_boolean, default=False)
        self.most_files = self._read(MAX_FILES_OPTION, count_up_to(_UNLIMITED), _UNLIMITED)
        self.most_bytes = self._read(MAX_BYTES_OPTION, parse_size, _UNLIMITED)
        self.limited = min(self.most_files, self.most_bytes) < _UNLIMITED
        self.version = self._read(STARTING_VERSION, _version, None)

    def _read(self, name: str, parse: Callable[[str], _T], default: _T) -> _T:
        text = self._options.get(name.lower())
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as error:
            raise PropertyError(f"The option {name} of the streaming read is {text!r}: {error}.") from None


def _version(text: str) -> int | str | None:
    known = text.strip().lower()
    if known in ("latest", "earliest"):
        return known
    if not (known.isascii() and known.isdigit()):
        raise ValueError("not a version, as CALL system.history lists them, nor latest or earliest")
    return int(known)


def first_position(table: StreamedTable, options: StreamOptions, starting_at: int | None) -> Position:
    """Return where a stream begins.

    Args:
        table: to read.
        options: of the read.
        starting_at: the time in the options, in microseconds since the epoch.

    Raises:
        PropertyError: the options name both a version and a time.
        StreamError: there is no such version, or the time is in the future.
    """
    oldest, newest = table.versions.oldest, table.versions.number
    if starting_at is not None:
        if options.version is not None:
            raise PropertyError(
                f"Both {STARTING_VERSION} and {STARTING_TIMESTAMP} are given of the stream of table {table.name}: give one of them."
            )
        return position_at(table, _version_at(table, starting_at))
    match options.version:
        case None if not table.newest.totals.files:
            return position_at(table, newest + 1)
        case None:
            return position_at(table, newest, whole=True)
        case "latest":
            return position_at(table, newest + 1)
        case "earliest":
            return position_at(table, oldest, whole=True)
        case version:
            assert isinstance(version, int)
            if version > newest + 1:
                raise StreamError(
                    f"Version {version}, with which the stream of table {table.name} is to start, is not there: the newest is {newest}. Take that or "
                    f"an earlier one, or {STARTING_VERSION} = latest."
                )
            if version and version - 1 < oldest:
                raise StreamError(
                    f"What version {version} of table {table.name} brought is not known any more: the versions before {oldest} have been vacuumed "
                    f"away. Start with {oldest + 1} or later, or with {STARTING_VERSION} = earliest, which reads all of version {oldest} first."
                )
            return position_at(table, version)


_TOLERANCE_MS = 60_000
"""Milliseconds: the clock of a session may be ahead of the metastore's by so much."""


def _version_at(table: StreamedTable, time: int) -> int:
    """Return the first version that was made at a time or later, or the next version if there is none yet."""
    versions = table.versions
    before = versions.as_of(-(-time // 1000) - 1)
    if before is not None:
        if before == versions.number and time > (versions.now() + _TOLERANCE_MS) * 1000:
            raise StreamError(
                f"The time that {STARTING_TIMESTAMP} names for the stream of table {table.name} is to come: take an earlier one, or "
                f"{STARTING_VERSION} = latest."
            )
        return before + 1
    if versions.oldest:
        raise StreamError(
            f"The versions of table {table.name} from before the time that {STARTING_TIMESTAMP} names have been vacuumed away; the oldest is "
            f"{versions.oldest}. Take a later time, or {STARTING_VERSION} = earliest."
        )
    return 0
