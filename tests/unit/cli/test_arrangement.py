"""The commands show how rows are arranged, and print nothing about it if no arrangement is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parquetry.cli.main import main
from parquetry.metastore import (
    PLAIN,
    ArrangementSpec,
    BucketSpec,
    FileRecord,
    SkewMap,
    SortColumn,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.warehouse import VARIABLE

ALL = ArrangementSpec(
    SkewMap(("x", "day"), ((10, 0), (None, 1)), directories=True, locations=("/far", None)),
    BucketSpec(("id",), 1024, 1, (SortColumn("id"), SortColumn("x", descending=True))),
    (SortColumn("x"),),
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command on a warehouse of two tables, one of them arranged; gives what it printed."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    columns = (
        TableColumn("id", "long"),
        TableColumn("x", "long"),
        TableColumn("day", "date"),
        TableColumn("p", "integer"),
    )
    with open_metastore(str(tmp_path), create=True) as metastore:
        for name, arrangement in (("arranged", ALL), ("plain", PLAIN)):
            table = metastore.create_table(
                "default",
                name,
                TableMetadata(columns, ("p",), "parquet", f"{tmp_path}/{name}", arrangement=arrangement),
            )
            transaction = Transaction(table, "append")
            if arrangement is ALL:
                transaction.append((1,), [FileRecord("a", 5, 1, cell=1, bucket=3, sorted=True)])
                transaction.append((1,), [FileRecord("b", 5, 1, cell=-1)])
            transaction.add((2,), arrangement=PLAIN)
            commit(transaction)

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert not caught.value.code
        return capsys.readouterr().out

    return run


def test_describe(run: Callable[..., str]) -> None:
    """For people a line each; as an object with the values of the cells."""
    lines = run("describe", "arranged").splitlines()
    assert "skewed by   x, day (2 heavy values, in directories)" in lines
    assert "buckets     1,024 by id (version 1, sorted by id, x DESC)" in lines
    assert "sorted by   x" in lines
    assert not {"skewed", "buckets", "sorted"} & set(run("describe", "plain").split())
    (table,) = json.loads(run("describe", "arranged", "--json"))
    assert table["arrangement"] == {
        "skew": {
            "columns": ["x", "day"],
            "values": [[10, "1970-01-01"], [None, "1970-01-02"]],
            "directories": True,
            "locations": ["/far", None],
            "auto": None,
        },
        "buckets": {"columns": ["id"], "count": 1024, "version": 1, "sorted_by": ["id", "x DESC"]},
        "sorted_by": ["x"],
    }
    (plain,) = json.loads(run("describe", "plain", "--json"))
    assert "arrangement" not in plain


def test_partitions_and_files(run: Callable[..., str]) -> None:
    """Each partition shows its own arrangement, each file its cell and its bucket, if there are any."""
    arranged, plain = json.loads(run("partitions", "arranged", "--json"))
    assert arranged["arrangement"]["buckets"]["count"] == 1024
    assert "arrangement" not in plain
    a, b = json.loads(run("files", "arranged", "--json"))
    assert (a["cell"], a["bucket"], a["sorted"]) == (1, 3, True)
    assert b == {"path": b["path"], "partition": {"p": 1}, "rows": 1, "bytes": 5, "cell": -1}
