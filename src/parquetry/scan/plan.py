"""The plan of a scan: which ranges of keys to read, and what to test on each key.

How a plan comes about is in `generate`, how residuals are tested in `execute`, how people read it in `plan_text`.
Keys here begin after the table's own prefix and end before whatever the metastore appends to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import opaque_parts

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
        index: name of the index; None: the partitions' own keys.
        keys: their number; of an index, entries and the partitions that they lead to.
        complete: whether they were counted to the end; otherwise there are more.
    """

    index: str | None
    keys: int
    complete: bool

    def __str__(self) -> str:
        way = "the partitions' keys" if self.index is None else f"index {self.index}"
        return f"{way}: {'' if self.complete else 'more than '}{self.keys:,}"


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """All ranges that a condition needs: disjoint, in key order, none twice.

    No ranges means that no key can satisfy the condition.

    Attributes:
        scans: the ranges.
        index: whose entries the ranges are about; None: the partitions' own keys.
        estimates: by which the way was chosen, where there was a choice.
        found: keys of the rows that the index leads to, in order, if choosing has found them all.
    """

    scans: tuple[KeyScan, ...]
    index: IndexOrder | None = None
    estimates: tuple[Estimate, ...] = field(default=(), compare=False)
    found: tuple[bytes, ...] | None = field(default=None, compare=False, repr=False)

    @property
    def exact(self) -> bool:
        """Whether every key found surely satisfies the condition; else some of them only may."""
        return not any(scan.residual is not None and opaque_parts(scan.residual.node) for scan in self.scans)

    @property
    def whole(self) -> bool:
        """Whether the plan reads every key of the table, with or without a test."""
        return len(self.scans) == 1 and self.scans[0].start == b"" and self.scans[0].stop is None


EVERYTHING = ScanPlan((KeyScan("range", b"", None, None),))
"""The plan that reads the whole table."""
