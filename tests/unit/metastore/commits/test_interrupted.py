"""After any exception in a commit, the transaction knows whether a version may show its changes.

Code that deletes the files of a failed commit relies on that.
"""

from __future__ import annotations

import itertools

import pytest

from parquetry.errors import CommitUnknownError, ParquetryError, StoreError
from parquetry.metastore import Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import MemoryStore
from tests.support.interleavings.steps import SteppedStore, StoreCall
from tests.support.stores.metastores import content, file, new_table

ERRORS = {
    "interrupt": KeyboardInterrupt,
    "memory": MemoryError,
    "slip": RuntimeError,
    "store": StoreError,
}


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("error", ERRORS)
def test_a_commit_that_is_interrupted(error: str, lasting: bool) -> None:
    """A commit that took place never looks failed, and a commit that looks failed never shows later."""
    outcomes = set()
    for number in itertools.count():
        store = MemoryStore()
        new_table(store)
        calls = itertools.count()

        armed: list[bool] = []

        def step(
            _: StoreCall, number: int = number, calls: itertools.count[int] = calls, armed: list[bool] = armed
        ) -> None:
            call = next(calls) if armed else -1
            if call == number or (lasting and call > number):
                raise ERRORS[error]("as the test asked")

        transaction = Transaction(
            Metastore(SteppedStore(store, step), "/lake").table("default", "t"), "append"
        )
        armed.append(True)
        transaction.append((1, "a"), [file("x")])
        raised: BaseException | None = None
        try:
            commit(transaction)
        except (ParquetryError, KeyboardInterrupt, MemoryError, RuntimeError) as caught:
            raised = caught
        if next(calls) <= number:
            break
        metastore = Metastore(store, "/lake")
        shown = "x" in content(metastore.table("default", "t"))[1, "a"]
        if shown:
            assert transaction.may_be_visible
            assert raised is None or isinstance(raised, (CommitUnknownError, KeyboardInterrupt))
        if raised is None:
            assert shown
        if not transaction.may_be_visible:
            assert not isinstance(raised, CommitUnknownError)
        elif not shown:
            assert isinstance(raised, (CommitUnknownError, KeyboardInterrupt))
        other = Transaction(metastore.table("default", "t"), "append")
        other.append((3, "c"), [file("y")])
        commit(other)  # which gives up what was left half done
        assert ("x" in content(metastore.table("default", "t"))[1, "a"]) is shown
        outcomes.add((shown, type(raised).__name__))
    assert {shown for shown, _ in outcomes} == {True, False}
