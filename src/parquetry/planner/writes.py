"""Prepare a write before Spark runs it: whether it is allowed, the arrangement of its rows, and its
conflicts.

The arrangement is chosen partition by partition. A partition that the write makes or overwrites whole gets
the table's arrangement. A partition that the write adds rows to keeps its own, because its other files were
written for that one. If the table measures its heavy values, the partition's map is extended by the values
that are heavy by now.

Example: table `t` has had directories for `x = 10` since yesterday. Rows that are added to partitions of
earlier days are written without directories, like the rows there.

Writes that the table's other properties do not allow are refused before any row is written.

Tables with the property `auto-compact` are compacted right after a write.

The rows of the write are committed already. So a failure here is a warning in the log, never an error of the
statement: users who see an error write the rows again.

A statement conflicts with commits that change what it has read.

The conditions of the statement's scans define what it read, at the grain of partitions. Runtime filters do
not narrow it. Nor do Spark's results on the existing partitions: others may add partitions that satisfy the
condition. Other tables do not count: a commit is one compare-and-set of one table's head.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from parquetry.compaction import rewrites_after_write
from parquetry.config import AUTO_COMPACT, AUTO_COMPACT_MAX_BYTES, AUTO_COMPACT_MIN_FILES, ISOLATION, Settings
from parquetry.data_files import StatedTuples
from parquetry.definition import Occasion, refuse_values, require_rules
from parquetry.errors import CommitConflictError
from parquetry.identifiers import join_name
from parquetry.keys import successor
from parquetry.layout import REST, ArrangementSpec, Counted, Measuring
from parquetry.metastore import (
    REWRITING_OPERATIONS,
    PartitionSnapshot,
    Successor,
    TableSnapshot,
    Transaction,
    require_own_folder,
)
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import EVALUATED, any_row, conditions, implied_by, types_of
from parquetry.planner.protocol import questions
from parquetry.predicate import Compare, Filter
from parquetry.progress import silent
from parquetry.prune import partition_plan
from parquetry.scan import KeyScan, ScanPlan
from parquetry.types import Value

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
        to_measure: how the heavy values of new partitions are measured in the rows, or None if they are not.
        extends: whether the maps of existing partitions are extended by values that are heavy by now.
        growing: keys of partitions whose maps also include what others have added meanwhile.
    """

    default: ArrangementSpec | None
    own: Mapping[bytes, ArrangementSpec] = field(default_factory=dict)
    remade: frozenset[bytes] = frozenset()
    keeps: bool = True
    to_measure: Measuring | None = None
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
        measuring = self.to_measure
        assert measuring is not None
        stated = StatedTuples(measuring.columns)
        there = {part.key: part for part in partitions_of(snapshot, counts)} if self.keeps else {}
        own: dict[bytes, ArrangementSpec] = {}
        remade: set[bytes] = set()
        growing: set[bytes] = set()
        for key, counted in counts.items():
            part = there.get(key)
            if part is None or _is_unmeasured(part, measuring):
                own[key] = measuring.new_arrangement(counted)
                (growing if part is None else remade).add(key)
            elif not measuring.follows(part.arrangement):
                own[key] = part.arrangement
            else:
                all_rows = _together(part, counted, stated) if self.extends else None
                own[key] = (
                    part.arrangement if all_rows is None else measuring.extend(part.arrangement, all_rows)
                )
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
    measuring = Measuring.from_table(default, snapshot.metadata.columns)
    destinations = Destinations(default, keeps=keeps, to_measure=measuring, extends=extends)
    if not keeps or (measuring is None and snapshot.totals.all_arranged(default)):
        return destinations
    if not snapshot.metadata.partition_by:
        part = snapshot.partition(())
        if part is None or (measuring is not None and _is_unmeasured(part, measuring)):
            return destinations
        grows = measuring is not None and measuring.follows(part.arrangement)
        if grows and extends:
            return destinations
        return Destinations(part.arrangement, growing=frozenset({part.key} if grows else ()))
    if measuring is not None:
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


def _is_unmeasured(part: PartitionSnapshot, measuring: Measuring) -> bool:
    return part.file_count == 0 and measuring.is_due(part.arrangement)


def require_writable_so(lake: Lake, snapshot: TableSnapshot, mode: str, where: Sequence[Filter]) -> None:
    """Make sure that the table allows writes in some mode.

    Args:
        lake: the catalog.
        snapshot: the table.
        mode: of the write, as in `questions.Write`.
        where: the conditions of an overwrite.

    Raises:
        ListBucketingError: the table has directories for heavy values, and a rule forbids the write.
        ForeignWarehouseError: the table's folder belongs to the warehouse that this one is a copy of.
    """
    require_own_folder(snapshot, snapshot.metadata.location)
    staged = lake.staged.get(snapshot.id.hex())
    label = join_name((lake.name, staged.database, staged.name)) if staged else lake.full_name(snapshot)
    is_made = staged is not None or isinstance(snapshot, Successor)
    occasion: Occasion = "create as" if is_made else "append" if mode == "append" else "overwrite"
    require_rules(label, snapshot.metadata, occasion)
    for predicate in where:
        if isinstance(predicate.node, Compare) and predicate.node.op in ("=", "<=>"):
            refuse_values(snapshot, [predicate.node.value])


