"""The commands about a table's versions, and the commands that copy a metastore to another place."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import parquetry
from parquetry.catalog import Catalog
from parquetry.cli.main import main
from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, open_metastore, user_name
from parquetry.metastore.commits.committer import commit
from parquetry.warehouse import VARIABLE

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse named by the environment, with a table of two versions."""
    path = tmp_path / "lake"
    monkeypatch.setenv(VARIABLE, str(path))
    with open_metastore(str(path), create=True) as metastore:
        metastore.create_database("sales")
        columns = (TableColumn("id", "integer"), TableColumn("day", "date"))
        metadata = TableMetadata(columns, ("day",), "parquet", f"{path}/orders")
        transaction = Transaction(metastore.create_table("sales", "orders", metadata), "append")
        transaction.append((0,), [FileRecord("f", 1500, 1000)])
        transaction.append((1,), [FileRecord("g", 7)])
        commit(transaction, {"by": "test"})
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; gives exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return run


def test_history(run: Run) -> None:
    """A line for each version, newest first."""
    code, out, _ = run("history", "sales.orders")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert lines[0][4:] == [
        "operation",
        "partitions",
        "files",
        "size",
        "rows",
        "rows",
        "after",
        "user",
        "door",
        "statement",
        "or",
        "program",
    ]
    user, program = user_name(), Path(sys.argv[0]).name
    assert [(line[0], *line[3:]) for line in lines[1:]] == [
        ("1", "append", "+2", "+2", "+1.5", "kB", "+?", "?", user, "python", program),
        ("0", "create", "0", user, "python", program),
    ]


def test_a_command_is_in_the_history(run: Run) -> None:
    """A command's version has its user, its door and its text, without the name of the warehouse."""
    assert run("rollback", "sales.orders", "0")[0] == 0
    made = json.loads(run("history", "sales.orders", "--json", "--limit", "1")[1])[0]
    assert (made["user_name"], made["door"], made["statement"]) == (
        user_name(),
        "cli",
        "parquetry rollback sales.orders 0",
    )
    assert (made["changes"]["rows_removed"], made["changes"]["partitions_removed"]) == (None, 2)


def test_rollback_to_a_time(run: Run, warehouse: Path) -> None:
    """A time selects the version that TIMESTAMP AS OF reads; two targets, or none, are wrong usage."""
    for name in ("day=1970-01-01/f", "day=1970-01-02/g"):  # a rollback looks for them
        (warehouse / "orders" / name).parent.mkdir(parents=True)
        (warehouse / "orders" / name).touch()
    with Catalog.open(str(warehouse)) as catalog:
        then = next(iter(catalog.history("sales.orders"))).committed_at
        time.sleep(0.002)
        assert catalog.rollback("sales.orders", 0).files == 0
        assert catalog.rollback("sales.orders", timestamp=then).files == 2
        for wrong in ({}, {"version": 1, "timestamp": then}, {"timestamp": then.replace(tzinfo=None)}):
            with pytest.raises(ValueError, match="give one"):
                catalog.rollback("sales.orders", **wrong)
    assert run("rollback", "sales.orders")[0] == 2
    assert run("rollback", "sales.orders", "1", "--timestamp", "2026-03-01")[0] == 2
    code, _, error = run("rollback", "sales.orders", "--timestamp", "2020-01-01")
    assert code == 1
    assert "has no version as of" in error


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"])
def test_vacuum_older_than_a_time_without_a_zone(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """It is the machine's time, as a shell's `date` prints it; with a zone it is that zone's."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    now = datetime.now().astimezone()
    assert now.utcoffset() == timedelta(hours=9)
    removed = []
    for hours in (-2, 1 / 30):  # two minutes ahead is not yet the future
        when = (now + timedelta(hours=hours)).strftime(form)
        code, out, _ = run("vacuum", "sales.orders", "--older-than", when, "--dry-run", "--json")
        assert code == 0
        removed.append([each["kind"] for each in json.loads(out)])
    monkeypatch.undo()
    time.tzset()
    assert removed == [["kept versions"], ["commits"]]


def test_vacuum_older_than_a_day(run: Run) -> None:
    """A date alone is midnight."""
    assert run("vacuum", "sales.orders", "--older-than", "2026-03-01") == (
        0,
        run("vacuum", "sales.orders")[1],
        "",
    )


def test_history_as_json(run: Run) -> None:
    """The same for programs, with the summary."""
    _, out, _ = run("history", "sales.orders", "--json")
    newest, oldest = json.loads(out)
    changes = newest.pop("changes")
    assert (changes["files_added"], changes["partitions_added"], changes["rows_added"]) == (2, 2, None)
    assert newest.pop("user_name") == user_name()
    assert newest.pop("application_name") == Path(sys.argv[0]).name
    assert newest.pop("committed_at") >= oldest["committed_at"]
    assert newest == {
        "version": 1,
        "operation": "append",
        "partitions": 2,
        "files": 2,
        "rows": None,
        "bytes": 1507,
        "summary": {"by": "test"},
        "door": "python",
        "application_id": None,
        "statement": None,
    }
    assert run("history", "sales.nothing")[0] == 1


def test_dump_and_restore(run: Run, tmp_path: Path, warehouse: Path) -> None:
    """A dump fills a metastore elsewhere; neither command overwrites anything."""
    folder, elsewhere = str(tmp_path / "dump"), f"sqlite://{tmp_path}/other.sqlite"
    assert run("dump", folder)[:2] == (0, f"1 table of 2 databases written to {folder}\n")
    code, _, error = run("dump", folder)
    assert code == 1
    assert "exists already" in error
    code, out, _ = run("restore", folder, "--store", elsewhere, "-w", str(warehouse), "--json")
    assert code == 0
    assert [each["table"] for each in json.loads(out)] == ["sales.orders"]
    with parquetry.open(warehouse, store=elsewhere) as catalog, parquetry.open(warehouse) as original:
        assert list(catalog.partitions("sales.orders")) == list(original.partitions("sales.orders"))
        assert list(catalog.history("sales.orders")) == list(original.history("sales.orders"))
    code, _, error = run("restore", folder)
    assert code == 1
    assert "restore into an empty one" in error
    code, _, error = run("restore", str(tmp_path / "nowhere"), "-w", str(tmp_path / "new"))
    assert code == 1
    assert "cannot be read as a dump" in error
    assert not (tmp_path / "new").exists()
