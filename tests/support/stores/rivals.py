"""Other writers, who come between the steps of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from parquetry.spark.write import insert


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Have another writer do something between the files of this one's next write and their commit."""
    real = insert.collect

    def collect(*given: Any) -> Any:
        insert.collect = real
        work()
        return real(*given)

    insert.collect = collect
    try:
        yield
    finally:
        insert.collect = real
