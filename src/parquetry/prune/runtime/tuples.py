"""Decide for which keys of a join the values come to a scan as tuples, and not as a set for each key.

    f JOIN d ON f.day = d.day AND f.y = d.y          f is partitioned by (day, y)

    day IN (8 days) AND y IN (7 numbers)             56 partitions
    (day, y) IN (8 pairs)                            8 partitions

Tuples help where several keys are columns that place the table's rows: partition columns, all columns of its buckets, skewed columns.
One run of the build side gives the values of all keys. So a key's own verdict, and its costs, hold for the tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from parquetry.metastore.storage.model import TableMetadata
from parquetry.prune.runtime.build_costs import of_cost
from parquetry.prune.runtime.candidates import Candidate, Verdict


class Placing(msgspec.Struct, frozen=True):
    """The columns that place a table's rows, in lower case.

    Attributes:
        partitions: the partition columns.
        buckets: the columns of the buckets: a tuple without one of them chooses none.
        skewed: the columns whose heavy values have directories.
    """

    partitions: frozenset[str] = frozenset()
    buckets: frozenset[str] = frozenset()
    skewed: frozenset[str] = frozenset()

    def of_use(self, columns: frozenset[str]) -> frozenset[str]:
        """Return the columns whose values are to be taken together, of some; none of them if there are not two.

        >>> placing = Placing(frozenset("pq"), frozenset("ab"))
        >>> sorted(placing.of_use(frozenset("pqax"))), sorted(placing.of_use(frozenset("pab"))), placing.of_use(frozenset("pa"))
        (['p', 'q'], ['a', 'b', 'p'], frozenset())
        """
        buckets = self.buckets if self.buckets <= columns else frozenset()
        found = columns & (self.partitions | self.skewed | buckets)
        return found if len(found) > 1 else frozenset()


def placing(metadata: TableMetadata) -> Placing:
    """Return the columns that place new rows of a table."""
    arranged = metadata.arrangement
    names = {column.physical: column.name.lower() for column in metadata.data_columns}
    return Placing(
        frozenset(name.lower() for name in metadata.partition_by),
        frozenset()
        if arranged.buckets is None
        else frozenset(names[name] for name in arranged.buckets.columns),
        frozenset()
        if arranged.skew is None or not arranged.skew.directories
        else frozenset(names[name] for name in arranged.skew.columns),
    )


def in_tuples(
    candidates: Sequence[Candidate],
    verdicts: Sequence[Verdict],
    limits: Sequence[int | None],
    placing: Callable[[int], Placing],
) -> list[Verdict]:
    """Return the verdicts, with the same number for keys whose values come as tuples.

    Args:
        candidates: all of a query.
        verdicts: what is to become of each alone.
        limits: for each, how many bytes a side may have that runs only for its values.
        placing: for a candidate by its place, the columns that place the rows of its table.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, (one, verdict, limit) in enumerate(zip(candidates, verdicts, limits, strict=True)):
        if _may_join(one, verdict, limit):
            groups.setdefault((one.scan, one.join, one.side, one.plan, one.shared), []).append(place)
    found = list(verdicts)
    for number, places in enumerate(groups.values()):
        columns = frozenset(_column(candidates[place]) for place in places)
        wanted = placing(places[0]).of_use(columns) if len(columns) > 1 else frozenset()
        members = [place for place in places if _column(candidates[place]) in wanted]
        if any(verdicts[place].how != "known" for place in members):
            for place in members:
                found[place] = msgspec.structs.replace(verdicts[place], tuple=number)
    return found


def _column(candidate: Candidate) -> str:
    return str(candidate.tuple_column).lower()


def _may_join(candidate: Candidate, verdict: Verdict, limit: int | None) -> bool:
    """Return whether a candidate's values may come together with other candidates' values."""
    if candidate.tuple_column is None or candidate.together is not None or limit is None:
        return False
    if verdict.how == "known":  # all of them come with the others' at run time, too
        return candidate.known is not None and candidate.known.complete
    if verdict.how == "spark":  # in place of Spark's own filter, from the same broadcast
        return candidate.serves_itself and of_cost(candidate, limit).used
    return verdict.how in ("shared", "collected")
