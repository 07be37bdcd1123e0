"""The plan of a scan: which ranges of keys to read, and what to test on each key.

How a plan comes about is in `generate`, how residuals are tested in `execute`, how people read it in `plan_text`.
Keys here begin after the table's own prefix and end before whatever the metastore appends to them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from parquetry.predicate import Filter, opaque_parts

ScanKind: TypeAlias = Literal["get", "range", "index"]


@dataclass(frozen=True, slots=True)
class KeyScan:
    """One range of keys.

    Attributes:
        kind: `get` for one whole key, of which all values are known; `index` for a range of an index's
            entries; else `range`.
        start: the first key that may belong to it; of a get, the key itself.
        stop: the first bytes after it; None is the end. A get's stop is the successor of its key, so a scan
            from start to stop finds it, whatever is appended to the key.
        residual: what a key in the range must satisfy besides; None is nothing.
    """

    kind: ScanKind
    start: bytes
    stop: bytes | None
    residual: Filter | None


@dataclass(frozen=True, slots=True)
class IndexOrder:
    """An index to scan instead of the partitions' own keys.

    Attributes:
        name: of the index.
        id: hexadecimal; begins the keys of its entries.
        order: positions of the fields of a partition's key, in the order of the entries' fields.
    """

    name: str
    id: str
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many keys a way to the partitions has to examine.

    Attributes:
        indexes: names of the indexes that are read.
        own_keys: whether the partitions' own keys are read, be it besides indexes.
        keys: their number; of an index, entries and the partitions that they lead to.
        complete: whether they were counted to the end.
        sampled: whether the number is an estimate from a sample of the table's keys; if it is neither complete nor
            sampled, there are more keys.
    """

    indexes: tuple[str, ...]
    own_keys: bool
    keys: int
    complete: bool
    sampled: bool = False

    def __str__(self) -> str:
        ways = [f"index {name}" for name in self.indexes]
        ways += ["the partitions' keys"] if self.own_keys else []
        number = "" if self.complete else "about " if self.sampled else "more than "
        return f"{' and '.join(ways)}: {number}{self.keys:,}"


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """All ranges that a condition needs: disjoint, in key order, none twice.

    No ranges means that no key can satisfy the condition.

    A *union* reads some branches of an OR by the partitions' own keys, and others by indexes. Take the key (day, store)
    with an index on `store`:

        day = 77 OR store = 'zz'        scan day = 77
                                        by index store: scan index store = 'zz'

    The partition (77, 'zz') is in both parts. It is read once, because partitions that an index leads to are left out
    where they lie in a range of `scans`.

    Attributes:
        scans: the ranges.
        index: whose entries the ranges are about; None: the partitions' own keys.
        by_indexes: of a union, the plans by indexes, one for each index.
        estimates: by which the way was chosen, where there was a choice.
        row_keys: keys of the rows that the indexes lead to, in order, if choosing has found them all.
    """

    scans: tuple[KeyScan, ...]
    index: IndexOrder | None = None
    by_indexes: tuple[ScanPlan, ...] = ()
    estimates: tuple[Estimate, ...] = field(default=(), compare=False)
    row_keys: tuple[bytes, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def exact(self) -> bool:
        """Whether every key found surely satisfies the condition; else some of them only may."""
        return not any(
            scan.residual is not None and opaque_parts(scan.residual.node) for scan in self.scans
        ) and all(part.exact for part in self.by_indexes)

    @property
    def indexes(self) -> tuple[IndexOrder, ...]:
        """Return the indexes that are read."""
        own = () if self.index is None else (self.index,)
        return own + tuple(index for part in self.by_indexes for index in part.indexes)

    @property
    def whole(self) -> bool:
        """Whether the plan reads every key of the table, with or without a test."""
        return len(self.scans) == 1 and self.scans[0].start == b"" and self.scans[0].stop is None

    def scan_containing(self, key: bytes) -> KeyScan | None:
        """Return the range of `scans` in which a key lies, whatever its residual says of the key; None if in none."""
        place = bisect_right(self.scans, key, key=lambda scan: scan.start)
        scan = self.scans[place - 1] if place else None
        return scan if scan is not None and (scan.stop is None or key < scan.stop) else None

    def reads_key(self, key: bytes) -> bool:
        """Return whether a key lies in one of the ranges of `scans`."""
        return self.scan_containing(key) is not None


EVERYTHING = ScanPlan((KeyScan("range", b"", None, None),))
"""The plan that reads the whole table."""
