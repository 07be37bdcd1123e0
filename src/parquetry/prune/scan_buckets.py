"""In which buckets the rows of a scan are, as far as a join can rely on it; and if it cannot, why not.

A join needs each row of a scan to be in a known bucket, by one hash of the same columns: what is true of all selected files and
of their partitions, whose numbers of buckets may differ and are then taken by their greatest common divisor.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parquetry.layout.arrangement import BucketSpec, Version
from parquetry.layout.file_columns import UNKNOWN, Numbers
from parquetry.layout.hash_claims import unsettled
from parquetry.metastore.file_blocks import FileBlock
from parquetry.metastore.partition import Partition
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.prune.arranged import bucket_specs


@dataclass(frozen=True, slots=True)
class ScanBuckets:
    """The buckets of a scan of a bucketed table.

    Attributes:
        columns: that rows are in buckets by.
        types: of these in the table, as SQL writes them.
        version: of the hash.
        count: of the buckets that the rows of all files lie in.
        reason: why no join can rely on them, in which case the above is true of some of the rows; None: one can.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    version: Version
    count: int
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return them as `Report.to_dict` gives them."""
        plain: dict[str, Any] = {
            "columns": list(self.columns),
            "types": list(self.types),
            "version": self.version,
            "count": self.count,
        }
        return plain if self.reason is None else plain | {"reason": self.reason}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ScanBuckets:
        """Return what `to_dict` was given of."""
        return cls(
            tuple(plain["columns"]),
            tuple(plain["types"]),
            plain["version"],
            plain["count"],
            plain.get("reason"),
        )


def scan_buckets(
    snapshot: TableSnapshot, partitions: Sequence[Partition], block: FileBlock, read: Collection[str] | None
) -> ScanBuckets | None:
    """Return in which buckets the selected rows of a table are; None: it has none.

    Args:
        snapshot: the version of the table.
        partitions: that were selected.
        block: their files that were.
        read: the columns to be read; None for all.
    """
    specs = bucket_specs(snapshot, partitions, unsettled=True)
    used = np.unique(block.parts)
    numbers = np.full(len(used), -1, np.int64) if specs is None else specs.of[used]
    found = [] if specs is None else [specs.distinct[n] for n in np.unique(numbers[numbers >= 0]).tolist()]
    tables = snapshot.metadata.arrangement.buckets
    shown = next(
        (spec for spec in (*found, tables, *(specs.distinct if specs else ())) if spec is not None), None
    )
    if shown is None:
        return None
    columns = {column.physical: column for column in snapshot.metadata.data_columns}
    if any(name not in columns for name in shown.columns):
        return None
    own = [columns[name] for name in shown.columns]
    buckets = ScanBuckets(
        tuple(column.name for column in own),
        tuple(str(column.column_type) for column in own),
        shown.version,
        math.gcd(*(spec.count for spec in found or [shown])),
    )

    def named(parts: Numbers) -> str:
        return _listed([snapshot.describe(partitions[part].key) for part in parts[:1].tolist()], len(parts))

    without = used[numbers < 0]
    if len(without):
        return replace(buckets, reason=f"{named(without)} {_are(len(without))} not in buckets")
    loose = [spec for spec in found if spec.unsettled]
    if loose:
        types = [columns[name].column_type for name in loose[0].columns if name in columns]
        why = unsettled(loose[0].version, types) or "others wrote the files"
        return replace(buckets, reason=f"equal values may lie in different buckets: {why}")
    reason = _differing(found) or _unread(buckets, read)
    if reason is None and block.count:
        arranged = block.files.arranged
        unknown = np.ones(block.count, np.bool_) if arranged is None else arranged[1] == UNKNOWN
        parts = np.unique(block.parts[unknown])
        if len(parts):
            reason = f"the buckets of {int(unknown.sum()):,} files are not known, in {named(parts)}"
    return replace(buckets, reason=reason)


def _differing(specs: Sequence[BucketSpec]) -> str | None:
    for told, kinds in (
        ("by different columns", {spec.columns for spec in specs}),
        ("by different versions of the hash", {str(spec.version) for spec in specs}),
    ):
        if len(kinds) > 1:
            return f"its partitions are in buckets {told}"
    counts = sorted({spec.count for spec in specs})
    if counts[1:] and math.gcd(*counts) == 1:
        return f"its partitions' numbers of buckets share no divisor: {', '.join(map(str, counts))}"
    return None


def _unread(buckets: ScanBuckets, read: Collection[str] | None) -> str | None:
    wanted = None if read is None else {name.lower() for name in read}
    missing = [name for name in buckets.columns if wanted is not None and name.lower() not in wanted]
    return f"the bucket {_columns(missing)} not read" if missing else None


def _columns(names: Sequence[str]) -> str:
    return f"column {names[0]} is" if len(names) == 1 else f"columns {', '.join(names)} are"


def _listed(some: Sequence[str], count: int) -> str:
    return f"partition {some[0]}" if count == 1 else f"partition {some[0]} and {count - 1:,} others"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
