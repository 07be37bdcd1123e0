"""The plan of a scan: the ranges of keys to read, and the residual to test on each key.

`generate` makes plans, `execute` tests residuals, and `plan_text` writes a plan for people. Keys here begin
after the table's own prefix, and end before the bytes that the metastore appends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from parquetry.predicate import Filter, opaque_parts

ScanKind: TypeAlias = Literal["get", "range", "index"]


@dataclass(frozen=True, slots=True)
class KeyScan:
    """One range of keys.

    Attributes:
        kind: `get` for one whole key, `index` for a range of an index's entries, else `range`.
        start: the first key of the range; for a get, the key itself.
        stop: the first bytes after the range, or None for the end. A get's stop is the successor of its key,
            so a scan from start to stop finds the key with any appended bytes.
        residual: the condition that a key in the range must also satisfy, or None.
    """

    kind: ScanKind
    start: bytes
    stop: bytes | None
    residual: Filter | None


@dataclass(frozen=True, slots=True)
class IndexOrder:
    """An index to scan instead of the partitions' own keys.

    Attributes:
        name: the index's name.
        id: its id in hexadecimal; the keys of its entries begin with it.
        order: the positions of a partition key's fields, in the order of the index's fields.
    """

    name: str
    id: str
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """The number of keys that an access path examines.

    Attributes:
        indexes: the names of the indexes that are read.
        own_keys: whether the partitions' own keys are read, alone or besides indexes.
        keys: the number of keys; for an index, its entries and the partitions that they lead to.
        complete: whether the keys were counted to the end.
        sampled: whether the number is an estimate from a sample of the table's keys. If it is neither
            complete nor sampled, there are more keys.
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
    """The ranges of keys to read for a condition on partition columns.

    ## What it is

    The metastore stores a partition under a key: the encoded values of its partition columns, which sort in
    the order of the values. A plan turns a condition into ranges of such keys (`scans`). They are disjoint
    and in key order, so each key is read at most once. A range has a residual, a condition to test on each of
    its keys, if the range alone does not decide the condition. A plan without ranges means that no key can
    satisfy the condition.

    ## Example

    A table has 1,000 days of 500 regions, so 500,000 partitions with the key (day, region).

    >>> from parquetry.key_schema import KeySchema
    >>> from parquetry.predicate import parse_filter
    >>> from parquetry.scan import plan_scan
    >>> from parquetry.scan.plan_text import plan_text
    >>> from parquetry.types import parse_type
    >>> types = {"day": parse_type("date"), "region": parse_type("string")}
    >>> schema = KeySchema.from_columns(list(types.items()))
    >>> def show(condition):
    ...     print(plan_text(plan_scan(parse_filter(condition, types), schema), schema))
    >>> show("day IN ('2026-03-01', '2026-03-02') AND region = 'eu'")
    get day = 2026-03-01, region = 'eu'
    get day = 2026-03-02, region = 'eu'
    >>> show("day >= '2026-03-01' AND day <= '2026-03-31' AND region LIKE '%u'")
    scan day >= 2026-03-01, day < 2026-04-01 where region LIKE '%u'
    >>> show("region = 'eu'")
    scan everything where region = 'eu'

    The first plan reads 2 keys, the second 31 x 500 = 15,500 keys, the third all 500,000. A skip scan
    (`metastore.partition_rows.skip_scan`) reads 1,000 keys of the third one and seeks 1,000 days. With an
    index on `region`, it would read the 1,000 entries of 'eu'.

    A *union* reads some branches of an OR by the partitions' own keys, and others by indexes. Take the key
    (day, store) with an index on `store`:

        day = 77 OR store = 'zz'        scan day = 77

                                        by index store: scan index store = 'zz'

    The partition (77, 'zz') is in both parts. It is read once: a partition found by an index is skipped if a
    range of `scans` contains it.

    ## What it is not

    It is not a plan for files: `prune` selects the files of the partitions. It does not depend on the table's
    content, except for the choice of an index (`estimates`), so a plan without indexes is valid for every
    version of the table.

    ## Why not otherwise

    Reading all keys and testing each would be simpler, but takes seconds for a million partitions. Turning
    each leaf into a range and intersecting the ranges multiplies them (see `generate`, which splits the
    condition along one column after the other, within a budget).

    References: PostgreSQL's multicolumn B-tree scans, whose index conditions and filters correspond to ranges
    and residuals; HBase's `MultiRowRangeFilter`.

    Attributes:
        scans: the ranges.
        index: the index whose entries the ranges are about, or None for the partitions' own keys.
        by_indexes: for a union the plans by indexes, one for each index.
        estimates: the estimates of the access paths, if there was a choice.
        row_keys: the keys of the rows that the indexes lead to, in order, if the choice has found them all;
            else None.
        counted: the number of keys in `scans`, if the choice has counted them, or None.
    """

    scans: tuple[KeyScan, ...]
    index: IndexOrder | None = None
    by_indexes: tuple[ScanPlan, ...] = ()
    estimates: tuple[Estimate, ...] = field(default=(), compare=False)
    row_keys: tuple[bytes, ...] | None = field(default=None, compare=False, repr=False)
    counted: int | None = field(default=None, compare=False, repr=False)

    @property
    def exact(self) -> bool:
        """Whether every key found certainly satisfies the condition; otherwise some keys only may."""
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

    @property
    def only_gets(self) -> bool:
        """Whether the plan looks for single keys, each of one partition at most."""
        return not self.by_indexes and all(scan.kind == "get" for scan in self.scans)

    def scan_containing(self, key: bytes) -> KeyScan | None:
        """Return the range of `scans` that contains a key, without testing its residual, or None."""
        position = bisect_right(self.scans, key, key=lambda scan: scan.start)
        scan = self.scans[position - 1] if position else None
        return scan if scan is not None and (scan.stop is None or key < scan.stop) else None

    def starting_at(self, start: bytes) -> ScanPlan:
        """Return the part of the plan that reads a key and the keys behind it.

        Ranges of an index stay, as they have no keys of partitions: the caller leaves out what comes before.

        >>> plan = ScanPlan((KeyScan("get", b"a", b"b", None), KeyScan("range", b"c", None, None)))
        >>> [scan.start for scan in plan.starting_at(b"d").scans]
        [b'd']
        """
        if self.index is not None:
            scans = self.scans
        else:
            left = [scan for scan in self.scans if scan.stop is None or scan.stop > start]
            scans = tuple(
                replace(scan, start=start) if scan.start < start else scan
                for scan in left
                if scan.kind != "get" or scan.start >= start
            )
        row_keys = None if self.row_keys is None else self.row_keys[bisect_left(self.row_keys, start) :]
        return replace(self, scans=scans, row_keys=row_keys)

    def reads_key(self, key: bytes) -> bool:
        """Return whether one of the ranges of `scans` contains a key."""
        return self.scan_containing(key) is not None


EVERYTHING = ScanPlan((KeyScan("range", b"", None, None),))
"""The plan that reads the whole table."""
