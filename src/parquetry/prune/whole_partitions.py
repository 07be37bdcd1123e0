"""Find the partitions that a DELETE can drop whole, without rewriting a file.

In each partition either every row or no row must satisfy the condition. If only some rows of a partition may
satisfy it, the DELETE cannot drop partitions. The caller drops them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from parquetry.metastore import PartitionSnapshot, TableSnapshot, file_blocks
from parquetry.predicate import And, Filter, Match, columns_of, match, opaque_parts
from parquetry.prune.partition_plans import partition_knowledge, partition_plan
from parquetry.prune.rules.file_knowledge import FileKnowledge, spelled
from parquetry.store import in_batches

_PARTITIONS_PER_BATCH = 100
"""Partitions that are judged at once; the search ends at the first undecided one, so batches are small."""


def whole_partitions(snapshot: TableSnapshot, predicates: Sequence[Filter]) -> list[PartitionSnapshot] | str:
    """Return the partitions whose rows all satisfy all conditions, if no other partition has such rows.

    Partition values decide; where they do not, the files' statistics do. A partition without files is
    returned only if its values satisfy the conditions.

    Args:
        snapshot: the version of the table.
        predicates: filters joined by AND; none means every row.

    Returns:
        The partitions in key order; or, if rows of a partition would have to be read, the reason.
    """
    condition = Filter.all_of(predicates)
    plan = partition_plan(snapshot, predicates)
    whole: list[PartitionSnapshot] = []
    for batch in in_batches(snapshot.partitions(plan), _PARTITIONS_PER_BATCH):
        answers = _match_partitions(snapshot, condition, batch)
        undecided = next(compress(batch, answers == Match.MIGHT), None)
        if undecided is not None:
            written = And(tuple(predicate.node for predicate in predicates))
            opaque = opaque_parts(written)
            reason = f" ({opaque[0]}: {opaque[0].reason})" if opaque else ""
            return (
                f"'{written}' may hold for some rows of {snapshot.describe(undecided.key)} and not for "
                f"others{reason}"
            )
        whole += compress(batch, answers == Match.MUST)
    return whole


def _match_partitions(
    snapshot: TableSnapshot, condition: Filter, partitions: Sequence[PartitionSnapshot]
) -> NDArray[np.uint8]:
    """Judge partitions by their values, and undecided partitions by their files."""
    metadata = snapshot.metadata
    answers = match(condition, partition_knowledge(metadata, partitions))
    open_ones = np.flatnonzero(answers == Match.MIGHT)
    if not len(open_ones):
        return answers
    parts = [partitions[position] for position in open_ones.tolist()]
    seen = np.zeros((len(parts), len(Match)), np.bool_)
    names = spelled(metadata, columns_of(condition.node))
    for block in file_blocks(snapshot.store, snapshot.id, parts, names):
        by_files = match(condition, FileKnowledge(metadata, parts, block))
        with_rows = block.files.rows != 0
        seen[block.parts[with_rows], by_files[with_rows]] = True
    alike = seen.sum(axis=1)
    # If a partition's files differ, some rows may satisfy the condition and others not; without rows, none
    # does.
    answers[open_ones] = np.where(
        alike > 1, Match.MIGHT, np.where(alike == 1, seen.argmax(axis=1), Match.CANNOT)
    )
    return answers
