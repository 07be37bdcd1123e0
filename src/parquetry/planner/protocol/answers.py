"""The answers to the bridge's questions, typed once on this side.

`bridge/protocol/Answers.scala` has a case class with the same fields for each. An answer is sent with all its
fields, whether or not they have their default values.

Values travel as text, as Catalyst holds them (see `values`), NULL as null; schemas are Spark's JSON of a
struct.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeAlias

import msgspec

from parquetry.cardinality import Histogram
from parquetry.joins import BucketSizes, SkewSplit, SplitDecision, Verdict
from parquetry.metastore import Constraint
from parquetry.planner.protocol.questions import PageCursor, ScanCounts, TableRef, View
from parquetry.prune import Usable

Values: TypeAlias = list[str | None]


class Answer(msgspec.Struct, frozen=True):
    """Base of all answers."""


class Done(Answer, frozen=True):
    """The action is done; the answer has no content."""


class Confirmation(Answer, frozen=True):
    """Yes or no, such as whether there was something to drop, or a condition selects whole partitions."""

    held: bool


class NameList(Answer, frozen=True):
    """Databases, tables, procedures, or partitions as SHOW PARTITIONS prints them."""

    names: list[str]


class Properties(Answer, frozen=True):
    """Properties of a database or of a partition."""

    properties: dict[str, str]


class Rewritten(Answer, frozen=True):
    """The text to parse instead of a statement's own, or None to parse the statement unchanged."""

    text: str | None


class Schema(Answer, frozen=True):
    """The columns of a statement's result."""

    schema: dict[str, Any]


class Rows(Answer, frozen=True):
    """Rows of values. The bridge knows their columns."""

    rows: list[Values]


class MetadataPage(Answer, frozen=True):
    """One page of many rows.

    Attributes:
        rows: see `Rows`.
        next: the cursor for the next page, or None if this page is the last.
        pushed: the conditions that kept other rows from being read, for EXPLAIN.
    """

    rows: list[Values]
    next: PageCursor | None
    pushed: list[str] = []


class Bucketing(msgspec.Struct, frozen=True):
    """The buckets of a table: number and columns, and the sort columns if all are ascending."""

    columns: list[str]
    count: int
    sorted_by: list[str] = []


class TableConstraint(Constraint, frozen=True, omit_defaults=False):
    """A constraint of a table, with all fields."""


class LoadedTable(Answer, frozen=True, kw_only=True):
    """One version of a table.

    Attributes:
        name: with its catalog, quoted where SQL needs it.
        table: the reference for later questions.
        schema: as queries see it.
        physical_schema: the schema under the names in the files, or None if the names are the same.
        partition_by: names of the partition columns.
        format: ``parquet`` or ``orc``.
        properties: of the table, and the properties that Spark reserves.
        bucketing: of new partitions, or None if they have no buckets.
        clustered_by: the columns and fields that CLUSTER BY names, each as a path of names.
        constraints: in their order.
        clauses: by property name, the clauses that SHOW CREATE TABLE shows instead of these properties.
        details: pairs of a name and a text that DESCRIBE EXTENDED shows, too.
        directories: whether partitions may have directories for heavy values.
        change_file: an embedded metastore's file, which shows whether someone has written to it, or None; see
            `StoreMark` in the bridge.
    """

    name: str
    table: TableRef
    schema: dict[str, Any]
    physical_schema: dict[str, Any] | None
    partition_by: list[str]
    format: str
    properties: dict[str, str]
    bucketing: Bucketing | None = None
    clustered_by: list[list[str]] = []
    constraints: list[TableConstraint] = []
    clauses: dict[str, str] = {}
    details: list[list[str]] = []
    directories: bool = False
    change_file: str | None = None


class LoadedChanges(Answer, frozen=True):
    """The changes of a table between versions.

    Attributes:
        table: in the last version of the range, whose columns the rows have.
        first: the first version of the range.
        last: the last one. It is one less than `first` if the range is empty.
        keys: names of the key's columns, as the table spells them.
    """

    table: LoadedTable
    first: int
    last: int
    keys: list[str]


