"""The files that each version added, and whether it removed any, equal the differences of file lists."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from parquetry.errors import TableNotFoundError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import entries
from parquetry.metastore.manifest.entries import TOMBSTONE
from parquetry.metastore.operations.compact_metadata import compact_metadata
from parquetry.metastore.storage.head import live_head, read_head
from parquetry.metastore.storage.keyspace import commit_key, complement, head_key, partition_prefix
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions import changes_between as version_changes
from parquetry.metastore.versions.changes_between import TableVersions
from parquetry.store import MemoryStore
from tests.support.stores.metastores import file, metadata

A, B, C = (1, "a"), (1, "b"), (2, "c")
Told = list[tuple[int, list[str], bool]]


def empty() -> TableSnapshot:
    return Metastore(MemoryStore(), "/lake").create_table("default", "t", metadata())


def told(table: TableSnapshot, after: int = -1, until: int | None = None) -> Told:
    """Return for each version the files that it added, with their partitions, and whether it removed any."""
    head = live_head(table.store, table.id, "")
    last = head.commit.version if until is None else until
    return [
        (
            each.version.version,
            [
                f"{each.version.describe(part.key)} {found.path}"
                for part, files in each.brought
                for found in files
            ],
            each.takes_away,
        )
        for each in TableVersions(table.store, table.id, head).changes(after, last)
    ]


def committed(table: TableSnapshot, *changes: Callable[[Transaction], object]) -> TableSnapshot:
    transaction = Transaction(table, "test")
    for change in changes:
        change(transaction)
    return commit(transaction)


def test_what_each_change_comes_to() -> None:
    """An append only adds files, and each operation that removes a file is reported as removing.

    Files that stay are not reported as added.
    """
    table = empty()
    table = committed(
        table, lambda t: t.append(A, [file("1")]), lambda t: t.append(B, [file("2"), file("3")])
    )
    table = committed(table, lambda t: t.append(A, [file("4")]), lambda t: t.add(C))
    table = committed(table, lambda t: t.replace(B, [file("3"), file("5")]))
    table = committed(table, lambda t: t.drop(A))
    table = committed(table, lambda t: t.add(A, files=[file("6")]))
    table = committed(table, lambda t: t.rename(B, (3, "x")))
    table = committed(table, lambda t: t.drop(C))
    table = committed(table, lambda t: t.set_metadata(metadata(comment="other")))
    table = committed(table, lambda t: t.replace((3, "x"), [file("3", bytes=7), file("5")]))
    assert told(table) == [
        (0, [], False),
        (1, ["d=1/s=a 1", "d=1/s=b 2", "d=1/s=b 3"], False),
        (2, ["d=1/s=a 4"], False),
        (3, ["d=1/s=b 5"], True),
        (4, [], True),
        (5, ["d=1/s=a 6"], False),
        (6, ["d=3/s=x 3", "d=3/s=x 5"], True),
        (7, [], False),
        (8, [], False),
        (9, ["d=3/s=x 3"], True),  # another file by now: its size says so
    ]
    assert told(table, 3, 5) == told(table)[4:6]
    assert told(table, 9) == told(table, 12) == []


def test_of_a_table_without_partition_columns() -> None:
    """Its only partition is one like any other."""
    table = Metastore(MemoryStore(), "/lake").create_table("default", "t", metadata(partition_by=()))
    for name in "abc":
        table = committed(table, lambda t, name=name: t.append((), [file(name)]))
    assert [brought for _, brought, _ in told(table, 0)] == [
        [f"(the table's only partition) {name}"] for name in "abc"
    ]


def test_long_lists_share_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is brought once, however often the list that names it is written anew and cut otherwise."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 200)
    monkeypatch.setattr(entries, "MAX_CHUNK_FILES", 7)
    table = empty()
    rng = random.Random(5)
    wanted = []
    for number in range(40):
        names = [f"{number}-{n}" for n in range(rng.choice((1, 3, 12)))]
        wanted.append([f"d=1/s=a {name}" for name in names])
        table = committed(table, lambda t, names=names: t.append(A, [file(name) for name in names]))
    (partition,) = table.partitions()
    assert len(partition.entry.chunks) > 3
    sorted_by_x = table.metadata.properties | {"sort-by": "x"}
    table = committed(table, lambda t: t.set_metadata(metadata(properties=sorted_by_x)))
    compact_metadata(table)
    found = told(table.refresh(), 0)
    assert [sorted(brought) for _, brought, _ in found[:40]] == [sorted(names) for names in wanted]
    assert not any(taken for _, _, taken in found)
    assert [brought for _, brought, _ in found[40:]] == [[] for _ in found[40:]]


@pytest.mark.parametrize("seed", range(15))
def test_of_histories_made_at_random(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The changes equal the differences of neighbouring versions' lists, from any version on.

    The number of versions that are read together makes no difference.
    """
    monkeypatch.setattr(version_changes, "_FIRST_VERSIONS", 1 + seed % 4)
    rng = random.Random(seed)
    table = empty()
    keys = [(d, s) for d in (1, 2) for s in "ab"]
    states = [{}]
    for number in range(12):
        transaction = Transaction(table, "test")
        state = dict(states[-1])
        for key in rng.sample(keys, rng.randint(0, 3)):
            new = (f"{number}-{rng.randint(0, 9)}",)
            match rng.choice(("append", "replace", "drop")):
                case "append":
                    transaction.append(key, [file(name) for name in new])
                    state[key] = (*state.get(key, ()), *new)
                case "replace":
                    kept = tuple(rng.sample(state.get(key, ()), rng.randint(0, len(state.get(key, ())))))
                    transaction.replace(key, [file(name) for name in (*kept, *new)])
                    state[key] = (*kept, *new)
                case "drop" if key in state:
                    transaction.drop(key)
                    del state[key]
        before = table.version
        table = commit(transaction)
        if table.version > before:
            states.append(state)
    for after in range(len(states)):
        found = told(table, after)
        for old, new, (version, brought, taken) in zip(
            states[after:], states[after + 1 :], found, strict=False
        ):
            there = {(key, name) for key, names in old.items() for name in names}
            now = [(key, name) for key, names in sorted(new.items()) for name in names]
            assert brought == [
                f"d={d}/s={s} {name}" for (d, s), name in now if ((d, s), name) not in there
            ], version
            assert taken == bool(there - set(now)), version


