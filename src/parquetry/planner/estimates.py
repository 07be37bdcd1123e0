"""Cached estimates about versions of tables: each one costs the statistics of thousands of files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_T = TypeVar("_T")
_MAX_CACHED_ESTIMATES = 1024


class Estimates:
    """The estimates used last, by their subject. Several threads may use it.

    >>> estimates = Estimates()
    >>> estimates.get_or_make(("rows", "t", 7), lambda: 30), estimates.get_or_make(("rows", "t", 7), lambda: 31)
    (30, 30)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get_or_make(self, what: Hashable, estimate: Callable[[], _T]) -> _T:
        """Return an estimate from the cache, or make it.

        Args:
            what: the subject of the estimate, with the version of the table.
            estimate: makes it.
        """
        with self._lock:
            if what in self._known:
                self._known.move_to_end(what)
                known: _T = self._known[what]
                return known
        made = estimate()
        with self._lock:
            self._known[what] = made
            while len(self._known) > _MAX_CACHED_ESTIMATES:
                self._known.popitem(last=False)
        return made
