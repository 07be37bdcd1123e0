"""Whether a session reads ORC files by the position of columns, and not by their names.

Hadoop's setting `orc.force.positional.evolution` has Spark's ORC reader take a table's first column for the
first column of a file, whatever its name. Statistics are recorded by name, so they say nothing in such a
session. The planner sets this for each question.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from parquetry.metastore.storage import TableMetadata

_BY_POSITION = ContextVar("by_position", default=False)


@contextmanager
def reading_by_position(active: bool) -> Iterator[None]:
    """Have ORC files be read by position, or not, while a question is answered."""
    token = _BY_POSITION.set(active)
    try:
        yield
    finally:
        _BY_POSITION.reset(token)


def names_identify_columns(metadata: TableMetadata) -> bool:
    """Return whether a column of a table is the column of the same name in its files."""
    return metadata.format != "orc" or not _BY_POSITION.get()
