"""Questions of statements and streams that write rows."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from parquetry.planner.protocol.questions.base import CatalogQuestion, TableRef
from parquetry.planner.protocol.questions.partitions import Predicates


class Batch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A batch of a streaming query that writes into a table.

    Attributes:
        query: its id.
        number: of the batch.
        table: id of the table that the query began to write into.
    """

    query: str
    number: int
    table: str


class Read(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One read of a table by a statement.

    Attributes:
        table: in the version that was read.
        predicates: of the scan, when it was planned (trees).
    """

    table: TableRef
    predicates: list[dict[str, Any]]


class Write(Predicates, tag="write", frozen=True):
    """Answer: `WriteSummary`. The rows come beside the question, as a DataFrame.

    Attributes:
        mode: which rows the new ones replace.
        write_options: from `df.write.option` or `WITH (…)`.
        settings: of the session, with names that begin with `parquetry.`.
        batch: the batch of the streaming query that wrote these rows, or None for other writes.
        reads: what the statement reads, or None to take it from the DataFrame's plan.
        searched_by: partition columns, for a MERGE that only inserts; None for other statements. The MERGE
            compares them with the values that a row is inserted with, so it searched for the row only where
            they have these values.
    """

    mode: Literal["append", "truncate", "overwrite", "dynamic"]
    write_options: dict[str, str] = {}
    settings: dict[str, str] = {}
    batch: Batch | None = None
    reads: list[Read] | None = None
    searched_by: list[str] | None = None


class RewriteRows(CatalogQuestion, tag="rewrite_rows", frozen=True):
    """Answer: `WriteSummary`. The new rows of some files come beside the question, as a DataFrame.

    Attributes:
        table: the version that was read.
        files: absolute paths of the files that the rows replace.
        partitions: of these files, and perhaps more: values as text, in the order of the partition columns.
        statement: the kind of statement.
        settings: of the session, with names that begin with `parquetry.`.
        predicates: that found these files (trees).
        reads: what the statement reads, including these files.
        searched_by: see `Write`; None if the statement inserts nothing.
    """

    table: TableRef
    files: list[str]
    partitions: list[list[str | None]]
    statement: Literal["delete", "update", "merge"]
    settings: dict[str, str] = {}
    predicates: list[dict[str, Any]] = []
    reads: list[Read] = []
    searched_by: list[str] | None = None
