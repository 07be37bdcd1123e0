"""Parts of a run: PARQUETRY_PART=1/3 in the environment runs a third of the files of tests."""

from __future__ import annotations

import os
import zlib

import pytest

_OF_SERIES = ("needs", "lacks", "since", "only")
"""Markers of tests that are about differences of Spark's series."""


def in_part(item: pytest.Item) -> bool:
    """Return whether a test belongs to the part that is run.

    A part has whole files. What is about the differences of Spark's series belongs to each part.
    """
    part, _, parts = os.environ.get("PARQUETRY_PART", "").partition("/")
    if not parts or any(map(item.get_closest_marker, _OF_SERIES)) or item.path.parent.name == "series":
        return True
    return zlib.crc32(item.path.name.encode()) % int(parts) == int(part) - 1
