"""Histograms of columns say of ranges how many rows are in files, and are valid for Spark."""

from __future__ import annotations

import random

import pytest

from parquetry.cardinality.histogram import MAX_BINS, Histogram, build_histogram


def share_above(histogram: Histogram, value: float) -> float:
    """Return the share of rows above a value, as Spark computes it by bins and a part of one."""
    bins = list(zip(histogram.ends[:-1], histogram.ends[1:], strict=True))
    parts = (
        0.0 if high <= value else 1.0 if low >= value else (high - value) / (high - low) for low, high in bins
    )
    return sum(parts) / len(bins)


def test_files_far_apart() -> None:
    """A range between two files, or of one of them, has the rows of the files, within a bin."""
    found = build_histogram([900, 100], [0, 1000], [9, 1009], 1000)
    assert found is not None
    assert abs(share_above(found, 500) - 0.1) <= 1 / MAX_BINS
    assert abs(share_above(found, 1004) - 0.05) <= 1 / MAX_BINS


def test_files_alike_need_none() -> None:
    """Files with the same bounds say no more than these bounds."""
    assert build_histogram([5, 9], [0, 0], [9, 9], 10) is None


@pytest.mark.parametrize("seed", range(20))
def test_histograms_are_valid(seed: int) -> None:
    """Bins follow each other from the least to the greatest value; each has a value, and the same rows."""
    draw = random.Random(seed)
    files = []
    for _ in range(draw.randint(2, 30)):
        low = draw.choice([draw.randint(-50, 50), draw.randint(1 << 52, 1 << 60), draw.random()])
        files.append((draw.randint(1, 999), low, low + draw.choice([0, draw.randint(0, 99)])))
    rows, least, greatest = zip(*files, strict=True)
    found = build_histogram(rows, least, greatest, draw.randint(1, 500))
    if found is None:
        return
    assert found.ends == sorted(found.ends)
    assert found.ends[0] == float(min(least))
    assert found.ends[-1] == float(max(greatest))
    assert all(count >= 1 for count in found.distinct)
    assert len(found.distinct) == len(found.ends) - 1
    assert found.height * len(found.distinct) == pytest.approx(sum(rows))