class Relation(Answer, frozen=True, kw_only=True):
    """A table or a view: one of the two is set, unless the version that the session knows is the newest.

    Attributes:
        table: a table.
        view: a view.
        unchanged: whether the known version of a table is still the newest.
        past: whether there may be a version later than the moment of the statement's other tables.
    """

    table: LoadedTable | None = None
    view: View | None = None
    unchanged: bool = False
    past: bool = False


class Relations(Answer, frozen=True):
    """The tables and views that a statement names, in the order of the question.

    Attributes:
        relations: for each name the table or the view, or None if it cannot be loaded. Then the bridge asks
            for it by `LoadRelation`, whose error says why.
    """

    relations: list[Relation | None]


class MetadataTable(Answer, frozen=True):
    """A metadata table: its kind, and the version of the table that it describes; or a branch of a table.

    Attributes:
        branch: the table, if the name is a branch's, whose kind is ``branch``. Else None.
    """

    name: str
    kind: str
    table: TableRef
    schema: dict[str, Any]
    branch: LoadedTable | None = None


class Pushed(Answer, frozen=True):
    """How predicates can be used, one for one.

    Attributes:
        exact: whether Spark need not evaluate it on rows.
        again: whether it is about partition columns alone but not understood, so that Spark can evaluate it
            on their values.
        row_groups: the part that Spark's readers may apply to row groups, or None if there is no such part.
        scan: the plan of the scan that the question foresees, or None.
        columns: that this plan reads.
        estimate: of this scan, if the question wants it.
    """

    exact: list[bool]
    again: list[bool]
    row_groups: list[Usable | None]
    scan: PlannedScan | None = None
    columns: list[str] = []
    estimate: ScanEstimate | None = None


class PartitionValueRows(Answer, frozen=True):
    """For each condition the distinct rows of values that its columns have in the selected partitions."""

    values: list[list[Values]]


class ValueRows(msgspec.Struct, frozen=True):
    """Rows of values of some columns."""

    columns: list[str]
    rows: list[Values]


class HeavyValueRows(Answer, frozen=True):
    """For each condition the distinct rows of values that its columns have in directories for heavy values.

    Partitions with other skewed columns have rows of other columns.
    """

    values: list[list[ValueRows]]


class FileList(msgspec.Struct, frozen=True):
    """Files to read, as columns: each column has one element for each file.

    Take two files of one partition: `/t/p=1/a.parquet` with 100 bytes, `/t/p=1/b.parquet` with 200. There is
    one folder, `/t/p=1`. The names are `a.parquet/b.parquet`. The numbers are 0 0 (`folder`), 0 0
    (`partition`) and 100 200 (`bytes`). Numbers are little-endian, in base64.

    Attributes:
        folders: complete, without a slash at the end.
        names: joined by slashes; no name contains one.
        folder: index into `folders`, in 32 bits.
        partition: index into the partitions of the answer, in 32 bits.
        bytes: sizes, in 64 bits.
        modified: modification times, in milliseconds since the epoch, in 64 bits; 0 if unknown.
        bucket: numbers of the buckets, from 0 to `ReportedBuckets.held` - 1, in 32 bits; empty if the scan
            reports no buckets.
        rows: numbers of rows, in 64 bits, of the files that need not be opened; -1 for all other files. Each
            column that the scan reads has one value in such a file. Empty if there are none.
        values: the values of the data columns that the scan reads, in their order; different rows of them.
        value: index into `values`, in 32 bits; empty if `rows` is.
    """

    folders: list[str]
    names: str
    folder: builtins.bytes
    partition: builtins.bytes
    bytes: builtins.bytes
    modified: builtins.bytes
    bucket: builtins.bytes = b""
    rows: builtins.bytes = b""
    values: list[Values] = []
    value: builtins.bytes = b""


class SortOrder(msgspec.Struct, frozen=True):
    """A column that files are sorted by: ascending with NULL first, or descending with NULL last."""

    column: str
    descending: bool


