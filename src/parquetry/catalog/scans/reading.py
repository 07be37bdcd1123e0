"""Read the files of a scan by several threads, in order, with bounded memory.

Each of a few threads reads one file ahead, and stops when a few of its batches wait. So memory holds some
batches for each thread, however large the files are. Small files of a local disk would be read faster than
threads are started, so PyArrow reads many by one scan.

A `ScanTask` is a part of a scan that can be sent to other processes, with its files.

A task opens no metastore: the plan is in it. So workers need the files' credentials alone.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, TypeAlias

import pyarrow as pa

from parquetry.catalog.scans.planning import FilesToRead
from parquetry.locations import ArrowFileSystems, FileSystems, set_file_systems, take_apart
from parquetry.rows import FileRows, ReadRequest, read_file, read_small_files

_MAX_READER_THREADS = 8
"""Files that are read at once. More help against the latency of a store, and cost memory."""
_LOCAL_READER_THREADS = min(_MAX_READER_THREADS, max(os.cpu_count() or 1, 2))
"""The same for files of a local disk, which has no latency. PyArrow's threads decode the columns of each."""
_MAX_SMALL_FILE_BYTES = 8_000_000
"""Bytes of a file that PyArrow reads together with others."""
_BATCHES_AHEAD = 2
"""Batches of a file that wait for the consumer before its thread pauses."""
_WAIT_SECONDS = 0.1
"""How often a paused thread looks whether the scan has ended."""
_Item: TypeAlias = pa.RecordBatch | BaseException | None


def read_batches(
    request: ReadRequest,
    files: Sequence[FileRows],
    file_systems: FileSystems,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files, in the order of the files and of the rows in them.

    Args:
        request: what to read.
        files: of the scan.
        file_systems: open the files.
        limit: how many rows at most, or None for all.

    Raises:
        UnsupportedError, FileMissingError, FileCorruptError: as `rows.read_file`.
    """
    remaining = limit
    batches = _read_in_turn(request, files, file_systems, together=limit is None)
    try:
        for batch in batches:
            if remaining is None:
                yield batch
                continue
            yield batch.slice(0, remaining)
            remaining -= min(remaining, batch.num_rows)
            if not remaining:
                return
    finally:
        batches.close()


def _read_in_turn(
    request: ReadRequest, files: Sequence[FileRows], file_systems: FileSystems, *, together: bool
) -> Generator[pa.RecordBatch]:
    """Yield the rows of files.

    Args:
        request: what to read.
        files: of the scan.
        file_systems: open the files.
        together: whether small files are read by one scan, which reads further than a limit may need.
    """
    stop = threading.Event()
    local = bool(files) and take_apart(files[0].path).is_local
    most = _LOCAL_READER_THREADS if local else _MAX_READER_THREADS
    is_small = _is_small if together and request.file_format == "parquet" else lambda _: False

    def start() -> Iterator[_FileThread | _SmallFiles]:
        for small, some in groupby(files, key=is_small):
            if small:
                yield _SmallFiles(request, list(some))
            else:
                yield from (_FileThread(request, file, file_systems, stop) for file in some)

    readers = start()
    running = deque(islice(readers, most))
    try:
        while running:
            yield from running.popleft().batches()
            running.extend(islice(readers, 1))
    finally:
        stop.set()


def _is_small(file: FileRows) -> bool:
    return file.record.bytes <= _MAX_SMALL_FILE_BYTES and take_apart(file.path).is_local


@dataclass(frozen=True, slots=True)
class _SmallFiles:
    """Small files that PyArrow's threads read."""

    request: ReadRequest
    files: Sequence[FileRows]

    def batches(self) -> Iterator[pa.RecordBatch]:
        return read_small_files(self.request, self.files)


_RUNNING: weakref.WeakSet[_FileThread] = weakref.WeakSet()
"""The threads whose scans may go on."""


@atexit.register
def _end_threads() -> None:
    """End all threads before the interpreter does: a daemon within PyArrow's code would abort the process."""
    for thread in list(_RUNNING):
        thread.end()


class _FileThread:
    """A thread that reads one file.

    It is a daemon. So a program can end although it has not read a scan to the end.
    """

    def __init__(
        self,
        request: ReadRequest,
        file: FileRows,
        file_systems: FileSystems,
        stop: threading.Event,
    ) -> None:
        self._items: queue.Queue[_Item] = queue.Queue(_BATCHES_AHEAD)
        self._stop = stop
        arguments = request, file, file_systems.for_threads()
        self._thread = threading.Thread(target=self._read, args=arguments, name="parquetry-scan", daemon=True)
        self._thread.start()
        _RUNNING.add(self)

    def end(self) -> None:
        """Stop the scan, and wait until the thread has ended."""
        self._stop.set()
        self._thread.join()

    def _read(self, request: ReadRequest, file: FileRows, file_systems: FileSystems) -> None:
        set_file_systems(file_systems)
        try:
            for batch in read_file(request, file):
                if not self._put(batch):
                    return
        except Exception as error:  # noqa: BLE001 - raised again where the rows are consumed
            self._put(error)
        self._put(None)

    def _put(self, item: _Item) -> bool:
        """Hand over an item, and return whether the scan goes on."""
        while not self._stop.is_set():
            try:
                self._items.put(item, timeout=_WAIT_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def batches(self) -> Iterator[pa.RecordBatch]:
        while (item := self._items.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


_BYTES_PER_TASK = 128_000_000
"""Bytes of the files of one task, about: as much as Spark reads in one task by default."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Some files of a scan. It can be pickled.

    Attributes:
        paths: of the files, absolute.
    """

    _read: ReadRequest
    _files: tuple[FileRows, ...]
    _limit: int | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the absolute paths of the files."""
        return tuple(file.path for file in self._files)

    def read(self, storage_options: Mapping[str, Any] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files.

        Args:
            storage_options: credentials of the files' object store; see `parquetry.open`.

        Raises:
            UnsupportedError, FileMissingError, FileCorruptError: as `Scan.to_arrow`.
        """
        return read_batches(self._read, self._files, ArrowFileSystems(storage_options), self._limit)


def split_files(planned: FilesToRead, limit: int | None) -> list[ScanTask]:
    """Return the tasks of a scan, in the order of its files.

    Args:
        planned: the scan.
        limit: how many rows at most, or None for all.
    """
    if limit is not None:
        return [ScanTask(planned.read, planned.files, limit)]
    tasks = []
    some: list[FileRows] = []
    size = 0
    for file in planned.files:
        if some and size + file.record.bytes > _BYTES_PER_TASK:
            tasks.append(ScanTask(planned.read, tuple(some)))
            some, size = [], 0
        some.append(file)
        size += file.record.bytes
    if some:
        tasks.append(ScanTask(planned.read, tuple(some)))
    return tasks
