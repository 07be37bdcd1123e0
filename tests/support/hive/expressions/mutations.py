"""Damaged expressions: what a client that is broken or hostile may send.

`python -m tests.support.hive.expressions.mutations COUNT SEED` reads many, and tells the slowest.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence

from parquetry.errors import ParquetryError
from parquetry.hive.expressions.conditions import translate_expression
from parquetry.hive.expressions.stream import UnreadExpressionError
from parquetry.locations import DEFAULT_PARTITION
from tests.support.hive.expressions.recording import column_types, recorded

_EDGES = (0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xC0, 0xFE, 0xFF)


def mutations(samples: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yield damaged copies of samples: bytes changed, removed, repeated, swapped, or joined from two."""
    chance = random.Random(seed)
    for _ in range(count):
        data = bytearray(chance.choice(samples))
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            _damage(data, chance, samples)
        yield bytes(data)


def _damage(data: bytearray, chance: random.Random, samples: Sequence[bytes]) -> None:
    place = chance.randrange(len(data)) if data else 0
    length = chance.randrange(1, 40)
    match chance.randrange(7):
        case 0 if data:
            data[place] = chance.randrange(256)
        case 1 if data:
            data[place] ^= 1 << chance.randrange(8)
        case 2 if data:
            data[place] = chance.choice(_EDGES)
        case 3:
            del data[place : place + length]
        case 4:
            data[place:place] = data[place : place + length]
        case 5:
            other = chance.choice(samples)
            data[place:] = other[chance.randrange(len(other)) :]
        case _:
            data[place:place] = bytes((0xFF, 0xFF, 0xFF, 0xFF, 0x07))


def is_understood(data: bytes) -> bool:
    """Return whether an expression is understood; any error but the reader's own is the caller's."""
    try:
        translate_expression(data, column_types(), "UTC", DEFAULT_PARTITION)
    except (UnreadExpressionError, ParquetryError):
        return False
    return True


def _main(count: int, seed: int) -> None:
    samples = [each.data for each in recorded()]
    understood, slowest = 0, 0.0
    for data in mutations(samples, count, seed):
        start = time.perf_counter()
        try:
            understood += is_understood(data)
        except BaseException:
            print(data.hex())
            raise
        slowest = max(slowest, time.perf_counter() - start)
    print(f"{count} damaged expressions, {understood} of them understood, the slowest in {slowest:.3f} s")


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]))