class ReportedBuckets(msgspec.Struct, frozen=True):
    """The buckets that contain the rows of a scan, or most of them.

    Attributes:
        version: of the hash: ``1``, ``2`` or ``spark``.
        count: the number of buckets that Spark sees.
        held: the number of buckets that the files have, a divisor of `count`. With 4 of 8, Spark sees each
            file in two buckets. It reads the file twice, and each time skips the rows of the other bucket.
        columns: in their hash order. The scan reads all of them.
        types: of the columns, in Spark's JSON, as the table declares them: a varchar is no string.
        order: the columns that each file is sorted by, up to the first that is not read.
        merged: whether the files of a bucket are to be read as one, in this order. Never if no bucket has
            several files.
        larger: whether a join with a table of more buckets uses the larger number.
        outside: bytes of the files in no bucket, or in buckets of another kind. Their bucket is -1.
        sizes: of the buckets; None if they are unknown, or too many to send.
        least: the fewest rows of a bucket that a join may split.
        hot: whether a bucket has far more rows than others, and at least `least`.
    """

    version: str
    count: int
    held: int
    columns: list[str]
    types: list[Any]
    order: list[SortOrder]
    merged: bool
    larger: bool
    outside: int
    sizes: BucketSizes | None = None
    least: int = 0
    hot: bool = False


class ScanStatistics(msgspec.Struct, frozen=True):
    """The sizes that Spark chooses joins by. The rows are None if unknown."""

    bytes: int
    rows: int | None
    files: int


class Metric(msgspec.Struct, frozen=True):
    """A number in Spark's UI: its name, its label, and its value, or None if the scan has none."""

    name: str
    text: str
    value: int | None


class RowGroupRanges(msgspec.Struct, frozen=True):
    """Ranges that contain all values of a column that are needed, by a join's values or the first rows.

    Attributes:
        column: the column, which the scan reads.
        ends: the minimum and the maximum of each range; None for a range without one of them.
        values: all values, if readers are to look up each of them, too; else empty.
    """

    column: str
    ends: list[Values]
    values: Values


class ReadingOrder(msgspec.Struct, frozen=True):
    """The reading order of a scan's files, for a query that may end before it has read all of them.

    Attributes:
        ranks: the rank of each file, 32-bit integers; lower ranks come first.
        bounds: for each rank, the best value of the sort key in its files, a list of one; an empty list if it
            is not known. Empty if there is no sort key.
        column: the sort key, if readers may skip row groups by the worst value that is still wanted.
    """

    ranks: bytes
    bounds: list[Values]
    column: str | None = None


class FileScan(msgspec.Struct, frozen=True):
    """Whether Spark's own scan of files may read the files of a scan.

    Attributes:
        reason: why it must not, or None if it may.
    """

    reason: str | None = None


class PlannedScan(Answer, frozen=True):
    """The plan of a scan.

    Attributes:
        files: with their partitions by index.
        partitions: the values of each, in the order of Spark's columns.
        statistics: of all files.
        metrics: for Spark's UI.
        description: EXPLAIN's line.
        report: one scan of `Report.to_dict()`.
        counts: what its steps kept.
        buckets: the buckets that contain all rows, or None if the scan has no such buckets.
        filterable: the columns whose runtime filters can prune something.
        runtime_pruning: whether settings let runtime filters prune the scan.
        most_values: how many values of one set the bridge may send one by one.
        most_wait: how many milliseconds to wait for a build side that runs only for its values, or None for
            no limit.
        again: for each runtime condition, whether it is about partition columns alone but not understood, so
            that Spark can evaluate it on their values.
        row_groups: the ranges that readers may skip row groups by, joined by AND.
        unused: for each runtime condition, why it prunes nothing, or None if it prunes something.
        late: whether the bridge still has to ask for files and partitions, because a runtime filter may come
            first.
        decided: conditions of the query that pruned partitions, as text. Spark need not apply a condition
            that these decide.
        order: the reading order of the files, or None if any will do.
        native: whether Spark's own scan of files may read them, or None if that is not wanted.
    """

    files: FileList
    partitions: list[Values]
    statistics: ScanStatistics
    metrics: list[Metric]
    description: str
    report: dict[str, Any]
    counts: ScanCounts
    buckets: ReportedBuckets | None = None
    filterable: list[str] = []
    runtime_pruning: bool = True
    most_values: int = 0
    most_wait: int | None = None
    again: list[bool] = []
    row_groups: list[RowGroupRanges] = []
    unused: list[str | None] = []
    late: bool = False
    decided: list[str] = []
    order: ReadingOrder | None = None
    native: FileScan | None = None


