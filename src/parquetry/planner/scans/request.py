"""A question's conditions on a table's files, parsed once and bound to the table's columns.

- `ScanRequest.conditions`: of the query, one for each predicate.
- `ScanRequest.runtime_conditions`: of joins: plan-time values, then runtime filters that have arrived.
- `ScanRequest.pruning`: all conditions that no other one implies. Files are selected by these.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions, types_of, without_implied
from parquetry.planner.protocol import questions
from parquetry.planner.scans.file_subset import is_of_chosen_files
from parquetry.planner.scans.runtime_values import RuntimeCondition, runtime_conditions
from parquetry.predicate import Filter, SparkColumns
from parquetry.prune import Condition, FirstRows, PruningRequest, Selection, WholeAggregate, select_for


@dataclass(frozen=True)
class ScanRequest:
    """A version of a table, and the conditions of one question about it, each computed on first use.

    Args:
        lake: the catalog.
        snapshot: the version of the table.
        predicates: of the query, joined by AND (trees).
        joined: plan-time values of joins (trees).
        runtime: runtime filters that have arrived, one tree a filter.
        first: the matching rows that the query needs, or None for all.
        aggregate: the aggregate that the query needs in place of rows, or None.
    """

    lake: Lake
    snapshot: TableSnapshot
    predicates: Sequence[dict[str, Any]]
    joined: Sequence[dict[str, Any]] = field(default=())
    runtime: Sequence[dict[str, Any]] = field(default=())
    first: FirstRows | None = None
    aggregate: WholeAggregate | None = None

    @classmethod
    def from_question(
        cls, lake: Lake, question: questions.Predicates | questions.ConditionedTable
    ) -> ScanRequest:
        """Return the request of a question."""
        joined, runtime = getattr(question, "joined", ()), getattr(question, "runtime", ())
        request = cls(lake, lake.snapshot(question.table), question.predicates, joined, runtime)
        # a scan of files that its caller has chosen is needed for all rows in them
        if not isinstance(question, questions.PlanScan) or is_of_chosen_files(question):
            return request
        return replace(request, first=question.first, aggregate=question.answered)

    @property
    def table(self) -> str:
        """Return the table's name as Spark's users write it."""
        return self.lake.full_name(self.snapshot)

    @cached_property
    def types(self) -> SparkColumns:
        """Return the types of the table's columns, for conditions that Spark evaluates on its rows."""
        return types_of(self.snapshot)

    @cached_property
    def conditions(self) -> list[Condition]:
        """Return the conditions of the query, one for each predicate."""
        return conditions(self.snapshot, self.predicates)

    @property
    def filters(self) -> list[Filter]:
        """Return the conditions of the query as filters."""
        return [condition.filter for condition in self.conditions]

    @cached_property
    def arrived(self) -> list[list[RuntimeCondition]]:
        """Return the conditions of the runtime filters that have arrived, a list for each filter."""
        return [runtime_conditions(self.snapshot, [tree]) for tree in self.runtime]

    @cached_property
    def runtime_conditions(self) -> list[RuntimeCondition]:
        """Return the conditions from joins: plan-time values first, then runtime filters."""
        return runtime_conditions(self.snapshot, self.joined, "known") + [
            each for some in self.arrived for each in some
        ]

    @cached_property
    def telling(self) -> list[int]:
        """Return the positions of the query's conditions that no other one implies."""
        return without_implied([condition.predicate for condition in self.conditions])

    @cached_property
    def pruning(self) -> list[Condition]:
        """Return all conditions that no other one implies, of the query and of joins."""
        if not self.joined and not self.runtime:
            return [self.conditions[position] for position in self.telling]
        every = self.conditions + [each.condition for each in self.runtime_conditions]
        return [every[position] for position in without_implied([condition.predicate for condition in every])]

    def select(
        self, read: Sequence[str] = (), about: Collection[str] = (), *, apart: bool = False
    ) -> Selection:
        """Select the files that may hold rows for all conditions.

        Args:
            read: the columns to read.
            about: the columns whose statistics the selection has to include.
            apart: as for `select_files`.

        Raises:
            StoreError: the metastore cannot be read.
            TableNotFoundError: the table was dropped meanwhile.
        """
        selection = select_for(self.scan(read), table=self.table, about=about, apart=apart)
        self._selections[tuple(read)] = selection
        return selection

    def selected(self, read: Sequence[str]) -> Selection:
        """Return a selection for some columns to read, with the statistics of any columns.

        It is the last one that this request has made for them, or a new one.

        Raises:
            StoreError, TableNotFoundError: as `select`.
        """
        return self._selections.get(tuple(read)) or self.select(read)

    @cached_property
    def _selections(self) -> dict[tuple[str, ...], Selection]:
        return {}

    def scan(self, read: Sequence[str]) -> PruningRequest:
        """Return the scan for the rules of pruning; `read` are the columns to read."""
        return PruningRequest(
            snapshot=self.snapshot,
            conditions=tuple(self.pruning),
            read=read,
            partition_by=frozenset(self.snapshot.metadata.partition_by),
            projected=None,
            recent=self.lake.recent,
            first=self.first,
            aggregate=self.aggregate,
        )
