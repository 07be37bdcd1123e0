"""The progress of long work: a callback for the code at work, and a bar on standard error for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with the name of a piece of work, how much of it is done, and the total, or None if it is not
known."""
_T = TypeVar("_T")


def silent(_name: str, _done: int, _of: int | None) -> None:
    """Show nothing."""


def track(progress: Progress, name: str, things: Sequence[_T]) -> Iterator[_T]:
    """Yield things one by one, and report how many are done."""
    for done, thing in enumerate(things, 1):
        yield thing
        progress(name, done, len(things))


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Yield a callback that shows a bar on standard error while the work runs.

    Without a terminal there is no bar: in a pipe or a log it leaves an empty line, and in a notebook advice
    to install a widget.
    """
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")
        yield lambda name, done, of: bar.update(task, description=name, completed=done, total=of)
