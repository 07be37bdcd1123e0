"""A metadata table is read page by page: each row once, of one version.

No answer has more than a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parquetry.metastore import (
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.planner import metadata_tables
from parquetry.planner.engine import NoEngine
from parquetry.planner.metadata_tables import ROWS_PER_PAGE
from parquetry.planner.planner import Planner
from parquetry.planner.protocol.codec import PROTOCOL
from tests.support.stores.rows_examined import rows_examined

PARTITIONS = 7
FILES = 1_700
LATER = 1 << 50


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[Metastore]:
    """A metastore with a table of seven partitions, the number of a partition times 1,700 files in each."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        metadata = TableMetadata(
            (TableColumn("id", "long"), TableColumn("p", "integer")), ("p",), "parquet", f"{tmp_path}/t"
        )
        table = metastore.create_table("default", "t", metadata)
        for partition in range(PARTITIONS):
            table = append(table, partition, FILES * partition)
        yield metastore


def append(table: TableSnapshot, partition: int, files: int) -> TableSnapshot:
    transaction = Transaction(table, "append")
    transaction.append((partition,), [FileRecord(f"{n}.parquet", 100 + n, n, 5) for n in range(files)])
    return commit(transaction)


class Reader:
    """Asks for a metadata table of `default.t` as the bridge does.

    Attributes:
        asked: how many pages so far.
    """

    def __init__(self, warehouse: Path, kind: str, *predicates: dict[str, Any]) -> None:
        self._planner = Planner(NoEngine())
        self._warehouse = str(warehouse)
        loaded = self._ask("load_metadata_table", namespace=["default", "t"], name=kind)["ok"]
        self._about = {"table": loaded["table"], "kind": kind, "predicates": list(predicates)}
        self.asked = 0

    def page(self, after: Any = None) -> Any:
        """Return an answer, or an error."""
        self.asked += 1
        place = {} if after is None else {"after": after}
        return self._ask("read_metadata_table", **self._about, **place)

    def rows(self) -> list[list[str | None]]:
        """Return all rows."""
        found, after = [], None
        while True:
            page = self.page(after)["ok"]
            assert len(page["rows"]) <= metadata_tables.ROWS_PER_PAGE
            found += page["rows"]
            after = page["next"]
            if after is None:
                return found

    def pushed(self) -> list[str]:
        """Return the conditions that saved reading rows."""
        told: list[str] = self.page()["ok"]["pushed"]
        return told

    def _ask(self, op: str, **question: Any) -> Any:
        head = {"protocol": PROTOCOL, "op": op, "catalog": "lake", "options": {"warehouse": self._warehouse}}
        return json.loads(self._planner.ask(json.dumps({**head, **question})))


@pytest.mark.usefixtures("metastore")
def test_files_come_in_pages(tmp_path: Path) -> None:
    """35,700 files are eight pages: all of them, in order, and the last page is not full."""
    reader = Reader(tmp_path, "files")
    expected = [
        [str(partition), f"{tmp_path}/t/p={partition}/{n}.parquet", str(n), str(100 + n), "5000"]
        for partition in range(PARTITIONS)
        for n in range(FILES * partition)
    ]
    assert reader.rows() == expected
    assert reader.asked == len(expected) // ROWS_PER_PAGE + 1 == 8


@pytest.mark.usefixtures("metastore")
@pytest.mark.parametrize("page", [1, 2, 3, 7, 8])
def test_partitions_and_history_come_in_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """Pages of any size give all rows, also a page that holds exactly all rows."""
    whole = {kind: Reader(tmp_path, kind).rows() for kind in ("partitions", "history")}
    assert [row[0] for row in whole["partitions"]] == ["0", "1", "2", "3", "4", "5", "6"]
    assert [row[0] for row in whole["history"]] == ["7", "6", "5", "4", "3", "2", "1", "0"]
    monkeypatch.setattr(metadata_tables, "ROWS_PER_PAGE", page)
    for kind, rows in whole.items():
        reader = Reader(tmp_path, kind)
        assert reader.rows() == rows
        assert reader.asked == len(rows) // page + 1


def compared(op: str, column: str, *values: object, type: str = "int") -> dict[str, Any]:
    literals = [{"lit": str(value), "type": type} for value in values]
    return {"fn": op, "args": [{"col": [column]}, *literals]}


@pytest.mark.parametrize("page", [1, 2, 5_000])
def test_conditions_on_partition_columns_spare_reading_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """Each page reads only rows of partitions that satisfy the condition."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        metadata = TableMetadata(
            (TableColumn("id", "long"), TableColumn("p", "integer")), ("p",), "parquet", f"{tmp_path}/t"
        )
        transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
        for partition in range(PARTITIONS):
            transaction.append((partition,), [FileRecord("x.parquet", 1), FileRecord("y.parquet", 1)])
        table = commit(transaction)
    monkeypatch.setattr(metadata_tables, "ROWS_PER_PAGE", page)
    for predicates, left in (
        ([compared("=", "p", 5)], [5]),
        ([compared("IN", "P", 3, 6)], [3, 6]),
        ([compared(">", "p", 4), compared("=", "rows", 7, type="bigint")], [5, 6]),
        ([compared("=", "p", 4), {"fn": "F", "args": [{"col": ["p"]}]}], [4]),
        ([{"fn": "OR", "args": [compared("=", "p", 4), compared("=", "p", 6)]}], [4, 6]),
        ([compared("=", "p", 77)], []),
    ):
        for kind in ("partitions", "files"):
            with rows_examined(monkeypatch, table.id) as examined:
                found = Reader(tmp_path, kind, *predicates).rows()
            each = 1 if kind == "partitions" else 2
            assert [int(row[0] or "") for row in found] == [p for p in left for _ in range(each)]
            if page == ROWS_PER_PAGE:
                assert len(examined) == len(left)


def test_conditions_go_by_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition on a later partition column uses an index.

    Each page begins where the last one ended.
    """
    with open_metastore(str(tmp_path), create=True) as metastore:
        metadata = TableMetadata(
            (TableColumn("id", "long"), TableColumn("d", "integer"), TableColumn("r", "string")),
            ("d", "r"),
            "parquet",
            f"{tmp_path}/t",
        )
        transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
        for day in range(200):
            for region in ("eu", "us"):
                transaction.append((day, region if day % 40 == 7 else "as"), [FileRecord("x.parquet", 1)])
        table = create_index(commit(transaction), ("r",))
    wanted = [str(day) for day in range(7, 200, 40)]
    for page in (2, ROWS_PER_PAGE):
        monkeypatch.setattr(metadata_tables, "ROWS_PER_PAGE", page)
        with rows_examined(monkeypatch, table.id) as examined:
            reader = Reader(tmp_path, "partitions", compared("=", "r", "us", type="string"))
            assert [row[0] for row in reader.rows()] == wanted
        assert len(examined) <= 5 * reader.asked


