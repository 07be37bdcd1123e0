"""The plan of a scan: which ranges of keys to read, and what to test on each key.

How a plan comes about is in `generate`, how its rows are fetched in `execute`. Keys here begin after the
table's own prefix and end before whatever the metastore appends to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from parquetry.predicate.nodes import Predicate, opaque_parts

ScanKind: TypeAlias = Literal["get", "range"]


@dataclass(frozen=True, slots=True)
class KeyScan:
    """One range of keys.

    Attributes:
        kind: `get` for one whole key, of which all values are known; else `range`.
        start: the first key that may belong to it; of a get, the key itself.
        stop: the first bytes after it; None is the end. A get's stop is the successor of its key, so a scan
            from start to stop finds it, whatever is appended to the key.
        residual: what a key in the range must satisfy besides; None is nothing.
    """

    kind: ScanKind
    start: bytes
    stop: bytes | None
    residual: Predicate | None

    def __str__(self) -> str:
        if self.kind == "get":
            text = f"get {self.start.hex()}"
        else:
            text = f"scan [{self.start.hex()}, {'' if self.stop is None else self.stop.hex()})"
        return text if self.residual is None else f"{text} where {self.residual}"


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """All ranges that a condition needs: disjoint, in key order, none twice.

    No ranges means that no key can satisfy the condition.
    """

    scans: tuple[KeyScan, ...]

    @property
    def exact(self) -> bool:
        """Whether every key found surely satisfies the condition; else some of them only may."""
        return not any(scan.residual is not None and opaque_parts(scan.residual) for scan in self.scans)

    @property
    def whole(self) -> bool:
        """Whether the plan reads every key of the table, with or without a test."""
        return len(self.scans) == 1 and self.scans[0].start == b"" and self.scans[0].stop is None

    def __str__(self) -> str:
        return "\n".join(map(str, self.scans)) or "nothing to scan"


EVERYTHING = ScanPlan((KeyScan("range", b"", None, None),))
"""The plan that reads the whole table."""
