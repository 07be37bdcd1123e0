"""Advice without Spark: on a table of a warehouse, or on a folder of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from parquetry import adviser
from parquetry.adviser import Advice, Queries
from parquetry.catalog.upkeep import UpkeepContext
from parquetry.metastore import Metastore
from parquetry.operations import advice_inputs, folder_inputs
from parquetry.progress import Progress, silent


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How rows are drawn for advice.

    Attributes:
        rows: how many; None for the default.
        progress: called with the work that is done.
        plan_made: called with what the sample would read, before it is read.
    """

    rows: int | None = None
    progress: Progress = silent
    plan_made: Callable[[adviser.SamplePlan], None] = lambda _: None

    def added_to(self, request: adviser.AdviceRequest) -> adviser.AdviceRequest:
        """Return a request with these options."""
        rows = request.sample_rows if self.rows is None else self.rows
        return replace(request, sample_rows=rows, progress=self.progress, plan_made=self.plan_made)


def is_folder(table: str | os.PathLike[str]) -> bool:
    """Return whether a text names a folder, and no table."""
    text = os.fspath(table)
    return not isinstance(table, str) or "/" in text or os.sep in text or Path(text).is_dir()


def advise_on_folder(
    folder: str | os.PathLike[str],
    queries: Queries,
    options: SampleOptions,
    name: str | None = None,
) -> Advice:
    """Advise on a folder of Parquet files. Tables of joins are looked for beside it.

    Args:
        folder: path or URI.
        queries: see `parquetry.advise`.
        options: of the sample.
        name: of the table that has the folder, in SQL, if it has one.

    Raises:
        WarehouseError: the folder has no Parquet file.
        UnsupportedError: there is no query; or only Spark reads the rows.
    """
    source, request = folder_inputs(os.fspath(folder), queries, name)
    return adviser.advise_on(source, options.added_to(request))


def advise_on_table(metastore: Metastore, name: str, queries: Queries, options: SampleOptions) -> Advice:
    """Advise on a table of a warehouse; see `advise_on_folder`.

    Raises:
        TableNotFoundError: there is no such table.
    """
    source, request = advice_inputs(UpkeepContext(metastore), name, queries)
    return adviser.advise_on(source, options.added_to(request))