_LOG = logging.getLogger("parquetry")
_OPERATION = "auto-compact"


def compact_after_write(
    lake: Lake, committed: TableSnapshot, settings: Settings, keys: Collection[bytes]
) -> None:
    """Compact the partitions that a write has changed, if the table's settings say so.

    Args:
        lake: the catalog.
        committed: the version that the write has made.
        settings: of the write.
        keys: of the partitions that it has changed.
    """
    if not settings[AUTO_COMPACT] or not keys:
        return
    try:
        rewrites = rewrites_after_write(
            committed,
            partitions_of(committed, keys),
            settings["target-file-size"],
            settings[AUTO_COMPACT_MIN_FILES],
            settings[AUTO_COMPACT_MAX_BYTES],
        )
        if rewrites:
            table = lake.full_name(committed)
            lake.cache(lake.engine.compact(table, committed, rewrites, _OPERATION, silent))
    except CommitConflictError as conflict:
        _LOG.info("%s is not compacted, as others changed it meanwhile: %s", committed.label, conflict)
    except Exception as error:  # noqa: BLE001  # the engine raises whatever a file system, a codec or Spark does
        _LOG.warning(
            "The rows of a write into %s are committed, but its small files could not be compacted. The next "
            "write or CALL system.compact tries again: %s",
            committed.label, error,
        )  # fmt: skip


OPERATIONS_WITHOUT_NEW_ROWS = REWRITING_OPERATIONS | {
    "delete",
    "truncate",
    "truncate partitions",
    "drop partitions",
}
"""Operations that add no new rows."""


def is_serializable(settings: Settings) -> bool:
    """Return whether everything that a statement reads counts for conflicts."""
    return bool(settings[ISOLATION] == "serializable")


def rely_on_reads(lake: Lake, transaction: Transaction, reads: Sequence[questions.Read]) -> None:
    """Make a transaction conflict with commits that change a partition of its table that the statement read.

    In a transaction of several tables, it conflicts with changes of other tables' partitions, too.

    Args:
        lake: the catalog.
        transaction: that is to be committed.
        reads: of any tables.
    """
    for version, filters in _conditions_read(lake, transaction, reads):
        transaction.requirements.rely_on(
            version, partition_plan(version, filters, indexed=False), REWRITING_OPERATIONS
        )
    if lake.draft is not None:
        for version, filters in _conditions_read(lake, transaction, reads, elsewhere=True):
            transaction.requirements.rely_on_other(
                version, partition_plan(version, filters, indexed=False), REWRITING_OPERATIONS
            )


def rely_on_search(
    lake: Lake,
    transaction: Transaction,
    reads: Iterable[questions.Read],
    searched_by: Sequence[str],
    inserted: Collection[tuple[Value, ...]],
) -> None:
    """Make a transaction conflict with additions to partitions where a MERGE found no match for new rows.

    Args:
        lake: the catalog.
        transaction: that is to be committed.
        reads: where it searched.
        searched_by: partition columns that have the same value in a match as in the inserted row.
        inserted: the values of the partitions that rows were inserted into, and perhaps of more.
    """
    if not inserted:
        return
    metadata = transaction.base.metadata
    positions = [position for position, name in enumerate(metadata.partition_by) if name in searched_by]
    values = {tuple(row[position] for position in positions) for row in inserted}
    names = [metadata.partition_by[position] for position in positions]
    here = (
        [any_row(names, [metadata.partition_types[position] for position in positions], list(values))]
        if names
        else []
    )
    for version, filters in _conditions_read(lake, transaction, reads):
        transaction.requirements.rely_on(
            version, partition_plan(version, [*filters, *here], indexed=False), OPERATIONS_WITHOUT_NEW_ROWS
        )


def _conditions_read(
    lake: Lake, transaction: Transaction, reads: Iterable[questions.Read], *, elsewhere: bool = False
) -> Iterator[tuple[TableSnapshot, list[Filter]]]:
    """Yield the versions that were read, of the transaction's table or of others, with the conditions."""
    for read in reads:
        if (read.table.id != transaction.base.id.hex()) is elsewhere:
            version = lake.snapshot(read.table)
            yield version, [_lasting(version, tree) for tree in read.predicates]


def _lasting(version: TableSnapshot, tree: dict[str, Any]) -> Filter:
    """Return the part of a condition that also applies to partitions which others may add."""
    if tree.get("fn") == EVALUATED:
        return implied_by(tree, types_of(version))
    return conditions(version, [tree])[0].filter
