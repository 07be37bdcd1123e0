"""Limits for all questions of a session; `bridge/protocol/Terms.scala` reads them once, at the start.

The bridge's rules look at every plan with one of our tables, even if they have nothing to ask about it. So
they cannot wait for an answer to learn a limit.
"""

from __future__ import annotations

import msgspec

from parquetry.prune.runtime import LIMITS, TRANSPARENT_JOINS, Limits


class Terms(msgspec.Struct, frozen=True):
    """Constants that the bridge shares with the planner.

    Attributes:
        limits: of the cost model; the bridge applies some of them.
        transparent_joins: types of joins with the side whose rows they pass on, as the judge of runtime
            filters sees them.
    """

    limits: Limits
    transparent_joins: list[tuple[str, str]]


def terms() -> str:
    """Return the terms as the bridge reads them."""
    return msgspec.json.encode(Terms(LIMITS, sorted(TRANSPARENT_JOINS))).decode()
