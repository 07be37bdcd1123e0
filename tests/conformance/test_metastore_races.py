"""Two clients at once: wherever one comes in between, every readable version is whole and has its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parquetry.errors import (
    CommitConflictError,
    IndexExistsError,
    IndexNotFoundError,
    TableExistsError,
    TableNotFoundError,
)
from parquetry.locations.uri import join_location
from parquetry.metastore import Metastore
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.operations.history import history
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore
from tests.support.effort import STEP, portion
from tests.support.stores.crash_world import OPERATIONS, CrashWorld, hurried, make_world
from tests.support.stores.crashes import content, leftovers
from tests.support.stores.failing_client import Client

NAMES = (
    "append",
    "append many",
    "overwrite",
    "drop partition",
    "rename partition",
    "replace where",
    "alter",
    "rebuild index",
    "drop index",
    "rollback",
    "vacuum",
    "rename table",
    "replace table",
    "drop table",
)
"""Operations that are about `default.t`."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CrashWorld]:
    """Return the state before each race; a vacuum that meets a commit under way does not wait for it."""
    with hurried(), pytest.MonkeyPatch.context() as patched:
        patched.setattr("parquetry.metastore.vacuuming.delete_files.PATIENCE_S", 0.0)
        yield make_world(tmp_path_factory.mktemp("lake"))


def attempt(world: CrashWorld, metastore: Metastore, name: str, other: str) -> bool:
    """Return whether an operation was done; it may give way to the other, and says so."""
    try:
        OPERATIONS[name].run(metastore, world)
    except CommitConflictError:
        return False  # a vacuum, too: others' files are not deleted while a commit may be taking them in
    except (TableExistsError, TableNotFoundError):
        assert other.endswith(" table") or (name, other) == ("rollback", "vacuum")
        return False
    except (IndexExistsError, IndexNotFoundError):
        assert other.endswith((" table", " index"))
        return False
    return True


@pytest.mark.parametrize(
    ("first", "second"), portion([(first, second) for first in NAMES for second in NAMES], 3, "races")
)
def test_one_between_any_two_rows_of_the_other(world: CrashWorld, first: str, second: str) -> None:
    """Both are done, or one gives way; every version is whole, has its files, and no orphan remains."""
    row = 0
    while True:
        store = MemoryStore()
        world.enter(store)
        client = Client(store, backwards=second == "vacuum")  # it meets rows before what they refer to
        came: list[bool] = []

        def come_between(row: int = row, client: Client = client, came: list[bool] = came) -> None:
            if client.writes == row and not came:
                came.append(attempt(world, world.open(client.store), second, first))

        client.before_write = come_between
        done = attempt(world, Metastore(client, str(world.folder)), first, second)
        assert done or came
        if not came:
            break
        check(world, store)
        row += STEP
    assert row > 0


def check(world: CrashWorld, store: MemoryStore) -> None:
    """All that can be read is as it should be."""
    metastore = world.open(store)
    for database in metastore.databases():
        for name in metastore.tables(database):
            newest = metastore.table(database, name)
            for commit in history(newest):
                table = metastore.table(database, name, version=commit.version)
                content(table)
                for part in table.partitions():
                    for file in part.files:
                        assert Path(join_location(part.location, file.path)).exists()
            assert {finding.kind for finding in fsck(newest, footers=False)} <= {"unneeded index entry"}
            vacuum(newest, older_than=0)
            assert fsck(metastore.table(database, name), footers=False) == []
    assert leftovers(store) == []
