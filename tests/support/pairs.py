"""Two statements of which the second runs as a whole right before the first commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from parquetry.metastore import TableSnapshot
from parquetry.metastore.transaction import Transaction


@contextmanager
def before_the_commit(second: Callable[[], Any]) -> Iterator[list[Any]]:
    """Run something whole when the next commit of this process has been prepared, and then let that commit go on.

    Args:
        second: is run once.

    Yields:
        A list that holds what it returned once it has run.
    """
    done: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        commit = Transaction.commit

        def later(self: Transaction, summary: Mapping[str, str] | None = None) -> TableSnapshot:
            patch.setattr(Transaction, "commit", commit)
            done.append(second())
            return commit(self, summary)

        patch.setattr(Transaction, "commit", later)
        yield done
