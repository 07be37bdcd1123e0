"""For which arrangement the rows of a write are written, partition by partition.

A partition that is made by the write, or overwritten whole, gets the table's arrangement. One that rows are added to
keeps its own, for its other files were written for that. Example: table `t` has had directories for `x = 10` since
yesterday; rows added to the partitions of the days before lie flat, as the rows there do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

import msgspec

from parquetry.keys import successor
from parquetry.layout.arrangement import Arrangement, SkewMap
from parquetry.metastore.partition import Partition
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.scan.plan import KeyScan, ScanPlan

MOST_OWN = 50_000
"""Partitions arranged otherwise than their table that a write tells apart. With more of them, files say nothing of cells."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """For which arrangement rows are written.

    Attributes:
        default: that of all partitions not named below; None: it is not known, and nothing is said of where their rows are.
        own: by their keys, partitions that have another one.
        remade: keys of those among them that are there, without files and with a map yet to be measured: they get
            another arrangement than they have.
        keeps: whether partitions that are there keep their arrangement, as rows are added to them.
        to_measure: the map of new partitions whose heavy values are yet to be found among the rows; None: all are known.
    """

    default: Arrangement | None
    own: Mapping[bytes, Arrangement] = field(default_factory=dict)
    remade: frozenset[bytes] = frozenset()
    keeps: bool = True
    to_measure: SkewMap | None = None

    def arrangement(self, key: bytes) -> Arrangement | None:
        """Return the arrangement of a partition by its key."""
        return self.own.get(key, self.default)

    def measured(self, snapshot: TableSnapshot, maps: Mapping[bytes, SkewMap]) -> Destinations:
        """Return the destinations where heavy values were found.

        Args:
            snapshot: of the table.
            maps: what was found, by the keys of all partitions that rows are written to.
        """
        assert self.default is not None
        there = {part.key: part for part in partitions_of(snapshot, maps)} if self.keeps else {}
        own, remade = {}, []
        for key, skew in maps.items():
            part = there.get(key)
            if part is not None and not _is_unmeasured(part):
                own[key] = part.arrangement
                continue
            own[key] = msgspec.structs.replace(self.default, skew=skew)
            if part is not None:
                remade.append(key)
        if not snapshot.metadata.partition_by:
            return Destinations(next(iter(own.values()), None), {}, frozenset(remade), self.keeps)
        return Destinations(None, own, frozenset(remade), self.keeps)


def destinations_of(snapshot: TableSnapshot, keeps: bool) -> Destinations:
    """Return for which arrangement rows are written that may be of any partition.

    Args:
        snapshot: of the table.
        keeps: whether partitions that are there keep their arrangement, as rows are added to them.
    """
    default = snapshot.metadata.arrangement
    skew = default.skew if default.skew is not None and default.skew.auto is not None else None
    destinations = Destinations(default, keeps=keeps, to_measure=skew)
    if not keeps or (skew is None and snapshot.totals.all_arranged(default)):
        return destinations
    if not snapshot.metadata.partition_by:
        part = snapshot.partition(())
        made = part is None or (skew is not None and _is_unmeasured(part))
        return destinations if part is None or made else Destinations(part.arrangement)
    if skew is not None:
        return destinations  # those of their own are asked for by their keys, once these are known
    others = (part for part in snapshot.partitions() if part.arrangement != default)
    own = {part.key: part.arrangement for part in islice(others, MOST_OWN + 1)}
    return Destinations(None) if len(own) > MOST_OWN else replace(destinations, own=own)


def own_of(arrangements: Mapping[bytes, Arrangement]) -> Destinations:
    """Return the destinations of rows of some partitions whose arrangements are known, by their keys."""
    alike = set(arrangements.values())
    if len(alike) == 1:  # as of a table without partitions, of which rows have no key to be told apart by
        return Destinations(alike.pop())
    return Destinations(None, arrangements)


def partitions_of(snapshot: TableSnapshot, keys: Iterable[bytes]) -> Iterable[Partition]:
    """Return the partitions of some keys, as far as they are there."""
    scans = tuple(KeyScan("get", key, successor(key), None) for key in sorted(keys))
    return snapshot.partitions(ScanPlan(scans))


def _is_unmeasured(part: Partition) -> bool:
    skew = part.arrangement.skew
    return part.file_count == 0 and skew is not None and skew.auto is not None
