"""A transaction of several tables is undone in all of them, or in none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from parquetry.catalog import Catalog
from parquetry.errors import CommitConflictError, ParquetryError, UnsupportedError, VersionNotFoundError
from parquetry.metastore import Draft, Metastore, undo_transaction
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore
from tests.support.effort import examples
from tests.unit.metastore.drafts.test_draft import TABLES, contents, new_metastore, write

CHANGES = ("append", "overwrite", "drop", "overwrite all", "comment")


@pytest.fixture(autouse=True)
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tables' files exist, which these tests do not write."""
    monkeypatch.setattr(FileAccess, "missing", lambda *_: [])


def transact(metastore: Metastore, *statements: tuple[str, str, str, int]) -> str:
    """Run statements in one transaction, and return its id."""
    draft = Draft(metastore)
    for table, change, name, d in statements:
        write(draft.metastore, table, change, name, d)
    draft.commit()
    return draft.id


def test_undone_in_all_tables() -> None:
    """All tables are what they were, in one transaction, which can be undone, too."""
    metastore = new_metastore()
    before = contents(metastore)
    id = transact(
        metastore,
        ("t", "append", "x", 1),
        ("t", "drop", "", 2),
        ("u", "overwrite all", "y", 1),
        ("u", "comment", "new", 1),
    )
    after = contents(metastore)
    tables = Catalog(metastore).rollback_transaction(id)
    assert contents(metastore) == before
    assert [table.name for table in tables] == ["default.t", "default.u"]
    summaries = [metastore.table("default", name).commit.summary for name in TABLES]
    assert summaries[0] == summaries[1]
    assert summaries[0]["undoes"] == id
    undo_transaction(metastore, summaries[0]["transaction"])
    assert contents(metastore) == after


def test_others_changes_stay() -> None:
    """Later changes of other partitions and other tables stay."""
    metastore, expected = new_metastore(), new_metastore()
    id = transact(metastore, ("t", "append", "x", 1), ("u", "append", "x", 1))
    for each in (metastore, expected):
        write(each, "t", "overwrite", "y", 2)
    done = undo_transaction(metastore, id)
    assert contents(metastore) == contents(expected)
    assert [(each.before.version, each.after.version) for each in done] == [(3, 4), (2, 3)]


def dropped(metastore: Metastore) -> None:
    metastore.drop_table("default", "u")


def emptied(metastore: Metastore) -> None:
    write(metastore, "u", "append", "z", 2)
    vacuum(metastore.table("default", "u"), older_than=1 << 50, grace=0)


@pytest.mark.parametrize(
    ("since", "error", "words"),
    [
        (
            lambda metastore: write(metastore, "u", "append", "z"),
            CommitConflictError,
            "table default.u has moved on: partition d=1/s=a was changed by version 3 (append)",
        ),
        (
            lambda metastore: write(metastore, "t", "append", "z", 2),
            CommitConflictError,
            "table default.t has moved on: its columns or properties were changed by the transaction, and others",
        ),
        (
            dropped,
            VersionNotFoundError,
            "it changed 2 tables, of which only these still have its version: default.t.",
        ),
        (
            emptied,
            VersionNotFoundError,
            "it changed 2 tables, of which only these still have its version: default.t.",
        ),
    ],
)
def test_nothing_is_written(
    since: Callable[[Metastore], object], error: type[ParquetryError], words: str
) -> None:
    """If one of the tables has moved on, or is no more, words say which, and no table has changed."""
    metastore = new_metastore()
    id = transact(metastore, ("t", "comment", "new", 1), ("u", "append", "x", 1))
    since(metastore)
    rows = dict(metastore.store.rows.scan(b"", None))
    with pytest.raises(error, match=re.escape(words)):
        undo_transaction(metastore, id)
    assert dict(metastore.store.rows.scan(b"", None)) == rows


def test_refusals() -> None:
    """An id that no history has, and a draft, are refused in words."""
    metastore = new_metastore()
    with pytest.raises(VersionNotFoundError, match="No table has a version of transaction 'x'"):
        undo_transaction(metastore, "x")
    with pytest.raises(UnsupportedError, match="The undoing of table"):
        undo_transaction(Draft(metastore).metastore, "x")


def test_random_histories() -> None:
    """After random commits, an undo brings back what the tables were without the transaction, or fails."""
    outcomes = set()
    for seed in range(examples(400)):
        chance = random.Random(seed)

        def statement(name: str, chance: random.Random = chance) -> tuple[str, str, str, int]:
            return chance.choice(TABLES), chance.choice(CHANGES), name, chance.randint(1, 2)

        metastore, without = new_metastore(MemoryStore()), new_metastore(MemoryStore())
        id = transact(metastore, *(statement(f"x{n}") for n in range(chance.randint(1, 3))))
        for n in range(chance.choice((0, 0, 1, 2))):
            later = statement(f"y{n}")
            for each in (metastore, without):
                write(each, *later)
        before = contents(metastore)
        try:
            undo_transaction(metastore, id)
        except (CommitConflictError, VersionNotFoundError):
            assert contents(metastore) == before, seed
            outcomes.add("refused")
        else:
            assert contents(metastore) == contents(without), seed
            outcomes.add("undone")
    assert outcomes == {"refused", "undone"}
