"""Answer what the joins of a query need: runtime filters, numbers of buckets, key ranges from statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from parquetry.config import RUNTIME_PRUNING, RUNTIME_PRUNING_MAX_BUILD_SIZE, settle
from parquetry.joins import (
    LIMITS,
    Candidate,
    KeyFiles,
    Spread,
    Verdict,
    decide,
    decide_layouts,
    dense_key_count,
    estimate_rows,
    is_not_null,
    key_files,
    partition_key_ranges,
    placement_columns,
    spread,
)
from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.heavy_keys import split_joins
from parquetry.planner.scans.request import ScanRequest
from parquetry.predicate import read_key


def plan_joins(lake: Lake, q: questions.PlanJoins) -> answers.PlannedJoins:
    """Return a verdict for each candidate, by the settings of its scan's table, and the numbers of buckets.

    Raises:
        ConfigurationError: a setting of the session cannot be used.
        PropertyError: a table property or an option of the read cannot be used.
    """
    requests = [_CandidateRequest(lake, each) for each in q.candidates]
    layouts = decide_layouts(q.graph)
    return answers.PlannedJoins(
        verdicts=(_usable_known(requests, q.settings) if q.known_first else None)
        or _verdicts(requests, q.settings),
        bucket_counts=layouts.counts,
        in_place=layouts.in_place,
        splits=layouts.splits,
        skew_splits=split_joins(lake, q.skewed, q.settings),
    )


def _verdicts(requests: Sequence[_CandidateRequest], settings: dict[str, str]) -> list[Verdict]:
    return decide(
        [each.candidate() for each in requests],
        [each.limit(settings) for each in requests],
        lambda position: requests[position].spread(),
        lambda position: requests[position].dense_key_count(),
        lambda position: requests[position].key_files(),
        lambda position: placement_columns(requests[position].scan.snapshot.metadata),
    )


def _usable_known(requests: Sequence[_CandidateRequest], settings: dict[str, str]) -> list[Verdict] | None:
    """Return `known` for candidates whose plan-time values prune something, and a refusal for all others.

    Return None if there are no such candidates.
    """
    useful = [position for position, each in enumerate(requests) if each.has_useful_values]
    verdicts = _verdicts([requests[position] for position in useful], settings)
    known = {position for position, verdict in zip(useful, verdicts, strict=True) if verdict.how == "known"}
    if not known:
        return None
    later = Verdict("refused", "plan-time values of other candidates come first")
    return [Verdict("known") if position in known else later for position in range(len(requests))]


class _CandidateRequest:
    """A candidate with the requests of both tables, each read once.

    Attributes:
        scan: of the probe side's table, which the values may prune.
        build: of the table that the values come from, or None if there is no single such table in this
            catalog.
    """

    def __init__(self, lake: Lake, candidate: questions.RuntimeCandidate) -> None:
        self._lake = lake
        self._candidate = candidate
        self.scan = ScanRequest(lake, lake.snapshot(candidate.table), candidate.predicates)
        self.build = (
            None if candidate.values_of is None else ScanRequest.from_question(lake, candidate.values_of)
        )

    @property
    def has_useful_values(self) -> bool:
        """Return whether plan-time values may prune something that is not pruned yet."""
        known = self._candidate.facts.known
        return known is not None and known.useful

    def limit(self, session: dict[str, str]) -> int | None:
        """Return the most bytes of a build side that runs only for its values, or None if the setting is off.

        Args:
            session: its settings.
        """
        properties = self.scan.snapshot.metadata.properties
        settings = settle(self._candidate.read_options, session, properties, names_checked=False)
        limit: int = settings[RUNTIME_PRUNING_MAX_BUILD_SIZE]
        return limit if settings[RUNTIME_PRUNING] else None

    def candidate(self) -> Candidate:
        """Return the candidate, with estimates of its values and rows where the judge can use them."""
        facts, build = self._candidate.facts, self.build
        if not self._is_known_key():
            return replace(facts, form="computed")
        value_count = facts.held if facts.held is not None else self._partition_values()
        if build is None or (value_count is None and not self._files_decide()):
            return facts
        rows = self._lake.estimates.get_or_make(("rows", *_identity(build)), lambda: _rows(build))
        return replace(facts, held=value_count, build=replace(facts.build, rows=rows))

    def _is_known_key(self) -> bool:
        """Return whether something is known of the key's values in a file."""
        tree = self._candidate.expression
        return tree is None or read_key(tree, self.scan.snapshot.metadata.types) is not None

    def _files_decide(self) -> bool:
        """Return whether statistics of the column decide, and both tables are listed in planning."""
        tables = [each.snapshot for each in (self.scan, self.build) if each is not None]
        columns = {column.lower() for column in self._candidate.columns}
        return all(table.totals.partitions < LIMITS.listed_partitions for table in tables) and not any(
            column.lower() in columns for column in tables[0].metadata.partition_by
        )

    def _partition_values(self) -> int | None:
        """Return how many values the column has in the scan's partitions, if it is the only partition column.

        For partitions that are not listed yet, nothing more is known.
        """
        facts, by = self._candidate.facts, self.scan.snapshot.metadata.partition_by
        one = facts.form == "column" and len(by) == 1 and tuple(self._candidate.columns) == tuple(by)
        return facts.remaining_partitions if one else None

    def spread(self) -> Spread | None:
        """Return the value clustering of the candidate's column, or None if it is unknown."""
        if len(self._candidate.columns) != 1:
            return None
        (column,) = self._candidate.columns
        return self._lake.estimates.get_or_make(
            ("spread", *_identity(self.scan), column),
            lambda: spread(self.scan.snapshot.metadata, self.scan.select(about={column}), column),
        )

    def dense_key_count(self) -> int | None:
        """Return how many keys the small table has, if nearly every file of the large one has some."""
        computed = self._candidate.facts.form == "function"
        if self.build is None or computed or len(self._candidate.columns) != 1:
            return None
        small, large = self.build.snapshot, self.scan.snapshot
        key, column = self._candidate.facts.build.key, large.metadata.column(self._candidate.columns[0]).name
        if not _has(small, key) or not all(map(is_not_null, self.build.conditions)):
            return None
        return self._lake.estimates.get_or_make(
            ("nearly all", small.identity, key, large.identity, column),
            lambda: dense_key_count(small, key, large, column),
        )

    def key_files(self) -> KeyFiles | None:
        """Return how the build side's files divide the key, or None if that is unknown or expensive."""
        build, key = self.build, self._candidate.facts.build.key
        if build is None:
            return None
        table = build.snapshot
        if not _has(table, key) or table.totals.files > LIMITS.key_statistics_files:
            return None
        return self._lake.estimates.get_or_make(
            ("key files", *_identity(build), key),
            lambda: key_files(table.metadata, build.select(about={key}), key, table.totals.files),
        )


