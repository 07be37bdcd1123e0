"""Results of maintenance, as records: one class for each procedure that returns any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check of the installation, the warehouse or its storage.

    Attributes:
        name: the thing that was checked.
        ok: whether it is as needed, or None for a mere note.
        found: its state, in words.
        remedy: what to do about it.
    """

    name: str
    ok: bool | None
    found: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """An error that `check.fsck` has found.

    Attributes:
        kind: for data files, ``missing file``, ``file size``, ``broken file`` or ``unfit column``. For sums,
            ``partition sums``, ``table totals`` or ``file list sums``. For rows of the metastore,
            ``unreadable row``, ``missing file list``, ``unneeded file list``, ``missing commit``, ``missing
            metadata``, ``unreadable version``, ``unreadable record``, ``journal``, ``dead commit`` or
            ``newest rows``. For indexes, ``missing index entry``, ``unneeded index entry`` or ``unfinished
            index``. ``foreign warehouse`` if another metastore owns the warehouse: then nothing else is
            checked. For other tables than the checked one, ``lost table`` or ``lost view``.
        partition: such as ``d=1/s=a``, or None if the finding is about the table.
        path: the path of a file, or None.
        detail: what is wrong, and what to do if it cannot be repaired.
        repaired: whether it was repaired.
    """

    kind: str
    partition: str | None
    path: str | None
    detail: str
    repaired: bool = False


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
    bucket: int | None
    rows: int | None
    detail: str

    @property
    def is_wrong(self) -> bool:
        """Return whether a query may give a wrong answer, or fail."""
        return self.problem in ("wrong bucket", "out of order", "unreadable")


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


@dataclass(frozen=True, slots=True)
class Compacted:
    """The manifests that `compaction.compact_metadata` has rewritten.

    Attributes:
        partitions: the number of partitions whose manifests were rewritten. All other manifests are short, or
            good.
        chunks_before: the number of chunks of these manifests before.
        chunks_after: their number of chunks now.
    """

    partitions: int
    chunks_before: int
    chunks_after: int


@dataclass(frozen=True, slots=True)
class Relocated:
    """Locations of one kind that `relocate` changed, or would change.

    Attributes:
        kind: the kind of record with the locations: a ``database``, a ``table`` in any of its versions, a
            ``partition`` with its files elsewhere, or a ``file list``.
        name: the database, or the table as ``database.table``.
        count: the number of locations.
        before: the first of them, before.
        after: the first of them, afterwards.
    """

    kind: str
    name: str
    count: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A file, an upload, or rows of one kind, that `deletion.vacuum` deleted, or would delete.

    Attributes:
        kind: ``data file``, ``left-over file``, ``checksum file`` (which Hadoop keeps beside such a file),
            ``abandoned upload`` (a multipart upload to S3 that never became a file), ``partition versions``,
            ``taken-out records``, ``index entries``, ``file lists``, ``metadata``, ``commits``, ``journals``,
            ``left-over tables`` or ``left-over names``.
        path: the path of a file or an upload, or None for rows of the metastore.
        count: the number of files, uploads or rows.
        bytes: the bytes of a file, or of the values of rows, or None if not known; S3 does not tell an
            upload's.
    """

    kind: str
    path: str | None
    count: int
    bytes: int | None
