"""Compare the list of newest rows in a table's head with the rows themselves, and drop a list that is wrong.

The list is there to save time (`metastore.versions.newest_rows`), but readers of the newest version believe it: a partition that it leaves
out, or names with an older row, is a partition that they miss or read as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from parquetry.errors import ParquetryError
from parquetry.maintenance.results import Finding
from parquetry.metastore.storage import Head, edit_head, live_head
from parquetry.metastore.versions import NewestRow, TableSnapshot, VisibleRows, complete_ticket, decode_newest


def check_newest(table: TableSnapshot, repair: bool) -> Iterator[Finding]:
    """Look for partitions that readers of the newest version would miss, or read as they were, by the list in the head.

    Args:
        table: any version of it.
        repair: drop a list that is wrong; a commit to come makes it anew.

    Raises:
        TableNotFoundError: the table was dropped.
    """
    while True:
        head = _head(table)
        wrong = list(_wrong(table, head))
        if repair and wrong and not _drop_list(table, head):
            continue  # there is another list by now
        if wrong and not repair and _head(table).commit.id != head.commit.id:
            continue  # rows may have been vacuumed meanwhile
        for key, text in wrong:
            yield Finding("newest rows", _name(table, key), None, text, repair)
        return


def _head(table: TableSnapshot) -> Head:
    return live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")


def _wrong(table: TableSnapshot, head: Head) -> Iterator[tuple[bytes, str]]:
    """Yield keys of partitions with what is wrong with the list of them."""
    listed = dict(decode_newest(head.newest))
    if not listed:
        return
    rows = VisibleRows(table.store, table.id, head.commit).all_newest()
    newest = {key: NewestRow(row.ticket, row.is_tombstone) for key, row in rows}
    for key, row in listed.items():
        there = newest.get(key)
        # of a partition that is gone there is no row any more once its tombstone was vacuumed
        if there != row and not (there is None and row.is_tombstone):
            now = "there is none" if there is None else f"the newest is {_described(there)}"
            yield (
                key,
                f"the head lists a row {_described(row)}, and {now}: readers of the newest version are misled",
            )
    if complete_ticket(head.newest) == head.commit.ticket:
        for key in sorted(key for key, row in newest.items() if not row.is_tombstone and key not in listed):
            yield key, "the head lists the newest rows of all others: readers of the newest version miss it"


def _described(row: NewestRow) -> str:
    return f"written by ticket {row.ticket}{', by which it is gone' if row.is_tombstone else ''}"


def _name(table: TableSnapshot, key: bytes) -> str:
    try:
        return table.describe(key)
    except (ValueError, IndexError, ParquetryError):  # of other partition columns, or damaged
        return f"key {key.hex()}"


def _drop_list(table: TableSnapshot, checked: Head) -> bool:
    """Drop the list; False if the head has another one by now."""

    def change(head: Head) -> Head:
        return msgspec.structs.replace(head, newest=b"") if head.newest == checked.newest else head

    return not edit_head(table.store, table.id, change, lambda head: not head.newest).newest
