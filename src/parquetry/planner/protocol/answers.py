"""The answers to the bridge's questions, typed once on this side; `bridge/protocol/Answers.scala` reads each of them.

Values travel as text, as Catalyst holds them (see `values`), NULL as null; schemas are Spark's JSON of a struct.
"""

from __future__ import annotations

import builtins
from typing import Any, TypeAlias

import msgspec

from parquetry.metastore.storage import Constraint
from parquetry.planner.protocol.questions import PageCursor, TableRef, View
from parquetry.prune import Usable
from parquetry.prune.runtime import Verdict

Values: TypeAlias = list[str | None]


class Answer(msgspec.Struct, frozen=True):
    """What every answer is one of."""


class Done(Answer, frozen=True):
    """What was asked for is done, and there is nothing to tell of it."""


class Confirmation(Answer, frozen=True):
    """Whether it is so: whether something was there to drop, or whether a condition can be deleted by."""

    held: bool


class NameList(Answer, frozen=True):
    """Databases, tables, procedures, or partitions as SHOW PARTITIONS prints them."""

    names: list[str]


class Properties(Answer, frozen=True):
    """What is known of a database or of a partition."""

    properties: dict[str, str]


class Rewritten(Answer, frozen=True):
    """The text that is to be parsed in place of a statement's; None: it may stay."""

    text: str | None


class Schema(Answer, frozen=True):
    """The columns that a statement gives."""

    schema: dict[str, Any]


class Rows(Answer, frozen=True):
    """Rows of values, of columns that the bridge knows."""

    rows: list[Values]


class MetadataPage(Answer, frozen=True):
    """Some of many rows.

    Attributes:
        rows: as of `Rows`.
        next: what the question about the rows behind these names; None: there are no more.
        pushed: the conditions by which others were not read, for EXPLAIN.
    """

    rows: list[Values]
    next: PageCursor | None
    pushed: list[str] | msgspec.UnsetType = msgspec.UNSET


class Bucketing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Into how many buckets rows are spread by which columns; of what each is sorted by, what is sorted upwards throughout."""

    columns: list[str]
    count: int
    sorted_by: list[str] = []


class LoadedTable(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """One version of a table.

    Attributes:
        name: with its catalog, quoted where SQL needs it.
        table: what the next questions about it name.
        schema: as queries see it.
        physical_schema: the same under the names that the files use; None: those are the same.
        partition_by: names of the partition columns.
        format: ``parquet`` or ``orc``.
        properties: the table's, and those that Spark reserves.
        bucketing: of partitions made from now on; None: they have no buckets.
        clustered_by: the columns and fields that CLUSTER BY names: names that lead to each.
        constraints: in their order.
        clauses: by the names of the properties that they say, clauses for SHOW CREATE TABLE to show instead.
        details: pairs of a name and a text for DESCRIBE EXTENDED to show besides.
        directories: whether partitions may have directories for heavy values.
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
    constraints: list[Constraint] = []
    clauses: dict[str, str] = {}
    details: list[list[str]] = []
    directories: bool = False


