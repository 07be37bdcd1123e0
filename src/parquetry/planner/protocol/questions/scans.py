"""Questions of statements and streams that read."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.joins import BucketPlace, Candidate, JoinFacts, PlanGraph, SkewFacts
from parquetry.planner.protocol.questions.base import CatalogQuestion, Question, TableRef
from parquetry.planner.protocol.questions.partitions import Predicates
from parquetry.prune import AggregateFunction, FirstRows, HeavyKeysReport, Hindrance, WholeAggregate


class Reading(Predicates, tag="reading", frozen=True, kw_only=True):
    """A question of a statement that reads.

    Attributes:
        read_options: of the read, from `spark.read.option` or `WITH (…)`.
        settings: of the session, with names that begin with `parquetry.`.
    """

    read_options: dict[str, str] = {}
    settings: dict[str, str] = {}


class NativeEngine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The native engine of a session, and settings of Spark that it might follow otherwise.

    Attributes:
        name: the engine whose rules the session has, such as `Comet`, or None.
        matching: settings of Spark that are on, and change which column of a file is read for a column of a
            table.
    """

    name: str | None = None
    matching: list[str] = []


class ForeseenScan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The columns that a scan is likely to read, before the planner has judged its predicates.

    Attributes:
        columns: that the query's nodes and its predicates name, in the order of the table.
        output: those among them that the query reads in any case. Columns of predicates alone are read only
            if Spark has to evaluate them on rows.
        opens_all: see `PlanScan`.
        engine: see `PlanScan`.
        estimated: whether Spark's cost-based optimizer will want the estimate of the scan.
    """

    columns: list[str]
    output: list[str]
    opens_all: bool
    engine: NativeEngine = NativeEngine()
    estimated: bool = False


class PushPredicates(Reading, tag="push_predicates", frozen=True):
    """Answer: `Pushed`.

    Attributes:
        streaming: whether they belong to a stream, which reads other versions, too.
        scan: the scan that follows, so that its plan comes with the answer; None to plan it later.
    """

    streaming: bool = False
    scan: ForeseenScan | None = None


class PartitionValues(Predicates, tag="partition_values", frozen=True):
    """Answer: `PartitionValueRows`, the selected partitions' values in each condition's columns.

    The predicates, and what the conditions imply, select the partitions. A condition is a tree with its
    columns (see `planner.predicates.implied_by`).
    """

    conditions: list[dict[str, Any]]


class DirectoryCondition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A condition on skewed columns: its columns, and a tree, or None if the bridge has no tree for it."""

    columns: list[str]
    tree: dict[str, Any] | None


class HeavyValues(Predicates, tag="heavy_values", frozen=True):
    """Answer: `HeavyValueRows`, the values of directories, for Spark's conditions on skewed columns.

    The predicates select the partitions. Each partition has its own directories.
    """

    conditions: list[DirectoryCondition]


class Aggregate(Predicates, tag="aggregate", frozen=True):
    """Answer: `MaybeAggregated`.

    Attributes:
        functions: to compute.
        group_by: partition columns.
        partly: whether the answer may leave files out, which are then read.
        hindrance: what keeps files from being left out.
    """

    functions: list[AggregateFunction]
    group_by: list[str]
    partly: bool = False
    hindrance: Hindrance = Hindrance()


class StepCount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many things a step of a scan kept; `about` marks an estimate. For `name` see `prune.steps`."""

    name: str
    kept: int
    about: bool


class ScanCounts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers that the steps of a scan kept, and whether they are estimated from the table's totals.

    The answer to a scan has them. When runtime filters have arrived, the bridge sends back the numbers of the
    first answer, so that the report can say what the filters pruned. The planner itself keeps no scan, so it
    may restart meanwhile.
    """

    steps: list[StepCount]
    by_totals: bool


class PlanScan(Reading, tag="plan_scan", frozen=True, kw_only=True):
    """Answer: `PlannedScan`.

    Attributes:
        runtime: runtime filters that have arrived (trees, see `scans.runtime_values`).
        columns: that are read.
        buckets: the wanted number, a multiple or a divisor of the scan's number; None for the scan's own
            number.
        place: the buckets that the scan is read in place in, or None.
        before: the counts of the scan without values of joins, or None if there are none.
        joined: plan-time values of joins (trees).
        late: whether the files may be listed later, in a second question, because a runtime filter may come
            first.
        files: absolute paths of the files with matching rows, for a statement that rewrites them. None for
            all files that the predicates select.
        apart: whether the report names only conditions that prune something by themselves.
        first: the rows that the query needs, or None for all rows that satisfy its conditions.
        answered: the aggregate of the rows that an earlier question answered as far as possible, or None.
            Files that are in this answer are left out.
        opens_all: whether every file has to be opened, since columns of files themselves are read, or since
            readers skip files that are missing or damaged.
        engine: the session's native engine.
    """

    runtime: list[dict[str, Any]]
    columns: list[str]
    buckets: int | None = None
    place: BucketPlace | None = None
    before: ScanCounts | None = None
    joined: list[dict[str, Any]] = []
    late: bool = False
    files: list[str] | None = None
    apart: bool = False
    first: FirstRows | None = None
    answered: WholeAggregate | None = None
    opens_all: bool = False
    engine: NativeEngine = NativeEngine()


class FileKeyRanges(Reading, tag="file_ends", frozen=True, kw_only=True):
    """Answer: `KeyRangeRows`, the minimum and maximum of a column in the files of a scan, from statistics.

    Attributes:
        runtime: see `PlanScan`.
        joined: see `PlanScan`.
        column: whose minimum and maximum are wanted.
        partition_columns: whose values go with them.
    """

    runtime: list[dict[str, Any]]
    joined: list[dict[str, Any]] = []
    column: str
    partition_columns: list[str]


