"""The minimum and maximum of a join's key, from statistics of files. The other side's scan prunes by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.request import ScanRequest
from parquetry.prune import partition_key_ranges


def file_key_ranges(lake: Lake, q: questions.FileKeyRanges) -> answers.KeyRangeRows:
    """Return the minimum and maximum of a column in the files that a scan would read, by partition.

    Raises:
        ColumnNotFoundError: the table has no such column.
        ValueTypeError: values of the column's type have no order.
    """
    request = ScanRequest.from_question(lake, q)
    metadata = request.snapshot.metadata
    column = metadata.column(q.column)
    selection = request.select(about={column.name}.union(*(each.about for each in request.pruning)))
    places = [metadata.partition_by.index(metadata.column(name).name) for name in q.partition_columns]
    types = metadata.partition_types
    rows = []
    for part, least, greatest in partition_key_ranges(metadata, selection, column.name):
        values = selection.partitions[part].values
        of_partition = [to_wire(types[place], values[place]) for place in places]
        rows.append(
            [*of_partition, to_wire(column.column_type, least), to_wire(column.column_type, greatest)]
        )
    return answers.KeyRangeRows(rows)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.FileKeyRanges: file_key_ranges
}