class Relation(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """What a name stands for: one of the two."""

    table: LoadedTable | None = None
    view: View | None = None


class MetadataTable(Answer, frozen=True):
    """What is known of a table, as a table: which kind of knowledge, and about which version."""

    name: str
    kind: str
    table: TableRef
    schema: dict[str, Any]


class Pushed(Answer, frozen=True):
    """What predicates are good for, one for one.

    Attributes:
        exact: whether Spark need not evaluate it on rows.
        again: whether it is about partition columns alone and not understood, so that Spark can evaluate it over their
            values.
        row_groups: what of it Spark's readers may use on row groups; None: nothing.
    """

    exact: list[bool]
    again: list[bool]
    row_groups: list[Usable | None]


class PartitionValueRows(Answer, frozen=True):
    """For each condition the different rows of values that its columns have in the partitions in question."""

    values: list[list[Values]]


class ValueRows(msgspec.Struct, frozen=True):
    """Rows of values of some columns."""

    columns: list[str]
    rows: list[Values]


class HeavyValueRows(Answer, frozen=True):
    """For each condition the different rows of values that its columns have in directories for heavy values.

    Partitions that are skewed by other columns have rows of other columns.
    """

    values: list[list[ValueRows]]


class FileList(msgspec.Struct, frozen=True, omit_defaults=True):
    """Files to read, in columns: a place in each for each file.

    Two files of one partition, `/t/p=1/a.parquet` of 100 bytes and `/t/p=1/b.parquet` of 200, are one folder, the names
    `a.parquet/b.parquet`, and the numbers 0 0 (`folder`), 0 0 (`partition`), 100 200 (`bytes`) and so on. Numbers are
    little-endian, in base64.

    Attributes:
        folders: whole, without a slash at the end.
        names: joined by slashes, which no name holds.
        folder: numbers of the folders, in 32 bits.
        partition: numbers of the partitions in the answer, in 32 bits.
        bytes: sizes, in 64 bits.
        modified: when they changed, in milliseconds since the epoch, in 64 bits; 0: not known.
        bucket: numbers of the buckets, in 32 bits, of as many as `ReportedBuckets.held` says; empty where the scan tells of none.
    """

    folders: list[str]
    names: str
    folder: builtins.bytes
    partition: builtins.bytes
    bytes: builtins.bytes
    modified: builtins.bytes
    bucket: builtins.bytes = b""


class SortOrder(msgspec.Struct, frozen=True):
    """A column that files are sorted by, NULL first, or downwards and NULL last."""

    column: str
    descending: bool


class ReportedBuckets(msgspec.Struct, frozen=True):
    """The buckets that all rows of a scan lie in.

    Attributes:
        version: of the hash: ``1``, ``2`` or ``spark``.
        count: how many Spark is to know.
        held: how many of them files are in, a divisor of `count`. If it is a smaller number, a file is read once for each of
            the buckets of `count` that its rows can lie in, and each time rows of the others are left out.
        columns: in the order in which they are hashed, all of them read.
        types: theirs, in Spark's JSON, with what they are in the table: a varchar is no string.
        order: what each file is sorted by, as far as it is read.
        larger: whether a join with a table of more buckets is to be made in as many as that one has.
    """

    version: str
    count: int
    held: int
    columns: list[str]
    types: list[Any]
    order: list[SortOrder]
    larger: bool


class ScanStatistics(msgspec.Struct, frozen=True):
    """What Spark chooses joins by; None: not known."""

    bytes: int
    rows: int | None
    files: int


class Metric(msgspec.Struct, frozen=True):
    """A number for Spark's UI: its name, how it is shown there, and its value; None: the scan has none."""

    name: str
    text: str
    value: int | None


class RowGroupRanges(msgspec.Struct, frozen=True):
    """Ranges that hold all values of a column that a join has found.

    Attributes:
        column: that is read.
        ends: of each range the least and the greatest value.
        values: all of them, if they are to be looked up one by one, too.
    """

    column: str
    ends: list[Values]
    values: Values


class PlannedScan(Answer, frozen=True, omit_defaults=True):
    """What a scan reads.

    Attributes:
        files: with their partitions by number.
        partitions: the values of each, in the order in which Spark reads their columns.
        statistics: of all of it.
        metrics: what Spark's UI shows.
        description: EXPLAIN's line.
        report: one scan of `Report.to_dict()`.
        buckets: that all rows lie in; None: nothing is known of that.
        filterable: the columns read of which values that a join finds at run time can leave something out.
        most_values: of one set of these, that may be sent one by one.
        most_wait: how many milliseconds values are waited for that something runs for alone; None: until they are there.
        again: of what was found, one for one, whether it is about partition columns alone and not understood, so that Spark
            can evaluate it over their values.
        row_groups: what the readers may leave row groups out by; joined by AND.
        unused: of what was found, one for one, why it leaves nothing out; None: it leaves something out.
        late: whether files and partitions are yet to be asked for, because values of a join may come before they are needed.
        decided: conditions of the query that left out partitions, as text: Spark applies none that these decide.
    """

    files: FileList
    partitions: list[Values]
    statistics: ScanStatistics
    metrics: list[Metric]
    description: str
    report: dict[str, Any]
    buckets: ReportedBuckets | None = None
    filterable: list[str] = []
    most_values: int = 0
    most_wait: int | None = None
    again: list[bool] = []
    row_groups: list[RowGroupRanges] = []
    unused: list[str | None] = []
    late: bool = False
    decided: list[str] = []


class StreamPosition(Answer, frozen=True):
    """How far a stream is, for a checkpoint; the planner alone reads it."""

    position: str


class Aggregated(msgspec.Struct, frozen=True):
    """The rows of an aggregate, and what its scan left out; see `PlannedScan`."""

    schema: dict[str, Any]
    rows: list[Values]
    description: str
    report: dict[str, Any]


class MaybeAggregated(Answer, frozen=True):
    """An aggregate that the metastore answered; None: it cannot be exact alone."""

    aggregated: Aggregated | None


class RuntimeVerdicts(Answer, frozen=True):
    """What is to become of values that joins find, one for one of the candidates that were asked about."""

    verdicts: list[Verdict]


class KeyRangeRows(Answer, frozen=True):
    """For each partition with values: those of the partition columns, and the least and the greatest of a column in its files."""

    rows: list[Values]


class WriteSummary(Answer, frozen=True):
    """What a write made: how many files, in how many partitions, with how many rows and bytes."""

    files: int
    partitions: int
    rows: int
    bytes: int


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a procedure: its name, type in DDL, comment, and default in SQL (None: it must be given)."""

    name: str
    type: str
    comment: str
    default: str | None


class ProcedureSignature(Answer, frozen=True):
    """A procedure, as CALL has to know it."""

    name: str
    description: str
    parameters: list[Parameter]


class Called(Answer, frozen=True):
    """What a procedure gave.

    Attributes:
        schema: of the rows.
        rows: text, numbers and timestamps (microseconds) as their digits.
        changed: database and name of the table if it has another version now: what Spark has cached of it is old.
    """

    schema: dict[str, Any]
    rows: list[Values]
    changed: list[str] | None


class Error(msgspec.Struct, frozen=True):
    """Why there is no answer.

    Attributes:
        code: of our own errors; ``SPARK`` for one of Spark's, which the message finds again; ``INTERNAL`` for any other.
        message: for the user.
        name: what Spark's own error (no such table, …) is about; empty where ours says more.
        sqlstate: of our own errors.
    """

    code: str
    message: str
    name: list[str]
    sqlstate: str = "KD000"
