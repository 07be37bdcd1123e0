"""Appends of one file to a table of a million files and to one of a hundred; the bytes that they write."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from rich.console import Console

from benchmarks.files.tables import FileLayout, entries, kept
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore.table import DATABASE
from parquetry.metastore import Metastore, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.store.base import Fields, Range, Store
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups
from parquetry.store.opening import open_store

_ROUNDS, _CALLS = 15, 4
_MAX_GROWTH = 1.2
_COUNTED_APPENDS = 1_000
"""Appends whose bytes are counted: enough for long lists of files to be merged now and then."""
_MAX_BYTES_PER_APPENDED_BYTE = 64.0


def measure(folder: Path, large: FileLayout, small: FileLayout, long: FileLayout, console: Console) -> Result:
    """Measure on copies of the tables.

    Args:
        folder: of the tables.
        large: the table of a million files.
        small: the table of a hundred.
        long: a table of one partition, that lists many files.
        console: shows how far it is.
    """
    result = Result("files")
    with contextlib.ExitStack() as stack:
        numbers = count()
        variants = {}
        for shape in (large, small):
            warehouse = stack.enter_context(_copy(kept(folder, shape, console), shape))
            metastore = stack.enter_context(open_metastore(str(warehouse)))
            variants[f"to {shape.total:,}"] = partial(_append, metastore, shape, numbers)
        with console.status("appending files"):
            timing = take_turns("append of one file", variants, _ROUNDS, calls=_CALLS)
    result.timings.append(timing)
    what = f"append of one file: to a table of {large.total:,} / of {small.total:,}"
    result.findings.append(BenchmarkFinding(what, timing.ratio(*variants), _MAX_GROWTH))
    with contextlib.ExitStack() as stack:
        warehouse = stack.enter_context(_copy(kept(folder, long, console), long))
        store = CountingStore(open_store(None, str(warehouse)))
        metastore = stack.enter_context(Metastore(store, str(warehouse)))
        most = 0.0
        numbers = count()
        with console.status(f"appending {_COUNTED_APPENDS:,} files"):
            for _ in range(_COUNTED_APPENDS):
                before = store.written
                _append(metastore, long, numbers)
                most = max(most, store.written - before)
        mean = store.written / _COUNTED_APPENDS / 1024
    of = f"by an append of one file to a partition of {long.total:,}"
    result.findings.append(
        BenchmarkFinding(
            f"written {of}, the mean of {_COUNTED_APPENDS:,}", mean, _MAX_BYTES_PER_APPENDED_BYTE, "KiB"
        )
    )
    result.findings.append(BenchmarkFinding(f"written {of}, at the most", most / 1024, None, "KiB"))
    return result


def _append(metastore: Metastore, shape: FileLayout, numbers: Iterator[int]) -> None:
    """Append a file to a partition in the middle, in a transaction on the newest version."""
    transaction = Transaction(metastore.table(DATABASE, shape.name), "append")
    transaction.append((shape.partitions // 2,), entries(shape, shape.total + next(numbers), 1))
    commit(transaction)


@contextlib.contextmanager
def _copy(warehouse: Path, shape: FileLayout) -> Iterator[Path]:
    copy = warehouse.with_name(f"files-added-to-{shape.name}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(warehouse, copy)
    yield copy
    shutil.rmtree(copy)


class CountingStore(Store):
    """A store that counts the bytes, of keys and values, that are written to it.

    Attributes:
        written: how many so far.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.written = 0

    @property
    def leaves_out(self) -> bool:
        return self._store.leaves_out

    def get(self, key: bytes) -> bytes | None:
        return self._store.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._store.get_many(keys)

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._store.scan(start, stop, limit=limit, reverse=reverse)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._store.scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups)

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        return self._store.put_many(map(self._counted, rows), fields)

    def delete_many(self, keys: Iterable[bytes]) -> None:
        self._store.delete_many(keys)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        self._counted((key, value or b""))
        return self._store.compare_and_set(key, expected, value)

    def close(self) -> None:
        self._store.close()

    def _counted(self, row: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        self.written += len(row[0]) + len(row[1])
        return row
