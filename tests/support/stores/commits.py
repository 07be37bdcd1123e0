"""Commits to be stopped, and pairs of them that meet: what they do, and what must be there afterwards."""

from __future__ import annotations

from collections.abc import Callable

from parquetry.errors import CommitConflictError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import MemoryStore, Store
from tests.support.stores.metastores import (
    Content,
    FaultyStore,
    content,
    file,
    leftovers,
    metadata,
    new_table,
    whole_day,
)

Change = Callable[[Transaction], None]

OLD: Content = {(1, "a"): ["a"], (2, "b"): ["b"]}
NEW: Content = {(1, "a"): ["a", "a2"], (3, "new"): ["c"], (4, None): []}


def big_change(transaction: Transaction) -> None:
    """Change partitions in every way there is."""
    transaction.append((1, "a"), [file("a2")])
    transaction.append((3, "new"), [file("c")])
    transaction.drop((2, "b"))
    transaction.add((4, None), location="/elsewhere/4")
    transaction.set_metadata(metadata(comment="changed"))


def begin(store: Store) -> Transaction:
    """Begin to change the table of `new_table` in every way there is."""
    transaction = Transaction(table_of(store), "change")
    big_change(transaction)
    return transaction


def table_of(store: Store) -> TableSnapshot:
    """Return the newest version of the table of `new_table`."""
    return Metastore(store, "/lake").table("default", "t")


def clear(store: Store) -> None:
    """Delete all rows."""
    store.delete_many([key for key, _ in store.scan(b"", None)])


def check_next_commit(store: Store, before: Content) -> None:
    """A commit after an accident works, and clears away what is left of it."""
    metastore = Metastore(store, "/lake")
    transaction = Transaction(metastore.table("default", "t"), "next")
    transaction.append((9, "z"), [file("z")])
    assert content(commit(transaction)) == {**before, (9, "z"): ["z"]}
    assert leftovers(store, metastore.table("default", "t").id) == []


def count_writes(change: Change) -> int:
    """Return how many rows a commit writes."""
    inner = MemoryStore()
    new_table(inner)
    store = FaultyStore(inner)
    transaction = Transaction(Metastore(store, "/lake").table("default", "t"), "change")
    change(transaction)
    commit(transaction)
    return store.writes


def append_for_another(transaction: Transaction) -> None:
    """Add to one partition because of what another day holds."""
    transaction.append((2, "b"), [file(transaction.operation)])
    transaction.requirements.rely_on(transaction.base, whole_day(transaction.base, 1))


ACTIONS: dict[str, Change] = {
    "append": lambda transaction: transaction.append((1, "a"), [file(transaction.operation)]),
    "append new": lambda transaction: transaction.append((7, "n"), [file(transaction.operation)]),
    "append other": lambda transaction: transaction.append((2, "b"), [file(transaction.operation)]),
    "append for another": append_for_another,
    "overwrite": lambda transaction: transaction.replace((1, "a"), [file(transaction.operation)]),
    "overwrite other": lambda transaction: transaction.replace((2, "b"), [file(transaction.operation)]),
    "drop": lambda transaction: transaction.drop((1, "a")),
    "add": lambda transaction: transaction.add((7, "n"), files=[file(transaction.operation)]),
    "rename": lambda transaction: transaction.rename((1, "a"), (7, "n")),
    "replace day": lambda transaction: transaction.replace_where(whole_day(transaction.base, 1)),
    "replace all": lambda transaction: transaction.replace_where(None),
    "comment": lambda transaction: transaction.set_metadata(metadata(comment=transaction.operation)),
    "move table": lambda transaction: transaction.set_metadata(metadata(location="/lake/new")),
}


def touched(action: str) -> set[object]:
    """Return what an action looks at and changes."""
    return {
        "append": {(1, "a")},
        "append new": {(7, "n")},
        "append other": {(2, "b")},
        "append for another": {(2, "b")},
        "overwrite": {(1, "a")},
        "overwrite other": {(2, "b")},
        "drop": {(1, "a")},
        "add": {(7, "n")},
        "rename": {(1, "a"), (7, "n")},
        "replace day": {(1, "a")},
        "replace all": {(1, "a"), (2, "b"), (7, "n")},
        "comment": {"metadata"},
        "move table": {"metadata", "layout", (1, "a"), (2, "b"), (7, "n")},
    }[action]


def basenames(table: TableSnapshot) -> Content:
    """Return the content without the places: those depend on where a writer thought the partition to be."""
    return {values: [path.rpartition("/")[2] for path in paths] for values, paths in content(table).items()}


def conflicts(late: str, early: str) -> bool:
    """Return whether an action fails if another was committed since its base."""
    if late.startswith("append"):
        relied_on = {(1, "a")} if late == "append for another" else set()
        return early == "move table" or bool(relied_on & touched(early))
    if early == "move table":
        return True
    changed = touched(early) - ({(7, "n")} if early == "replace all" else set())  # there was none to drop
    return bool(touched(late) & changed)


def committed(base: TableSnapshot, name: str, action: str) -> bool:
    """Return whether the action could be committed."""
    transaction = Transaction(base, name)
    ACTIONS[action](transaction)
    try:
        commit(transaction)
    except CommitConflictError:
        return False
    return True


def interleave(
    inner: MemoryStore, first: str, second: str, step: int, store: FaultyStore | None = None
) -> dict[str, bool]:
    """Run the second action before the given write of the first; both are based on the same version."""
    other, base = new_table(inner)
    store = store or FaultyStore(inner)
    outcome: dict[str, bool] = {}

    def come_between(writes: int) -> None:
        if writes == step and not outcome:
            outcome["second"] = committed(base, "second", second)

    table = Metastore(store, "/lake").table("default", "t")
    assert other.table("default", "t").version == table.version
    store.before_write = come_between
    outcome["first"] = committed(table, "first", first)
    return outcome
