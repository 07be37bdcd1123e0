"""Other writers, who come between the steps of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from parquetry.spark import writes


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Have another writer do something between the files of this one's next write and their commit."""
    real = writes.collect

    def collect(*given: Any) -> Any:
        writes.collect = real
        work()
        return real(*given)

    writes.collect = collect
    try:
        yield
    finally:
        writes.collect = real