def test_conditions_on_the_version_of_the_history(
    tmp_path: Path, metastore: Metastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commits between the least and the greatest version are read, of others none."""
    read: list[int] = []
    history = metadata_tables.readable_versions

    def reading(snapshot: TableSnapshot, first: int = 0, last: int | None = None) -> Iterator[Any]:
        for row in history(snapshot, first, last):
            read.append(row[0])
            yield row

    monkeypatch.setattr(metadata_tables, "readable_versions", reading)
    for predicate, versions in (
        (compared("=", "version", 3), [3]),
        (compared(">=", "version", 5), [7, 6, 5]),
        (compared("<", "version", 2), [1, 0]),
        (compared("=", "version", 7), [7]),
        (compared("=", "version", 8), []),
        (compared("=", "operation", "append", type="string"), [7, 6, 5, 4, 3, 2, 1, 0]),
    ):
        read.clear()
        assert [int(row[0] or "") for row in Reader(tmp_path, "history", predicate).rows()] == versions
        assert read == versions


@pytest.mark.usefixtures("metastore")
def test_the_answer_says_which_conditions_were_of_use(tmp_path: Path) -> None:
    """The answer has the conditions on columns of the keys, and no others."""
    of_rows = compared("=", "rows", 7, type="bigint")
    assert Reader(tmp_path, "files", compared("=", "p", 5), of_rows).pushed() == ["p = 5"]
    assert Reader(tmp_path, "files", of_rows).pushed() == []
    assert Reader(tmp_path, "history", compared(">", "version", 5)).pushed() == ["version > 5"]


def test_a_table_without_partition_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its one partition has the empty key, and files behind it."""
    monkeypatch.setattr(metadata_tables, "ROWS_PER_PAGE", 3)
    with open_metastore(str(tmp_path), create=True) as metastore:
        metadata = TableMetadata((TableColumn("id", "long"),), (), "parquet", f"{tmp_path}/t")
        transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
        transaction.append((), [FileRecord(f"{n}.parquet", 1) for n in range(7)])
        commit(transaction)
    reader = Reader(tmp_path, "files")
    assert [row[0] for row in reader.rows()] == [f"{tmp_path}/t/{n}.parquet" for n in range(7)]
    assert reader.asked == 3
    assert [row[1] for row in Reader(tmp_path, "partitions").rows()] == ["7"]


def test_all_pages_are_of_one_version(tmp_path: Path, metastore: Metastore) -> None:
    """Files that come and partitions that go between two pages change nothing."""
    expected = Reader(tmp_path, "files").rows()
    reader = Reader(tmp_path, "files")
    first = reader.page()["ok"]
    transaction = Transaction(append(metastore.table("default", "t"), 2, 3), "drop")
    transaction.drop((6,))
    commit(transaction)
    rows, after = first["rows"], first["next"]
    while after is not None:
        page = reader.page(after)["ok"]
        rows, after = rows + page["rows"], page["next"]
    assert rows == expected
    assert len(Reader(tmp_path, "files").rows()) == len(expected) + 3 - FILES * 6


@pytest.mark.parametrize("kind", ["files", "partitions", "history"])
def test_a_table_that_is_dropped_in_the_middle(
    tmp_path: Path, metastore: Metastore, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The next page is an error that says so, not the end of the rows."""
    monkeypatch.setattr(metadata_tables, "ROWS_PER_PAGE", 2)
    reader = Reader(tmp_path, kind)
    after = reader.page()["ok"]["next"]
    metastore.drop_table("default", "t")
    error = reader.page(after)["error"]
    assert error["code"] == "TABLE_NOT_FOUND"
    assert error["message"] == "Table default.t was dropped or replaced while it was being read."


@pytest.mark.parametrize("kind", ["files", "partitions", "history"])
def test_a_version_that_is_vacuumed_in_the_middle(
    tmp_path: Path, metastore: Metastore, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The next page is an error that names the version and the oldest that is left."""
    monkeypatch.setattr(metadata_tables, "ROWS_PER_PAGE", 2)
    reader = Reader(tmp_path, kind)
    after = reader.page()["ok"]["next"]
    transaction = Transaction(metastore.table("default", "t"), "drop")
    transaction.drop((3,))
    vacuum(commit(transaction), older_than=LATER)
    error = reader.page(after)["error"]
    assert error["code"] == "TABLE_NOT_FOUND"
    assert error["message"] == "Version 7 of table default.t has been vacuumed away; the oldest is 8."
