"""What `relocate` changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relocated:
    """Locations of one kind that were changed, or would be.

    Attributes:
        kind: where they stand: in the record of a ``database``, of a ``table`` in any of its versions, of a ``partition``, with
            the files that lie elsewhere than this, or in a ``file list``.
        name: of the database, or of the table as ``database.table``.
        count: how many.
        before: the first of them, as it was.
        after: the same, as it is now.
    """

    kind: str
    name: str
    count: int
    before: str
    after: str
