"""What holds for all questions of a session, and is told once, when the planner is put into it; `bridge/protocol/Terms.scala` is the other side.

The bridge's rules look at every plan with one of our tables, also where they find nothing to ask about. So they cannot wait for
an answer to learn a limit.
"""

from __future__ import annotations

import msgspec

from parquetry.prune.runtime import LIMITS, TRANSPARENT_JOINS, Limits


class Terms(msgspec.Struct, frozen=True):
    """What is told once.

    Attributes:
        limits: those of the cost model; the bridge keeps to some.
        transparent_joins: types of joins with the side whose rows they pass on, as the judge of run-time filters has them.
    """

    limits: Limits
    transparent_joins: list[tuple[str, str]]


def terms() -> str:
    """Return it as the bridge reads it."""
    return msgspec.json.encode(Terms(LIMITS, sorted(TRANSPARENT_JOINS))).decode()
