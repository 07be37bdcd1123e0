"""Names of tables on a server, where each step of a replacement takes time: others look in between."""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import time
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event

from parquetry.errors import CommitConflictError, TableNotFoundError
from parquetry.metastore import Metastore, Replacement, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import open_store
from tests.support.effort import examples
from tests.support.stores.metastores import content, file, metadata

_REPLACERS, _READERS = 3, 2


def _replace(
    url: str, who: int, over: Event, replaced: Synchronized[int], refused: Synchronized[int]
) -> None:
    """Put new content in place of a table's, again and again; each has one file of its own name."""
    store = open_store(url, "/lake")
    metastore = Metastore(store, "/lake")
    for number in itertools.count():
        if over.is_set():
            break
        replacement = Replacement(
            metastore.table("default", "t"),
            metadata(location=metastore.table("default", "t").metadata.location),
        )
        transaction = Transaction(replacement.snapshot, "fill")
        transaction.append((1, "a"), [file(f"{who}-{number}")])
        commit(transaction)
        try:
            replacement.make_visible()
        except CommitConflictError:
            _count(refused)
        else:
            _count(replaced)
    store.close()


def _look(url: str, over: Event, looks: Synchronized[int], missed: Synchronized[int]) -> None:
    """Look the table up, and read it."""
    store = open_store(url, "/lake")
    metastore = Metastore(store, "/lake")
    while not over.is_set():
        try:
            complete = len(content(metastore.table("default", "t"))) == 1
        except TableNotFoundError:
            complete = False
        _count(looks if complete else missed)
    store.close()


def _count(counter: Synchronized[int]) -> None:
    with counter.get_lock():
        counter.value += 1


def replace_and_look(url: str, replacements: int, seconds: float) -> tuple[int, int, int, int]:
    """Replace a table in three processes while two look for it.

    Args:
        url: of the store, which is made.
        replacements: that have to succeed at least.
        seconds: that it takes at least.

    Returns:
        the numbers of replacements, of those refused, of reads that found the table with its file, and of
        reads that did not
    """
    store = open_store(url, "/lake", create=True)
    metastore = Metastore(store, "/lake")
    transaction = Transaction(metastore.create_table("default", "t", metadata()), "fill")
    transaction.append((1, "a"), [file("first")])
    commit(transaction)
    context = multiprocessing.get_context("spawn")
    counters: list[Synchronized[int]] = [context.Value("i", 0) for _ in range(4)]
    replaced, refused, looks, missed = counters
    over = context.Event()
    processes = [
        context.Process(target=_replace, args=(url, who, over, replaced, refused))
        for who in range(_REPLACERS)
    ] + [context.Process(target=_look, args=(url, over, looks, missed)) for _ in range(_READERS)]
    for process in processes:
        process.start()
    end = time.monotonic() + seconds
    while (time.monotonic() < end or min(replaced.value, looks.value) < replacements) and all(
        process.is_alive() for process in processes
    ):
        time.sleep(0.05)
    over.set()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    assert metastore.tables("default") == ["t"]
    assert len(content(metastore.table("default", "t"))) == 1
    store.close()
    return replaced.value, refused.value, looks.value, missed.value


def test_no_look_in_vain_while_a_table_is_replaced(url: str) -> None:
    """The name stands for a table with its rows at all times, however often others replace it."""
    least = examples(30, 8)
    replaced, _, looks, missed = replace_and_look(url, least, 0)
    assert min(replaced, looks) >= least
    assert missed == 0


if __name__ == "__main__":
    print("replaced, refused, looks, in vain:", replace_and_look(sys.argv[1], 1, float(sys.argv[2])))
