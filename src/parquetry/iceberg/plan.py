"""Answers to Iceberg's requests for the files of a scan, page by page, in bounded memory.

A plan is answered at once, with the tasks of the first files. If there are more, it names a plan task: a text
that says which version, which filter, and where the next page begins. So the server keeps nothing between
requests, and any number of servers may share the work.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from parquetry.errors import UnsupportedError
from parquetry.exchange import ICEBERG, FileCheck
from parquetry.iceberg.clients import Client, ClientValues
from parquetry.iceberg.expressions import FilterColumns, filter_from_iceberg
from parquetry.iceberg.locations import file_uri
from parquetry.iceberg.residuals import Residuals
from parquetry.metastore import TableSnapshot
from parquetry.predicate import Filter
from parquetry.prune import SelectedFile, each_file_of, partition_plan
from parquetry.scan import KeyScan, ScanPlan

FILES_PER_PAGE = 5_000
"""Files in one answer, at most: an answer of about two megabytes."""
_BYTES_PER_PAGE = 4 << 20
"""Length of one answer, at most, unless one file's task alone is longer. Filters come back with files."""
MAX_TASK_BYTES = 15 << 20
"""Length of the text that asks for a next page, at most. Requests may have 16 MB."""
_EVERY_KEY = ScanPlan((KeyScan("range", b"", None, None),))


class ScanPosition(msgspec.Struct, frozen=True, array_like=True):
    """Where the next page of a scan begins.

    Attributes:
        version: of the table.
        filter: Iceberg's filter, or None.
        case_sensitive: whether its names count in letter case.
        key: key of the first partition, hexadecimal.
        skip: number of selected files of this partition that earlier pages had.
        identity: of the version; see `manifest_names`. Its number alone may be of another history.
    """

    version: int
    filter: Any = None
    case_sensitive: bool = True
    key: str = ""
    skip: int = 0
    identity: str = ""

    def encode(self) -> str:
        """Return the text that a client sends to get this page."""
        return base64.urlsafe_b64encode(msgspec.msgpack.encode(self)).decode()

    @classmethod
    def decode(cls, text: str) -> ScanPosition:
        """Return the position that a client's text stands for.

        Raises:
            ValueError: no server of ours has made the text.
        """
        try:
            position = msgspec.msgpack.decode(base64.urlsafe_b64decode(text), type=cls)
            if position.skip < 0 or not position.identity:
                raise ValueError("a position that no page ends at")
            bytes.fromhex(position.key)
            return position
        except (ValueError, RecursionError) as error:  # of base64, and of msgspec, too
            raise ValueError(
                f"{text[:40]!r} is not a plan task of this catalog: plan the scan again."
            ) from error


def page(
    table: TableSnapshot, position: ScanPosition, client: Client, limit: int = FILES_PER_PAGE
) -> dict[str, Any]:
    """Return one page of a scan: its tasks, and the plan task of the next page if there is one.

    Args:
        table: in the version of the position.
        position: where the page begins.
        client: that asks.
        limit: number of files, at most.

    Raises:
        UnsupportedError: a file would be read wrong.
    """
    metadata = table.metadata
    ids = metadata.ids_by_path
    names = {ids[(column.physical,)]: column.name for column in metadata.columns}
    types = {column.name: column.column_type for column in metadata.columns}
    expression = True if position.filter is None else position.filter
    columns = FilterColumns(types, names, position.case_sensitive)
    condition = filter_from_iceberg(expression, columns)
    make = _TaskMaker(table, client, Residuals(position.filter, columns, metadata))
    tasks: list[msgspec.Raw] = []
    length = 0
    values, key, of_last = None, b"", 0
    first = bytes.fromhex(position.key)
    for file in _selected(table, condition, first):
        if file.values is not values:
            values, of_last = file.values, 0
            key = table.key_of(values)
        of_last += 1
        if key == first and of_last <= position.skip:
            continue
        task = make.task(file)
        length += len(task)
        if len(tasks) == limit or (tasks and length > _BYTES_PER_PAGE):
            following = msgspec.structs.replace(position, key=key.hex(), skip=of_last - 1)
            return {"file-scan-tasks": tasks, "delete-files": [], "plan-tasks": [_encode(following, table)]}
        tasks.append(task)
    return {"file-scan-tasks": tasks, "delete-files": []}


def _encode(position: ScanPosition, table: TableSnapshot) -> str:
    """Return the text that a client sends to get a page.

    Raises:
        UnsupportedError: it would be too long.
    """
    text = position.encode()
    if len(text) > MAX_TASK_BYTES:
        raise UnsupportedError(
            f"Table {table.label}: the filter is too long ({len(text):,} bytes) for a scan with several pages: give fewer values."
        )
    return text


def _selected(table: TableSnapshot, condition: Filter, first: bytes) -> Iterator[SelectedFile]:
    """Return the files that may have rows of a condition, of the partitions from a key on."""
    plan = partition_plan(table, [condition], indexed=False) or _EVERY_KEY
    partitions = table.partitions(_from_key(plan, first))
    return each_file_of(table, condition, partitions)


def _from_key(plan: ScanPlan, first: bytes) -> ScanPlan:
    """Return the part of a plan from a key on."""
    scans = [
        KeyScan(scan.kind, max(scan.start, first), scan.stop, scan.residual)
        for scan in plan.scans
        if scan.stop is None or scan.stop > first
    ]
    return ScanPlan(tuple(scans))


class _TaskMaker:
    """Makes the tasks of one page.

    Args:
        table: the version.
        client: that asks.
        residuals: the filters that the client tests on the rows of files.
    """

    def __init__(self, table: TableSnapshot, client: Client, residuals: Residuals) -> None:
        self._table = table
        self._values = ClientValues(table, client)
        self._check = FileCheck(table.metadata, ICEBERG)
        self._format = table.metadata.format
        self._residuals = residuals
        self._last: tuple[Any, list[Any]] = None, []

    def task(self, selected: SelectedFile) -> msgspec.Raw:
        """Return the task to read one file, encoded.

        Raises:
            UnsupportedError: the client would read it wrong.
        """
        file = selected.file
        self._check.require_readable(self._table.label, selected.path, file)
        if self._last[0] is not selected.values:  # one object for all files of a partition
            self._last = selected.values, self._values.of_file(selected.values)
        data_file = {
            "content": "data",
            "spec-id": 0,
            "partition": self._last[1],
            "file-path": file_uri(selected.path),
            "file-format": self._format,
            "file-size-in-bytes": file.bytes,
            "record-count": file.rows,
        }
        residual = self._residuals.encode(selected)
        filtered = {} if residual is None else {"residual-filter": residual}
        return msgspec.Raw(msgspec.json.encode({"data-file": data_file, **filtered}))
