"""Questions of statements and streams that read."""

from __future__ import annotations

from typing import Any

import msgspec

from parquetry.planner.protocol.questions.base import CatalogQuestion, TableRef
from parquetry.planner.protocol.questions.partitions import Predicates
from parquetry.prune.runtime import Candidate


class Reading(Predicates, tag="reading", frozen=True, kw_only=True):
    """A question of a statement that reads.

    Attributes:
        read_options: of the read, as given to `spark.read.option` or in `WITH (…)`.
        settings: those of the session whose names begin with `parquetry.`.
    """

    read_options: dict[str, str] = {}
    settings: dict[str, str] = {}


class PushPredicates(Reading, tag="push_predicates", frozen=True):
    """Answer: `Pushed`.

    Attributes:
        streaming: whether they are those of a stream, which reads other versions, too.
    """

    streaming: bool = False


class PartitionValues(Predicates, tag="partition_values", frozen=True):
    """Answer: `PartitionValueRows`, for each condition the rows of values that its columns have in the partitions in question.

    Those are the partitions that satisfy the predicates and what the conditions imply. A condition is SQL text, its
    columns, and a tree (see `planner.predicates.implied_by`).
    """

    conditions: list[dict[str, Any]]


class HeavyValues(Predicates, tag="heavy_values", frozen=True):
    """Answer: `HeavyValueRows`, the values of directories, for Spark to evaluate conditions on skewed columns.

    The predicates choose the partitions. Each partition has its own directories.

    Attributes:
        conditions: each is the names of its columns, and a tree, or None if the bridge has no tree of it.
    """

    conditions: list[dict[str, Any]]


class Aggregate(Predicates, tag="aggregate", frozen=True):
    """Answer: `MaybeAggregated`."""

    functions: list[dict[str, str | None]]
    group_by: list[str]


class PlanScan(Reading, tag="plan_scan", frozen=True, kw_only=True):
    """Answer: `PlannedScan`.

    Attributes:
        runtime: what a join has found while the query runs (trees, see `scans.runtime_values`).
        columns: that are read.
        buckets: how many are wanted, a multiple or a divisor of the number that the scan has; None: as many as it has.
        before: the report of the scan without what was found; None: nothing was.
        joined: what is known of a join's values before the query runs (trees).
        late: whether the files may be told later, when they are asked for once more: values of a join may come before that.
        files: absolute paths of those that are read, of all that the predicates leave: they hold rows that match a statement
            which rewrites them; None: all of these.
    """

    runtime: list[dict[str, Any]]
    columns: list[str]
    buckets: int | None = None
    before: dict[str, Any] | None = None
    joined: list[dict[str, Any]] = []
    late: bool = False
    files: list[str] | None = None


class FileKeyRanges(Reading, tag="file_ends", frozen=True, kw_only=True):
    """Answer: `KeyRangeRows`, what statistics tell of the least and the greatest value of a column in the files of a scan.

    Attributes:
        runtime: see `PlanScan`.
        joined: see `PlanScan`.
        column: whose values these are.
        partition_columns: whose values go with them.
    """

    runtime: list[dict[str, Any]]
    joined: list[dict[str, Any]] = []
    column: str
    partition_columns: list[str]


class Streaming(CatalogQuestion, tag="streaming", frozen=True):
    """A question of a streaming query that reads a table. Positions are texts that only the planner reads.

    Attributes:
        table: the table as it was when the query began, whose columns the stream has.
        read_options: of the read, as given to `spark.readStream.option`.
    """

    table: TableRef
    read_options: dict[str, str] = {}


class BeginStream(Streaming, tag="begin_stream", frozen=True):
    """Answer: `StreamPosition`, where a stream begins that has read nothing yet.

    Attributes:
        starting_at: the time that the options name, in microseconds since the epoch.
    """

    starting_at: int | None = None


class AdvanceStream(Streaming, tag="advance_stream", frozen=True, kw_only=True):
    """Answer: `StreamPosition`, where the next batch is to end.

    Attributes:
        start: where it begins; None: as far as the table goes now is the answer.
        until: the batch ends here at the latest; None: as far as the table goes.
        limited: whether the limits hold that the options name.
    """

    start: str | None = None
    until: str | None = None
    limited: bool = False


class PlanBatch(Reading, tag="plan_batch", frozen=True, kw_only=True):
    """Answer: `PlannedScan`, the files of one batch of a stream, by positions.

    Attributes:
        start: of the batch.
        end: of the batch.
        columns: that are read.
    """

    start: str
    end: str
    columns: list[str]


class ConditionedTable(msgspec.Struct, frozen=True):
    """A table, and what a query asks of it.

    Attributes:
        table: the table.
        predicates: joined by AND (trees).
    """

    table: TableRef
    predicates: list[dict[str, Any]]


class RuntimeCandidate(msgspec.Struct, frozen=True):
    """What the values of a join could do for the scan of a table.

    Attributes:
        table: the table.
        read_options: of the scan; see `Reading`.
        facts: about the join and the scan.
        predicates: that the scan was planned for (trees).
        columns: that the values are of.
        values_of: the table of this catalog that the values come from; None: there is not one such table.
    """

    table: TableRef
    facts: Candidate
    read_options: dict[str, str] = {}
    predicates: list[dict[str, Any]] = []
    columns: list[str] = []
    values_of: ConditionedTable | None = None


class JudgeRuntimeFilters(CatalogQuestion, tag="judge_runtime_filters", frozen=True):
    """Answer: `RuntimeVerdicts`. The candidates are those of one query for the tables of the catalog.

    Attributes:
        candidates: all of them.
        settings: those of the session whose names begin with `parquetry.`.
    """

    candidates: list[RuntimeCandidate]
    settings: dict[str, str] = {}
