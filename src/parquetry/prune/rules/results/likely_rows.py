"""Estimate how many rows of a file satisfy the conditions, so that a LIMIT reads the best files first.

An estimate decides nothing but an order. Within its bounds, a column's values count as evenly distributed:
of `v` from 0 to 99, a tenth satisfies `v >= 90`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN
from parquetry.metastore import FileBlock
from parquetry.predicate import And, Compare, In, Match, Or, Predicate, match
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.file_knowledge import FileKnowledge

_UNKNOWN_SELECTIVITY = 0.1
"""The fraction of rows that satisfy a condition which statistics do not estimate."""

Fractions = NDArray[np.float64]
"""A number for each file."""


def likely_rows(scan: PruningRequest, remaining: Remaining, block: FileBlock) -> Fractions:
    """Return for each file how many rows are expected to satisfy all conditions, at least 0.

    Args:
        scan: the request.
        remaining: the candidates; the files are in its partitions.
        block: the files, with statistics of the conditions' columns.
    """
    rows = np.where(block.files.rows == UNKNOWN, 1, block.files.rows).astype(np.float64)
    knowledge = FileKnowledge(scan.snapshot.metadata, remaining.partitions, block)
    for condition in scan.conditions:
        if condition in remaining.decided:
            continue
        proved = match(condition.filter, knowledge) == Match.MUST
        rows = rows * np.where(proved, 1.0, _fractions(condition.filter.node, knowledge))
    return rows


def _fractions(node: Predicate, knowledge: FileKnowledge) -> Fractions:
    """Return the estimated fraction of each file's rows that satisfy a condition."""
    match node:
        case And(children):
            product = np.ones(knowledge.count)
            for child in children:
                product = product * _fractions(child, knowledge)
            return product
        case Or(children):
            total = np.zeros(knowledge.count)
            for child in children:
                total = total + _fractions(child, knowledge)
            return np.minimum(total, 1.0)
        case Compare(op, column, value) if op in ("=", "<=>", "<", "<=", ">", ">="):
            return _in_range(op, column, value, knowledge)
        case In(column, values):
            total = np.zeros(knowledge.count)
            for value in values[:100]:
                total = total + _in_range("=", column, value, knowledge)
            return np.minimum(total, 1.0)
    return np.full(knowledge.count, _UNKNOWN_SELECTIVITY)


def _in_range(op: str, column: str, value: Any, knowledge: FileKnowledge) -> Fractions:
    unknown = np.full(knowledge.count, _UNKNOWN_SELECTIVITY)
    bounds = knowledge.bounds(column)
    if bounds is None or not isinstance(value, int | float) or value != value:
        return unknown
    try:
        least, greatest = (np.asarray(each, np.float64) for each in (bounds.least, bounds.greatest))
    except (TypeError, ValueError):  # stand-ins for texts that are not known
        return unknown
    with np.errstate(invalid="ignore", over="ignore"):
        width = np.maximum(greatest - least, 0) + 1
        if op in ("=", "<=>"):
            fraction = np.where((least <= value) & (value <= greatest), 1 / width, 0)
        else:
            above = np.clip((greatest - value + 1) / width, 0, 1)
            fraction = above if op in (">", ">=") else np.clip((value - least + 1) / width, 0, 1)
    return np.where(np.isfinite(fraction), fraction, _UNKNOWN_SELECTIVITY)
