"""Reading a plan's partitions, by their own keys, by the entries of an index, or by both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import itemgetter

from parquetry.key_schema import KeySchema
from parquetry.metastore.partition_rows.indexes import partition_key
from parquetry.metastore.partition_rows.skip_scan import skip_scan
from parquetry.metastore.partition_rows.visible_rows import ROW_PREFIX, ROW_SUFFIX, Examined, Row, VisibleRows
from parquetry.metastore.storage.keyspace import TICKET_BYTES
from parquetry.predicate import Filter
from parquetry.scan import KeyScan, ScanPlan, Test, compile_residual, scans_condition

_ROWS_PER_BATCH = 1000


def read_by_keys(
    visible: VisibleRows, plan: ScanPlan, schema: KeySchema, examined: Examined | None
) -> Iterator[Row]:
    """Yield the rows of a plan's partitions, in the order of their keys.

    Args:
        visible: visible rows of the version to read.
        plan: plan by the partitions' own keys.
        schema: fields of the keys.
        examined: counts the rows read.
    """
    tests: dict[Filter, Test] = {}
    for scans in skip_scan(visible, plan.scans, schema, examined, plan.counted):
        yield from _read_ranges(visible, scans, schema, tests, examined)


def _read_ranges(
    visible: VisibleRows,
    scans: Sequence[KeyScan],
    schema: KeySchema,
    tests: dict[Filter, Test],
    examined: Examined | None,
) -> Iterator[Row]:
    """Yield the rows of ranges of the partitions' own keys. Compiled residuals are kept in `tests`."""
    ranges = [(scan.start, scan.stop) for scan in scans]
    single = not schema.fields or all(scan.kind == "get" for scan in scans)
    residuals = [scan.residual for scan in scans]
    where = scans_condition(scans, schema)
    common = residuals[0] if residuals else None
    if all(residual is common for residual in residuals):
        test = None
        if common is not None:
            test = tests.get(common)
            if test is None:
                test = compile_residual(common, schema, prefix=ROW_PREFIX, suffix=ROW_SUFFIX)
                tests[common] = test
        return visible.scan(ranges, single=single, examined=examined, where=where, passes=test)
    passes = _Residuals(scans, schema)
    rows = visible.scan(ranges, single=single, examined=examined, where=where)
    return (row for row in rows if passes(row[0]))


def read_by_index(
    visible: VisibleRows, plan: ScanPlan, schema: KeySchema, examined: Examined | None
) -> Iterator[Row]:
    """Yield the rows of the partitions that a plan's entries lead to, in the order of the partitions' keys.

    Args:
        visible: visible rows of the version to read.
        plan: plan by an index.
        schema: fields of the partitions' keys.
        examined: counts the rows read.
    """
    keys = plan.row_keys
    if keys is None:
        keys = tuple(sorted(filter(None, entries(visible, plan, schema, examined))))
    yield from _rows(visible, keys, examined)


def read_by_union(
    visible: VisibleRows, plan: ScanPlan, schema: KeySchema, examined: Examined | None
) -> Iterator[Row]:
    """Yield the rows of the partitions of a union, each once, in the order of the partitions' keys.

    Args:
        visible: visible rows of the version to read.
        plan: plan by the partitions' own keys, by indexes, or by both.
        schema: fields of the partitions' keys.
        examined: counts the rows read.
    """
    keys = plan.row_keys
    if keys is None:
        parts = [filter(None, entries(visible, part, schema, examined)) for part in plan.by_indexes]
        keys = unite_keys(plan, parts)
    read_by_index = _rows(visible, keys, examined)
    if not plan.scans:
        return read_by_index
    return merge(read_by_keys(visible, plan, schema, examined), read_by_index, key=itemgetter(0))


def unite_keys(plan: ScanPlan, parts: Iterable[Iterable[bytes]]) -> tuple[bytes, ...]:
    """Return the keys that the indexes of a union lead to, in order, without keys in the union's own ranges.

    Args:
        plan: the union.
        parts: for each index, the keys of the partitions that it leads to, each followed by the age of its
            row.
    """
    keys = {key for part in parts for key in part}
    return tuple(sorted(key for key in keys if not plan.reads_key(key[:-TICKET_BYTES])))


def _rows(visible: VisibleRows, keys: Sequence[bytes], examined: Examined | None) -> Iterator[Row]:
    for start in range(0, len(keys), _ROWS_PER_BATCH):
        yield from visible.rows(keys[start : start + _ROWS_PER_BATCH], examined)


def entries(
    visible: VisibleRows, plan: ScanPlan, schema: KeySchema, examined: Examined | None, *, tested: bool = True
) -> Iterator[bytes | None]:
    """Yield the key that each entry of a plan's ranges leads to, or None if the residual excludes the entry.

    Args:
        visible: visible rows of the version to read.
        plan: plan by an index.
        schema: fields of the partitions' keys.
        examined: counts the entries read.
        tested: whether the store may leave out entries that the residual excludes.

    Returns:
        keys of partitions, each followed by the age of its row, in the order of the entries.
    """
    assert plan.index is not None
    if not plan.scans:
        return
    schema = schema.reorder(plan.index.order)
    visible = visible.index_entries(plan.index.id)
    for scans in skip_scan(visible, plan.scans, schema, examined) if tested else [plan.scans]:
        where = scans_condition(scans, schema) if tested else None
        ranges = [(scan.start, scan.stop) for scan in scans]
        passes = _Residuals(scans, schema)
        for key, age, _ in visible.scan(ranges, examined=examined, where=where):
            yield partition_key(plan.index.order, key) + age if passes(key) else None


class _Residuals:
    """Tests keys against the residual of the range that each is in. The keys must come in order."""

    def __init__(self, scans: Sequence[KeyScan], schema: KeySchema) -> None:
        self._schema = schema
        self._tests: dict[Filter, Test] = {}
        self._scans = iter(scans)
        self._stop: bytes | None = b""
        self._test: Test | None = None
        self._enter(next(self._scans))

    def __call__(self, key: bytes) -> bool:
        while self._stop is not None and key >= self._stop:
            self._enter(next(self._scans))
        return self._test is None or self._test(key)

    def _enter(self, scan: KeyScan) -> None:
        self._stop = scan.stop
        self._test = None
        if scan.residual is not None:
            self._test = self._tests.get(scan.residual)
            if self._test is None:
                self._test = self._tests[scan.residual] = compile_residual(scan.residual, self._schema)
