"""The basis of forecasts for a table: a sample of its rows, its queries, and what they read now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parquetry.adviser.forecast import Forecaster
from parquetry.adviser.input.bound_queries import Others, bind_questions, columns_asked, reads_of
from parquetry.adviser.input.sampling import SAMPLE_BYTES, SAMPLE_ROWS, SamplePlan, draw_sample, plan_sample
from parquetry.adviser.input.sources import TableSource, require_rows
from parquetry.errors import UnsupportedError
from parquetry.progress import Progress, silent
from parquetry.workload import QueryRecord, TableRead

MAX_NAMED_TABLES = 5
"""Tables of other queries that an error names."""


@dataclass(frozen=True, slots=True)
class AdviceRequest:
    """A request for advice.

    Attributes:
        records: the queries.
        names: how queries name the table.
        catalog: its catalog's name, for statements.
        others: finds other tables of joins.
        sample_rows: rows to draw.
        sample_bytes: bytes of columns that may be read for it.
        progress: called with the work that is done.
        plan_made: called with what the sample would read, before it is read.
        order_only: whether only orders of rows count, within the table's own partitions and size of files.
    """

    records: Sequence[QueryRecord]
    names: Sequence[str]
    catalog: str = "lake"
    others: Others = lambda _: None
    sample_rows: int = SAMPLE_ROWS
    sample_bytes: int = SAMPLE_BYTES
    progress: Progress = silent
    plan_made: Callable[[SamplePlan], None] = lambda _: None
    order_only: bool = False


class TableStudy:
    """A table with a sample of its rows and its queries.

    Args:
        source: the table.
        request: for advice.

    Attributes:
        source, request: as given.
        plan: of the sample.
        sample: of the rows.
        asked: the columns of conditions and joins, the most used first.
        questions: the queries.
        other_tables: bytes and bucket columns of tables of joins, by name.
        forecaster: counts what the queries read.

    Raises:
        UnsupportedError: no query reads the table, or the table has no rows; or Spark alone reads its rows.
        FileMissingError, FileCorruptError: a file cannot be read.
    """

    def __init__(self, source: TableSource, request: AdviceRequest) -> None:
        require_rows(source)
        reads = reads_of(request.records, [source.name, *request.names])
        if not reads:
            others = dict.fromkeys(read.table for record in request.records for read in record.reads)
            read = f" (they read {', '.join(list(others)[:MAX_NAMED_TABLES])})" if others else ""
            raise UnsupportedError(
                f"No query of {source.name} is known{read}, so there is nothing to advise by: give queries, such as a file "
                "with a condition on each line or with SQL, or let the warehouse keep a history "
                "('pruning-history' = 'on')."
            )
        self.source, self.request = source, request
        self.asked = columns_asked(source, reads)
        self.plan = plan_sample(
            source, _sampled(source, reads, self.asked), request.sample_rows, request.sample_bytes
        )
        request.plan_made(self.plan)
        self.sample = draw_sample(source, self.plan, request.progress)
        self.questions = bind_questions(source, reads, self.sample, request.others)
        request.progress("Cutting rows into files", 0, None)
        self.other_tables = _other_tables(reads, request.others)
        self.forecaster = Forecaster(source, self.sample, self.questions.questions, self.other_tables)


def _sampled(
    source: TableSource, reads: Sequence[tuple[QueryRecord, TableRead]], asked: Sequence[str]
) -> list[str]:
    """Return the columns to read: what layouts may be made of, and what queries read."""
    spellings = {name.lower(): name for name in source.columns}
    names = dict.fromkeys([*asked, *(grain.column for grain in source.layout.partition)])
    for _, read in reads:
        every = source.columns if read.columns is None else read.columns
        tops = (name.lower().partition(".")[0] for name in every)
        names.update(dict.fromkeys(spellings[top] for top in tops if top in spellings))
    return [name for name in names if source.columns[name].column_type.primitive]


def _other_tables(
    reads: Sequence[tuple[QueryRecord, TableRead]], others: Others
) -> dict[str, tuple[int, tuple[str, ...]]]:
    names = {join.other_table for _, read in reads for join in read.joins if join.other_table is not None}
    known = {name: others(name) for name in names}
    return {name: (other.bytes, other.layout.bucket_by) for name, other in known.items() if other is not None}
