"""The report of a scan's buckets: the buckets that joins may rely on, or the reason why they may not.

A join needs each row to be in a known bucket, by one hash of the same columns. `rules.bucket_reasons` finds
the reason if they are not.
"""

from __future__ import annotations

from parquetry.prune.report.part import ReportPart


class BucketReport(ReportPart, frozen=True):
    """The buckets of a scan of a bucketed table.

    Attributes:
        columns: the bucket columns.
        types: their types in the table, as SQL writes them.
        version: the version of the hash: `1`, `2` or `spark`.
        count: the number of buckets.
        reason: why no join can rely on them, or None if joins can. If there is a reason, the attributes above
            describe only some of the rows.
        unread: the bucket columns that the query does not read, so no join can use them.
        again: the bytes that are read more than once, to have as many buckets as the table on the other side.
        split: the hot buckets that several tasks of a join read, or why one task reads each; None if there is
            none.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    version: str
    count: int
    reason: str | None = None
    unread: tuple[str, ...] = ()
    again: int = 0
    split: str | None = None