class EstimateScan(Reading, tag="estimate_scan", frozen=True, kw_only=True):
    """Answer: `ScanEstimate`, the rows of a scan's files and the statistics of its columns.

    Attributes:
        joined: see `PlanScan`.
        columns: that are read.
    """

    joined: list[dict[str, Any]] = []
    columns: list[str]


class Streaming(CatalogQuestion, tag="streaming", frozen=True):
    """A question of a streaming query that reads a table. Positions are texts that only the planner reads.

    Attributes:
        table: the table as it was when the query began. The stream has its columns.
        read_options: of the read, from `spark.readStream.option`.
    """

    table: TableRef
    read_options: dict[str, str] = {}


class BeginStream(Streaming, tag="begin_stream", frozen=True):
    """Answer: `StreamPosition`, where a new stream begins.

    Attributes:
        starting_at: the time that the options name, in microseconds since the epoch.
    """

    starting_at: int | None = None


class AdvanceStream(Streaming, tag="advance_stream", frozen=True, kw_only=True):
    """Answer: `StreamPosition`, the end of the next batch.

    Attributes:
        start: where the batch begins, or None to get the end of the table as it is now.
        until: the latest allowed end of the batch, or None for the end of the table.
        limited: whether the limits in the options apply.
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


class ChangeBound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One end of a range of versions; see `changes.Bound`. A version is a text, as its user wrote it."""

    version: str | None = None
    time: int | None = None
    included: bool = True


class LoadChanges(CatalogQuestion, tag="load_changes", frozen=True, kw_only=True):
    """Answer: `LoadedChanges`, a table in the last version of a range, and the range.

    Attributes:
        namespace: of the table.
        name: of the table.
        start: the first version wanted, or None for the oldest version.
        end: the last version wanted, or None for the newest version.
        mode: what is wanted of the range; see `changes.ChangeMode`.
        keys: columns that an update of a row does not change, or none.
    """

    namespace: list[str]
    name: str
    start: ChangeBound | None = None
    end: ChangeBound | None = None
    mode: Literal["each", "net", "raw"] = "each"
    keys: list[str] = []


class PlanChanges(Reading, tag="plan_changes", frozen=True, kw_only=True):
    """Answer: `PlannedScan`, the files that versions up to the table's own removed and added.

    The values of a partition are the values of its columns that are read, and then the type of its rows'
    change, the version, and the time of that version's commit.

    Attributes:
        first: the first version wanted.
        mode: see `LoadChanges`.
        by_key: whether removed rows of one partition may have become rows of another.
        compared: whether files are wanted whose rows have to be compared with other files' rows, or all other
            files.
        columns: that are read.
    """

    first: int
    mode: Literal["each", "net", "raw"]
    by_key: bool
    compared: bool
    columns: list[str]


class ConditionedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table, and a query's conditions on it.

    Attributes:
        table: the table.
        predicates: joined by AND (trees).
    """

    table: TableRef
    predicates: list[dict[str, Any]]


class RuntimeCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A runtime filter that could prune the scan of a table.

    Attributes:
        table: the table of the probe side.
        read_options: of the scan; see `Reading`.
        facts: about the join and the scan.
        predicates: of the scan, when it was planned (trees).
        columns: that the values belong to.
        expression: a key computed from data columns (a tree), or None for all other keys.
        values_of: the one table of this catalog that the values come from, or None if there is no such table.
    """

    table: TableRef
    facts: Candidate
    read_options: dict[str, str] = {}
    predicates: list[dict[str, Any]] = []
    columns: list[str] = []
    expression: dict[str, Any] | None = None
    values_of: ConditionedTable | None = None


class SkewCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A join with a side that scans a table whose keys may be heavy.

    Attributes:
        table: that table.
        facts: about the join and its sides.
        columns: the table's columns that are keys of the join.
        join: a number that the candidates of one join share: its sides.
        read_options: of the scan; see `Reading`.
        predicates: of the scan, when it was planned (trees).
        other: the table of this catalog that the other side scans, or None if it is not that simple.
        other_columns: for each of `columns` the column of that table that it is joined with, or None if
            another expression is.
    """

    table: TableRef
    facts: SkewFacts
    columns: list[str]
    join: int = 0
    read_options: dict[str, str] = {}
    predicates: list[dict[str, Any]] = []
    other: ConditionedTable | None = None
    other_columns: list[str | None] = []


class ExplainJoins(Question, tag="explain_joins", frozen=True):
    """Answer: `JoinLines`, what EXPLAIN says of the joins of a query.

    Attributes:
        joins: the facts about the joins of its plan.
        heavy_keys: the decisions on their heavy keys.
        settings: Spark's settings that decide whether joins shuffle; see `Terms`.
    """

    joins: list[JoinFacts] = []
    heavy_keys: list[HeavyKeysReport] = []
    settings: dict[str, str] = {}


class PlanJoins(CatalogQuestion, tag="plan_joins", frozen=True):
    """Answer: `PlannedJoins`, what the joins of one query need.

    The bridge asks up to three times while it optimizes a plan, as each answer changes it: about heavy keys,
    then about runtime filters, and at last about buckets.

    Attributes:
        candidates: for runtime filters of tables of this catalog.
        known_first: whether plan-time values that can be used are the whole answer. They narrow their scans,
            and the bridge asks again about the narrowed plan.
        graph: the joins with a side in buckets, of tables of any catalog.
        skewed: joins whose heavy keys may be joined apart, with tables of this catalog.
        settings: of the session, with names that begin with `parquetry.`.
    """

    candidates: list[RuntimeCandidate] = []
    known_first: bool = False
    graph: PlanGraph = PlanGraph([], [])
    skewed: list[SkewCandidate] = []
    settings: dict[str, str] = {}
