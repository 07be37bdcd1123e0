"""The world that operations of an interleaving share: a store and data files; chance and time are fixed.

Operations depend only on what they have read, so the order of its steps identifies a run.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from unittest.mock import patch

from parquetry.locations.uri import StoragePath, is_below
from parquetry.maintenance.deletion import vacuum
from parquetry.maintenance.deletion.file_access import FileAccess, Info
from parquetry.metastore.commits import replacement
from parquetry.metastore.namespace import orphans
from parquetry.metastore.storage import head
from parquetry.store import MemoryStore
from tests.support.interleavings.steps import StoreCall

NOW = time.time_ns()
LAKE = "/lake"

Step = Callable[[StoreCall], None]
Saw = Callable[[object], None]


class SteppedWorld:
    """A store and the data files of a warehouse.

    Attributes:
        store: of the metastore.
        files: their paths.
    """

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.files: set[str] = set()

    def copy(self) -> SteppedWorld:
        """Return a world of the same content."""
        other = SteppedWorld()
        for key, value in self.store._values.items():
            other.store._values[key] = value
        other.store._keys = list(self.store._keys)
        other.store._fields = dict(self.store._fields)
        other.files = set(self.files)
        return other

    def content(self) -> object:
        """Return a digest of this world; worlds with different events have different ones."""
        return hash((frozenset(self.store._values.items()), frozenset(self.files)))


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

    def _random(self, size: int) -> bytes:
        number = next(self._drawn.setdefault(self.actor, itertools.count()))
        return hashlib.blake2b(f"{self.actor} {number}".encode(), digest_size=size).digest()

    def _below(self, _: FileAccess, folder: StoragePath) -> Iterator[tuple[StoragePath, Info]]:
        start = _key(f"{folder.path}/")
        self.step(StoreCall("list", ranges=((start, start + b"\xff"),)))
        found = sorted(path for path in self.world.files if is_below(StoragePath("", path), folder))
        self.saw(tuple(found))
        for path in found:
            yield StoragePath("", path), _INFO

    def _infos(
        self, _: FileAccess, places: Iterable[StoragePath]
    ) -> Iterator[tuple[StoragePath, Info | None]]:
        for place in places:
            yield place, _INFO if place.path in self.world.files else None

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
            "delete_if_empty": lambda _files, _folder: False,
            "delete_empty_below": lambda _files, _folder, _spared: None,
        }
        with contextlib.ExitStack() as patches:
            patches.enter_context(patch.multiple(FileAccess, **about_files))
            patches.enter_context(patch.object(os, "urandom", self._random))
            patches.enter_context(patch.object(os, "fsync", lambda _: None))
            patches.enter_context(patch.object(time, "time_ns", lambda: NOW))
            patches.enter_context(patch.object(time, "sleep", lambda _: None))
            patches.enter_context(patch.object(head, "MAX_PAUSE_SECONDS", 0.0))
            patches.enter_context(patch.object(orphans, "MIN_RENAMING_S", 0.0))
            patches.enter_context(patch.object(vacuum, "PATIENCE_S", 0.0))
            patches.enter_context(patch.object(replacement, "MAX_PUBLISH_ATTEMPTS", 3))
            yield


_INFO = Info(1, NOW // 1_000_000)


def _key(path: str) -> bytes:
    return b"file:" + path.encode()
