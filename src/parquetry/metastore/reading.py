"""Reading a plan's partitions, by their own keys or by the entries of an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from parquetry.keys import successor
from parquetry.metastore.indexes import partition_key
from parquetry.metastore.keyspace import TICKET_BYTES, complement, index_prefix
from parquetry.metastore.view import ROW_PREFIX, ROW_SUFFIX, Examined, Row, View
from parquetry.scan.execute import Test, compile_residual
from parquetry.scan.plan import IndexOrder, KeyScan, ScanPlan
from parquetry.scan.pushdown import scans_condition
from parquetry.store.base import Store
from parquetry.types import ColumnType

KeyColumns: TypeAlias = Sequence[tuple[str, ColumnType]]
"""Names and types of the fields of a key, in their order."""

_BATCH = 1000


def by_keys(
    view: View, plan: ScanPlan, columns: KeyColumns, descending: Sequence[bool], examined: Examined | None
) -> Iterator[Row]:
    """Yield the rows of a plan's partitions, in the order of their keys.

    Args:
        view: of the version to read.
        plan: for the partitions' own keys.
        columns: of the keys.
        descending: which of them are in descending order; empty for none.
        examined: counts the rows read.
    """
    ranges = [(scan.start, scan.stop) for scan in plan.scans]
    single = all(scan.kind == "get" for scan in plan.scans)
    residuals = [scan.residual for scan in plan.scans]
    # a store that leaves rows out cannot count them
    where = scans_condition(plan.scans, columns, descending) if examined is None else None
    common = residuals[0] if residuals else None
    if all(residual is common for residual in residuals):
        test = None
        if common is not None:
            test = compile_residual(common, columns, descending, prefix=ROW_PREFIX, suffix=ROW_SUFFIX)
        return view.scan(ranges, single=single, examined=examined, where=where, passes=test)
    passes = _Residuals(plan, columns, descending)
    rows = view.scan(ranges, single=single, examined=examined, where=where)
    return (row for row in rows if passes(row[0]))


def by_index(
    store: Store,
    table: bytes,
    view: View,
    plan: ScanPlan,
    columns: KeyColumns,
    descending: Sequence[bool],
    examined: Examined | None,
) -> Iterator[Row]:
    """Yield the rows of the partitions to which a plan's entries lead, in the order of the partitions' keys.

    Args:
        store: of the metastore.
        table: id.
        view: of the version to read: an entry may lead to a partition that is not in it.
        plan: for an index.
        columns: of the partitions' keys.
        descending: which of them are in descending order; empty for none.
        examined: counts the rows read.
    """
    keys = plan.found
    if keys is None:
        led_to = entries(store, table, plan, columns, descending, examined)
        keys = tuple(sorted({key for key in led_to if key is not None}))
    for start in range(0, len(keys), _BATCH):
        found = view.newest(keys[start : start + _BATCH], examined)
        for key, row in found.items():
            if not row.is_tombstone:
                yield key, complement(row.ticket), row.value


def entries(
    store: Store,
    table: bytes,
    plan: ScanPlan,
    columns: KeyColumns,
    descending: Sequence[bool],
    examined: Examined | None,
) -> Iterator[bytes | None]:
    """Yield for each entry of a plan's ranges the key of its partition; None if the residual excludes it."""
    assert plan.index is not None
    prefix, order = index_prefix(table, plan.index.id), plan.index.order
    end = successor(prefix)
    ranges = [(prefix + scan.start, end if scan.stop is None else prefix + scan.stop) for scan in plan.scans]
    columns, descending = reordered(plan.index, columns, descending)
    where = scans_condition(plan.scans, columns, descending) if examined is None else None
    rows: Iterable[tuple[bytes, bytes]] = store.scan_ranges(ranges, where=where)
    passes = _Residuals(plan, columns, descending)
    for row_key, _ in rows if examined is None else examined.counting(rows):
        key = row_key[len(prefix) : -TICKET_BYTES]
        yield partition_key(order, key) if passes(key) else None


def reordered(
    index: IndexOrder, columns: KeyColumns, descending: Sequence[bool]
) -> tuple[KeyColumns, tuple[bool, ...]]:
    """Return the columns of an index's entries, and which of them are in descending order."""
    down = tuple(bool(descending[place]) for place in index.order) if descending else ()
    return tuple(columns[place] for place in index.order), down


class _Residuals:
    """Tests keys, which come in order, against the residual of the range that each is in."""

    def __init__(self, plan: ScanPlan, columns: KeyColumns, descending: Sequence[bool]) -> None:
        self._columns = columns
        self._descending = descending
        self._tests: dict[str, Test] = {}
        self._scans = iter(plan.scans)
        self._enter(next(self._scans))

    def __call__(self, key: bytes) -> bool:
        while self._stop is not None and key >= self._stop:
            self._enter(next(self._scans))
        return self._test is None or self._test(key)

    def _enter(self, scan: KeyScan) -> None:
        self._stop = scan.stop
        self._test: Test | None = None
        if scan.residual is not None:
            text = str(scan.residual)
            if text not in self._tests:
                self._tests[text] = compile_residual(scan.residual, self._columns, self._descending)
            self._test = self._tests[text]
