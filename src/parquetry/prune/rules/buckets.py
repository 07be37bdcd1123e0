"""Keep the buckets of the values that the conditions allow, by the hash that placed the rows.

For a table with 8 buckets by `id`:

| condition                                  | buckets read of each partition                                    |
|--------------------------------------------|-------------------------------------------------------------------|
| `id = 5`                                   | the bucket of 5                                                   |
| `id IN (5, 6) OR id IS NULL`               | the buckets of 5, 6 and NULL                                      |
| `id = 5 AND day = 1 OR id = 6 AND day = 2` | the bucket of 5 where `day` is 1, the bucket of 6 where it is 2   |
| `hive_bucket(2, 4, id) = 3`, `TABLESAMPLE` | 3 and 7, as far as the hash and its columns are the table's       |
| `id > 5`                                   | all: values are hashed one by one, and a range lists none         |

With several bucket columns, the values of all must be listed. Each partition is judged by its own record. The
rule keeps files whose bucket is not known, and all files of partitions where equal values may be in different
buckets. A condition may also list values of partition columns. Then each partition has its own values of the
bucket columns.

The conditions of a query list values for the bucket columns of a table. These are hashed to the buckets that
are read.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN, Numbers, TableColumn
from parquetry.errors import UnsupportedError, ValueTypeError
from parquetry.hashing import bucket_numbers, normalise_zero, unsettled_reason
from parquetry.layout import BucketSpec
from parquetry.metastore import FileBlock, PartitionSnapshot, TableMetadata
from parquetry.predicate import Filter, Row, allowed_values
from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule
from parquetry.prune.rules.arrangements import ArrangementRecords, bucket_specs
from parquetry.prune.tally import Tally
from parquetry.types import order_key

_FEW_CODES = 256
"""Codes of buckets that are kept with their repeats: to find these takes longer than it saves memory."""
_NO_JUDGEMENT = -1
"""Stands for a judgement's number in partitions without one: they have no buckets to rely on."""


class BucketRule(Rule):
    """Keeps a bucket unless no value that the conditions allow belongs in it.

    A table without buckets pays nothing. A query without a condition on bucket columns pays nothing, and its
    report has no step for buckets. Nor has it one if no bucket can be left out and the manifests are long:
    counting buckets would read them all.
    """

    name = "buckets"
    kept_text = "buckets read"
    of_text = "buckets of the partitions read"
    names_together = True

    def narrow(self, scan: PruningRequest, remaining: Remaining) -> tuple[Remaining, Step | None]:
        """Keep the files of buckets that can hold an answer."""
        specs = bucket_specs(scan.snapshot, remaining.partitions, unsettled=True)
        conditions = [] if specs is None else _bucket_conditions(scan, specs)
        if specs is None or not conditions:
            return remaining, None
        evaluator = _BucketEvaluator(scan, remaining.partitions, specs, conditions)
        if not evaluator.chooses and remaining.blocks is None and _long(remaining.partitions):
            return remaining, None
        kept = [part for block in remaining.files(scan, ()) if (part := evaluator.kept(block)).count]
        step = evaluator.tally.step(
            self,
            evaluator.count(evaluator.kept_codes),
            evaluator.count(evaluator.seen),
            conditions,
            evaluator.reason,
        )
        return replace(remaining, blocks=kept), step


def _long(partitions: Sequence[PartitionSnapshot]) -> bool:
    """Return whether some manifests are so long that they have chunks, which the next rule may skip."""
    return any(entry.chunks for entry in PartitionSnapshot.entries(partitions))


def _bucket_conditions(scan: PruningRequest, specs: ArrangementRecords[BucketSpec]) -> list[Condition]:
    """Return the conditions on bucket columns."""
    metadata = scan.snapshot.metadata
    physical = {name for names in {spec.columns for spec in specs.distinct} for name in names}
    physical.update(() if (own := metadata.arrangement.buckets) is None else own.columns)
    names = {column.name for column in metadata.data_columns if column.physical in physical}
    return [each for each in scan.conditions if each.about & names and not each.decided_by(scan.partition_by)]


