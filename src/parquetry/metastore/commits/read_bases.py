"""Read the rows of bases that the commits of several tables look at, by the same requests for all tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parquetry.metastore.partition_rows.visible_rows import PartitionRow
from parquetry.metastore.storage.keyspace import (
    TICKET_BYTES,
    partition_prefix,
    prefix_range,
    removed_files_prefix,
    ticket_of,
)
from parquetry.metastore.transactions.prepared import KnownRows
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot


def read_bases(transactions: Sequence[Transaction]) -> dict[bytes, KnownRows]:
    """Return the rows of bases that commits look at, by the tables' ids.

    Tables are left out whose changes have scopes: these select partitions first. So is a single table.

    Args:
        transactions: of different tables in one store.
    """
    wanted = {each.base.id: each for each in transactions if not each.scopes}
    if len(wanted) < 2:
        return {}
    tables = [wanted[id] for id in sorted(wanted)]
    before = _newest_rows([(each.base, each.changes) for each in tables])
    prefixes = [removed_files_prefix(each.base.id) for each in tables]
    records = tables[0].base.store.scan_ranges([prefix_range(prefix) for prefix in prefixes], each=1)
    recorded = {key[: len(prefixes[0])] for key, _ in records}
    return {
        each.base.id: KnownRows(rows, prefix not in recorded)
        for each, rows, prefix in zip(tables, before, prefixes, strict=True)
    }


def _newest_rows(
    wanted: Sequence[tuple[TableSnapshot, Iterable[bytes]]],
) -> list[dict[bytes, PartitionRow]]:
    """Return the newest rows of partitions of several tables, as `VisibleRows.newest` does.

    Args:
        wanted: versions of tables in the order of their ids, with keys of partitions.
    """
    keys = [sorted(some) for _, some in wanted]
    ranges = [
        each for (base, _), some in zip(wanted, keys, strict=True) for each in base.visible.row_ranges(some)
    ]
    first: dict[bytes, tuple[bytes, bytes]] = {}
    for row_key, value in wanted[0][0].store.scan_ranges(ranges, each=1):
        first.setdefault(row_key[:-TICKET_BYTES], (row_key[-TICKET_BYTES:], value))
    tables = []
    for (base, _), some in zip(wanted, keys, strict=True):
        prefix = partition_prefix(base.id)
        rows = {key: first[prefix + key] for key in some if prefix + key in first}
        if any(base.visible.hides(age) for age, _ in rows.values()):
            tables.append(base.visible.newest(some))  # others are writing, and earlier rows count
        else:
            tables.append({key: PartitionRow(ticket_of(age), value) for key, (age, value) in rows.items()})
    return tables
