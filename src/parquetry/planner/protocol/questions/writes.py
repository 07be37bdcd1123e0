"""Questions of statements and streams that write rows."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.planner.protocol.questions.base import CatalogQuestion, TableRef
from parquetry.planner.protocol.questions.partitions import Predicates


class Batch(msgspec.Struct, frozen=True):
    """A batch of a streaming query that writes into a table.

    Attributes:
        query: its id.
        number: of the batch.
        table: id of the table that the query began to write into.
    """

    query: str
    number: int
    table: str


class Read(msgspec.Struct, frozen=True):
    """What a statement read of a table.

    Attributes:
        table: in the version that was read.
        predicates: of the query, by which it was planned (trees).
    """

    table: TableRef
    predicates: list[dict[str, Any]]


class Write(Predicates, tag="write", frozen=True):
    """Answer: `WriteSummary`. The rows come beside the question, as a DataFrame.

    Attributes:
        mode: of what they replace.
        write_options: as given to `df.write.option` or in `WITH (…)`.
        settings: those of the session whose names begin with `parquetry.`.
        batch: of a streaming query, whose rows these are; None: of none.
        reads: what the statement reads; None: what the DataFrame's plan does.
        searched_by: of a MERGE that inserts alone: partition columns that are compared with what a row is inserted with, so that
            it was looked for where they have this value; None: no such statement.
    """

    mode: Literal["append", "truncate", "overwrite", "dynamic"]
    write_options: dict[str, str] = {}
    settings: dict[str, str] = {}
    batch: Batch | None = None
    reads: list[Read] | None = None
    searched_by: list[str] | None = None


class RewriteRows(CatalogQuestion, tag="rewrite_rows", frozen=True):
    """Answer: `WriteSummary`. What a statement made of all rows of some files comes beside the question, as a DataFrame.

    Attributes:
        table: the version that was read.
        files: absolute paths of those that the rows replace.
        partitions: theirs, and perhaps more: values as text, in the order of the partition columns.
        statement: that changes rows.
        settings: those of the session whose names begin with `parquetry.`.
        predicates: by which these files were looked for (trees).
        reads: what the statement reads, these files among it.
        searched_by: see `Write`; None: the statement inserts nothing.
    """

    table: TableRef
    files: list[str]
    partitions: list[list[str | None]]
    statement: Literal["delete", "update", "merge"]
    settings: dict[str, str] = {}
    predicates: list[dict[str, Any]] = []
    reads: list[Read] = []
    searched_by: list[str] | None = None
