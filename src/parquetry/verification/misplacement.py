"""The record of a file whose rows are not where its table says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

Problem = Literal["wrong bucket", "out of order", "unreadable", "no bucket", "not judged"]


@dataclass(frozen=True, slots=True)
class Misplacement:
    """A file that `verify` has found: its rows are not arranged as its table says, or it cannot be known.

    Attributes:
        problem: ``wrong bucket``: some rows belong to another bucket. ``out of order``: the rows are not
            sorted. ``unreadable``: the file is missing or damaged. ``no bucket``: the bucket of some files is
            not known, and every query reads them. ``not judged``: equal values may be in different buckets,
            or the file does not define its values, so the rows are not checked.
        partition: such as ``d=1/s=a``, or None if the table has no partitions.
        path: the file's path below its partition, or None if the finding is about several files.
        bucket: the file's bucket.
        rows: the number of rows in the wrong bucket, or in files without a bucket, or None if they were not
            counted.
        detail: an example, or a reason.
    """

    problem: Problem
    partition: str | None
    path: str | None
    bucket: Annotated[int | None, "integer"]
    rows: int | None
    detail: str

    @property
    def is_wrong(self) -> bool:
        """Return whether a query may give a wrong answer, or fail."""
        return self.problem in ("wrong bucket", "out of order", "unreadable")
