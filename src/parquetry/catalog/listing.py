"""Iterate over partitions, files and versions while they are read. A prompt or a notebook can draw such an
iterator.

It is drawn as rows: for each thing, values by headings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from parquetry import texts
from parquetry.catalog.drawing import table_html, table_text

if TYPE_CHECKING:
    from parquetry.catalog.shapes import Commit, DataFile, Partition

_T = TypeVar("_T")
_MAX_DRAWN_ROWS = 20
"""Most rows in a drawing; there may be a million."""


class Listing(Iterator[_T], Generic[_T]):
    """An iterator that a prompt or a notebook draws: its next things, which it does not consume.

    Args:
        what: the kind of things, such as ``partitions of sales.orders``.
        things: the iterator.
        row: returns a thing's row of the drawing, by headings.
    """

    def __init__(self, what: str, things: Iterator[_T], row: Callable[[_T], Mapping[str, Any]]) -> None:
        self._what = what
        self._things = things
        self._row = row
        self._ahead: deque[_T] = deque()

    def __next__(self) -> _T:
        return self._ahead.popleft() if self._ahead else next(self._things)

    def __repr__(self) -> str:
        rows, note = self._shown_rows()
        return table_text(f"{self._what}, one by one: list() gives them all", rows, note)

    def _repr_html_(self) -> str:
        return table_html(self._what, *self._shown_rows())

    def _shown_rows(self) -> tuple[list[Mapping[str, Any]], str]:
        """Return the rows of the next things, and a note."""
        self._ahead.extend(islice(self._things, max(0, _MAX_DRAWN_ROWS + 1 - len(self._ahead))))
        rows = [self._row(thing) for thing in islice(self._ahead, _MAX_DRAWN_ROWS)]
        note = (
            f"the first {_MAX_DRAWN_ROWS}" if len(self._ahead) > _MAX_DRAWN_ROWS else "" if rows else "none"
        )
        return rows, note


def partition_row(partition: Partition) -> dict[str, Any]:
    """Return the row of a partition."""
    return {
        **partition.values,
        "files": partition.files,
        "rows": texts.count(partition.rows),
        "size": texts.size_text(partition.bytes),
        "location": partition.location,
    }


def file_row(file: DataFile) -> dict[str, Any]:
    """Return the row of a file."""
    return {"file": file.path, "rows": texts.count(file.rows), "size": texts.size_text(file.bytes)}


def commit_row(commit: Commit) -> dict[str, Any]:
    """Return the row of a version."""
    return {
        "version": commit.version,
        "committed at": f"{commit.committed_at:%Y-%m-%d %H:%M:%S} UTC",
        "operation": commit.operation,
        "partitions": commit.partitions,
        "files": commit.files,
        "rows": texts.count(commit.rows),
        "size": texts.size_text(commit.bytes),
    }
