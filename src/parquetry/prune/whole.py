"""Find the partitions that a DELETE can drop whole, without rewriting a file.

Either every row of a partition satisfies the condition, or none does; a partition of which only some rows may
is a reason not to. Dropping them is the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.metastore.snapshot import Partition, TableSnapshot
from parquetry.predicate.filter import Filter
from parquetry.predicate.match import Match, match_values
from parquetry.predicate.nodes import And, columns_of, opaque_parts
from parquetry.prune.files import FileMatcher
from parquetry.prune.partitions import plan_partitions


def whole_partitions(snapshot: TableSnapshot, predicates: Sequence[Filter]) -> list[Partition] | str:
    """Return the partitions all rows of which satisfy all conditions, if no other partition has such rows.

    Partition values decide, and where they do not, the files' statistics. A partition without files is among
    them only when its values satisfy the conditions.

    Args:
        snapshot: the version of the table.
        predicates: joined by AND; none means every row.

    Returns:
        The partitions in key order; or, when rows of a partition would have to be looked at, the reason.
    """
    condition = And(tuple(predicate.node for predicate in predicates))
    opaque = opaque_parts(condition)
    metadata = snapshot.metadata
    plan = plan_partitions(snapshot, predicates)
    matcher = FileMatcher(metadata, columns_of(condition))
    whole = []
    for partition in snapshot.partitions(plan):
        row = dict(zip(metadata.partition_by, partition.values, strict=True))
        verdict = match_values(condition, row)
        if verdict is Match.MIGHT:
            match = matcher.enter(partition.values)
            verdicts = {match(condition, file) for file in partition.files if file.rows != 0}
            if verdicts - {Match.CANNOT} and verdicts != {Match.MUST}:
                reason = f" ({opaque[0]}: {opaque[0].reason})" if opaque else ""
                return (
                    f"'{condition}' may hold for some rows of {snapshot.describe(partition.key)} and not for "
                    f"others{reason}"
                )
            verdict = Match.MUST if verdicts == {Match.MUST} else Match.CANNOT
        if verdict is Match.MUST:
            whole.append(partition)
    return whole
