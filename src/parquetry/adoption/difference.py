"""The record of a difference between a table and its files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a table and the files below its location, which `adoption.sync` has found.

    Attributes:
        action: ``added``, ``changed``, ``gone``, or ``ignored``: the sync does not act on it. ``broken``: an
            incomplete file, which is not taken in. ``unfit``: a file that is taken in, although a column of
            it cannot be read with the table's type.
        partition: such as ``d=1/s=a``, or None if the difference is about the table, or about a path.
        files: the number of files of the partition afterwards, or of ignored files, or None if not counted.
        rows: the rows of these files, or None if not known.
        bytes: the bytes of these files, or None if not counted.
        detail: more about the difference.
    """

    action: str
    partition: str | None = None
    files: int | None = None
    rows: int | None = None
    bytes: int | None = None
    detail: str | None = None
