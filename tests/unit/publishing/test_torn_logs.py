"""A Delta log with a torn last commit, and followers that fail: the table's own commits hold."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from deltalake import DeltaTable

from parquetry.errors import UnsupportedError
from parquetry.hive import register_followers
from parquetry.metastore import Follower, TableSnapshot, Transaction, commit, follow_commits
from parquetry.publishing import delta, publish_delta
from tests.support.readers.python_tables import PythonLake


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PythonLake:
    """Return a warehouse with a published table of two rows, in two files."""
    monkeypatch.setattr(delta, "_SECONDS_OF_A_WRITE", 0.0)
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    made.write("t", "p=1/f.parquet", [{"a": 1}])
    made.write("t", "p=2/f.parquet", [{"a": 5}])
    publish_delta(made.table("t"))
    return made


def log(lake: PythonLake) -> list[Path]:
    return sorted((lake.folder / "default.db/t/_delta_log").iterdir())


def rows(lake: PythonLake) -> list[int]:
    return sorted(DeltaTable(str(lake.folder / "default.db/t")).to_pyarrow_table()["a"].to_pylist())


def test_a_torn_last_commit_is_written_anew(lake: PythonLake) -> None:
    """The next publication completes the log, for each part of a commit that a killed one can leave."""
    whole = [path.read_bytes() for path in log(lake)]
    for length in range(len(whole[-1])):
        log(lake)[-1].write_bytes(whole[-1][:length])
        publish_delta(lake.table("t"))
        assert [path.read_bytes() for path in log(lake)] == whole, length
    assert rows(lake) == [1, 5]


def test_an_earlier_commit_that_is_damaged(lake: PythonLake) -> None:
    """A torn commit with others behind it is no publication's end: an error names the log."""
    log(lake)[1].write_bytes(b"")
    with pytest.raises(
        UnsupportedError, match=r"commit 1 of the Delta log in .* is damaged, or by another program"
    ):
        publish_delta(lake.table("t"))
    assert len(log(lake)) == 3


@pytest.mark.parametrize(
    "text",
    [
        b'{"commitInfo":{"timestamp":1,"operation":"WRITE","engineInfo":"Apache-Spark/4.1"}}',
        b'{"commitInfo":{"timestamp":1,"operation":"WRITE","engineInfo":"Apache-Spa',
        b'{"protocol":{"minReader',
        b"[1]",
        b"[" * 20_000,
        b'{"commitInfo":{"timestamp":1,"operation":"a","engineInfo":"Parquetry/9"}}',
    ],
)
def test_commits_of_other_programs_stay(lake: PythonLake, text: bytes) -> None:
    """A commit that is not ours, whole or torn, is not deleted."""
    path = log(lake)[-1].with_name(f"{3:020d}.json")
    path.write_bytes(text)
    with pytest.raises(UnsupportedError, match="by another program"):
        publish_delta(lake.table("t"))
    assert path.read_bytes() == text


def test_a_commit_without_a_count_is_read(lake: PythonLake) -> None:
    """Libraries before this one did not count the actions of a commit."""
    for path in log(lake):
        first, *others = path.read_text().splitlines()
        info = json.loads(first)
        del info["commitInfo"]["parquetry.actions"]
        path.write_text("\n".join([json.dumps(info), *others]))
    assert [each.count for each in publish_delta(lake.table("t"))] == [0, 2]


@pytest.mark.parametrize("error", [ValueError("odd"), RecursionError("deep"), OSError("full"), KeyError("x")])
def test_a_follower_that_fails_does_not_fail_the_commit(
    lake: PythonLake, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """The commit is acknowledged and the log has a warning; the next commit catches up."""
    failures = [error]

    def publish(version: TableSnapshot, _value: str, _whole: bool) -> object:
        if failures:
            raise failures.pop()
        return publish_delta(version)

    follow_commits("delta", Follower(publish))
    try:
        lake.alter("t", properties={"publish": "delta"})
        with caplog.at_level(logging.WARNING, "parquetry"):
            assert not failures
        assert "is committed, but was not published" in caplog.text
        transaction = Transaction(lake.table("t"), "drop")
        transaction.drop((1,))
        commit(transaction)
        assert rows(lake) == [5]
        assert len(log(lake)) == 5
    finally:
        register_followers()
