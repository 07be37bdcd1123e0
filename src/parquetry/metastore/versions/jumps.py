"""Read a range of keys in jumps: from one value of its leading columns to the next.

Take a range of keys whose residual is about a later column. Its wanted keys are in small pieces. Each value
of the leading columns has some, and a plan for the rest of the key selects them. With the key (region, day)
and `day = 7`, the wanted keys are

    (region, 7) for each region:    'eu', 7    'jp', 7    'us', 7

A *skip scan* seeks the first key of the range, learns its region, reads the key (region, 7), and seeks the
first key behind the region. Twenty regions of a thousand days take 20 seeks in place of 20,000 keys. The
reader decides whether that pays (`skip_scan`); this module plans the pieces of a region.

References: Leslie, Jain, Birdsall and Yaghmai, *Efficient Search of Multi-Dimensional B-Trees*, VLDB 1995;
Oracle's index skip scan; PostgreSQL 18's skip scan of B-trees.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.predicate import Filter, columns_of
from parquetry.scan import KeyScan, NestedCondition, whole_field


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
