"""Answers to Iceberg's requests for the files of a scan, page by page, in bounded memory.

A plan is answered at once, with the tasks of the first files. If there are more, it names a plan task: a text
that says which version, which filter, and where the next page begins. So the server keeps nothing between
requests, and any number of servers may share the work.

Encoded answers are kept for clients that ask the same again.

The files of a version never change, so an answer holds as long as the version is readable. Dashboards ask the
same few questions, and each worker of an engine asks for the same page. The least recently used answers are
dropped first, so that all together have a bounded length.
"""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from parquetry.errors import UnsupportedError
from parquetry.exchange import ICEBERG, FileCheck
from parquetry.iceberg.clients import Client, ClientValues
from parquetry.iceberg.manifest_names import file_uri
from parquetry.iceberg.planning.expressions import FilterColumns, Residuals, filter_from_iceberg
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


CACHED_PLAN_BYTES = 64 << 20
"""Length of all cached answers and questions."""
MAX_CACHED_ANSWER_BYTES = 1 << 20
"""Length of one cached answer, at most: one of some two thousand files."""


class PlanKey(NamedTuple):
    """A request whose answer is cached.

    Attributes:
        identity: of the version; see `manifest_names`. Its number alone may be of another history.
        client: that asks. Clients get values in different forms. None: any client.
        kind: `plan`, `tasks` or `load`.
        body: of the request.
    """

    identity: str
    client: Client | None
    kind: str
    body: bytes


class PlanCache:
    """A cache of answers, for several threads.

    Args:
        limit: length of all answers and questions, at most, in bytes.
        limit_of_answer: length of an answer that is kept, at most, in bytes.

    >>> cache = PlanCache(limit=20)
    >>> for version in "abc":
    ...     cache.put(PlanKey(version, Client.JAVA, "plan", b"{}"), b"answer")
    >>> [cache.get(PlanKey(version, Client.JAVA, "plan", b"{}")) for version in "abc"], cache.bytes
    ([None, b'answer', b'answer'], 16)
    """

    def __init__(
        self, limit: int = CACHED_PLAN_BYTES, limit_of_answer: int = MAX_CACHED_ANSWER_BYTES
    ) -> None:
        self._limit, self._limit_of_answer = limit, limit_of_answer
        self._answers: OrderedDict[PlanKey, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def get(self, key: PlanKey) -> bytes | None:
        """Return an answer, or None if it is not cached."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def put(self, key: PlanKey, answer: bytes) -> None:
        """Cache an answer, unless it is too long."""
        if len(answer) > self._limit_of_answer:
            return
        with self._lock:
            if key not in self._answers:
                self.bytes += len(answer) + len(key.body)
            self._answers[key] = answer
            while self.bytes > self._limit:
                oldest, removed = self._answers.popitem(last=False)
                self.bytes -= len(removed) + len(oldest.body)
