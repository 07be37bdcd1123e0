"""A process that may open only a few more files."""

from __future__ import annotations

import itertools
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def open_files_left(count: int) -> Iterator[None]:
    """Let this process open so many more files within a block. The limit is one of the files' numbers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = (number for number in itertools.count() if not _is_open(number))
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(itertools.islice(free, count, None)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
