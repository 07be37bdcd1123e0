"""Read the files of a scan by several threads, in order, with bounded memory.

Each of a few threads reads one file ahead, and stops when a few of its batches wait. So memory holds some
batches for each thread, however large the files are. Small files of a local disk are read faster than
threads are started, so a thread reads many of them, and none is started for a few.

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
from itertools import chain, islice
from typing import Any, TypeAlias

import pyarrow as pa

from parquetry.catalog.scans.planning import FilesToRead
from parquetry.locations import ArrowFileSystems, FileSystems, set_file_systems, take_apart
from parquetry.rows import FileRows, ReadRequest, read_file, read_small_files

_MAX_READER_THREADS = 8
"""Files that are read at once. More help against the latency of a store, and cost memory."""
_LOCAL_READER_THREADS = min(_MAX_READER_THREADS, max(os.cpu_count() or 1, 2))
"""The same for files of a local disk, which has no latency. PyArrow's threads decode the columns of each."""
_MAX_SMALL_BYTES = 8_000_000
"""Bytes of the small files that one thread reads, together: much longer than a thread takes to start."""
_MAX_SMALL_FILES = 64
"""Small files that one thread reads."""
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
        together: whether a thread reads several small files, which is further than a limit may need.
    """
    stop = threading.Event()
    local = bool(files) and take_apart(files[0].path).is_local
    most = _LOCAL_READER_THREADS if local else _MAX_READER_THREADS
    turns = _turns(files, together=together)
    first = list(islice(turns, max(most, 2)))
    if len(first) == 1 and first[0].is_small:
        yield from first[0].batches(request)
        return
    running = deque(_FileThread(request, turn, file_systems, stop) for turn in first)
    try:
        while running:
            yield from running.popleft().batches()
            running.extend(_FileThread(request, turn, file_systems, stop) for turn in islice(turns, 1))
    finally:
        stop.set()


@dataclass(frozen=True, slots=True)
class _Turn:
    """Files that a thread reads, one after the other.

    Attributes:
        files: one file, or small ones of a local disk.
        is_small: whether all are small, and on a local disk.
    """

    files: Sequence[FileRows]
    is_small: bool

    def batches(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        """Return the rows of the files."""
        if self.is_small and request.file_format == "parquet":
            return read_small_files(request, self.files)
        return chain.from_iterable(read_file(request, file) for file in self.files)


def _turns(files: Sequence[FileRows], *, together: bool) -> Iterator[_Turn]:
    """Yield the files of a scan in turns, in their order.

    Args:
        files: of the scan.
        together: whether a turn may have several small files.
    """
    some: list[FileRows] = []
    size = 0
    for file in files:
        bytes = file.record.bytes
        is_small = bytes <= _MAX_SMALL_BYTES and take_apart(file.path).is_local
        is_full = not together or size + bytes > _MAX_SMALL_BYTES or len(some) == _MAX_SMALL_FILES
        if some and (is_full or not is_small):
            yield _Turn(some, True)
            some, size = [], 0
        if is_small:
            some.append(file)
            size += bytes
        else:
            yield _Turn([file], False)
    if some:
        yield _Turn(some, True)


_RUNNING: weakref.WeakSet[_FileThread] = weakref.WeakSet()
"""The threads whose scans may go on."""


@atexit.register
def _end_threads() -> None:
    """End all threads before the interpreter does: a daemon within PyArrow's code would abort the process."""
    for thread in list(_RUNNING):
        thread.end()


class _FileThread:
    """A thread that reads the files of a turn.

    It is a daemon. So a program can end although it has not read a scan to the end.
    """

    def __init__(
        self,
        request: ReadRequest,
        turn: _Turn,
        file_systems: FileSystems,
        stop: threading.Event,
    ) -> None:
        ahead = max(_BATCHES_AHEAD, len(turn.files))
        self._items: queue.Queue[_Item] = queue.Queue(ahead)
        self._stop = stop
        arguments = request, turn, file_systems.for_threads()
        self._thread = threading.Thread(target=self._read, args=arguments, name="parquetry-scan", daemon=True)
        self._thread.start()
        _RUNNING.add(self)

    def end(self) -> None:
        """Stop the scan, and wait until the thread has ended."""
        self._stop.set()
        self._thread.join()

    def _read(self, request: ReadRequest, turn: _Turn, file_systems: FileSystems) -> None:
        set_file_systems(file_systems)
        try:
            for batch in turn.batches(request):
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
