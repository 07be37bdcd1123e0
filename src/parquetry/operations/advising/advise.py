"""`advise`: which layout a table should have for its queries, and giving it to a table of ours.

`adviser` makes the forecasts. This module finds the table and its queries, and applies advice: new partitions
get the layout first, and old ones are rewritten within a budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, NamedTuple

from parquetry import adviser, compaction, metastore as ms, workload
from parquetry.errors import ParquetryError, UnsupportedError
from parquetry.identifiers import is_spark_table, part_text
from parquetry.operations.advising.setting import set_layout
from parquetry.operations.operation import Context, operation
from parquetry.operations.rewrites import compaction_rewrites, rewrite_partitions
from parquetry.progress import Progress, progress_bar
from parquetry.texts import quantity, size_text

if TYPE_CHECKING:
    from parquetry.adviser import Advice, Alternative, TableLayout, TableSource

_MAX_HISTORY = 20_000
"""Queries of the history that advice is made from: the newest."""
ADVISED, AS_IT_IS, EQUAL, OTHER = "advised", "as it is", "equal", "other"


class AdvisedLayout(NamedTuple):
    """A layout with what a query of the table would read under it on average.

    `verdict` is ``advised`` for the layout to take, ``as it is`` for the present one if no other is better,
    ``equal`` for one that is as good as the advised one, and ``other``.
    """

    verdict: str
    layout: str
    bytes_now: int
    bytes: int
    spread: int
    files_now: float
    files: float
    shuffles_now: float
    shuffles: float
    worse: int
    rewrite_bytes: int
    pays_after: int | None
    statement: str | None
    detail: str


@operation("Says which layout a table should have for its queries, with forecasts of what they would read.")
def advise(
    context: Context,
    table: Annotated[
        str | None, "The table, as 'database.table', or 'table' of the current database."
    ] = None,
    path: Annotated[str | None, "Instead of a table, a folder of Parquet files."] = None,
    queries: Annotated[
        list[str | None] | None,
        "Conditions in SQL, one for each query; the default is the history of queries.",
    ] = None,
    queries_file: Annotated[
        str | None, "Instead of queries, a file of conditions or of SQL, or Spark's event logs."
    ] = None,
    apply: Annotated[bool, "Whether to give the table the advised layout."] = False,
    max_bytes: Annotated[int | None, "Bytes of data files that may be rewritten, if it is applied."] = None,
) -> Iterator[AdvisedLayout]:
    """Advise on a layout, and apply it if that is wished."""
    of_spark = table is not None and is_spark_table(table)
    if (table is None) == (path is None) and not of_spark:
        raise UnsupportedError("CALL system.advise needs either table or path: give one of them.")
    if queries is not None and queries_file is not None:
        raise UnsupportedError("CALL system.advise has queries and queries_file: give one of them.")
    if apply and path is not None:
        raise UnsupportedError(
            f"{f'Table {table}' if of_spark else f'The folder {path!r}'} is no table of Parquetry, so its layout cannot "
            "be changed: run the statement of the advice, which makes a table."
        )
    given = queries_file or [text for text in queries or () if text is not None]
    with progress_bar() as progress:
        if path is not None:
            source, request = folder_inputs(path, given, table, _catalog(context))
        else:
            source, request = advice_inputs(context, table or "", given)
        advice = adviser.advise_on(source, replace(request, progress=progress))
        done = _apply(context, table or "", advice, max_bytes, progress) if apply else ""
    yield from _rows(advice, done)


def advice_inputs(
    context: Context, table: str, queries: adviser.Queries, *, order_only: bool = False
) -> tuple[TableSource, adviser.AdviceRequest]:
    """Return a table of the warehouse as the adviser sees it, and a request with its queries.

    Without queries, the warehouse's history has them. For `order_only` see `adviser.AdviceRequest`.

    Raises:
        TableNotFoundError: there is no such table.
    """
    source = _source(context, table)
    names = [table, context.full_name(context.find(table))]
    others = _other_tables(context)
    records = adviser.queries_from(queries, source.name, source.columns, others)
    if not records:
        records = list(workload.read_queries(context.metastore, context.find(table).id, limit=_MAX_HISTORY))
    return source, adviser.AdviceRequest(records, names, _catalog(context), others, order_only=order_only)


def folder_inputs(
    folder: str, queries: adviser.Queries, name: str | None = None, catalog: str = "lake"
) -> tuple[TableSource, adviser.AdviceRequest]:
    """Return a folder of Parquet files as the adviser sees it, and a request with its queries.

    Tables of joins are looked for beside it.

    Args:
        folder: path or URI.
        queries: see `parquetry.advise`.
        name: of the table that has the folder, in SQL, if it has one.
        catalog: the catalog that a new table would be in.

    Raises:
        WarehouseError: the folder has no Parquet file.
    """
    location = folder.rstrip("/")
    source = adviser.folder_source(location, name)

    @cache
    def beside(other: str) -> TableSource | None:
        try:
            return adviser.folder_source(f"{location.rpartition('/')[0] or '.'}/{other.rpartition('.')[2]}")
        except ParquetryError:
            return None

    names = [location, location.rpartition("/")[2] if name is None else name.split(".", 1)[1]]
    records = adviser.queries_from(queries, names[1], source.columns, beside)
    return source, adviser.AdviceRequest(records, names, catalog, beside)


def _catalog(context: Context) -> str:
    return str(getattr(context, "name", "lake"))


def _source(context: Context, table: str) -> TableSource:
    snapshot = context.find(table)
    name = f"{part_text(snapshot.database)}.{part_text(snapshot.name)}"
    return adviser.lake_source(snapshot, name, context.engine.target_file_size(snapshot.metadata))


def _other_tables(context: Context) -> adviser.Others:
    """Return what finds the other tables of joins in the warehouse, each once."""

    @cache
    def find(name: str) -> TableSource | None:
        try:
            return _source(context, name)
        except ParquetryError:
            return None

    return find


def _rows(advice: Advice, done: str) -> Iterator[AdvisedLayout]:
    if advice.best is None:
        now = round(advice.bytes_now), advice.files_now, advice.shuffles_now
        yield AdvisedLayout(
            AS_IT_IS, advice.layout_now, now[0], now[0], 0, now[1], now[1], now[2], now[2], 0, 0, None, None,
            " ".join(advice.notes),
        )  # fmt: skip
    else:
        yield _row(advice, advice.best, ADVISED, done or " ".join(advice.notes))
    for each in advice.alternatives:
        yield _row(advice, each, EQUAL if each.layout in advice.equals else OTHER, "")


def _row(advice: Advice, each: Alternative, verdict: str, detail: str) -> AdvisedLayout:
    return AdvisedLayout(
        verdict,
        each.layout,
        advice.bytes_now,
        each.bytes,
        each.spread,
        advice.files_now,
        each.files,
        advice.shuffles_now,
        each.shuffles,
        len(each.worse),
        each.rewrite_bytes,
        each.pays_after,
        ";\n".join(each.statements),
        detail,
    )


def _apply(context: Context, table: str, advice: Advice, max_bytes: int | None, progress: Progress) -> str:
    """Give a table the advised layout; return what was done.

    Raises:
        UnsupportedError: the layout needs other partition columns or directories, so a new table; or files
            are not written here.
    """
    if advice.best is None:
        return ""
    if not context.engine.can_rewrite:
        raise UnsupportedError("Files are rewritten by Spark alone: run CALL system.advise there.")
    best = next(
        (each for each in (advice.best, *advice.alternatives) if each.is_change and each.gain > 1), None
    )
    if best is None or best.spec is None:
        raise UnsupportedError(
            f"Table {advice.table} cannot be given the layout '{advice.best.layout}' in place, because its partition "
            f"columns or directories would change. Run: {'; '.join(advice.best.statements)}"
        )
    context.metastore.require_owned()
    snapshot = set_layout(context, context.find(table), best.spec, "advise", best.file_bytes)
    chosen = _within(_rewrites(context, snapshot, best.spec, progress), max_bytes)
    call = "rebucket" if best.spec.bucket_count else "compact"
    rewritten = sum(rewrite.bytes for rewrite in chosen)
    promise = _promise(advice, best, rewritten / max(best.rewrite_bytes, 1))
    rewrite_partitions(context, snapshot, chosen, call, progress, promise.to_summary())
    return (
        f"New files have the layout '{best.layout}', and {quantity(len(chosen), 'partition')} with "
        f"{size_text(rewritten)} were rewritten."
    )


def _promise(advice: Advice, best: Alternative, share: float) -> workload.LayoutPromise:
    """Return what is promised if a share of the table's bytes has the layout."""
    spec = best.spec
    assert spec is not None
    size = advice.bytes_now + (best.bytes - advice.bytes_now) * min(share, 1.0)
    return workload.LayoutPromise(
        spec.order_text,
        advice.bytes_now,
        round(size),
        best.spread,
        round(best.files, 2),
        tuple(sorted(spec.columns())),
    )


def _rewrites(
    context: Context, snapshot: ms.TableSnapshot, layout: TableLayout, progress: Progress
) -> list[compaction.Rewrite]:
    if layout.bucket_count:
        return compaction.rebucketing(snapshot, None, None, progress)
    return compaction_rewrites(context, snapshot, None, progress, rewrite_all=True)


def _within(rewrites: Sequence[compaction.Rewrite], max_bytes: int | None) -> list[compaction.Rewrite]:
    """Return the rewrites of the newest partitions that a budget allows."""
    chosen, spent = [], 0
    for rewrite in sorted(rewrites, key=lambda each: each.partition.ticket, reverse=True):
        if max_bytes is None or spent + rewrite.bytes <= max_bytes:
            chosen.append(rewrite)
            spent += rewrite.bytes
    return chosen
