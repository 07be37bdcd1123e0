"""Answers to plans, encoded, that are kept for clients that ask the same again.

The files of a version never change, so an answer holds as long as the version is readable. Dashboards ask the
same few questions, and each worker of an engine asks for the same page. The least recently used answers are
dropped first, so that all together have a bounded length.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple

from parquetry.iceberg.clients import Client

CACHED_PLAN_BYTES = 64 << 20
"""Length of all cached answers and questions."""
MAX_CACHED_ANSWER_BYTES = 1 << 20
"""Length of one cached answer, at most: one of some two thousand files."""


class PlanKey(NamedTuple):
    """A request whose answer is cached.

    Attributes:
        identity: of the version; see `manifest_names`. Its number alone may be of another history.
        client: that asks. Clients get values in different forms. None: any client.
        kind: `plan`, `tasks` or `load`.
        body: of the request.
    """

    identity: str
    client: Client | None
    kind: str
    body: bytes


class PlanCache:
    """A cache of answers, for several threads.

    Args:
        limit: length of all answers and questions, at most, in bytes.
        limit_of_answer: length of an answer that is kept, at most, in bytes.

    >>> cache = PlanCache(limit=20)
    >>> for version in "abc":
    ...     cache.put(PlanKey(version, Client.JAVA, "plan", b"{}"), b"answer")
    >>> [cache.get(PlanKey(version, Client.JAVA, "plan", b"{}")) for version in "abc"], cache.bytes
    ([None, b'answer', b'answer'], 16)
    """

    def __init__(
        self, limit: int = CACHED_PLAN_BYTES, limit_of_answer: int = MAX_CACHED_ANSWER_BYTES
    ) -> None:
        self._limit, self._limit_of_answer = limit, limit_of_answer
        self._answers: OrderedDict[PlanKey, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def get(self, key: PlanKey) -> bytes | None:
        """Return an answer, or None if it is not cached."""
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            return answer

    def put(self, key: PlanKey, answer: bytes) -> None:
        """Cache an answer, unless it is too long."""
        if len(answer) > self._limit_of_answer:
            return
        with self._lock:
            if key not in self._answers:
                self.bytes += len(answer) + len(key.body)
            self._answers[key] = answer
            while self.bytes > self._limit:
                oldest, removed = self._answers.popitem(last=False)
                self.bytes -= len(removed) + len(oldest.body)
