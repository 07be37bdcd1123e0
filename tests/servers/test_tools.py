"""The command line with a metastore on a server, and the way there from SQLite and back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import parquetry
from parquetry.cli.main import main
from parquetry.errors import ForeignWarehouseError
from parquetry.metastore import ColumnStatistics, FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from tests.servers.conftest import StoreServer
from tests.support.hbase import launcher as hbase
from tests.support.postgresql import launcher as postgresql
from tests.support.stores.metastores import content, file, metadata

EXPECTED = {
    (None, "left"): ["only"],
    (1, "a"): ["a", "b"],
    (1, None): ["later"],
    (2, "é\x00"): ["f"],
    (3, "many"): [f"{n:05d}" for n in range(3000)],
}


def fill(warehouse: Path) -> None:
    """Make a metastore in SQLite: two databases, a table with a past, an index, a long list of files."""
    with open_metastore(str(warehouse), create=True) as metastore:
        table = metastore.create_table("default", "t", metadata(location=f"{warehouse}/t"))
        transaction = Transaction(table, "append")
        for key, names in EXPECTED.items():
            transaction.append(key, [file(name) for name in names])
        transaction.append((9, "gone"), [file("x")])
        commit(transaction)
        create_index(metastore.table("default", "t"), ["s"])
        transaction = Transaction(metastore.table("default", "t"), "change")
        transaction.drop((9, "gone"))
        transaction.replace(
            (2, "é\x00"), [FileRecord("f", 3, 1, 7, {"x": ColumnStatistics(1, 0, -1, 1 << 60)})]
        )
        commit(transaction, {"why": "test"})
        metastore.create_database("sales", {"comment": "é"})
        metastore.create_table("sales", "orders.2024", metadata(partition_by=(), location=f"{warehouse}/o"))


RETURNED_BY_PATTERN = {"hbase": 8, "postgresql": 5}
"""Keys that a server returns for `s like '%any'`.

HBase tests the pattern itself; PostgreSQL returns keys that the reader tests.
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command that succeeds; gives what it printed, which is JSON."""

    def run(*arguments: str) -> Any:
        with pytest.raises(SystemExit) as caught:
            main((*arguments, "--json"))
        captured = capsys.readouterr()
        assert (caught.value.code or 0, captured.err.strip()) == (0, "")
        return json.loads(captured.out)

    return run


def tables_of(folder: Path) -> list[tuple[str, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted((folder / "tables").iterdir())]


def test_there_and_back(url: str, tmp_path: Path, run: Any) -> None:
    """`dump` and `restore` bring a metastore from SQLite to a server and back.

    The dumps on the way have the same bytes.
    """
    lake, back = tmp_path / "lake", f"sqlite://{tmp_path}/back.sqlite"
    fill(lake)
    run("dump", str(tmp_path / "one"), "-w", str(lake))
    run("restore", str(tmp_path / "one"), "-w", str(lake), "--store", url)
    run("dump", str(tmp_path / "two"), "-w", str(lake), "--store", url)
    run("restore", str(tmp_path / "two"), "-w", str(lake), "--store", back)
    run("dump", str(tmp_path / "three"), "-w", str(lake), "--store", back)
    first = tables_of(tmp_path / "one")
    assert len(first) == 2
    assert tables_of(tmp_path / "two") == tables_of(tmp_path / "three") == first
    manifests = [
        json.loads((tmp_path / name / "manifest.json").read_bytes()) for name in ("one", "two", "three")
    ]
    assert len({manifest.pop("metastore") for manifest in manifests}) == 3
    assert [manifest.pop("store") for manifest in manifests] == ["sqlite", url, back]
    assert len({manifest.pop("sha256") for manifest in manifests}) == 3
    assert manifests[0] == manifests[1] == manifests[2]
    # HBase reads keys to choose between two ways; the others count them and return none.
    returned = RETURNED_BY_PATTERN[url.partition(":")[0]]
    for kept, counts in (("sqlite", (1, 8, 8)), (url, (1, None, returned))):
        plan = run("plan", "t", "s like '%any'", "--run", "-w", str(lake), "--store", kept)
        assert (plan["partitions"], plan["keys_examined"], plan["keys_returned"]) == counts, kept
    with open_metastore(str(lake), back) as metastore:
        found = metastore.table("default", "t")
        assert content(found) == EXPECTED
        assert {**content(metastore.table("default", "t", version=1))} == {**EXPECTED, (9, "gone"): ["x"]}
        transaction = Transaction(found, "append")
        transaction.append((1, "a"), [file("new")])
        assert content(commit(transaction))[1, "a"] == ["a", "b", "new"]
        assert metastore.database("sales").properties == {"comment": "é"}
    for retired in (None, url):
        with open_metastore(str(lake), retired) as metastore:
            assert content(metastore.table("default", "t")) == EXPECTED
            with pytest.raises(ForeignWarehouseError, match="was given to the metastore in"):
                metastore.drop_table("default", "t")


def test_from_one_server_to_another(
    server: StoreServer, url: str, table: str, tmp_path: Path, run: Any
) -> None:
    """A dump of a store on one server is restored on the same and on the other, and both have its content."""
    lake = tmp_path / "lake"
    fill(lake)
    run("dump", str(tmp_path / "first"), "-w", str(lake))
    run("restore", str(tmp_path / "first"), "-w", str(lake), "--store", url)
    run("dump", str(tmp_path / "dump"), "-w", str(lake), "--store", url)
    for number, other in enumerate((postgresql.shared_server(), hbase.shared_server())):
        there = other.url(f"{table}x{number}")
        claims = ("--claim",) if number else ()  # the second time the dump is of an earlier owner
        run("restore", str(tmp_path / "dump"), *claims, "-w", str(lake), "--store", there)
        with open_metastore(str(lake), there) as metastore:
            assert content(metastore.table("default", "t")) == EXPECTED
        run("dump", str(tmp_path / f"again{number}"), "-w", str(lake), "--store", there)
        assert tables_of(tmp_path / f"again{number}") == tables_of(tmp_path / "dump")


def test_restore_takes_an_empty_table_only(
    url: str, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A metastore on a server that holds tables is refused, and stays as it is."""
    lake = tmp_path / "lake"
    fill(lake)
    run("dump", str(tmp_path / "one"), "-w", str(lake))
    run("restore", str(tmp_path / "one"), "-w", str(lake), "--store", url)
    before = run("history", "t", "-w", str(lake), "--store", url)
    with pytest.raises(SystemExit) as caught:
        main(("restore", str(tmp_path / "one"), "-w", str(lake), "--store", url))
    assert caught.value.code == 1
    assert "restore into an empty one" in capsys.readouterr().err
    assert run("history", "t", "-w", str(lake), "--store", url) == before


