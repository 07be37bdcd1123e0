"""The reading order of the files of a scan below a LIMIT, for the bridge."""

from __future__ import annotations

from collections.abc import Collection

from parquetry.planner.protocol import answers
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.request import ScanRequest
from parquetry.prune import Remaining, Selection, file_order, order_columns


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
    found = file_order(request.scan(tuple(read)), remaining, selection.block)
    if found is None:
        return None
    column = None if first.key is None else first.key.column
    type_ = None if column is None else request.snapshot.metadata.column(column).column_type
    bounds = [[to_wire(type_, value) for value in bound] for bound in found.bounds] if type_ else []
    return answers.ReadingOrder(found.ranks.astype("<i4").tobytes(), bounds)
