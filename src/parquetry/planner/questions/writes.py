"""Questions of statements and streams that write rows."""

from __future__ import annotations

from typing import Literal

import msgspec

from parquetry.planner.questions.base import CatalogQuestion, TableRef
from parquetry.planner.questions.partitions import Predicates


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


class Write(Predicates, tag="write", frozen=True):
    """Answer: `Written`. The rows come beside the question, as a DataFrame.

    Attributes:
        mode: of what they replace.
        write_options: as given to `df.write.option` or in `WITH (…)`.
        settings: those of the session whose names begin with `parquetry.`.
        batch: of a streaming query, whose rows these are; None: of none.
    """

    mode: Literal["append", "truncate", "overwrite", "dynamic"]
    write_options: dict[str, str] = {}
    settings: dict[str, str] = {}
    batch: Batch | None = None


class RewriteRows(CatalogQuestion, tag="rewrite_rows", frozen=True):
    """Answer: `Written`. What a statement made of all rows of some files comes beside the question, as a DataFrame.

    Attributes:
        table: the version that was read.
        files: absolute paths of those that were read, which the rows replace.
        partitions: theirs, and perhaps more: values as text, in the order of the partition columns.
        statement: that changes rows.
        settings: those of the session whose names begin with `parquetry.`.
    """

    table: TableRef
    files: list[str]
    partitions: list[list[str | None]]
    statement: Literal["delete", "update", "merge"]
    settings: dict[str, str] = {}
