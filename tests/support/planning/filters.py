"""For tests that build conditions node by node: filters of them."""

from __future__ import annotations

from collections.abc import Iterable

from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Predicate
from parquetry.predicate.normalise import normalise


def make_filter(node: Predicate) -> Filter:
    """Make a filter of a condition that is bound, as its literals are of their columns' types."""
    return Filter(normalise(node))


def make_filters(nodes: Iterable[Predicate]) -> list[Filter]:
    """Make a filter of each condition."""
    return list(map(make_filter, nodes))
