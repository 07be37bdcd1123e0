"""The page's way from SQLite to PostgreSQL, word by word, and old jobs that still name SQLite."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parquetry.cli.main import main
from parquetry.errors import ForeignWarehouseError
from parquetry.metastore import open_metastore
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.warehouse import STORE_VARIABLE, VARIABLE
from tests.support.postgresql.launcher import PostgreSQLServer
from tests.support.tables.owned_files import files, make, write

DOCS = Path(__file__).parents[2] / "docs"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command: its exit code, and what it printed."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return run


def commands(page: str, first: str) -> list[list[str]]:
    """Return the commands of the page's block that has a line, without the prompts."""
    (block,) = (
        b for b in re.findall(r"```(?:console|sh)\n(.*?)```", (DOCS / page).read_text(), re.S) if first in b
    )
    lines = [
        line.removeprefix("$ ")
        for line in block.splitlines()
        if line.startswith(("$ parquetry", "parquetry"))
    ]
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.parametrize("page", ["postgresql.md", "stores.md"])
def test_the_page_and_then_the_old_nightly_job(
    page: str, server: PostgreSQLServer, table: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the page's commands, the old commands delete nothing and say so, with any store or with none."""
    lake, url = tmp_path / "lake", server.url(table)
    with open_metastore(str(lake), create=True) as metastore:
        make(metastore)
        write(metastore, "one")
    names = {
        "/tmp/dump": str(tmp_path / "dump"),
        "/backup/lake-metastore": str(tmp_path / "dump"),
        "lake": str(lake),
    }
    names |= {"/data/lake": str(lake), "postgresql://ann@db.example.org/lake": url}
    with open_metastore(str(lake)) as before:  # a notebook that stays open
        for command in commands(page, "parquetry restore"):
            if command[0] in ("dump", "restore"):
                assert run(*(names.get(word, word) for word in command))[0] == 0
        with open_metastore(str(lake), url) as team:
            two = write(team, "two")
        monkeypatch.setenv(VARIABLE, str(lake))
        monkeypatch.delenv(STORE_VARIABLE, raising=False)
        code, out, error = run(
            "vacuum", "t", "--older-than", datetime.now(UTC).isoformat(timespec="seconds"), "--allow-recent"
        )
        assert (code, out) == (1, "")
        assert re.search(
            r"given to the metastore in postgresql://\S+: name that store \(--store", error.replace("\n", " ")
        )
        assert "foreign warehouse" in run("fsck", "t")[1]
        with pytest.raises(ForeignWarehouseError):
            vacuum(before.table("default", "t"), older_than=1 << 50)
        with pytest.raises(ForeignWarehouseError):
            write(before, "x")
    assert two.exists()
    (lake / "_parquetry").rename(tmp_path / "lake-metastore-of-before")
    assert run("vacuum", "t")[0] == 1  # no store is named, and there is none in the folder
    monkeypatch.setenv(STORE_VARIABLE, url)
    assert (
        run("vacuum", "t", "--older-than", datetime.now(UTC).isoformat(timespec="seconds"), "--allow-recent")[
            0
        ]
        == 0
    )
    with open_metastore(str(lake), url) as team:
        assert files(team) == ["one", "two"]
        assert fsck(team.table("default", "t"), footers=False) == []


def test_a_new_store_beside_the_owner(server: PostgreSQLServer, table: str, tmp_path: Path, run: Run) -> None:
    """A client that opens PostgreSQL's warehouse without its store makes a new store, and is refused."""
    lake, url = tmp_path / "lake", server.url(table)
    with open_metastore(str(lake), url, create=True) as team:
        make(team)
    with (
        open_metastore(str(lake), create=True) as new,
        pytest.raises(
            ForeignWarehouseError, match=r"belongs to the metastore in postgresql://.*: name that store"
        ),
    ):
        make(new, "u")
    code, out, _ = run("claim", "-w", str(lake))
    assert (code, out.splitlines()[1]) == (0, f"The metastore in {url} was retired.")
    with (
        open_metastore(str(lake), url) as team,
        pytest.raises(ForeignWarehouseError, match="leave out the store"),
    ):
        write(team, "one")
    assert run("claim", "-w", str(lake), "--store", url)[0] == 0
    with open_metastore(str(lake), url) as team:
        write(team, "one")
