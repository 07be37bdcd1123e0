"""Files that others wrote, taken in again while a vacuum is about to delete them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.errors import CommitConflictError, FileMissingError
from parquetry.locations.uri import join_location
from parquetry.metastore import FileRecord, Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.file_access import FileAccess, require_files
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.owner import now_ms
from parquetry.metastore.vacuuming import delete_files
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore
from tests.support.stores.failing_client import Client
from tests.support.stores.metastores import Crash, content
from tests.support.tables.lakes import NOW, TableLake

KEY = (1, "a")
PLACE = "d=1/s=a"


def lake_with(folder: Path, *names: str) -> tuple[TableLake, list[FileRecord]]:
    """Return a table that dropped its foreign files, so that only old versions list them; and the files."""
    lake = TableLake(folder, MemoryStore())
    files = [lake.append(KEY, name, own=False) for name in names]
    lake.drop(KEY)
    return lake, files


def adopt(metastore: Metastore, files: list[FileRecord]) -> TableSnapshot:
    """Adopt files that exist when the function begins."""
    table = metastore.table("default", "t")
    place = table.placement.default_location(KEY)
    locations = [join_location(place, file.path) for file in files]
    require_files(table.label, locations)
    transaction = Transaction(table, "sync")
    transaction.append(KEY, files)
    transaction.requirements.adopt(lambda: require_files(table.label, locations))
    return commit(transaction)


def attempt(action: Callable[[], object]) -> bool:
    try:
        action()
    except (CommitConflictError, FileMissingError):
        return False
    return True


def check(lake: TableLake, adopted: bool) -> None:
    """Require that every listed file exists."""
    listed = set(content(lake.table()).get(KEY, []))
    assert listed == ({"one", "two"} if adopted else set())
    assert listed <= lake.on_disk()
    head = read_head(lake.store, lake.id)
    assert head is not None
    assert head.cleaner is None or head.cleaner.is_dead(now_ms())


def test_vacuum_at_each_step_of_an_adoption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum comes before any row that the adoption writes.

    The files stay, or the adoption reports that they were deleted.
    """
    monkeypatch.setattr(delete_files, "PATIENCE_S", 0.01)  # it would wait for the commit under way
    outcomes = []
    for row in range(8):
        lake, files = lake_with(tmp_path / str(row), "one", "two")
        client = Client(lake.store)

        def come_between(row: int = row, client: Client = client, lake: TableLake = lake) -> None:
            if client.writes == row:
                client.before_write = None
                attempt(lambda: vacuum(lake.table(), older_than=NOW))

        client.before_write = come_between
        metastore = Metastore(client, str(lake.folder))
        outcomes.append(attempt(lambda metastore=metastore, files=files: adopt(metastore, files)))  # type: ignore[misc]
        check(lake, outcomes[-1])
    assert set(outcomes) == {False, True}


@pytest.mark.parametrize("file", [0, 1])
def test_adoption_at_each_file_that_a_vacuum_deletes(
    tmp_path: Path, file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While files are being deleted, none is taken in."""
    lake, files = lake_with(tmp_path, "one", "two")
    delete, done = FileAccess.delete, list[bool]()

    def slowly(self: FileAccess, place: object) -> None:
        if len(done) == file:
            with pytest.raises((CommitConflictError, FileMissingError), match=r"vacuum|deleted"):
                adopt(lake.metastore, files)
        done.append(True)
        delete(self, place)  # type: ignore[arg-type]

    monkeypatch.setattr(FileAccess, "delete", slowly)
    vacuum(lake.table(), older_than=NOW)
    assert len(done) == 2
    assert lake.on_disk() == set()
    check(lake, adopted=False)


def test_adoption_at_each_row_of_a_vacuum(tmp_path: Path) -> None:
    """The adoption comes before any row that the vacuum writes.

    It keeps its files, or reports that they were deleted.
    """
    outcomes: list[bool] = []
    row = 0
    while True:
        lake, files = lake_with(tmp_path / str(row), "one", "two")
        client = Client(lake.store)
        before = len(outcomes)

        def come_between(
            row: int = row, client: Client = client, lake: TableLake = lake, files: list[FileRecord] = files
        ) -> None:
            if client.writes == row:
                client.before_write = None
                outcomes.append(attempt(lambda: adopt(lake.metastore, files)))

        client.before_write = come_between
        vacuum(Metastore(client, str(lake.folder)).table("default", "t"), older_than=NOW)
        if len(outcomes) == before:
            break
        check(lake, outcomes[-1])
        row += 1
    assert set(outcomes) == {False, True}


def test_a_vacuum_that_died_keeps_nobody_from_adopting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was deleting files and died is passed over, by commits and by the next vacuum."""
    lake, files = lake_with(tmp_path, "one", "two")

    def die(self: FileAccess, place: object) -> None:
        client.stop_after(0)
        raise Crash

    client = Client(lake.store)
    with monkeypatch.context() as patch:
        patch.setattr(FileAccess, "delete", die)
        with pytest.raises(Crash):
            vacuum(Metastore(client, str(tmp_path)).table("default", "t"), older_than=NOW)
    head = read_head(lake.store, lake.id)
    assert head is not None
    assert head.cleaner is not None
    assert content(adopt(lake.metastore, files)) == {KEY: ["one", "two"]}
    lake.drop(KEY)
    vacuum(lake.table(), older_than=NOW)
    assert lake.on_disk() == set()
    check(lake, adopted=False)
