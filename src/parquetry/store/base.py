"""The contract of a store: ordered scans, batches, and compare-and-set on one row.

HBase offers no more than this, so the metastore needs no more. Each row is durable when the call that wrote
it returns. A store promises nothing about several rows together.

A row may be written with *fields*: parts of its key that a scan can put a `Condition` on. If the store is on
another machine, rows that do not satisfy the condition need not travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from parquetry.store.condition import Condition
from parquetry.store.groups import Groups, Range

__all__ = ["Clock", "Fields", "KeepsDeletedRows", "Range", "Store", "Swap", "SwapsTogether"]

Swap = tuple[bytes, bytes, bytes]
"""A compare-and-set of a row: its key, the value that it has, and the new one."""

Fields = Callable[[bytes], Sequence[bytes]]
"""Returns the fields of a row from its key, always the same for one key. No field is empty."""


class Store(Protocol):
    """An ordered map from bytes to bytes, shared by threads and processes.

    Keys sort as bytes do. Neither keys nor values are empty: HBase cannot tell an empty cell from a missing
    one. Every method raises `StoreError` if the store fails. A write may then have taken place, or may still.
    """

    @property
    def leaves_out(self) -> bool:
        """Whether `scan_ranges` tests conditions and leaves out rows that do not satisfy them."""
        ...

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        ...

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows with start <= key < stop in key order, or from the greatest key down if `reverse`.

        Rows are fetched in batches. A row written during the scan may be seen or not; a row that exists the
        whole time is seen once.
        """
        ...

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of disjoint ranges.

        Args:
            ranges: start and stop of each range, in key order.
            limit: number of rows, for all ranges together.
            each: number of rows wanted of each range. A store that cannot count them may yield more.
            where: condition on fields. The store may leave out any number of rows that do not satisfy it, so
                the caller tests again. Such rows may or may not count for `limit` and `each`. Rows without
                fields satisfy it.
            groups: the caller wants one row of each of these groups. The store may leave out any number of
                rows behind that row in its group. With groups, `each` is None or 1; 1 means that the caller
                wants one group of each range.
        """
        ...

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        """Write rows. Each row is atomic and durable; all together are not.

        Args:
            rows: keys and values.
            fields: returns the fields of a row, for a store that can compare them; a row may have none.

        Returns:
            whether a row may be written once more at any later time, over another value or after its removal.
            It may if the store tried a write, got no answer, and tried again: the first try may still arrive.
        """
        ...

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows. Absent rows are no error."""
        ...

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write a row if it now has the expected value.

        Args:
            key: key of the row.
            expected: its value, or None if the row must be absent.
            value: its new value, or None to remove the row.

        Returns:
            whether the row was written. HBase may return False for a row that was written, if a client in
            between tried twice. A caller who must know puts something unique into the value and reads back.
        """
        ...

    def close(self) -> None:
        """Close the connections. The store cannot be used afterwards."""
        ...


@runtime_checkable
class SwapsTogether(Protocol):
    """A store that changes several rows by one request, and all of them or none."""

    def swap_together(self, swaps: Sequence[Swap]) -> bool:
        """Write rows if all of them now have the expected values. Return whether they were written.

        Args:
            swaps: of different rows, in the order of their keys.
        """
        ...


@runtime_checkable
class Clock(Protocol):
    """A store on a server that tells its time."""

    def server_time(self) -> int:
        """Return the server's time, in milliseconds since the epoch."""
        ...


@runtime_checkable
class KeepsDeletedRows(Protocol):
    """A store whose files may have the bytes of deleted rows for a while."""

    def scrub(self, *, whole: bool) -> str | None:
        """Remove the bytes of deleted rows, as far as the store can do this by itself.

        Args:
            whole: whether to write the store's files anew, which takes the time of reading all rows.

        Returns:
            What keeps such bytes, and the remedy, as a sentence; None if nothing does.
        """
        ...
