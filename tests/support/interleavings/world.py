"""The world that operations of an interleaving share: a store and data files; chance and time are fixed.

Operations depend only on what they have read, so the order of its steps identifies a run.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from unittest.mock import patch

from parquetry.locations import small_files
from parquetry.locations.uri import StoragePath, is_below
from parquetry.metastore import Metastore
from parquetry.metastore.commits import replacement
from parquetry.metastore.deletion.file_access import FileAccess, Info
from parquetry.metastore.namespace import orphans
from parquetry.metastore.operations import branch_publishing
from parquetry.metastore.ownership import handover
from parquetry.metastore.ownership.owner import Ownership
from parquetry.metastore.storage import head, intents
from parquetry.metastore.vacuuming import delete_files
from parquetry.store import MemoryStore, Store
from tests.support.interleavings.steps import SteppedStore, StoreCall

NOW = time.time_ns()
LAKE = "/lake"
FIRST, OTHER = "sqlite:///first.sqlite", "sqlite:///other.sqlite"
"""URLs of the two stores of a world, as marks name them."""

OLD_MS = 30 * 60 * 60 * 1000
"""The age of old files: older than the grace period of vacuum."""

Step = Callable[[StoreCall], None]
Saw = Callable[[object], None]


class SteppedWorld:
    """A store and the data files of a warehouse.

    Attributes:
        store: of the metastore.
        other: another store of a metastore of the same warehouse, which is empty at first.
        files: paths of data files.
        marks: the texts of small files, by their locations. If it is None, the warehouse has no mark, and
            anybody may write.
    """

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.other = MemoryStore()
        self.files: set[str] = set()
        self.marks: dict[str, bytes] | None = None

    def copy(self) -> SteppedWorld:
        """Return a world of the same content."""
        copy = SteppedWorld()
        for ours, theirs in ((self.store, copy.store), (self.other, copy.other)):
            theirs._values.update(ours._values)
            theirs._keys = list(ours._keys)
            theirs._fields = dict(ours._fields)
        copy.files = set(self.files)
        copy.marks = None if self.marks is None else dict(self.marks)
        return copy

    def content(self) -> object:
        """Return a digest of this world; worlds with different events have different ones."""
        rows = [frozenset(store._values.items()) for store in (self.store, self.other)]
        return hash(
            (*rows, frozenset(self.files), None if self.marks is None else frozenset(self.marks.items()))
        )

    def owner(self) -> MemoryStore:
        """Return the store of the metastore that the warehouse belongs to."""
        return (
            self.other if any(OTHER.encode() in text for text in (self.marks or {}).values()) else self.store
        )


class Surroundings:
    """The world that code runs in now, and the actor that runs it.

    Attributes:
        world: that is on.
        actor: whose code runs.
        step: called before each access to a file.
        saw: called with what was seen there.
    """

    def __init__(self) -> None:
        self.world = SteppedWorld()
        self.actor = ""
        self.step: Step = lambda _: None
        self.saw: Saw = lambda _: None
        self._drawn: dict[str, Iterator[int]] = {}

    def enter(self, world: SteppedWorld) -> None:
        """Make another world the one that is on; chance begins anew."""
        self.world = world
        self._drawn = {}

    def write(self, path: str) -> None:
        """Write a data file."""
        self.step(StoreCall("write", writes=(_key(path),)))
        self.world.files.add(path)

    def metastore(self, store: Store, url: str = FIRST) -> Metastore:
        """Open a store as a metastore of the warehouse."""
        owned = None if self.world.marks is None else Ownership(store, url, LAKE)
        return Metastore(store, LAKE, ownership=owned)

    def other(self) -> Metastore:
        """Open the other store as a metastore of the warehouse."""
        return self.metastore(SteppedStore(self.world.other, self.step, self.saw), OTHER)

    def _reopen(self, url: str, _: str) -> Store:
        return SteppedStore(self.world.other if url == OTHER else self.world.store, self.step, self.saw)

    def _read_mark(self, location: str) -> bytes | None:
        self.step(StoreCall("read mark", reads=(_key(location),)))
        text = (self.world.marks or {}).get(location)
        self.saw(text)
        return text

    def _create_mark(self, location: str, text: bytes) -> bytes:
        self.step(StoreCall("create mark", reads=(_key(location),), writes=(_key(location),)))
        assert self.world.marks is not None
        self.saw(there := self.world.marks.setdefault(location, text))
        return there

    def _replace_mark(self, location: str, text: bytes) -> None:
        self.step(StoreCall("replace mark", writes=(_key(location),)))
        assert self.world.marks is not None
        self.world.marks[location] = text

    def _random(self, size: int) -> bytes:
        number = next(self._drawn.setdefault(self.actor, itertools.count()))
        return hashlib.blake2b(f"{self.actor} {number}".encode(), digest_size=size).digest()

    def _below(self, _: FileAccess, folder: StoragePath) -> Iterator[tuple[StoragePath, Info]]:
        start = _key(f"{folder.path}/")
        self.step(StoreCall("list", ranges=((start, start + b"\xff"),)))
        found = sorted(path for path in self.world.files if is_below(StoragePath("", path), folder))
        self.saw(tuple(found))
        for path in found:
            yield StoragePath("", path), _info(path)

    def _infos(
        self, _: FileAccess, places: Iterable[StoragePath]
    ) -> Iterator[tuple[StoragePath, Info | None]]:
        wanted = list(places)
        self.step(StoreCall("look", reads=tuple(_key(place.path) for place in wanted)))
        found = [place.path in self.world.files for place in wanted]
        self.saw(tuple(found))
        for place, exists in zip(wanted, found, strict=True):
            yield place, _info(place.path) if exists else None

    def _delete(self, _: FileAccess, place: StoragePath) -> None:
        self.step(StoreCall("unlink", writes=(_key(place.path),)))
        self.world.files.discard(place.path)

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Replace chance, time and files by the current world's."""
        about_files = {
            "below": lambda files, folder: self._below(files, folder),
            "infos": lambda files, places: self._infos(files, places),
            "delete": lambda files, place: self._delete(files, place),
            "time": lambda _files, _folder: NOW // 1_000_000,
            "delete_if_empty": lambda _files, _folder: False,
            "delete_empty_below": lambda _files, _folder, _spared: None,
        }
        with contextlib.ExitStack() as patches:
            patches.enter_context(patch.multiple(FileAccess, **about_files))
            marks = {
                "read_small_file": self._read_mark,
                "create_small_file": self._create_mark,
                "replace_small_file": self._replace_mark,
            }
            patches.enter_context(patch.multiple(small_files, **marks))
            patches.enter_context(patch.object(handover, "reopen_store", self._reopen))
            patches.enter_context(patch.object(secrets, "token_hex", lambda size: self._random(size).hex()))
            patches.enter_context(patch.object(os, "urandom", self._random))
            patches.enter_context(patch.object(os, "fsync", lambda _: None))
            patches.enter_context(patch.object(time, "time_ns", lambda: NOW))
            patches.enter_context(patch.object(time, "sleep", lambda _: None))
            patches.enter_context(patch.object(head, "MAX_PAUSE_SECONDS", 0.0))
            patches.enter_context(patch.object(intents, "PATIENCE", 1))
            patches.enter_context(patch.object(orphans, "MIN_RENAMING_S", 0.0))
            patches.enter_context(patch.object(delete_files, "PATIENCE_S", 0.0))
            patches.enter_context(patch.object(branch_publishing, "PATIENCE_S", 0.0))
            patches.enter_context(patch.object(replacement, "MAX_REPLACE_ATTEMPTS", 3))
            yield


def _info(path: str) -> Info:
    return Info(1, modified(path))


def modified(path: str) -> int:
    """Return when a file was changed: long ago if its name says that it is old."""
    return NOW // 1_000_000 - (OLD_MS if "-old" in path else 0)


def _key(path: str) -> bytes:
    return b"file:" + path.encode()
