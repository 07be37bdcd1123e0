"""A client that stops at any row it writes leaves the old state or the new one, and others go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.store import MemoryStore, SQLiteStore, Store
from tests.support.effort import portion
from tests.support.stores.crash_world import OPERATIONS, CrashWorld, hurried, make_world
from tests.support.stores.crashes import Expected, check, crash, expect, stops
from tests.support.stores.failing_client import How
from tests.support.stores.sqlite_files import check_values_apart


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrashWorld]:
    """Return the state before each crash."""
    with hurried():
        yield make_world(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module", params=OPERATIONS)
def name(request: pytest.FixtureRequest) -> str:
    """Each of the operations, one after the other."""
    return str(request.param)


@pytest.fixture(scope="module")
def expected(world: CrashWorld, name: str) -> Expected:
    """Return what the operation does without an interruption, found once for all ways to stop it."""
    return expect(world, OPERATIONS[name])


WAYS: list[tuple[str, How]] = [
    ("memory", "before"), ("sqlite", "before"), ("sqlite", "after"), ("memory", "after"),
    ("memory", "unanswered"), ("sqlite", "unanswered"), ("sqlite", "unreachable"), ("memory", "unreachable"),
]  # fmt: skip
"""Stores and ways to stop, so that each second one has both stores and all ways."""


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind."""
    opened: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "rows.sqlite")
    yield opened
    opened.close()


@pytest.mark.parametrize(("store", "how"), portion(WAYS, 2, "ways"), indirect=["store"])
def test_stopped_at_every_row(store: Store, name: str, expected: Expected, how: How) -> None:
    """Dead before or after a row, or without an answer to it: others find the old state or the new one."""
    # SQLite writes a batch whole, so that an answer is one to all of it
    whole = isinstance(store, SQLiteStore) and how in ("unanswered", "unreachable")
    for stop in stops(expected, how, name, type(store).__name__, whole_calls=whole):
        expected.world.enter(store)
        done = crash(OPERATIONS[name], expected, store, stop, how)
        check(OPERATIONS[name], expected, store, done=done)
        if isinstance(store, SQLiteStore):
            check_values_apart(store.path)


def test_rows_of_a_batch_in_another_order(name: str, expected: Expected) -> None:
    """Nothing depends on which of a batch's rows are written first."""
    store = MemoryStore()
    for stop in stops(expected, "before", name, "backwards"):
        expected.world.enter(store)
        done = crash(OPERATIONS[name], expected, store, stop, "before", backwards=True)
        check(OPERATIONS[name], expected, store, done=done)


@pytest.fixture(scope="module")
def killed() -> Iterator[subprocess.Popen[str]]:
    """A process that has its children killed."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.stores.killed_client"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.communicate()
    assert process.returncode == 0


def test_killed_at_every_row(
    tmp_path: Path, killed: subprocess.Popen[str], name: str, expected: Expected
) -> None:
    """A process killed while SQLite takes a row from it leaves the old state or the new one."""
    path = tmp_path / "rows.sqlite"
    store = SQLiteStore(path)
    world = expected.world
    assert killed.stdin is not None
    assert killed.stdout is not None
    for stop in (*stops(expected, "before", name, "killed"), expected.writes):
        world.enter(store)
        print(name, stop, path, world.folder, world.dumped, sep="\t", file=killed.stdin, flush=True)
        ended = int(killed.stdout.readline())
        assert ended == (0 if stop == expected.writes else -signal.SIGKILL)
        check(OPERATIONS[name], expected, store, done=ended == 0)
        assert check_values_apart(path) > 0
    store.close()
