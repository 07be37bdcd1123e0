"""Two statements of which the second runs as a whole right before the first commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from parquetry.metastore import TableSnapshot
from parquetry.metastore.commit import Committer


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
        run = Committer.run

        def later(self: Committer) -> TableSnapshot:
            patch.setattr(Committer, "run", run)
            done.append(second())
            return run(self)

        patch.setattr(Committer, "run", later)
        yield done
