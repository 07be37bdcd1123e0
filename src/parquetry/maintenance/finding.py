"""What `fsck` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        kind: ``missing file``, ``file size``, ``broken file``, ``unfit column``, ``partition sums``, ``table totals``, ``unreadable row``,
            ``missing file list``, ``unneeded file list``, ``file list sums``, ``missing commit``, ``missing metadata``,
            ``unreadable version``, ``journal``, ``dead commit``, ``missing index entry``, ``unneeded index entry``,
            ``unfinished index``, ``newest rows``, ``lost table`` or ``lost view``, which are others than the one that is checked.
        partition: such as ``d=1/s=a``; None where it is about the table.
        path: of a file.
        detail: what is wrong, and what to do where it cannot be repaired.
        repaired: whether it was put right.
    """

    kind: str
    partition: str | None
    path: str | None
    detail: str
    repaired: bool = False
