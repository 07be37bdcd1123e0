"""A sample of a table's keys, which estimates the fraction of all keys that a plan reads.

The metastore stores no distribution of values. So the sample divides the bytes between the first and the last
key into strata of equal width. It has a run of neighbouring keys from each stratum that is not empty.

The first key of a stratum has the least values in all columns but the first, so a run that began there would
be biased. A run begins somewhere among the keys with the same value in the first column.

All runs count alike, however many keys their strata have. So an estimate can distinguish a tenth of the table
from all of it, and no more. Keys from before a REPLACE TABLE that changed the partition columns do not belong
to the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from parquetry.keys import split_fields, successor
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.metastore.versions.visible_rows import Examined
from parquetry.store import Range

PARTITIONS_PER_SAMPLED_KEY = 400
"""Partitions of the table per key of the sample, which has at least `MIN_SAMPLED_KEYS` keys."""
MIN_SAMPLED_KEYS = 16
MAX_RUNS = 16
"""Most runs of a sample. To find the beginning of a run takes two seeks."""
_GOLDEN_RATIO = 0.618_033_988_7
"""The fractional parts of its multiples are spread evenly over 0 to 1, however many are taken."""
_DIVIDED_BYTES = 8
"""Bytes behind the common prefix of two keys that are taken as a number, to divide the range between them."""


def sample_keys(snapshot: TableSnapshot, examined: Examined | None = None) -> list[bytes]:
    """Return keys of partitions in order, without repetition.

    Args:
        snapshot: the version of the table.
        examined: counts the keys read.
    """
    size = max(MIN_SAMPLED_KEYS, snapshot.totals.partitions // PARTITIONS_PER_SAMPLED_KEY)
    listed = snapshot.visible.listed_keys()
    if listed is not None:
        return listed[:: max(1, len(listed) // size)]
    runs = min(MAX_RUNS, size // 4)
    starts = list(_starts(snapshot, runs, examined))
    ranges: list[Range] = [*pairwise(starts), *((start, None) for start in starts[-1:])]
    sampled: list[bytes] = []
    read = 0
    for range in ranges:
        keys, _ = snapshot.visible.keys([range], size // runs)
        read += len(keys)
        sampled += filter(snapshot.key_schema.fits, keys)
    if examined is not None:
        examined.keys += read
    return sampled


def _starts(snapshot: TableSnapshot, runs: int, examined: Examined | None) -> Iterator[bytes]:
    """Yield the key at which the run of each stratum begins, in order.

    The first value of this key is the first value of the stratum's first key.
    """
    width = len(snapshot.key_schema)
    first = next(snapshot.visible.first_keys([(b"", None)], examined), None)
    last = snapshot.last_key(b"", None)
    if first is None or last is None:
        return
    bounds = [first, *_between(first, last, [n / runs for n in range(1, runs)])]
    strata: list[Range] = [*pairwise(bounds), (bounds[-1], None)]
    before = b""
    keys = filter(snapshot.key_schema.fits, list(snapshot.visible.first_keys(strata, examined)))
    for number, key in enumerate(keys):
        value = split_fields(key, width)[0]
        end = snapshot.last_key(value, successor(value))
        inner = _between(key, end, [number * _GOLDEN_RATIO % 1]) if end is not None else []
        start = max(key, *inner) if inner else key
        if examined is not None:
            examined.keys += 1
        if start > before:
            yield start
            before = start


def _between(first: bytes, last: bytes, fractions: list[float]) -> list[bytes]:
    """Return bytes that divide the range between two keys at fractions, in order and without repetition."""
    common = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    low, high = (
        int.from_bytes(key[common : common + _DIVIDED_BYTES].ljust(_DIVIDED_BYTES, b"\0"))
        for key in (first, last)
    )
    numbers = {low + int((high - low) * fraction) for fraction in fractions} - {low}
    return [first[:common] + number.to_bytes(_DIVIDED_BYTES) for number in sorted(numbers) if number > low]
