"""Limits of range manifests so small that a hundred partitions have several ranges."""

from __future__ import annotations

import pytest

from parquetry.metastore.range_manifests import upkeep


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "MIN_PARTITIONS", 40)
    monkeypatch.setattr(upkeep, "_PARTITIONS_PER_RANGE", 10)
    monkeypatch.setattr(upkeep, "_MIN_PARTITIONS_PER_RANGE", 3)
