"""The author of a version, and the counts of what it added and removed."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec
import pytest

from parquetry.metastore import (
    Author,
    Door,
    FileRecord,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    author_of_commits,
    commit,
    open_metastore,
)
from parquetry.metastore.commits.replacement import Replacement
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.wire import encode

METADATA = TableMetadata((TableColumn("d", "int"), TableColumn("x", "int")), ("d",), "parquet", "/lake/t")


def new_table(properties: dict[str, str] | None = None) -> TableSnapshot:
    metadata = msgspec.structs.replace(METADATA, properties=properties or {})
    return open_metastore("/lake", "memory").create_table("default", "t", metadata)


def listed(table: TableSnapshot) -> dict[str, FileRecord]:
    return {f"{part.location}/{file.path}": file for part in table.partitions() for file in part.files}


def expected(before: TableSnapshot, after: TableSnapshot) -> tuple[int | None, ...]:
    """Return the counts of a version by the files of both versions: the slow and plain way."""
    old, new = listed(before), listed(after)
    added = [file for path, file in new.items() if path not in old]
    gone = [file for path, file in old.items() if path not in new]
    keys = {part.key: part for part in before.partitions()}
    now = {part.key: part for part in after.partitions()}
    lost = [
        key
        for key in keys.keys() & now.keys()
        if {f"{keys[key].location}/{file.path}" for file in keys[key].files}
        - {f"{now[key].location}/{file.path}" for file in now[key].files}
    ]

    def rows(files: list[FileRecord]) -> int | None:
        return None if any(file.rows is None for file in files) else sum(file.rows or 0 for file in files)

    return (
        len(now.keys() - keys.keys()),
        len(keys.keys() - now.keys()),
        len(lost),
        len(added),
        len(gone),
        sum(file.bytes for file in added),
        sum(file.bytes for file in gone),
        rows(added),
        rows(gone),
    )


def counts(table: TableSnapshot) -> tuple[int | None, ...]:
    changes = table.commit.changes
    assert changes is not None
    return (*msgspec.structs.astuple(changes)[:7], changes.rows_added, changes.rows_removed)


def change(base: TableSnapshot, chosen: random.Random, names: Callable[[], str]) -> TableSnapshot:
    """Commit a random change of a few partitions."""
    parts = {part.values: part for part in base.partitions()}
    transaction = Transaction(base, "change")
    if parts and chosen.random() < 0.2:
        transaction.replace_where(None)
    for value in chosen.sample(range(6), 3):
        part = parts.get((value,))
        new = [FileRecord(names(), chosen.randint(1, 99), chosen.choice((None, 1, 5))) for _ in range(2)]
        match chosen.choice(("append", "replace", "some", "drop", "rename")):
            case "append":
                transaction.append((value,), new)
            case "replace" if part and not transaction.scopes:
                transaction.replace((value,), new)
            case "some" if part and not transaction.scopes:
                transaction.replace((value,), [*part.files[1:], *new[:1]])
            case "drop" if part and not transaction.scopes:
                transaction.drop((value,))
    return commit(transaction)


def restore(base: TableSnapshot, target: TableSnapshot) -> TableSnapshot:
    """Commit the partitions of an earlier version, as a rollback does."""
    transaction = Transaction(base, "rollback")
    tickets = {part.key: part for part in base.partitions()}
    for part in target.partitions():
        tickets.pop(part.key, None)
        transaction.restore(target, part)
    for part in tickets.values():
        transaction.drop(part.values)
    return commit(transaction)


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_the_files(seed: int) -> None:
    """Each random change, and each rollback, counts as the files of the two versions say."""
    chosen, number = random.Random(seed), iter(range(1000))
    versions = [new_table()]
    for _ in range(15):
        now = versions[-1]
        if len(versions) > 3 and chosen.random() < 0.2:
            after = restore(now, chosen.choice(versions))
        else:
            after = change(now, chosen, lambda: f"f{next(number)}")
        if after.version != now.version:
            assert counts(after) == expected(now, after)
            versions.append(after)


def test_long_lists_are_compared_too() -> None:
    """A rewrite of one file of thousands counts one removed and one added file."""
    base = new_table()
    fill = Transaction(base, "fill")
    files = [FileRecord(f"f{i}", 10, 1) for i in range(3000)]
    fill.append((1,), files)
    first = commit(fill)
    rewrite = Transaction(first, "delete")
    rewrite.replace((1,), [*files[1:], FileRecord("new", 7, 1)])
    assert counts(commit(rewrite)) == (0, 0, 1, 1, 1, 7, 10, 1, 1)


def test_other_changes() -> None:
    """A rename moves a partition, a new definition takes out everything, and an ALTER changes no file."""
    base = new_table()
    fill = Transaction(base, "fill")
    fill.append((1,), [FileRecord("a", 10, 1)])
    first = commit(fill)
    rename = Transaction(first, "rename")
    rename.rename((1,), (2,))
    second = commit(rename)
    assert counts(second) == (1, 1, 0, 0, 0, 0, 0, 0, 0)
    alter = Transaction(second, "alter")
    alter.set_metadata(msgspec.structs.replace(second.metadata, comment="new"))
    third = commit(alter)
    assert counts(third) == (0,) * 9
    replacement = Replacement(third, METADATA)
    refill = Transaction(replacement.snapshot, "append")
    refill.append((1,), [FileRecord("b", 3, 2)])
    commit(refill)
    assert counts(replacement.make_visible()) == (1, 1, 0, 1, 1, 3, 10, 2, 1)


def test_what_an_overwrite_takes_out_is_noted() -> None:
    """Notes get the number of partitions without new rows, and the version before. None: no notes."""
    base = new_table()
    fill = Transaction(base, "fill")
    for value in (1, 2, 3):
        fill.append((value,), [FileRecord(f"f{value}", 10, 1)])
    first = commit(fill)
    overwrite = Transaction(first, "overwrite")
    overwrite.append((1,), [FileRecord("new", 10, 1)])
    overwrite.replace_where(None)
    overwrite.note_untouched(lambda untouched, before: {"taken": f"{untouched} {before}"})
    second = commit(overwrite, {"by": "test"})
    assert dict(second.commit.summary) == {"by": "test", "taken": "2 1"}
    again = Transaction(second, "overwrite")
    again.append((1,), [FileRecord("newer", 10, 1)])
    again.replace_where(None)
    again.note_untouched(lambda untouched, before: {"taken": f"{untouched} {before}"})
    assert dict(commit(again).commit.summary) == {}


@pytest.mark.parametrize(
    ("session", "properties", "recorded"),
    [
        ({}, {}, "SELECT " + "x" * 193),
        ({"parquetry.history-statements": "false"}, {}, None),
        ({}, {"history-statements": "false"}, None),
    ],
)
def test_the_author_is_recorded(
    session: dict[str, str], properties: dict[str, str], recorded: str | None
) -> None:
    """User, door, application and 200 characters of the statement; a setting leaves out the statement."""
    author = Author("ada", "sql", "app-1", "nightly", "  SELECT " + "x" * 500)
    with author_of_commits(Door(author, session)):
        table = new_table(properties)
        fill = Transaction(table, "fill")
        fill.append((1,), [FileRecord("a", 10, 1)])
        made = commit(fill)
    for version in (table, made):
        assert version.commit.author == Author("ada", "sql", "app-1", "nightly", recorded)


def test_a_record_of_an_older_library_has_no_author() -> None:
    """An older library ignores the field, and its records are read as without an author and counts."""

    class Older(msgspec.Struct):
        version: int
        operation: str

    newest = new_table().commit
    assert msgspec.msgpack.decode(encode(newest), type=Older) == Older(0, "create")
    assert encode(newest)[0] & 0xF0 == 0x80  # a short map, whose checksum all libraries find
    bare = msgspec.msgpack.decode(encode(newest))
    del bare["origin"]
    old = msgspec.msgpack.decode(msgspec.msgpack.encode(bare), type=CommitRecord)
    assert (old.author, old.changes) == (Author(), None)
