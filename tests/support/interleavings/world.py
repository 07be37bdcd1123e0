"""What the operations of an interleaving share: a store, and data files; and chance and time, which are the same in each run.

Operations do nothing but what follows from what they have read: so a run is told by the order of its steps alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from unittest.mock import patch

from parquetry.locations.uri import Place, is_below
from parquetry.maintenance.deletion import vacuum
from parquetry.maintenance.deletion.file_access import Files, Info
from parquetry.metastore.commits import replacement
from parquetry.metastore.namespace import orphans
from parquetry.metastore.storage import head
from parquetry.store import MemoryStore
from tests.support.interleavings.steps import Call

NOW = time.time_ns()
LAKE = "/lake"

Step = Callable[[Call], None]
Saw = Callable[[object], None]


class World:
    """A store and the data files of a warehouse.

    Attributes:
        store: of the metastore.
        files: their paths.
    """

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.files: set[str] = set()

    def copy(self) -> World:
        """Return a world of the same content."""
        other = World()
        for key, value in self.store._values.items():
            other.store._values[key] = value
        other.store._keys = list(self.store._keys)
        other.store._fields = dict(self.store._fields)
        other.files = set(self.files)
        return other

    def content(self) -> object:
        """Return what tells this world from one in which something else has happened."""
        return hash((frozenset(self.store._values.items()), frozenset(self.files)))


class Surroundings:
    """The world in which code runs now, and who runs it.

    Attributes:
        world: that is on.
        actor: whose code runs.
        step: called before each access to a file.
        saw: called with what was seen there.
    """

    def __init__(self) -> None:
        self.world = World()
        self.actor = ""
        self.step: Step = lambda _: None
        self.saw: Saw = lambda _: None
        self._drawn: dict[str, Iterator[int]] = {}

    def enter(self, world: World) -> None:
        """Make another world the one that is on; chance begins anew."""
        self.world = world
        self._drawn = {}

    def write(self, path: str) -> None:
        """Write a data file."""
        self.step(Call("write", writes=(_key(path),)))
        self.world.files.add(path)

    def _random(self, size: int) -> bytes:
        number = next(self._drawn.setdefault(self.actor, itertools.count()))
        return hashlib.blake2b(f"{self.actor} {number}".encode(), digest_size=size).digest()

    def _below(self, _: Files, folder: Place) -> Iterator[tuple[Place, Info]]:
        start = _key(f"{folder.path}/")
        self.step(Call("list", ranges=((start, start + b"\xff"),)))
        found = sorted(path for path in self.world.files if is_below(Place("", path), folder))
        self.saw(tuple(found))
        for path in found:
            yield Place("", path), _INFO

    def _infos(self, _: Files, places: Iterable[Place]) -> Iterator[tuple[Place, Info | None]]:
        for place in places:
            yield place, _INFO if place.path in self.world.files else None

    def _delete(self, _: Files, place: Place) -> None:
        self.step(Call("unlink", writes=(_key(place.path),)))
        self.world.files.discard(place.path)

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Have chance, time and files be those of the world that is on."""
        about_files = {
            "below": lambda files, folder: self._below(files, folder),
            "infos": lambda files, places: self._infos(files, places),
            "delete": lambda files, place: self._delete(files, place),
            "delete_if_empty": lambda _files, _folder: False,
            "delete_empty_below": lambda _files, _folder, _spared: None,
        }
        with contextlib.ExitStack() as patches:
            patches.enter_context(patch.multiple(Files, **about_files))
            patches.enter_context(patch.object(os, "urandom", self._random))
            patches.enter_context(patch.object(os, "fsync", lambda _: None))
            patches.enter_context(patch.object(time, "time_ns", lambda: NOW))
            patches.enter_context(patch.object(time, "sleep", lambda _: None))
            patches.enter_context(patch.object(head, "LONGEST_PAUSE", 0.0))
            patches.enter_context(patch.object(orphans, "RENAMING_S", 0.0))
            patches.enter_context(patch.object(vacuum, "PATIENCE_S", 0.0))
            patches.enter_context(patch.object(replacement, "ATTEMPTS", 3))
            yield


_INFO = Info(1, NOW // 1_000_000)


def _key(path: str) -> bytes:
    return b"file:" + path.encode()
