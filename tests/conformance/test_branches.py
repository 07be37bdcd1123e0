"""The life of a branch, on each store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parquetry.errors import CommitConflictError
from parquetry.metastore import (
    FileRecord,
    Transaction,
    branches_of,
    create_branch,
    drop_branch,
    publish_branch,
    vacuum,
)
from parquetry.metastore.commits.committer import commit
from parquetry.store import Store
from tests.support.tables.lakes import NOW, TableLake

ONE, TWO = (1, "a"), (2, "b")


def _change(lake: TableLake, branch: str, name: str) -> None:
    """Replace the files of partition TWO by a new one, and append another file to ONE, in two commits."""
    transaction = Transaction(lake.metastore.table("default", f"t/{branch}"), "overwrite")
    transaction.replace(TWO, [_old_file(lake, TWO, name)])
    commit(transaction)
    transaction = Transaction(lake.metastore.table("default", f"t/{branch}"), "append")
    transaction.append(ONE, [_old_file(lake, ONE, f"{name}_too")])
    commit(transaction)


def _old_file(lake: TableLake, key: tuple[int, str], name: str) -> FileRecord:
    """Write a file that is older than a vacuum that follows at once."""
    written = lake.file(key, name)
    path = next(lake.location.rglob(written.path))
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    return written


def test_a_branch(store: Store, tmp_path: Path) -> None:
    """One branch is published after its table went on, and one conflicts. Vacuums take nothing needed."""
    lake = TableLake(tmp_path / "lake", store)
    lake.append(ONE, "one")
    lake.append(TWO, "two")
    for branch in ("first", "second"):
        create_branch(lake.table(), branch)
        _change(lake, branch, branch)
    lake.append(ONE, "one_more")
    vacuum(lake.table(), older_than=NOW, grace=0)
    files = {"one", "two", "one_more", "first", "first_too", "second", "second_too"}
    assert lake.on_disk() == files
    assert lake.listed() == {"one", "two", "one_more"}
    assert publish_branch(lake.table(), "first").after.version == lake.table().version
    assert lake.listed() == {"one", "one_more", "first", "first_too"}
    with pytest.raises(
        CommitConflictError, match=r"s=b was changed by version 4.*another branch.*: 'second'"
    ):
        publish_branch(lake.table(), "second")
    assert [branch.name for branch in branches_of(lake.table())] == ["second"]
    vacuum(lake.table(), older_than=NOW, grace=0)
    assert lake.on_disk() == files
    drop_branch(lake.table(), "second")
    vacuum(lake.table(), older_than=NOW, grace=0)
    assert lake.on_disk() == lake.listed() == {"one", "one_more", "first", "first_too"}
