"""A server's client that stops at any row it writes leaves the old state or the new one, and others go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from parquetry.store import Store, open_store
from tests.servers.conftest import StoreServer
from tests.support.stores.crash_world import OPERATIONS, CrashWorld, hurried, make_world
from tests.support.stores.crashes import Expected, check, crash, expect, stops
from tests.support.stores.failing_client import How


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrashWorld]:
    """Return the state before each crash."""
    with hurried():
        yield make_world(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module")
def shared(server: StoreServer) -> Iterator[Store]:
    """One table for all tests: making one takes longer than emptying it."""
    store = open_store(server.url("crashes"), "/lake", create=True)
    yield store
    store.close()


@pytest.fixture(scope="module", params=OPERATIONS)
def name(request: pytest.FixtureRequest) -> str:
    """Each of the operations, one after the other."""
    return str(request.param)


@pytest.fixture(scope="module")
def expected(world: CrashWorld, name: str) -> Expected:
    """Return what the operation does without an interruption, found once for all ways to stop it."""
    return expect(world, OPERATIONS[name])


@pytest.mark.parametrize("how", ["before", "after", "unanswered"])
def test_stopped_at_every_row(shared: Store, name: str, expected: Expected, how: How) -> None:
    """A client stops before or after a row, or gets no answer: others find the old state or the new one."""
    for stop in stops(expected, how, whole_calls=how == "unanswered"):
        expected.world.enter(shared)
        done = crash(OPERATIONS[name], expected, shared, stop, how)
        check(OPERATIONS[name], expected, shared, done=done, clear_copy=True)
