"""Leave out what Java prints about a module that Spark asks for, and nothing else that it prints."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_EXPECTED = b"WARNING: Using incubator modules"
"""Spark starts each JVM with the module of vectors, and Java warns of it in any program."""


@contextmanager
def without_expected() -> Iterator[None]:
    """Start processes within this context: their standard error passes through, but for the expected line."""
    read, write = os.pipe()
    own = os.dup(2)
    os.dup2(write, 2)
    os.close(write)
    threading.Thread(target=_pass_on, args=(read, own), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(own, 2)


def _pass_on(read: int, to: int) -> None:
    """Copy lines until the last process has ended that was started within the context."""
    with os.fdopen(read, "rb") as lines:
        for line in lines:
            if not line.startswith(_EXPECTED):
                os.write(to, line)
