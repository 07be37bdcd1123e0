"""Offsets of time zones from UTC, for functions that convert between instants and local times.

The offsets come with a condition, from the JVM that evaluates it on rows: Python's own may be of another
year's rules. A zone without offsets is any zone: between 18 hours behind UTC and 18 hours ahead.

A conversion has an earliest and a latest result, since clocks are set back and forward. Within two days of a
change the two differ, mostly by an hour; elsewhere they are the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from parquetry.temporal import MICROS_PER_DAY, MICROS_PER_SECOND

_MOST_OFFSET = 18 * 3600 * MICROS_PER_SECOND
_AROUND = 44 * 3600 * MICROS_PER_SECOND
"""The sum of the greatest offset, 18 hours, and of the greatest change of a clock, a day (Samoa in 2011), and
of two hours. A change further away cannot exchange the order of two times."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone.

    Attributes:
        starts: the instants, in microseconds, at which an offset begins; the first one begins before all.
        offsets: from UTC in microseconds, one more than `starts`; None is not known.
    """

    starts: tuple[int, ...] = ()
    offsets: tuple[int | None, ...] = field(default=(None,))

    @classmethod
    def from_seconds(cls, changes: Sequence[Sequence[int | None]]) -> Zone:
        """Return the zone of pairs of a second, at which an offset begins, and the offset in seconds.

        >>> Zone.from_seconds([[None, 0], [86400, 3600]]).offsets_near(0)
        (0, 3600000000)
        """
        starts = [start * MICROS_PER_SECOND for start, _ in changes[1:] if start is not None]
        offsets = [None if offset is None else offset * MICROS_PER_SECOND for _, offset in changes]
        return cls(tuple(starts), tuple(offsets))

    def offsets_near(self, instant: int) -> tuple[int, int]:
        """Return the least and the greatest offset within two days of an instant."""
        if not self.starts:
            near = self.offsets
        else:
            first = bisect_right(self.starts, instant - _AROUND)
            near = self.offsets[first : bisect_right(self.starts, instant + _AROUND) + 1]
        offsets = [offset for offset in near if offset is not None]
        if len(offsets) < len(near):
            return -_MOST_OFFSET, _MOST_OFFSET
        return min(offsets), max(offsets)

    def local(self, instant: int, end: int) -> int:
        """Return the earliest (`end` -1) or latest local time of an instant, in microseconds.

        With -1 it is not above the local time of this instant or of any later one, with 1 not below the
        local time of this instant or of any earlier one.
        """
        least, greatest = self.offsets_near(instant)
        return instant + (least if end < 0 else greatest)

    def instant(self, local: int, end: int) -> int:
        """Return the earliest or latest instant of a local time, in the same sense.

        >>> Zone.from_seconds([[None, 3600]]).instant(3600 * 1_000_000, -1)
        0
        """
        least, greatest = self.offsets_near(local)
        return local - (greatest if end < 0 else least)

    def days(self, instant: int, end: int) -> int:
        """Return the earliest or latest local date, in days, of an instant."""
        return self.local(instant, end) // MICROS_PER_DAY

    def midnight(self, day: int, end: int) -> int:
        """Return the earliest or latest instant of a day's midnight."""
        return self.instant(day * MICROS_PER_DAY, end)


UNKNOWN_ZONE = Zone()
UTC = Zone(offsets=(0,))