COMMANDS = [
    ("tables",),
    ("describe", "t"),
    ("partitions", "t"),
    ("partitions", "t", "--where", "d = 1"),
    ("partitions", "t", "--where", "s like '%e%' or d is null"),
    ("partitions", "t", "--where", "d != 3 and s in ('a', 'left')"),
    ("files", "t", "--where", "d = 1 and x = 3"),
    ("plan", "t", "d >= 2 and s = 'many'", "--run"),
    ("plan", "t", "s = 'a'", "--run"),
    ("history", "t"),
]


def test_commands(url: str, tmp_path: Path, run: Any) -> None:
    """Every command prints the same for a metastore on a server as for its copy in SQLite.

    Only the numbers of keys that are read may differ, by the older rows of two partitions, and by the keys
    that a server leaves out.
    """
    lake = tmp_path / "lake"
    fill(lake)
    run("dump", str(tmp_path / "one"), "-w", str(lake))
    run("restore", str(tmp_path / "one"), "-w", str(lake), "--store", url)
    for command in COMMANDS:
        plain = run(*command, "-w", str(lake))
        assert plain
        there = run(*command, "-w", str(lake), "--store", url)
        if "--run" in command:
            # Two partitions have an older row each: how many of them a store looks at is its own affair.
            # A server that tests keys returns fewer, and does not say how many it tested.
            of_sqlite = plain.pop("keys_returned"), plain.pop("keys_examined")
            returned, examined = there.pop("keys_returned"), there.pop("keys_examined")
            assert of_sqlite[0] == of_sqlite[1], command
            assert examined in (None, returned), command
            assert 1 <= returned <= of_sqlite[0] + 2, command
            if url.startswith("postgresql"):  # a few keys take less time than an index's requests
                assert {scan["index"] for scan in there.pop("scans")} == {None}, command
                del plain["scans"]
        assert there == plain


def test_environment(url: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store on a server that the environment names is used like one that an option names."""
    lake = tmp_path / "lake"
    with open_metastore(str(lake), url, create=True) as metastore:
        metastore.create_table("default", "there", metadata(location=f"{lake}/there"))
    monkeypatch.setenv("PARQUETRY_WAREHOUSE", str(lake))
    monkeypatch.setenv("PARQUETRY_STORE", url)
    assert [found["table"] for found in run("tables")] == ["default.there"]
    with parquetry.open(lake, url) as catalog:
        assert catalog.tables() == ["default.there"]
    assert not (lake / "_parquetry").exists()


@pytest.mark.parametrize("scheme", ["hbase", "postgresql"])
def test_server_that_is_away(scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command says which server it did not reach, and ends."""
    with pytest.raises(SystemExit) as caught:
        main(("tables", "-w", str(tmp_path), "--store", f"{scheme}://127.0.0.1:9/t?patience=0.1"))
    assert caught.value.code == 1
    assert re.search(r"127\.0\.0\.1:9(/t)? cannot be reached", capsys.readouterr().err)
