"""Find the partitions by a scan plan over their keys, and test the values of those it finds where needed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import msgspec
from msgspec.structs import replace

from parquetry.metastore import PartitionSnapshot, RangedPartitions, open_ranges
from parquetry.predicate import EVERY_ROW, match
from parquetry.prune.condition import Condition
from parquetry.prune.partition_plans import (
    find_partitions,
    on_partitions,
    partition_knowledge,
    partition_plan,
)
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.tally import Tally


class PartitionRule(Rule):
    """The first rule: it reads from the metastore only the key ranges of its plan.

    A table without partition columns has one partition, and no step in the report.
    """

    name = "partitions"
    kept_text = "partitions read"
    of_text = "partitions of the table"
    names_together = True
    is_first = True

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Read the partitions that can hold an answer, but not their files."""
        tally = Tally()
        partitions, seeks = _partitions(scan, tally)
        remaining = replace(remaining, partitions=partitions)
        if not scan.partition_by:
            return remaining, None

        def reason(condition: Condition) -> str:
            if condition in tally or condition.decided_by(scan.partition_by):
                return "every partition may hold a match"
            other = sorted(condition.about - scan.partition_by)
            if len(other) == 1:
                return f"column {other[0]} is not a partition column"
            if other:
                return f"columns {', '.join(other)} are not partition columns"
            return condition.not_understood or "not understood"

        of = scan.snapshot.totals.partitions
        step = tally.step(self, len(partitions), of, scan.conditions, reason)
        return remaining, msgspec.structs.replace(step, seeks=seeks)


def _ranged_partitions(scan: PruningRequest) -> RangedPartitions | None:
    """Return the partitions by range manifests, if data columns and key ranges decide, or None."""
    names = scan.partition_by
    if not scan.snapshot.ranges or not any(condition.about - names for condition in scan.conditions):
        return None
    if any(
        on_partitions(condition.filter, names) is not None and not condition.decided_by(names)
        for condition in scan.conditions
    ):
        return None  # its partitions need a second test
    filters = [condition.filter for condition in scan.conditions]
    return open_ranges(scan.snapshot, partition_plan(scan.snapshot, filters, indexed=False))


def _partitions(scan: PruningRequest, tally: Tally) -> tuple[Sequence[PartitionSnapshot], int]:
    """Return the partitions, and the seeks of the skip scan that found them."""
    snapshot, names = scan.snapshot, scan.partition_by
    ranged = _ranged_partitions(scan)
    if ranged is not None:
        for condition in scan.conditions:
            if condition.decided_by(names) and on_partitions(condition.filter, names) not in (
                None,
                EVERY_ROW,
            ):
                tally.serve(condition)
        return ranged, 0
    partitions, exact, seeks = find_partitions(
        snapshot, [condition.filter for condition in scan.conditions], scan.recent
    )
    parts = [on_partitions(condition.filter, names) for condition in scan.conditions]
    if not names or all(part is None for part in parts):
        return partitions, seeks
    for condition, part in zip(scan.conditions, parts, strict=True):
        if part not in (None, EVERY_ROW):
            tally.serve(condition)
    # Conditions that an exact plan decides need no second test; one that is also about data columns may prune
    # more.
    again = [
        condition
        for condition in scan.conditions
        if condition.about & names and not (exact and condition.decided_by(names))
    ]
    if not again:
        return partitions, seeks
    knowledge = partition_knowledge(snapshot.metadata, partitions)
    answers = tally.combine(again, [match(condition.filter, knowledge) for condition in again])
    return list(compress(partitions, answers.tolist())), seeks
