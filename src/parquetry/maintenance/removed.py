"""What `vacuum` deletes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Removed:
    """What was deleted, or would be.

    Attributes:
        kind: ``data file``, ``left-over file``, ``checksum file`` (which Hadoop keeps beside one of those),
            ``partition versions``, ``taken-out records``, ``index entries``, ``file lists``, ``metadata``, ``commits``,
            ``journals``, ``left-over tables`` or ``left-over names``.
        path: of a file; None for rows of the metastore.
        count: how many.
        bytes: of a file, or of the values of rows where they are known.
    """

    kind: str
    path: str | None
    count: int
    bytes: int | None
