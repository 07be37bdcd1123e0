"""The bytes that a row's columns take in files, which the order of rows changes.

Columns of the sample are written to memory in the present order and in the new one. The ratio of the two
sizes, times the size that the table's files record, is the size to expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from parquetry.adviser.cutting import CutFiles
from parquetry.adviser.input.sampling import Sample
from parquetry.adviser.input.sources import TableSource
from parquetry.adviser.layouts import VALUE
from parquetry.locations import open_location

_MAX_REPEATED_ROWS = 2_000_000
"""Rows of a column that is written with each row as often as it stands for rows of the table."""
_MIN_ROWS_PER_VALUE = 3
"""The least rows for each distinct value of a sample that surely has most values."""
_MIN_GROUP_ROWS = 1_000
_DEFAULT_CODEC = "SNAPPY"


class ColumnWidths:
    """Bytes per row of columns, now and in other orders.

    Args:
        source: the table.
        sample: of it.
        columns: that queries read and the sample has.
    """

    def __init__(self, source: TableSource, sample: Sample, columns: Iterable[str]) -> None:
        self._source, self._sample = source, sample
        rows = max(source.rows, 1)
        self.now = {name: float(sizes.sum()) / rows for name, sizes in source.column_bytes.items()}
        self.whole = source.bytes / rows
        in_sample = set(sample.columns) & set(self.now)
        self._columns = [name for name in columns if name in in_sample]
        self._codec = _codec(source)
        files = max(len(source.files), 1)
        self._group_rows = max(_MIN_GROUP_ROWS, min(sample.count, source.rows // files))
        self._base = {name: self._written(name, None, self._is_in_order(name)) for name in self._columns}

    def of_layout(self, cut: CutFiles) -> dict[str, float]:
        """Return the bytes per row that columns would have in the files of a layout."""
        widths = dict(self.now)
        for grain in cut.layout.partition:
            if grain.unit == VALUE:
                widths[grain.column] = 0.0
        if self._source.file_format != "parquet":
            return widths
        leading = set(() if cut.layout.is_curve else cut.layout.sort[:1]) | {
            grain.column for grain in cut.layout.partition
        }
        for name in self._columns:
            if widths.get(name) and self._base[name]:
                size = self._written(name, cut.order, name in leading)
                widths[name] = self.now[name] * size / self._base[name]
        return widths

    def row_bytes(self, widths: dict[str, float], names: Sequence[str] | None) -> float:
        """Return the bytes per row of some columns, or of all, which include those not in the sample."""
        if names is not None:
            return sum(widths.get(name, 0.0) for name in names)
        return max(self.whole + sum(widths.values()) - sum(self.now.values()), 0.0)

    def _is_in_order(self, name: str) -> bool:
        """Return whether the rows of nearly each file are in the order of a column now."""
        codes, files = self._sample.columns[name].codes, self._sample.file_of
        if len(codes) < 2:
            return False
        within = files[1:] == files[:-1]
        down = (codes[1:] < codes[:-1]) & within
        return bool(down.sum() <= 0.001 * max(within.sum(), 1))

    def _written(self, name: str, order: NDArray[np.int64] | None, is_sorted: bool) -> float:
        """Return the bytes of a column in an order, for each row of the sample."""
        array = self._sample.table[name].combine_chunks()
        if order is not None:
            array = array.take(pa.array(order))
        column, each = self._sample.columns[name], self._sample.rows_each
        repeats = 1
        if is_sorted and column.distinct * _MIN_ROWS_PER_VALUE <= len(array):
            repeats = max(1, min(round(each), _MAX_REPEATED_ROWS // max(len(array), 1)))
        if repeats > 1:
            array = array.take(pa.array(np.repeat(np.arange(len(array)), repeats)))
        sink = pa.BufferOutputStream()
        table = pa.table({name: array})
        pq.write_table(table, sink, row_group_size=self._group_rows * repeats, compression=self._codec)
        metadata = pq.ParquetFile(pa.BufferReader(sink.getvalue())).metadata
        groups = range(metadata.num_row_groups)
        size = sum(metadata.row_group(i).column(0).total_compressed_size for i in groups)
        return float(size) / repeats / max(self._sample.count, 1)


def _codec(source: TableSource) -> str:
    """Return the codec of the table's newest file."""
    if source.file_format != "parquet" or not source.files:
        return _DEFAULT_CODEC
    filesystem, path = open_location(source.files[-1].path)
    with filesystem.open_input_file(path) as file:
        metadata = pq.ParquetFile(file).metadata
        if not metadata.num_row_groups or not metadata.num_columns:
            return _DEFAULT_CODEC
        codec = str(metadata.row_group(0).column(0).compression)
    return {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}.get(codec, codec)
