"""Choose the arrangement for the rows of a write, partition by partition.

A partition that the write makes or overwrites whole gets the table's arrangement. A partition that the write
adds rows to keeps its own, because its other files were written for that one. If the table measures its heavy
values, the partition's map is extended by the values that are heavy by now.

Example: table `t` has had directories for `x = 10` since yesterday. Rows that are added to partitions of
earlier days are written without directories, like the rows there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

import msgspec

from parquetry.data_files import StatedTuples
from parquetry.keys import successor
from parquetry.layout import (
    REST,
    ArrangementSpec,
    Counted,
    SkewMap,
    choose,
    extend_map,
    is_measured_by,
    make_measured_map as map_of,
    skewed_columns,
)
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.scan import KeyScan, ScanPlan

MAX_OWN_ARRANGEMENTS = 50_000
"""Most partitions with their own arrangement that a write distinguishes. Beyond it, files record no cells."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """The arrangements that rows are written in.

    Attributes:
        default: the arrangement of all partitions not named below, or None if it is unknown. Then files do
            not record where their rows are.
        own: by their keys, partitions that have another arrangement.
        remade: keys of such partitions that exist without files, while their map is yet to be measured. They
            get another arrangement than they have.
        keeps: whether existing partitions keep their arrangement, because rows are added to them.
        to_measure: the map of new partitions whose heavy values have to be found in the rows, or None if
            there is none.
        extends: whether the maps of existing partitions are extended by values that are heavy by now.
        growing: keys of partitions whose maps also include what others have added meanwhile.
    """

    default: ArrangementSpec | None
    own: Mapping[bytes, ArrangementSpec] = field(default_factory=dict)
    remade: frozenset[bytes] = frozenset()
    keeps: bool = True
    to_measure: SkewMap | None = None
    extends: bool = True
    growing: frozenset[bytes] = frozenset()

    def arrangement(self, key: bytes) -> ArrangementSpec | None:
        """Return the arrangement of a partition by its key."""
        return self.own.get(key, self.default)

    def measured(self, snapshot: TableSnapshot, counts: Mapping[bytes, Counted]) -> Destinations:
        """Return the destinations after heavy values were measured.

        Args:
            snapshot: of the table.
            counts: how often values occur in the rows, by the keys of all partitions that get rows.
        """
        skew = self.to_measure
        assert self.default is not None
        assert skew is not None
        assert skew.auto is not None
        columns = skewed_columns(snapshot.metadata.columns, skew)
        types = [column.column_type for column in columns]
        stated = StatedTuples(columns)
        there = {part.key: part for part in partitions_of(snapshot, counts)} if self.keeps else {}
        own: dict[bytes, ArrangementSpec] = {}
        remade: set[bytes] = set()
        growing: set[bytes] = set()
        for key, counted in counts.items():
            part = there.get(key)
            if part is None or _is_unmeasured(part):
                cells = choose(counted.counts, counted.rows, skew.auto, skew.columns, types)
                own[key] = msgspec.structs.replace(self.default, skew=map_of(skew, cells))
                (growing if part is None else remade).add(key)
            elif not is_measured_by(part.arrangement, skew, columns):
                own[key] = part.arrangement
            else:
                now = part.arrangement.skew
                assert now is not None
                if self.extends and (all_rows := _together(part, counted, stated)) is not None:
                    now = extend_map(now, all_rows, skew.auto, types)
                own[key] = msgspec.structs.replace(part.arrangement, skew=now)
                growing.add(key)
        default = None if snapshot.metadata.partition_by else next(iter(own.values()), None)
        return Destinations(
            default,
            own if snapshot.metadata.partition_by else {},
            frozenset(remade),
            self.keeps,
            growing=frozenset(growing),
        )


def plan_destinations(snapshot: TableSnapshot, keeps: bool, extends: bool = True) -> Destinations:
    """Return the arrangements for rows that may belong to any partition.

    Args:
        snapshot: of the table.
        keeps: whether existing partitions keep their arrangement, because rows are added to them.
        extends: whether their maps are extended by values that are heavy by now, if the table measures heavy
            values.
    """
    default = snapshot.metadata.arrangement
    skew = default.skew if default.skew is not None and default.skew.auto is not None else None
    destinations = Destinations(default, keeps=keeps, to_measure=skew, extends=extends)
    if not keeps or (skew is None and snapshot.totals.all_arranged(default)):
        return destinations
    if not snapshot.metadata.partition_by:
        part = snapshot.partition(())
        if part is None or (skew is not None and _is_unmeasured(part)):
            return destinations
        grows = skew is not None and is_measured_by(
            part.arrangement, skew, skewed_columns(snapshot.metadata.columns, skew)
        )
        if grows and extends:
            return destinations
        return Destinations(part.arrangement, growing=frozenset({part.key} if grows else ()))
    if skew is not None:
        return destinations  # partitions are looked up once their keys are known
    others = (part for part in snapshot.partitions() if part.arrangement != default)
    own = {part.key: part.arrangement for part in islice(others, MAX_OWN_ARRANGEMENTS + 1)}
    return Destinations(None) if len(own) > MAX_OWN_ARRANGEMENTS else replace(destinations, own=own)


def own_destinations(arrangements: Mapping[bytes, ArrangementSpec]) -> Destinations:
    """Return the destinations of rows whose partitions' arrangements are known, by key."""
    alike = set(arrangements.values())
    if len(alike) == 1:  # one for all rows: rows of a table without partitions, for instance, have no key
        return Destinations(alike.pop())
    return Destinations(None, arrangements)


def partitions_of(snapshot: TableSnapshot, keys: Iterable[bytes]) -> Iterable[PartitionSnapshot]:
    """Return the existing partitions among some keys."""
    scans = tuple(KeyScan("get", key, successor(key), None) for key in sorted(keys))
    return snapshot.partitions(ScanPlan(scans))


def _together(part: PartitionSnapshot, added: Counted, stated: StatedTuples) -> Counted | None:
    """Return lower bounds of value counts after the write, or None if the rows were never counted.

    Statistics of existing files count only if the partition's own record lists these files: no other list is
    read.
    """
    rows = part.entry.rows
    if rows is None:
        return None
    before = (
        {}
        if part.entry.chunks
        else stated.counts(file for file in part.files if file.cell is None or file.cell == REST)
    )
    counts = {cell: count + before.get(cell, 0) for cell, count in added.counts.items()}
    return Counted(added.partition, rows + added.rows, counts)


def _is_unmeasured(part: PartitionSnapshot) -> bool:
    skew = part.arrangement.skew
    return part.file_count == 0 and skew is not None and skew.auto is not None