def test_versions_that_are_gone() -> None:
    """The error names a version whose commit was removed."""
    table = empty()
    for name in "abc":
        table = committed(table, lambda t, name=name: t.append(A, [file(name)]))
    table.store.delete_many([commit_key(table.id, 1)])
    with pytest.raises(TableNotFoundError, match="Version 1 of table"):
        told(table, 0)
    assert told(table, 2) == [(3, ["d=1/s=a c"], False)]


def test_rows_of_commits_that_were_given_up_are_not_seen() -> None:
    """A row of an abandoned commit is ignored, because no version has its ticket.

    An append that met another commit has left such a row.
    """
    table = committed(empty(), lambda t: t.append(A, [file("a")]))
    late = Transaction(table, "late")
    late.append(A, [file("late")])
    committed(table, lambda t: t.append(A, [file("b")]))
    table = commit(late)
    assert [brought for _, brought, _ in told(table)] == [[], ["d=1/s=a a"], ["d=1/s=a b"], ["d=1/s=a late"]]
    aborted = table.commit.next_ticket  # the next that is given out
    head = read_head(table.store, table.id)
    assert head is not None
    table.store.put_many(
        [
            (
                head_key(table.id),
                encode(replace(head, next_ticket=aborted + 1, aborted=((aborted, aborted),))),
            ),
            (partition_prefix(table.id) + table.key_of(A) + complement(aborted), TOMBSTONE),
        ]
    )
    table = committed(table.refresh(), lambda t: t.append(A, [file("c")]))
    assert told(table, 3) == [(4, ["d=1/s=a c"], False)]
