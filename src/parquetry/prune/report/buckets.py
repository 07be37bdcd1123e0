"""What a report tells of the buckets of a scan: those that joins may rely on, or why there are none.

A join needs each row to be in a known bucket, by one hash of the same columns. Why that is not so, `rules.bucket_reasons` finds out.
"""

from __future__ import annotations

from parquetry.prune.report.part import ReportPart


class BucketReport(ReportPart, frozen=True):
    """The buckets of a scan of a bucketed table.

    Attributes:
        columns: that rows are in buckets by.
        types: of these in the table, as SQL writes them.
        version: of the hash: ``1``, ``2`` or ``spark``.
        count: of the buckets that all rows lie in.
        reason: why no join can rely on them, in which case the above is true of some of the rows; None: one can.
        unread: those of the columns that are not read, so that no join can be by them.
        again: how many bytes are read once more, for there to be as many buckets as those of the table joined with.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    version: str
    count: int
    reason: str | None = None
    unread: tuple[str, ...] = ()
    again: int = 0
