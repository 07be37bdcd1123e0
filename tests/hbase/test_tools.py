"""The command line on HBase, and the way there from SQLite and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import parquetry
from parquetry.cli.main import main
from parquetry.maintenance.indexes import create_index
from parquetry.metastore import ColumnStatistics, FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from tests.support.hbase.launcher import HBaseServer
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


def test_there_and_back(hbase: HBaseServer, table: str, tmp_path: Path, run: Any) -> None:
    """`dump` and `restore` bring a metastore from SQLite to HBase and back, and each dump has the same bytes."""
    lake, back = tmp_path / "lake", f"sqlite://{tmp_path}/back.sqlite"
    fill(lake)
    url = hbase.url(table)
    run("dump", str(tmp_path / "one"), "-w", str(lake))
    run("restore", str(tmp_path / "one"), "-w", str(lake), "--store", url)
    run("dump", str(tmp_path / "two"), "-w", str(lake), "--store", url)
    run("restore", str(tmp_path / "two"), "-w", str(lake), "--store", back)
    run("dump", str(tmp_path / "three"), "-w", str(lake), "--store", back)
    first = tables_of(tmp_path / "one")
    assert len(first) == 2
    assert tables_of(tmp_path / "two") == tables_of(tmp_path / "three") == first
    manifests = [(tmp_path / name / "manifest.json").read_bytes() for name in ("one", "two", "three")]
    assert manifests[0] == manifests[1] == manifests[2]
    # The keys that were read to choose between two ways are among them.
    for kept, counts in (("sqlite", (1, 15, 15)), (url, (1, None, 8))):
        plan = run("plan", "t", "s like '%any'", "--run", "-w", str(lake), "--store", kept)
        assert (plan["partitions"], plan["keys_examined"], plan["keys_returned"]) == counts, kept
    with open_metastore(str(lake), url) as metastore:
        found = metastore.table("default", "t")
        assert content(found) == EXPECTED
        assert {**content(metastore.table("default", "t", version=1))} == {**EXPECTED, (9, "gone"): ["x"]}
        transaction = Transaction(found, "append")
        transaction.append((1, "a"), [file("new")])
        assert content(commit(transaction))[1, "a"] == ["a", "b", "new"]
        assert metastore.database("sales").properties == {"comment": "é"}


def test_restore_takes_an_empty_table_only(
    hbase: HBaseServer, table: str, tmp_path: Path, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A metastore on HBase that holds tables is refused, and stays as it is."""
    lake = tmp_path / "lake"
    fill(lake)
    run("dump", str(tmp_path / "one"), "-w", str(lake))
    run("restore", str(tmp_path / "one"), "-w", str(lake), "--store", hbase.url(table))
    before = run("history", "t", "-w", str(lake), "--store", hbase.url(table))
    with pytest.raises(SystemExit) as caught:
        main(("restore", str(tmp_path / "one"), "-w", str(lake), "--store", hbase.url(table)))
    assert caught.value.code == 1
    assert "restore into an empty one" in capsys.readouterr().err
    assert run("history", "t", "-w", str(lake), "--store", hbase.url(table)) == before


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


def test_commands(hbase: HBaseServer, table: str, tmp_path: Path, run: Any) -> None:
    """Every command prints of a metastore on HBase what it prints of the same one in SQLite, but for keys of older rows."""
    lake = tmp_path / "lake"
    fill(lake)
    run("dump", str(tmp_path / "one"), "-w", str(lake))
    store = hbase.url(table)
    run("restore", str(tmp_path / "one"), "-w", str(lake), "--store", store)
    for command in COMMANDS:
        plain = run(*command, "-w", str(lake))
        assert plain
        there = run(*command, "-w", str(lake), "--store", store)
        if "--run" in command:
            # Two partitions have an older row each, which SQLite skips, and which is not worth a seek to HBase.
            fewest = plain.pop("keys_returned"), plain.pop("keys_examined")
            keys = there.pop("keys_returned"), there.pop("keys_examined")
            assert keys[0] == keys[1] <= fewest[0] + 2
            assert keys >= fewest
        assert there == plain


def test_environment(
    hbase: HBaseServer, table: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store on HBase that the environment names is used like one that an option names."""
    lake = tmp_path / "lake"
    with open_metastore(str(lake), hbase.url(table), create=True) as metastore:
        metastore.create_table("default", "there", metadata(location=f"{lake}/there"))
    monkeypatch.setenv("PARQUETRY_WAREHOUSE", str(lake))
    monkeypatch.setenv("PARQUETRY_STORE", hbase.url(table))
    assert [found["table"] for found in run("tables")] == ["default.there"]
    with parquetry.open(lake, hbase.url(table)) as catalog:
        assert catalog.tables() == ["default.there"]
    assert not (lake / "_parquetry").exists()


def test_server_that_is_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command says which server it did not reach, and ends."""
    with pytest.raises(SystemExit) as caught:
        main(("tables", "-w", str(tmp_path), "--store", "hbase://127.0.0.1:9/t?patience=0.1"))
    assert caught.value.code == 1
    assert "127.0.0.1:9 cannot be reached" in capsys.readouterr().err
