"""Reading keys without their rows: counts, and one key of each group of keys that begin alike.

A reader counts keys to choose between access paths, and looks for the values of a key's first fields to skip
the rows between the ones it wants. Neither needs values, so neither moves them: a count is one number, and a
step from one group to the next is a seek. A store need not be able to do this; readers then do without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from parquetry.store.groups import Range


class ReadCosts(NamedTuple):
    """The costs of reading, in rows: the number of rows that a scan returns in the same time.

    Attributes:
        request: a request, besides its rows.
        seek: a step of `first_keys` from one group to the next.
        lookup: a row that is found by its key, as the rows behind an index's entries are.
        tested: a row that the store tests by a condition and leaves out; 1 if it leaves out none.
        counted: a row that `count` counts.
    """

    request: float
    seek: float
    lookup: float
    tested: float
    counted: float


@dataclass(frozen=True, slots=True)
class Leading:
    """Groups of rows whose keys begin with the same fields.

    Example: the keys `a1x a1y a2x b1x`, grouped by their first byte, have the first keys `a1x` and `b1x`.

    Attributes:
        offset: bytes of a key before its first field.
        fields: number of fields that the keys of a group have in common.
        width: returns the number of bytes that all keys of a key's group begin with, and no other key. For a
            key without such fields, the reader chooses a group.
        behind: bytes that no key of a group has behind these, or greater ones.
    """

    offset: int
    fields: int
    width: Callable[[bytes], int]
    behind: bytes

    def end(self, key: bytes) -> bytes:
        """Return the end of a key's group: greater than its keys, and not than the keys behind it."""
        return key[: self.width(key)] + self.behind


class KeyPage(NamedTuple):
    """Some keys that were read together.

    Attributes:
        keys: the keys, in order.
        after: where to go on, or None if no keys follow.
    """

    keys: list[bytes]
    after: bytes | None


@runtime_checkable
class KeyReader(Protocol):
    """A store that counts rows, and finds keys, without returning rows."""

    @property
    def costs(self) -> ReadCosts:
        """The costs of reading."""
        ...

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more."""
        ...

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop.

        Args:
            start: first key.
            stop: end of the range, or None.
            leading: the groups.
            limit: number of groups, at least 1. The page may have fewer, even if more follow.
        """
        ...


def one_by_one_keys(
    first: Callable[[bytes], bytes | None], start: bytes, stop: bytes | None, leading: Leading, limit: int
) -> KeyPage:
    """Return the first key of each group by a call for each.

    Args:
        first: returns the first key of the range from a key on, or None if there is none.
        start: first key.
        stop: end of the range, or None.
        leading: the groups.
        limit: number of groups.
    """
    keys: list[bytes] = []
    while len(keys) < limit:
        key = first(start) if stop is None or start < stop else None
        if key is None:
            return KeyPage(keys, None)
        keys.append(key)
        start = leading.end(key)
    return KeyPage(keys, start)
