"""Skip scans: jumping from one value of the leading columns to the next, while that pays.

Whether jumps pay depends on the table: twenty regions of a
thousand days take 20 seeks in place of 20,000 keys, and a thousand regions of twenty days gain nothing. No
statistics of values are stored, so a skip scan looks while it reads:

1. It finds the first values, and counts the keys between them, up to twice the cost of the jumps. A store
   counts keys some fifty times as fast as it returns rows.
2. If the jumps have passed so many keys, the values' pieces are read, and four times as many values are next.
3. If not, these keys are read in order. After two such pages, so are all the others.

So a skip scan that gains nothing costs some eight seeks more than a plain scan. A store that tests conditions
itself passes unwanted keys fast; its `costs` say what a jump must gain there.

The range of keys is read in jumps: from one value of its leading columns to the next.

Take a range of keys whose residual is about a later column. Its wanted keys are in small pieces. Each value
of the leading columns has some, and a plan for the rest of the key selects them. With the key (region, day)
and `day = 7`, the wanted keys are

    (region, 7) for each region:    'eu', 7    'jp', 7    'us', 7

A *skip scan* seeks the first key of the range, learns its region, reads the key (region, 7), and seeks the
first key behind the region. Twenty regions of a thousand days take 20 seeks in place of 20,000 keys. `Jumps`
plans the pieces of a region.

References: Leslie, Jain, Birdsall and Yaghmai, *Efficient Search of Multi-Dimensional B-Trees*, VLDB 1995;
Oracle's index skip scan; PostgreSQL 18's skip scan of B-trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.metastore.partition_rows.visible_rows import Examined, VisibleRows
from parquetry.predicate import Filter, columns_of
from parquetry.scan import KeyScan, NestedCondition, scans_condition, whole_field
from parquetry.store import Range, ReadCosts

PAYOFF = 2
"""Keys that jumps must pass, as a multiple of the keys that could be read in their time."""
MIN_JUMPS, MAX_JUMPS, JUMPS_GROWTH_FACTOR = 4, 512, 4
"""Values that are found together: at first (or more, if a request is expensive), at most, and the growth
factor while jumps pay."""
MIN_EXPENSIVE_JUMPS = 2
"""Values that are found at first in a store that counts keys no faster than it tests them."""
VALUES_PER_COUNTED_VALUE = 4
"""Values for each value whose keys such a store counts."""
REQUESTS_PER_PAGE = 3
"""Requests for some values: to find them, to count the keys between them, and to read their pieces."""
MAX_UNPAID_PAGES = 2
"""Pages of values without a gain, one after another, after which the rest is read in order."""
MIN_KEYS_PER_JUMP_COST = 12
"""Keys of a range, as a multiple of the cost of the first jumps. With fewer, jumps that do not pay would cost
more than a tenth of the plain scan."""
MAX_COUNTED_KEYS = 1 << 16
"""Keys counted, at most, to compare the pieces of the first values with all keys of these values."""


def skip_scan(
    visible: VisibleRows,
    scans: Sequence[KeyScan],
    schema: KeySchema,
    examined: Examined | None,
    counted: int | None = None,
    depth: int = 0,
) -> Iterator[Sequence[KeyScan]]:
    """Yield the ranges to read in place of a plan's ranges, some at a time, in the order of their keys.

    Every visible key that satisfies the residual of its range is in one of the yielded ranges, and satisfies
    that one's residual. Every key that satisfies the latter satisfies the former.

    Args:
        visible: visible rows of the version to read.
        scans: disjoint ranges, in order.
        schema: the fields of the keys.
        examined: counts the keys read to find the values.
        counted: the number of keys in the ranges, if it is known.
        depth: number of columns that jumps have fixed.
    """
    tested = [scan for scan in scans if scan.residual is not None and scan.kind != "get"]
    costs = visible.costs
    if costs is None or not tested or visible.is_listed:
        yield scans
        return
    reader = _SkipReader(visible, scans, schema, costs, examined)
    # To count the keys of one value of the first column takes a request, and mostly they are few.
    within_values = costs.request > 0 and all(fixed_fields(scan, schema) > depth for scan in tested)
    if (counted is None and within_values) or not reader.is_long(tested, counted):
        yield scans
        return
    jumps = {id(scan): each for scan in tested if (each := Jumps.from_scan(scan, schema)) is not None}
    plain: list[KeyScan] = []
    for scan in scans:
        if id(scan) not in jumps:
            plain.append(scan)
            continue
        if plain:
            yield plain
            plain = []
        yield from reader.read(scan, jumps[id(scan)])
    if plain:
        yield plain


class _SkipReader:
    """Reads ranges in jumps.

    Args:
        visible: visible rows of the version to read.
        scans: the ranges.
        schema: the fields of the keys.
        costs: what reading costs in the store.
        examined: counts the keys read to find values.

    Attributes:
        worth: keys that a range must have.
    """

    def __init__(
        self,
        visible: VisibleRows,
        scans: Sequence[KeyScan],
        schema: KeySchema,
        costs: ReadCosts,
        examined: Examined | None,
    ) -> None:
        self._visible, self._schema, self._costs, self._examined = visible, schema, costs, examined
        tests = visible.leaves_out and scans_condition(scans, schema) is not None
        self._passed_key = costs.tested if tests else 1.0
        self._counts_fast = costs.counted <= costs.tested
        fewest = MIN_JUMPS if self._counts_fast else MIN_EXPENSIVE_JUMPS
        self._first = max(fewest, round(costs.request / max(costs.seek, 1)))
        gain = self._gain(self._first) * (1 if self._counts_fast else PAYOFF)  # only one value is counted
        worth = max(gain, MIN_KEYS_PER_JUMP_COST * self._first * costs.seek)
        self.worth = math.ceil(worth)

    def _gain(self, jumps: int) -> float:
        """Return how many keys jumps must pass to pay."""
        cost = REQUESTS_PER_PAGE * self._costs.request + jumps * self._costs.seek
        return PAYOFF * cost / self._passed_key

    def is_long(self, scans: Sequence[KeyScan], counted: int | None) -> bool:
        """Return whether ranges have so many keys that jumps may pay in each.

        Args:
            scans: the ranges.
            counted: the number of their keys, if it is known.
        """
        number = self.worth * len(scans)
        if counted is not None or self._visible.partitions < number:
            return (counted or 0) >= number
        whole = any(scan.start == b"" and scan.stop is None for scan in scans)
        return whole or not self._counts_fast or self._visible.count(_ranges(scans), number) >= number

    def read(self, scan: KeyScan, jumps: Jumps) -> Iterator[Sequence[KeyScan]]:
        """Yield the ranges to read in place of one range."""
        size, unpaid = self._first, 0
        plain: bytes | None = scan.start
        after: bytes | None = scan.start
        while after is not None and unpaid < MAX_UNPAID_PAGES:
            start = after
            keys, after = self._visible.leading_keys((start, scan.stop), jumps.leading, jumps.width, size)
            if self._examined is not None:
                self._examined.keys += len(keys)
                self._examined.seeks += len(keys)
            pieces = self._pieces(keys, (start, scan.stop if after is None else after), jumps, size)
            if pieces is None:
                unpaid += 1
                continue
            unpaid, size = 0, min(size * JUMPS_GROWTH_FACTOR, MAX_JUMPS)
            if plain is not None and plain < start:
                yield (KeyScan("range", plain, start, scan.residual),)
            plain = after
            if pieces:
                yield from skip_scan(self._visible, pieces, self._schema, self._examined, depth=jumps.leading)
        if plain is not None:
            yield (KeyScan("range", plain, scan.stop, scan.residual),)

    def _pieces(self, keys: list[bytes], passed: Range, jumps: Jumps, size: int) -> list[KeyScan] | None:
        """Return the pieces of values, or None if it does not pay to read them in place of all keys.

        Args:
            keys: a key of each value.
            passed: the range of the values' keys.
            jumps: plans the pieces of a value.
            size: number of values that were looked for.
        """
        some = len(keys)  # values whose keys are counted
        if not self._counts_fast and some > 1:
            some = max(1, some // VALUES_PER_COUNTED_VALUE)
            passed = (passed[0], keys[some])
        gain = math.ceil(self._gain(len(keys)) * some / len(keys)) if keys else 0
        if self._visible.count([passed], gain) < gain:
            return None
        pieces = [jumps.scans(key) for key in keys]
        counted = [piece for each in pieces[:some] for piece in each]
        compared = size <= self._first * JUMPS_GROWTH_FACTOR and any(piece.kind != "get" for piece in counted)
        if compared and not self._are_fewer(counted, passed, gain):
            return None
        return [piece for each in pieces for piece in each]

    def _are_fewer(self, pieces: Sequence[KeyScan], passed: Range, gain: int) -> bool:
        """Return whether pieces have so many fewer keys than the range that they are in."""
        ranges = _ranges(pieces)
        bound = len(ranges) + 1
        least = 0  # the pieces have at least so many keys
        while least < MAX_COUNTED_KEYS:
            keys = self._visible.count([passed], gain + bound)
            if keys < gain + least:
                return False
            wanted = self._visible.count(ranges, bound)
            if wanted < bound:
                return keys >= gain + wanted
            least, bound = bound, 4 * bound
        return False


def _ranges(scans: Sequence[KeyScan]) -> list[Range]:
    return [(scan.start, scan.stop) for scan in scans]


class Jumps:
    """The pieces of a range of keys, planned for each value of its leading columns.

    Attributes:
        leading: number of leading columns: the range fixes some of them, and the jumps are over the others.
    """

    def __init__(self, scan: KeyScan, residual: Filter, schema: KeySchema, leading: int) -> None:
        self.leading = leading
        self._scan = scan
        self._residual = residual
        self._fields = schema.fields[:leading]
        self._nested = NestedCondition(residual, schema, leading)

    @classmethod
    def from_scan(cls, scan: KeyScan, schema: KeySchema) -> Jumps | None:
        """Return how a range is read in jumps, or None if its residual is not about a later column.

        Args:
            scan: the range.
            schema: the schema of its keys.
        """
        if scan.residual is None or scan.kind == "get":
            return None
        fixed = fixed_fields(scan, schema)
        positions = sorted(map(schema.position, columns_of(scan.residual.node)))
        for leading in (position for position in positions if position > fixed):
            jumps = cls(scan, scan.residual, schema, leading)
            if positions[0] < leading or not jumps._nested.reads_all():
                return jumps
        return None

    def width(self, key: bytes) -> int:
        """Return how many bytes of a key its leading columns have; of a key of other columns, all."""
        return sum(self._widths(key)) or len(key)

    def scans(self, key: bytes) -> tuple[KeyScan, ...]:
        """Return the pieces of the range with the same leading values as a key, in order.

        For a key from before a change of the partition columns, it is the key alone.
        """
        widths = self._widths(key)
        if not widths:
            return (KeyScan("range", key, successor(key), self._residual),)
        fields = [key[start:end] for start, end in pairwise((0, *accumulate(widths)))]
        return tuple(
            piece for scan in self._nested.scans(fields) if (piece := _within(scan, self._scan)) is not None
        )

    def _widths(self, key: bytes) -> list[int]:
        """Return the widths of a key's leading fields, or an empty list if it does not begin with them."""
        widths: list[int] = []
        start = 0
        for field in self._fields:
            width = whole_field(field, key[start:])
            if not width:
                return []
            widths.append(width)
            start += width
        return widths


def fixed_fields(scan: KeyScan, schema: KeySchema) -> int:
    """Return how many first columns have one value in all keys of a range."""
    end = 0
    for number, field in enumerate(schema.fields):
        width = whole_field(field, scan.start[end:])
        after = successor(scan.start[: end + width])
        if not width or (after is not None and (scan.stop is None or scan.stop > after)):
            return number
        end += width
    return len(schema)


def _within(scan: KeyScan, outer: KeyScan) -> KeyScan | None:
    """Return the part of a range that is in another, or None if there is none."""
    start = max(scan.start, outer.start)
    stops = [stop for stop in (scan.stop, outer.stop) if stop is not None]
    stop = min(stops, default=None)
    if (start, stop) == (scan.start, scan.stop):
        return scan
    if stop is not None and start >= stop:
        return None
    return KeyScan("range", start, stop, scan.residual)