class _BucketEvaluator:
    """Judges files by their buckets, block by block.

    Attributes:
        tally: the conditions whose values chose buckets.
        choosing: the conditions on the hash itself that chose buckets.
        chooses: whether it may leave out any bucket.
        seen: codes of the buckets that have files; a code combines a partition and a bucket.
        kept_codes: codes of the buckets that were kept.
    """

    def __init__(
        self,
        scan: PruningRequest,
        partitions: Sequence[PartitionSnapshot],
        specs: ArrangementRecords[BucketSpec],
        conditions: Sequence[Condition],
    ) -> None:
        self._scan = scan
        self._conditions = conditions
        self._specs = specs.distinct
        self._columns = [_columns(scan.snapshot.metadata, spec) for spec in specs.distinct]
        self._values: dict[tuple[str, ...], BucketValues] = {}
        self._width = max([spec.count for spec in specs.distinct], default=1)
        self._open: list[bool] = []
        self._allowed: list[int] = []
        self.tally = Tally()
        self.choosing: list[Condition] = []
        self.seen: list[Numbers] = []
        self.kept_codes: list[Numbers] = []
        self._of = np.full(len(partitions), _NO_JUDGEMENT, np.int64)
        for number, spec in enumerate(specs.distinct):
            columns = self._columns[number]
            if not spec.unsettled and columns is not None:
                parts = np.flatnonzero(specs.numbers == number)
                self._of[parts] = self._judgements(spec, columns, partitions, parts)
        self.chooses = not all(self._open)
        self._is_open = np.array(self._open, np.bool_)
        self._codes = np.array(self._allowed, np.int64)

    def _judgements(
        self,
        spec: BucketSpec,
        columns: Sequence[TableColumn],
        partitions: Sequence[PartitionSnapshot],
        parts: Numbers,
    ) -> Numbers:
        """Judge the partitions of one record, and return the number of the judgement for each of them."""
        names = tuple(column.name for column in columns)
        if names not in self._values:
            self._values[names] = BucketValues(
                self._conditions, names, self._scan.snapshot.metadata.partition_by
            )
            for condition in self._values[names].listing:
                self.tally.serve(condition)
        values = self._values[names]
        members = self._members(spec, columns, names)
        if not values.positions:
            return np.full(len(parts), self._judgement(spec, columns, values.rows(()), members), np.int64)
        found: dict[tuple[object, ...], int] = {}
        numbers = []
        for part in parts.tolist():
            own = partitions[part].values
            key = tuple(order_key(own[position]) for position in values.positions)
            if key not in values.of_partitions:
                key = ()  # partitions that allow no value share one judgement
            if key not in found:
                found[key] = self._judgement(spec, columns, values.rows(key), members)
            numbers.append(found[key])
        return np.array(numbers, np.int64)

    def _members(
        self, spec: BucketSpec, columns: Sequence[TableColumn], names: tuple[str, ...]
    ) -> set[int] | None:
        """Return the buckets that conditions on the hash itself allow, or None if there are no such."""
        memberships = [
            each
            for each in self._conditions
            if each.membership is not None
            and (each.membership.columns, each.membership.version) == (names, spec.version)
        ]
        if not memberships or _hashes_padding(spec, columns):
            return None
        allowed = set(range(spec.count))
        for each in memberships:
            assert each.membership is not None
            allowed &= each.membership.agreeing(spec.count)
            if each not in self.choosing:
                self.choosing.append(each)
                self.tally.serve(each)
        return allowed

    def _judgement(
        self,
        spec: BucketSpec,
        columns: Sequence[TableColumn],
        rows: Iterable[Row] | None,
        members: set[int] | None,
    ) -> int:
        number = len(self._open)
        buckets = None if rows is None else _buckets(spec, columns, rows)
        if members is not None:
            buckets = sorted(members if buckets is None else members.intersection(buckets))
        self._open.append(buckets is None)
        self._allowed += [number * self._width + bucket for bucket in buckets or ()]
        return number

    @staticmethod
    def count(codes: Sequence[Numbers]) -> int:
        """Return the number of distinct buckets."""
        if not codes:
            return 0
        joined = np.concatenate(codes)
        return len(set(joined.tolist()) if len(joined) <= _FEW_CODES else np.unique(joined))

    def kept(self, block: FileBlock) -> FileBlock:
        """Return the files of a block whose bucket may hold an answer or is not known."""
        arranged = block.files.arranged
        if arranged is None:
            return block.project(None, self._scan.projected)
        buckets, judgements = arranged[1], self._of[block.parts]
        known = (buckets != UNKNOWN) & (judgements != _NO_JUDGEMENT)
        codes = block.parts.astype(np.int64) * self._width + buckets
        kept = ~known
        mine, buckets = judgements[known], buckets[known]
        kept[known] = self._is_open[mine] | _among(mine * self._width + buckets, self._codes)
        self.seen.append(_without_repeats(codes[known]))
        self.kept_codes.append(_without_repeats(codes[known & kept]))
        return block.project(np.flatnonzero(kept), self._scan.projected)

    def reason(self, condition: Condition) -> str | None:
        """Return why a condition did not help to prune a bucket."""
        if condition in self.choosing:
            return (
                "no file is of a known bucket"
                if not self.count(self.seen)
                else "every bucket may hold a match"
            )
        if condition.membership is not None:
            return "it is about a hash of another version, or of other columns"
        if condition.not_understood is not None:
            return condition.not_understood
        settled = [
            tuple(column.name for column in columns)
            for spec, columns in zip(self._specs, self._columns, strict=True)
            if columns is not None and not spec.unsettled
        ]
        about = next((names for names in settled if condition.about & set(names)), None)
        if about is not None:
            known = (pair for pair in zip(self._specs, self._columns, strict=True) if pair[1] is not None)
            if any(_hashes_padding(spec, columns or ()) for spec, columns in known):
                return "Spark hashes a char with the blanks that are stored, and a condition does not say how many"
            served = (
                "every bucket may hold a match" if self.count(self.seen) else "no file is of a known bucket"
            )
            return self._values[about].reason(condition) or served
        for spec, columns in zip(self._specs, self._columns, strict=True):
            if columns is not None and spec.unsettled:
                why = unsettled_reason(spec.version, [column.column_type for column in columns])
                return f"equal values may lie in different buckets: {why or 'others wrote the files'}"
        return "the partitions are not in buckets by its columns" if len(self._of) else None


