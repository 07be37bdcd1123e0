"""DROP TABLE and DROP NAMESPACE delete exactly the files of the dropped tables.

That holds if others rename, create or write tables meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError
from parquetry.locations.uri import join_location
from parquetry.metastore import FileRecord, Metastore, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import questions
from parquetry.planner.protocol.codec import PROTOCOL
from parquetry.planner.tables import namespaces, tables
from parquetry.store import MemoryStore
from tests.support.effort import steps
from tests.support.interleavings.steps import interrupted
from tests.support.spark.asked_lake import BridgeLake as AskedLake
from tests.support.stores.metastores import metadata

_ANSWERS = {**tables.ANSWERS, **namespaces.ANSWERS}
Action = Callable[[Metastore], object]
_CATALOG = {"protocol": PROTOCOL, "catalog": "lake", "options": {}}
_DROPS: dict[str, questions.Question] = {
    "table": questions.DropTable(**_CATALOG, namespace=["x"], name="t", purge=False),
    "namespace": questions.DropNamespace(**_CATALOG, namespace=["x"], cascade=True),
}


def make(metastore: Metastore, folder: Path, name: str, external: bool = False) -> None:
    """Make a table `x.name` of one file."""
    location = f"{folder}/{name}-{len(list(folder.iterdir()))}"
    Path(location).mkdir()
    metastore.create_table("x", name, metadata(location=location, external=external))
    write(metastore, name)


def write(metastore: Metastore, name: str, database: str = "x", replace: bool = False) -> None:
    """Write one more file into a table, or one in the place of its files."""
    table = metastore.table(database, name)
    folder = Path(table.placement.default_location((1, "a")))
    folder.mkdir(parents=True, exist_ok=True)
    file = FileRecord(f"pq-{table.id.hex()}-{len(list(folder.iterdir()))}.parquet", 1, 1)
    (folder / file.path).write_text("x")
    transaction = Transaction(table, "write")
    (transaction.replace if replace else transaction.append)((1, "a"), [file])
    commit(transaction)


def rename_away(metastore: Metastore) -> None:
    metastore.rename_table("x", "t", "default", "u")


def rename_within(metastore: Metastore) -> None:
    metastore.rename_table("x", "t", "x", "u")


RIVALS: dict[str, Action] = {
    "renamed away": rename_away,
    "renamed within": rename_within,
    "another in its place": lambda metastore: [
        rename_away(metastore),
        metastore.rename_table("x", "s", "x", "t"),
    ],
    "written": lambda metastore: write(metastore, "t"),
    "overwritten": lambda metastore: write(metastore, "t", replace=True),
}


def listed(metastore: Metastore) -> dict[str, list[Path]]:
    """Return the files that each table lists."""
    return {
        f"{database}.{name}": [
            Path(join_location(part.location, file.path))
            for part in metastore.table(database, name).partitions()
            for file in part.files
        ]
        for database in metastore.databases()
        for name in metastore.tables(database)
    }


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("what", _DROPS)
def test_files_go_with_their_table_alone(tmp_path: Path, what: str, rival: str, external: bool) -> None:
    """A rival's change comes between any two steps of a DROP.

    Each existing table keeps its files, and a dropped managed table leaves none.
    """
    for number in steps(what, rival, str(external)):
        folder = tmp_path / str(number)
        folder.mkdir()
        store = MemoryStore()
        other = Metastore(store, str(folder))
        other.create_database("x")
        make(other, folder, "s", external)
        make(other, folder, "t", external)
        live = [listed(other)]
        came: list[bool] = []

        def come_between(
            other: Metastore = other, came: list[bool] = came, live: list[dict[str, list[Path]]] = live
        ) -> None:
            came.append(True)
            with contextlib.suppress(TableNotFoundError, NamespaceNotFoundError):  # it came too late
                RIVALS[rival](other)
                live[:] = [listed(other)]

        lake = Lake("lake", Metastore(interrupted(store, number, come_between), str(folder)), NoEngine("UTC"))
        _ANSWERS[type(_DROPS[what])](lake, _DROPS[what])
        if not came:
            break
        kept = {path for paths in listed(other).values() for path in paths}
        assert all(path.exists() for path in kept)
        if external:  # what the last version listed stays of a table that went, too
            assert all(path.exists() for paths in live[0].values() for path in paths)
        else:
            assert {path for path in folder.rglob("pq-*") if path.is_file()} == kept
    assert number > 5


def test_a_table_that_is_dropped_while_it_is_replaced(tmp_path: Path) -> None:
    """If the table is dropped meanwhile, CREATE OR REPLACE fails with a conflict.

    REPLACE fails with an error that the table does not exist.
    """
    for mode, code in (
        ("create_or_replace", "COMMIT_CONFLICT"),
        ("replace", "TABLE_NOT_FOUND"),
    ):
        with open_metastore(str(tmp_path), create=True) as metastore:
            lake = AskedLake(tmp_path, metastore)
            lake.create(properties={})
            staged = lake.create(op="stage_table", mode=mode, properties={})["table"]
            metastore.drop_table("default", "t")
            error = lake.ask("publish_table", table=staged, mode=mode)
        assert error["code"] == code, error
