"""The reading order of the files of a scan below a LIMIT, and what readers may skip for it."""

from __future__ import annotations

from collections.abc import Collection

from parquetry.identifiers import field_path
from parquetry.joins import have_one_row_group
from parquetry.planner.protocol import answers
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.request import ScanRequest
from parquetry.prune import Remaining, Selection, SortKey, file_order, order_columns, sort_type, usable


def columns_for_order(request: ScanRequest, read: Collection[str]) -> set[str]:
    """Return the columns whose statistics `reported_order` reads.

    Args:
        request: of the scan.
        read: the columns that the scan reads.
    """
    return order_columns(request.scan(tuple(read)))


def reported_order(
    request: ScanRequest, read: Collection[str], selection: Selection
) -> answers.ReadingOrder | None:
    """Return the order of the selected files, or None if any order is as good.

    Args:
        request: of the scan.
        read: the columns that the scan reads.
        selection: with the statistics of `columns_for_order`.
    """
    first = request.first
    if first is None:
        return None
    remaining = Remaining(selection.partitions, certain=selection.certain)
    order = file_order(request.scan(tuple(read)), remaining, selection.block)
    if order is None:
        return None
    type_ = None if first.key is None else sort_type(request.snapshot.metadata, first.key)
    bounds = [[to_wire(type_, value) for value in bound] for bound in order.bounds] if type_ else []
    column = None if order.nulls_first else _key_column(request, selection, first.key)
    return answers.ReadingOrder(order.ranks.astype("<i4").tobytes(), bounds, column)


def _key_column(request: ScanRequest, selection: Selection, key: SortKey | None) -> str | None:
    """Return the column of a sort key if readers can skip row groups by any value of it."""
    metadata = request.snapshot.metadata
    if key is None or key.column is None:
        return None
    column = metadata.column(key.column)
    if column.name in metadata.partition_by:
        return None
    if have_one_row_group(metadata, selection.bytes, selection.block.count):
        return None
    # The column's own type: a sort compares a char with its blanks, and files may lack them.
    kind = column.column_type
    # which values ORC's readers compare as Spark does depends on the value, but for integers
    is_compared = metadata.format == "parquet" or kind.integral
    return column.name if is_compared and metadata.format in kind.facts.reader_order else None


def reported_threshold(request: ScanRequest, selection: Selection) -> list[answers.RowGroupRanges]:
    """Return the range of a sort key's values that the query needs, if readers can skip row groups by it.

    Files with one row group each are chosen by the same bound before.
    """
    threshold, metadata = selection.threshold, request.snapshot.metadata
    count = selection.block.count
    if threshold is None or have_one_row_group(metadata, selection.bytes, count):
        return []
    if metadata.format not in threshold.type.facts.reader_order:
        return []
    text = to_wire(threshold.type, threshold.value)
    tree = {
        "fn": threshold.op,
        "args": [{"col": list(field_path(threshold.column))}, {"lit": text, "type": str(threshold.type)}],
    }
    if usable(tree, metadata.columns, metadata.partition_by, metadata.format) is None:
        return []
    ends = [text, None] if threshold.op == ">=" else [None, text]
    return [answers.RowGroupRanges(threshold.column, [ends], [])]
