"""What a report tells of the buckets of a scan: those that joins may rely on, or why there are none.

A join needs each row to be in a known bucket, by one hash of the same columns. Whether all that is read is so, the planner settles
with Spark (`planner.scan_buckets`); here it is said what of it is not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.layout.arrangement import BucketSpec
from parquetry.layout.file_columns import UNKNOWN
from parquetry.layout.hash_claims import unsettled
from parquetry.metastore.file_blocks import FileBlock
from parquetry.metastore.model import TableMetadata
from parquetry.metastore.partition import Partition
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.prune.arranged import bucket_specs
from parquetry.types import type_text


@dataclass(frozen=True, slots=True)
class BucketReport:
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

    def to_dict(self) -> dict[str, Any]:
        """Return them as `Report.to_dict` gives them."""
        plain: dict[str, Any] = {
            "columns": list(self.columns),
            "types": list(self.types),
            "version": self.version,
            "count": self.count,
        }
        if self.reason is not None:
            plain["reason"] = self.reason
        if self.unread:
            plain["unread"] = list(self.unread)
        if self.again:
            plain["again"] = self.again
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> BucketReport:
        """Return what `to_dict` was given of."""
        return cls(
            tuple(plain["columns"]),
            tuple(plain["types"]),
            plain["version"],
            plain["count"],
            plain.get("reason"),
            tuple(plain.get("unread", ())),
            plain.get("again", 0),
        )


def without_buckets(
    snapshot: TableSnapshot, partitions: Sequence[Partition], block: FileBlock, read: Collection[str]
) -> BucketReport | None:
    """Return what is told of a scan that joins cannot rely on buckets of; None: its table has none.

    Args:
        snapshot: the version of the table.
        partitions: that were selected.
        block: their files that were.
        read: the columns to be read.
    """
    specs = bucket_specs(snapshot, partitions, unsettled=True)
    used = np.unique(block.parts)
    numbers = np.full(len(used), -1, np.int64) if specs is None else specs.of[used]
    found = [] if specs is None else [specs.distinct[n] for n in np.unique(numbers[numbers >= 0]).tolist()]
    others = [snapshot.metadata.arrangement.buckets, *(() if specs is None else specs.distinct)]
    shown = next((spec for spec in (*found, *others) if spec is not None), None)
    if shown is None:
        return None

    def named(parts: NDArray[Any]) -> str:
        first = snapshot.describe(partitions[int(parts[0])].key)
        return f"partition {first}" if len(parts) == 1 else f"partition {first} and {len(parts) - 1:,} others"

    columns = {column.physical: column for column in snapshot.metadata.columns}
    own = [columns[name] for name in shown.columns if name in columns]
    wanted = {name.lower() for name in read}
    unread = tuple(column.name for column in own if column.name.lower() not in wanted)
    without = used[numbers < 0]
    if len(without):
        reason = f"{named(without)} {'is' if len(without) == 1 else 'are'} not in buckets"
    else:
        reason = _differing(snapshot.metadata, found) or ""
    if not reason and unread:
        are = "column {} is" if len(unread) == 1 else "columns {} are"
        reason = f"the bucket {are.format(', '.join(unread))} not read"
    if not reason:
        arranged = block.files.arranged
        unknown = np.ones(block.count, np.bool_) if arranged is None else arranged[1] == UNKNOWN
        parts, count = np.unique(block.parts[unknown]), int(unknown.sum())
        which = "the bucket of a file is" if count == 1 else f"the buckets of {count:,} files are"
        reason = f"{which} not known, in {named(parts)}" if count else "not told to Spark"
    return BucketReport(
        tuple(column.name for column in own),
        tuple(type_text(column.type) for column in own),
        str(shown.version),
        math.gcd(*(spec.count for spec in found or [shown])),
        reason,
        unread,
    )


def _differing(metadata: TableMetadata, specs: Sequence[BucketSpec]) -> str | None:
    """Say in what some records cannot be relied on, or not together."""
    columns = {column.physical: column for column in metadata.columns}
    for spec in specs:
        if spec.unsettled:
            types = [columns[name].column_type for name in spec.columns if name in columns]
            why = unsettled(spec.version, types) or "others wrote the files"
            return f"equal values may lie in different buckets: {why}"
    if len({spec.columns for spec in specs}) > 1:
        return "its partitions are in buckets by different columns"
    if len({spec.version for spec in specs}) > 1:
        return "its partitions are in buckets by different versions of the hash"
    counts = sorted({spec.count for spec in specs})
    if counts[1:] and math.gcd(*counts) == 1:
        return f"its partitions' numbers of buckets share no divisor: {', '.join(map(str, counts))}"
    return None
