"""Random conditions of joins and of one side of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from tests.support.random_joins.tables import KEYS

_OTHER_KEYS = (
    *("kj", "jk", "kn", "nk", "sv", "vs", "vc", "cv", "cs"),
    *("sc", "km", "mj", "dt", "td", "fk", "jf", "jp", "mf"),
)
"""Columns of the left side and of the right one, with a letter each, whose types can be compared."""


class RandomConditions:
    """A maker of conditions.

    Args:
        chance: makes the choices.
        buckets: the bucket columns of most tables: most joins are on them.
    """

    def __init__(self, chance: random.Random, buckets: Sequence[str]) -> None:
        self._chance = chance
        self._buckets = buckets

    def of_one_side(self, side: str) -> str:
        """Return a condition on columns of one side."""
        chance = self._chance
        listed = ", ".join(str(chance.randint(-2, 20)) for _ in range(chance.randint(1, 4)))
        return chance.choice(
            [
                f"{side}p = {chance.randint(0, 3)}",
                f"{side}p <> {chance.randint(0, 3)}",
                f"{side}p IN (1, 2)",
                f"{side}n > {chance.randint(0, 60)}",
                f"{side}n % 3 <> 1",
                f"{side}j <= {chance.randint(0, 5)}",
                f"{side}k IN ({listed})",
                f"{side}k = 7",
                f"{side}k <> 7",
                f"{side}k > {chance.randint(0, 20)}",
                f"{side}k IS NOT NULL",
                f"{side}s IS NULL",
                f"{side}s >= 'ab'",
                f"{side}c = 'ab'",
                f"{side}v <> 'a'",
                f"{side}d > DATE'2024-03-01'",
                f"({side}k = 3 OR {side}j = 2)",
                f"{side}m < 3",
                f"{side}n < 0",
            ]
        )

    def of_join(self, left: str = "l", right: str = "r") -> str:
        """Return a join's condition with a key at least."""
        chance = self._chance
        kind = chance.random()
        keys = list(self._buckets)
        if kind < 0.3:
            keys += chance.sample(KEYS, chance.randint(1, 2))
        elif kind < 0.4:
            keys = chance.sample(keys, chance.randint(1, len(keys)))
        elif kind < 0.55:
            keys = ["k", *chance.sample(KEYS, chance.randint(0, 2))]
        chance.shuffle(keys)
        parts = self._equalities(left, right, dict.fromkeys(keys))
        if kind > 0.9:
            one, other = chance.choice(_OTHER_KEYS)
            parts = [f"{left}.{one} = {right}.{other}", *parts[: chance.randint(0, 1)]]
        if all(key in ("j", "s", "v", "c") for key in keys):  # few values, so many rows
            parts.append(f"{left}.k = {right}.k")
        if chance.random() < 0.3:
            parts.append(self._rest(left, right))
        chance.shuffle(parts)
        return " AND ".join(dict.fromkeys(parts))

    def of_keys(self, left: str, right: str, keys: Iterable[str]) -> str:
        """Return a join's condition with an equality of each key."""
        return " AND ".join(self._equalities(left, right, keys))

    def _equalities(self, left: str, right: str, keys: Iterable[str]) -> list[str]:
        return [self._equality(left, right, key) for key in keys]

    def _equality(self, left: str, right: str, key: str) -> str:
        kind = self._chance.random()
        if kind < 0.88:
            pair = (f"{left}.{key}", f"{right}.{key}")
            one, other = pair if self._chance.random() < 0.7 else pair[::-1]
            return f"{one} = {other}"
        if kind < 0.96 or key not in ("k", "j", "m", "f"):
            return f"{left}.{key} <=> {right}.{key}"
        return self._chance.choice(
            [
                f"{left}.{key} + 0 = {right}.{key}",
                f"{left}.{key} = {right}.{key} + 1",
                f"-{left}.{key} = -{right}.{key}",
            ]
        )

    def _rest(self, left: str, right: str) -> str:
        """Return a condition that is no key."""
        return self._chance.choice(
            [
                f"{left}.n < {right}.n",
                f"{left}.j <> {right}.j",
                f"{left}.s >= {right}.v",
                f"({left}.n % 3 <> 1 OR {right}.n > 5)",
                f"coalesce({left}.j, 0) + {right}.n > 4",
                self.of_one_side(f"{left}."),
                self.of_one_side(f"{right}."),
            ]
        )
