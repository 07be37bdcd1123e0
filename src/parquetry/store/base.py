"""The promise of a store: ordered scans, batches, and compare-and-set on one row.

That is what HBase gives, so it is all that the metastore may need. Each row is durable when the call that
wrote it returns; nothing is promised about several rows together.

A row may be written with *fields*: parts of its key that a scan may name a `Condition` on. Where the store is
another machine, rows that do not satisfy it need not travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from parquetry.store.condition import Condition
from parquetry.store.groups import Groups, Range

__all__ = ["Fields", "Range", "Store"]

Fields = Callable[[bytes], Sequence[bytes]]
"""Gives the fields of a row by its key, and always the same ones; none of them is empty."""


class Store(Protocol):
    """An ordered map from bytes to bytes, shared by threads and processes.

    Keys sort as bytes do and are not empty; values are not empty (HBase cannot tell an empty cell from none).
    Every method raises `StoreError` if the store fails; a write may then have taken place, or take place yet.
    """

    @property
    def leaves_out(self) -> bool:
        """Whether `scan_ranges` tests conditions, and leaves out rows that do not satisfy them."""
        ...

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if there is none."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        ...

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows with start <= key < stop in key order (reversed: from the greatest key down).

        Rows are fetched in batches: a row written while the scan is under way may be seen or not, a row that
        was there before and after is seen once.
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
        """Yield the rows of disjoint ranges, which are given in key order.

        Args:
            ranges: start and stop of each.
            limit: of rows, for all ranges together.
            each: how many rows of each range are wanted; a store that cannot count them may yield more.
            where: rows whose fields do not satisfy this may be left out, any number of them, so who asks
                tests again; they may or may not count for `limit` and `each`. Rows without fields stay.
            groups: of which one row each is wanted: rows behind it in its group may be left out, any number of
                them. If `each` is 1, then one group of each range is wanted; it can have no other value.
        """
        ...

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        """Write rows; each is atomic and durable, all together are not.

        Args:
            rows: keys and values.
            fields: of the rows, for a store that can keep them where it can compare them; a row may have none.

        Returns:
            whether a row may be written once more, at any time, over another value, or after it was removed: by
            an earlier try, made inside, of which no answer came.
        """
        ...

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows, those that are not there included."""
        ...

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent).

        Returns:
            whether the row was written. On HBase False may come although it was: a client that retried
            inside. Who needs to know puts something unique into the value and reads back.
        """
        ...

    def close(self) -> None:
        """Give back connections; the store cannot be used afterwards."""
        ...