def _among(codes: Numbers, few: Numbers) -> NDArray[np.bool_]:
    """Return which codes are among others: for a few others, comparisons are faster than `np.isin`."""
    among: NDArray[np.bool_] = codes == few[0] if len(few) == 1 else np.isin(codes, few)
    return among


def _without_repeats(codes: Numbers) -> Numbers:
    """Return codes, each once if they are many."""
    return codes if len(codes) <= _FEW_CODES else np.unique(codes)


def _columns(metadata: TableMetadata, spec: BucketSpec) -> list[TableColumn] | None:
    """Return the bucket columns, or None if the table does not have all of them."""
    named = {column.physical: column for column in metadata.data_columns}
    return [named[name] for name in spec.columns] if all(name in named for name in spec.columns) else None


def _hashes_padding(spec: BucketSpec, columns: Sequence[TableColumn]) -> bool:
    """Return whether the hash includes a char's stored blanks, whose number conditions do not say.

    Spark's hash does. A session with `spark.sql.legacy.charVarcharAsString` stores a char without padding.
    """
    return spec.version == "spark" and any(column.column_type.name == "char" for column in columns)


def _buckets(spec: BucketSpec, columns: Sequence[TableColumn], rows: Iterable[Row]) -> list[int] | None:
    """Return the buckets of rows with some values, or None if the buckets cannot be computed."""
    types = [column.column_type for column in columns]
    normalised_rows = [tuple(map(normalise_zero, row)) for row in rows]
    if _hashes_padding(spec, columns):
        return None
    try:
        return sorted(set(bucket_numbers(spec.version, spec.count, types, normalised_rows)))
    except (ValueTypeError, UnsupportedError):
        return None


MAX_HASHED_ROWS = 10_000
"""Combinations of values that are hashed to buckets; more are likely to be in all buckets."""

_Key: TypeAlias = tuple[Any, ...]


class BucketValues:
    """The combinations of values that some bucket columns must have for all conditions to be TRUE.

    Args:
        conditions: the conditions, joined by AND.
        names: the names of the bucket columns.
        partition_by: the partition columns.

    Attributes:
        listing: the conditions that list values of at least one of the columns; empty if a column's values
            are not known.
        positions: the positions of the partition columns on whose values the combinations depend.
        of_partitions: the combinations by the order keys of these partition values.
    """

    def __init__(
        self, conditions: Sequence[Condition], names: Sequence[str], partition_by: Sequence[str]
    ) -> None:
        self._names = names
        self._condition = Filter.all_of(each.filter for each in conditions).node
        own = set(names)
        about = {name for each in conditions if each.about & own for name in each.about}
        self.positions = [position for position, name in enumerate(partition_by) if name in about]
        by = [partition_by[position] for position in self.positions]
        allowed = allowed_values(self._condition, (*by, *names), MAX_HASHED_ROWS) if by else None
        if allowed is None:
            self.positions = []
            allowed = allowed_values(self._condition, names, MAX_HASHED_ROWS)
        self._is_listed = allowed is not None
        self.of_partitions: Mapping[_Key, Collection[Row]] = _grouped(allowed or (), len(self.positions))
        self.listing = [each for each in conditions if self._is_listed and self._lists(each)]

    def rows(self, key: _Key) -> Collection[Row] | None:
        """Return the combinations for partitions, by the order keys of their values, or None for any."""
        return self.of_partitions.get(key, ()) if self._is_listed else None

    def _lists(self, condition: Condition) -> bool:
        if self._is_listed and not self.positions and condition.predicate is self._condition:
            return True  # it is the only condition
        return any(
            allowed_values(condition.predicate, (name,), MAX_HASHED_ROWS) is not None for name in self._names
        )

    def reason(self, condition: Condition) -> str | None:
        """Return why a condition cannot choose buckets, or None if it can."""
        if condition in self.listing:
            return None
        about = [name for name in self._names if name in condition.about]
        if not self._lists(condition):
            many = [name for name in about if _listed(condition, name)]
            if many:
                return f"it allows for more than {MAX_HASHED_ROWS:,} values of {', '.join(many)}"
            return f"it does not list the values of {', '.join(about)}, by whose hash rows are in buckets"
        missing = [
            name for name in self._names if allowed_values(self._condition, (name,), sys.maxsize) is None
        ]
        if missing:
            return f"buckets are by {', '.join(self._names)} together, and no condition lists values of {', '.join(missing)}"
        return (
            f"the conditions allow for more than {MAX_HASHED_ROWS:,} combinations of {', '.join(self._names)}"
        )


def _listed(condition: Condition, name: str) -> bool:
    return allowed_values(condition.predicate, (name,), sys.maxsize) is not None


def _grouped(rows: Collection[Row], width: int) -> dict[_Key, list[Row]]:
    """Group rows by their first values."""
    groups: dict[_Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(map(order_key, row[:width])), []).append(row[width:])
    return groups
