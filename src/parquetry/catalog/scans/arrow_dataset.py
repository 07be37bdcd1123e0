"""The files of a scan as a dataset of PyArrow, where PyArrow alone reads the rows that Spark reads."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

import pyarrow.compute as pc
import pyarrow.dataset as ds

from parquetry.catalog.scans.planning import FilesToRead, RowRequest
from parquetry.errors import UnsupportedError
from parquetry.locations import FileSystems, open_location, set_file_systems
from parquetry.predicate import TRUE
from parquetry.rows import FileRows, ReadRequest, constant_scalar, require_plain_file

_MAX_READER_THREADS = 8
_REMEDY = "Use to_batches, or to_arrow."


def file_dataset(
    request: RowRequest, planned: FilesToRead, file_systems: FileSystems
) -> ds.FileSystemDataset:
    """Return the files of a scan as a dataset.

    Raises:
        UnsupportedError: PyArrow would read other rows than Spark does.
    """
    read = planned.read
    if request.order is not None:
        raise UnsupportedError(f"A dataset has no order, and this scan has one: scan without it. {_REMEDY}")
    if request.limit is not None:
        raise UnsupportedError(
            f"A dataset has all rows of its files, and this scan has a limit of {request.limit}: scan without it. {_REMEDY}"
        )
    if read.filter.node != TRUE and not planned.selection.certain:
        raise UnsupportedError(
            f"A dataset has all rows of its files, and of some only a part satisfies {read.filter}: scan without "
            f"the condition, and filter the dataset. {_REMEDY}"
        )
    if read.file_format != "parquet":
        raise UnsupportedError(f"{request.table} is in ORC, whose types PyArrow reads otherwise. {_REMEDY}")
    for column in read.columns:
        if column.physical != column.name:
            raise UnsupportedError(
                f"Column {column.name} is {column.physical} in the files, and a dataset cannot rename columns. {_REMEDY}"
            )
    with ThreadPoolExecutor(
        _MAX_READER_THREADS, initializer=set_file_systems, initargs=(file_systems.for_threads(),)
    ) as pool:
        fragments = list(pool.map(functools.partial(_fragment, read), planned.files))
    filesystem = fragments[0].filesystem if fragments else None
    return ds.FileSystemDataset(fragments, read.schema, _format(), filesystem)


def _format() -> ds.ParquetFileFormat:
    return ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")


def _fragment(read: ReadRequest, file: FileRows) -> ds.ParquetFileFragment:
    require_plain_file(read, file)
    filesystem, name = open_location(file.path)
    return _format().make_fragment(name, filesystem, partition_expression=_guarantee(read, file))


def _guarantee(read: ReadRequest, file: FileRows) -> pc.Expression:
    """Return the condition that all rows of a file satisfy: the values of its partition."""
    guarantee = pc.scalar(True)
    for column, value in zip(read.partition_by, file.values, strict=True):
        if value is not None and value != value:
            raise UnsupportedError(
                f"A partition has NaN as {column.name}, which a dataset does not find. {_REMEDY}"
            )
        if column.name not in read.schema.names:
            continue
        field = pc.field(column.name)
        equal = field.is_null() if value is None else field == constant_scalar(column.column_type, value)
        guarantee = guarantee & equal
    return guarantee
