"""What `verify` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Problem = Literal["wrong bucket", "out of order", "unreadable", "no bucket", "not judged"]


@dataclass(frozen=True, slots=True)
class Misplacement:
    """A file whose rows do not lie as its table says, or of which that is not known.

    Attributes:
        problem: ``wrong bucket``: rows belong in another one; ``out of order``; ``unreadable``: the file is missing or damaged;
            ``no bucket``: files of which no bucket is known, which are read by every query; ``not judged``: equal values may
            lie in different buckets, or the file does not say what its values are, so that nothing is claimed of them.
        partition: such as ``d=1/s=a``; None where the table has none.
        path: of the file, below its partition; None where it is about several.
        bucket: of the file.
        rows: in the wrong bucket, or of the files of no bucket; None: not counted.
        detail: an example, or a reason.
    """

    problem: Problem
    partition: str | None
    path: str | None
    bucket: int | None
    rows: int | None
    detail: str

    @property
    def is_wrong(self) -> bool:
        """Return whether a query may give a wrong answer, or none."""
        return self.problem in ("wrong bucket", "out of order", "unreadable")
