"""What a question asks of a table's files, read once: its conditions bound to the table's columns, and what joins have found.

request = ScanRequest.from_question(lake, q)
request.conditions          conditions of the query, one for each predicate
request.runtime_conditions  values of joins: known in planning, then those that have come at run time
request.pruning             the conditions to select files by, without those that others imply
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from parquetry.metastore.versions import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conditions, types_of, without_implied
from parquetry.planner.protocol import questions
from parquetry.planner.scans.runtime_values import RuntimeCondition, runtime_conditions
from parquetry.predicate import Filter
from parquetry.predicate.reading import SparkColumns
from parquetry.prune import Condition, Selection, select_files


@dataclass(frozen=True)
class ScanRequest:
    """A version of a table, and the conditions of one question about it. Everything is read when it is first asked for, and kept.

    Args:
        lake: the catalog.
        snapshot: the version of the table.
        predicates: of the query, joined by AND (trees).
        joined: what is known of joins' values in planning (trees).
        runtime: what joins have found at run time, one tree a filter.
    """

    lake: Lake
    snapshot: TableSnapshot
    predicates: Sequence[dict[str, Any]]
    joined: Sequence[dict[str, Any]] = field(default=())
    runtime: Sequence[dict[str, Any]] = field(default=())

    @classmethod
    def from_question(
        cls, lake: Lake, question: questions.Predicates | questions.ConditionedTable
    ) -> ScanRequest:
        """Return the request of a question."""
        joined, runtime = getattr(question, "joined", ()), getattr(question, "runtime", ())
        return cls(lake, lake.snapshot(question.table), question.predicates, joined, runtime)

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
        """Return the same as filters."""
        return [condition.filter for condition in self.conditions]

    @cached_property
    def arrived(self) -> list[list[RuntimeCondition]]:
        """Return what joins have found at run time, by the filters that it came by."""
        return [runtime_conditions(self.snapshot, [tree]) for tree in self.runtime]

    @cached_property
    def runtime_conditions(self) -> list[RuntimeCondition]:
        """Return what is known of joins' values: in planning, then at run time."""
        return runtime_conditions(self.snapshot, self.joined, "known") + [
            each for some in self.arrived for each in some
        ]

    @cached_property
    def telling(self) -> list[int]:
        """Return the positions of the query's conditions that say something of their own."""
        return without_implied([condition.predicate for condition in self.conditions])

    @cached_property
    def pruning(self) -> list[Condition]:
        """Return all conditions that say something of their own: the query's, and what joins have found."""
        every = self.conditions + [each.condition for each in self.runtime_conditions]
        return [every[position] for position in without_implied([condition.predicate for condition in every])]

    def select(self, read: Sequence[str] = (), about: Collection[str] = ()) -> Selection:
        """Select the files that may hold rows for all conditions.

        Args:
            read: the columns to be read.
            about: the columns of which statistics of the selected files are wanted.

        Raises:
            StoreError: the metastore cannot be read.
            TableNotFoundError: the table was dropped meanwhile.
        """
        return select_files(
            self.snapshot, self.pruning, read, table=self.table, about=about, recent=self.lake.recent
        )