def _rows(request: ScanRequest) -> int | None:
    """Return how many rows of a table are likely to satisfy the conditions, or None if that is unknown."""
    selection = request.select(about={name for each in request.conditions for name in each.about})
    return estimate_rows(
        request.snapshot.metadata, selection, [each.predicate for each in request.conditions]
    )


def _identity(request: ScanRequest) -> tuple[bytes, int, str, bytes]:
    """Return a key that identifies a version of a table and the conditions on it."""
    return *request.snapshot.identity, msgspec.json.encode(request.predicates)


def _has(table: TableSnapshot, name: str) -> bool:
    return any(column.name == name for column in table.metadata.columns)


def file_key_ranges(lake: Lake, q: questions.FileKeyRanges) -> answers.KeyRangeRows:
    """Return the minimum and maximum of a column in the files that a scan would read, by partition.

    Raises:
        ColumnNotFoundError: the table has no such column.
        ValueTypeError: values of the column's type have no order.
    """
    request = ScanRequest.from_question(lake, q)
    metadata = request.snapshot.metadata
    column = metadata.column(q.column)
    selection = request.select(about={column.name}.union(*(each.about for each in request.pruning)))
    places = [metadata.partition_by.index(metadata.column(name).name) for name in q.partition_columns]
    types = metadata.partition_types
    rows = []
    for part, least, greatest in partition_key_ranges(metadata, selection, column.name):
        values = selection.partitions[part].values
        of_partition = [to_wire(types[place], values[place]) for place in places]
        rows.append(
            [*of_partition, to_wire(column.column_type, least), to_wire(column.column_type, greatest)]
        )
    return answers.KeyRangeRows(rows)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.PlanJoins: plan_joins,
    questions.FileKeyRanges: file_key_ranges,
}
