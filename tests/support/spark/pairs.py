"""Two statements: the second runs as a whole right before the first commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from parquetry.metastore.transactions.transaction import Transaction


@contextmanager
def before_the_commit(second: Callable[[], Any]) -> Iterator[list[Any]]:
    """Run something whole when the next commit of this process is prepared, and then let that commit go on.

    Args:
        second: is run once.

    Yields:
        A list that holds what it returned once it has run.
    """
    done: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        end = Transaction.end

        def later(self: Transaction) -> None:
            patch.setattr(Transaction, "end", end)
            done.append(second())
            end(self)

        patch.setattr(Transaction, "end", later)
        yield done
