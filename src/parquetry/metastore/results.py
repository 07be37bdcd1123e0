"""Results of operations on a metastore, as records."""

from __future__ import annotations

from dataclasses import dataclass


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
    """An error that `check.fsck` reports.

    Attributes:
        kind: for data files, ``missing file``, ``foreign file``, ``file size``, ``broken file`` or
            ``unfit column``. For sums, ``partition sums``, ``table totals`` or ``file list sums``. For
            rows of the metastore, ``unreadable row``, ``missing file list``, ``unneeded file list``,
            ``missing commit``, ``missing metadata``, ``unreadable version``, ``unreadable record``,
            ``journal``, ``dead commit``, ``newest rows`` or ``range manifest``. For indexes, ``missing
            index entry``, ``unneeded index entry`` or ``unfinished index``. ``foreign warehouse`` if
            another metastore owns the warehouse: then nothing else is checked. For other tables than the
            checked one, ``lost table`` or ``lost view``.
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
            ``abandoned upload`` (a multipart upload to S3 that never became a file), or ``published links``.
            These are a folder of links to the files of a version. Of rows: ``partition versions``,
            ``taken-out records``, ``index entries``, ``file lists``, ``metadata``, ``commits``, ``journals``,
            ``left-over tables`` or ``left-over names``.
        path: the path of a file or an upload, or None for rows of the metastore.
        count: the number of files, uploads or rows.
        bytes: the bytes of a file, or of the values of rows, or None if not known; S3 does not tell an
            upload's.
        detail: more about it, in words.
    """

    kind: str
    path: str | None
    count: int
    bytes: int | None
    detail: str | None = None