class StreamPosition(Answer, frozen=True):
    """How far a stream has read, for a checkpoint. Only the planner interprets it."""

    position: str


class Aggregated(msgspec.Struct, frozen=True):
    """The rows of an aggregate, and what its scan pruned; see `PlannedScan`.

    Attributes:
        files: the number of files whose rows are not in it, so that they have to be read.
    """

    schema: dict[str, Any]
    rows: list[Values]
    description: str
    report: dict[str, Any]
    files: int = 0


class MaybeAggregated(Answer, frozen=True):
    """An aggregate from the metastore alone, or None if its statistics do not give an exact result."""

    aggregated: Aggregated | None


class PlannedJoins(Answer, frozen=True):
    """The decisions about the joins of one query.

    Attributes:
        verdicts: the decisions about runtime filters, one for each candidate in the question.
        bucket_counts: the number of buckets that each scan of the question's graph reports to Spark.
        in_place: the number of buckets that each scan of the graph is read in place in, or 0 if it is not.
        splits: what is split of each join of the graph.
        skew_splits: the decisions about heavy keys, one for each skewed join in the question.
    """

    verdicts: list[Verdict]
    bucket_counts: list[int]
    in_place: list[int]
    splits: list[SplitDecision] = []
    skew_splits: list[SkewSplit] = []


class JoinLines(Answer, frozen=True):
    """The lines of EXPLAIN about the joins of a query."""

    lines: list[str]


class KeyRangeRows(Answer, frozen=True):
    """For each partition with values a row: partition values, then a column's minimum and maximum."""

    rows: list[Values]


class ColumnNumbers(msgspec.Struct, frozen=True):
    """The statistics of a column: see `parquetry.cardinality.ColumnEstimate`."""

    name: str
    distinct: int
    nulls: int
    least: str | None
    greatest: str | None
    length: int | None
    histogram: Histogram | None


class ScanEstimate(Answer, frozen=True):
    """The numbers of a scan for Spark's optimizer.

    Attributes:
        rows: of its files, or None if Spark would estimate worse with this number than without.
        columns: their statistics.
    """

    rows: int | None
    columns: list[ColumnNumbers]


class WriteSummary(Answer, frozen=True):
    """The result of a write: its files, the partitions that got some, its rows and its bytes."""

    files: int
    partitions: int
    rows: int
    bytes: int


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a procedure: name, type in DDL, comment, and default in SQL or None if required."""

    name: str
    type: str
    comment: str
    default: str | None


class ProcedureSignature(Answer, frozen=True):
    """A procedure's signature, for CALL."""

    name: str
    description: str
    parameters: list[Parameter]


class Called(Answer, frozen=True):
    """The result of a procedure.

    Attributes:
        schema: of the rows.
        rows: text. Numbers and timestamps (microseconds) are written in digits.
        changed: database and name of the table if its version changed, so that Spark drops its cached data.
        transaction: the transaction of several tables that the session has from now on, empty for none; None
            if that does not change.
    """

    schema: dict[str, Any]
    rows: list[Values]
    changed: list[str] | None
    transaction: str | None = None


class Error(msgspec.Struct, frozen=True):
    """Why there is no answer.

    Attributes:
        code: of our own errors; ``SPARK`` for an error of Spark's, which the message identifies; ``INTERNAL``
            else.
        message: for the user.
        name: the name that Spark's own error (no such table, …) is about; empty where our message says more.
        sqlstate: of our own errors, as clients of SQL see it.
    """

    code: str
    message: str
    name: list[str]
    sqlstate: str = "KD000"
