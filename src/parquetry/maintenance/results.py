"""What looking after a table finds and does, as records: one kind for each procedure that hands out some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that `check.fsck` finds not to be as it should be.

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


Problem = Literal["wrong bucket", "out of order", "unreadable", "no bucket", "not judged"]


@dataclass(frozen=True, slots=True)
class Misplacement:
    """What `verify` finds: a file whose rows do not lie as its table says, or of which that is not known.

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


@dataclass(frozen=True, slots=True)
class Difference:
    """What `adoption.sync` finds: how a table and the files below its location differ in one place.

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


@dataclass(frozen=True, slots=True)
class Compacted:
    """What `compaction.compact_metadata` wrote anew.

    Attributes:
        partitions: whose lists were; those of others are short, or as they should be.
        chunks_before: parts of the lists of these partitions.
        chunks_after: parts that they have now.
    """

    partitions: int
    chunks_before: int
    chunks_after: int


@dataclass(frozen=True, slots=True)
class Relocated:
    """Locations of one kind that `relocate` changed, or would change.

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


@dataclass(frozen=True, slots=True)
class Removed:
    """What `deletion.vacuum` deleted, or would delete.

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
