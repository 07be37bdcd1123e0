"""What `sync` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """How a table and the files below its location differ in one place.

    Attributes:
        action: ``added``, ``changed``, ``gone``; ``ignored``: nothing is done about it; ``broken``: a file that is not whole, and is not
            taken in; ``unfit``: one that is, although a column of it cannot be read as the table has it.
        partition: such as ``d=1/s=a``; None where it is about the table, or about a path.
        files: how many the partition has afterwards, or are passed over; None: not counted.
        rows: of these files; None: not known.
        bytes: of these files; None: not counted.
        detail: what to know of it besides.
    """

    action: str
    partition: str | None = None
    files: int | None = None
    rows: int | None = None
    bytes: int | None = None
    detail: str | None = None
