"""Decide which keys of a join send their values to a scan as tuples, and not as one set for each key.

    f JOIN d ON f.day = d.day AND f.y = d.y          f is partitioned by (day, y)

    day IN (8 days) AND y IN (7 numbers)             56 partitions

    (day, y) IN (8 pairs)                            8 partitions

Tuples help if several keys are columns that place the table's rows: partition columns, all columns of its
buckets, or skewed columns. Beside one of these, so do keys computed from other columns. One run of the build
side gives the values of all keys. So a key's own verdict and cost hold for the tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from parquetry.joins.runtime.build_costs import cost_verdict
from parquetry.joins.runtime.candidates import Candidate, Verdict
from parquetry.layout import ArrangementPart
from parquetry.metastore import TableMetadata


class PlacementColumns(msgspec.Struct, frozen=True):
    """The columns that place a table's rows.

    Attributes:
        partitions: the partition columns, in lower case.
        parts: the parts of the arrangement of new rows.
        names: the physical names of the data columns, by their names in lower case.
    """

    partitions: frozenset[str] = frozenset()
    parts: tuple[ArrangementPart, ...] = ()
    names: Mapping[str, str] = msgspec.field(default_factory=dict)

    def used_together(
        self,
        columns: frozenset[str],
        computed: frozenset[str] = frozenset(),
        functions: frozenset[str] = frozenset(),
    ) -> frozenset[str]:
        """Return the columns among some to use as tuples, or none if there are fewer than two.

        Args:
            columns: names of columns, in lower case.
            computed: keys among them that are computed from partition columns, as SQL.
            functions: keys among them that are computed from other columns. They are used beside a column
                that places rows: each tuple is compared with the bounds of the files.

        >>> placement_columns = PlacementColumns(frozenset("pq"))
        >>> sorted(placement_columns.used_together(frozenset("pqax"))), placement_columns.used_together(frozenset("pa"))
        (['p', 'q'], frozenset())
        """
        physical = {self.names[name] for name in columns if name in self.names}
        choosing = {name for part in self.parts for name in part.choosing_columns(physical)}
        placing = {name for name in columns if self.names.get(name) in choosing}
        joined = columns & (self.partitions | computed) | placing
        joined |= functions if joined else frozenset()
        return joined if len(joined) > 1 else frozenset()


def placement_columns(metadata: TableMetadata) -> PlacementColumns:
    """Return the columns that place new rows of a table."""
    return PlacementColumns(
        frozenset(name.lower() for name in metadata.partition_by),
        metadata.arrangement.parts,
        {column.name.lower(): column.physical for column in metadata.data_columns},
    )


def group_tuples(
    candidates: Sequence[Candidate],
    verdicts: Sequence[Verdict],
    limits: Sequence[int | None],
    placement_columns: Callable[[int], PlacementColumns],
) -> list[Verdict]:
    """Return the verdicts; keys whose values come as tuples get the same number.

    Args:
        candidates: all candidates of a query.
        verdicts: the verdict on each by itself.
        limits: for each the most bytes that a build side may read in a second run.
        placement_columns: returns the columns that place rows in the table of the candidate at a position.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, (one, verdict, limit) in enumerate(zip(candidates, verdicts, limits, strict=True)):
        if _may_join(one, verdict, limit):
            groups.setdefault((one.scan, one.join, one.side, one.plan, one.shared), []).append(position)
    joined = list(verdicts)
    for number, positions in enumerate(groups.values()):
        columns = frozenset(_column(candidates[position]) for position in positions)
        computed, functions = (
            frozenset(_column(candidates[p]) for p in positions if candidates[p].form == form)
            for form in ("partitions", "function")
        )
        wanted = (
            placement_columns(positions[0]).used_together(columns, computed, functions)
            if len(columns) > 1
            else frozenset()
        )
        members = [position for position in positions if _column(candidates[position]) in wanted]
        if any(verdicts[position].how != "known" for position in members):
            for position in members:
                joined[position] = msgspec.structs.replace(verdicts[position], tuple=number)
    return joined


def _column(candidate: Candidate) -> str:
    return str(candidate.tuple_column).lower()


def _may_join(candidate: Candidate, verdict: Verdict, limit: int | None) -> bool:
    """Return whether a candidate's values may be part of tuples."""
    if candidate.tuple_column is None or candidate.together is not None or limit is None:
        return False
    if verdict.how == "known":  # all of them come with the others' at run time, too
        return candidate.known is not None and candidate.known.complete
    if verdict.how == "spark":  # in place of Spark's own filter, from the same broadcast
        return candidate.serves_itself and cost_verdict(candidate, limit).used
    return verdict.how in ("shared", "collected")
