"""The files that scans open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from parquetry.catalog.scans import reading
from parquetry.rows import FileRows, ReadRequest


def record_opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the paths of the files that scans open from now on."""
    paths: list[str] = []
    read_file, read_small_files = reading.read_file, reading.read_small_files

    def one(request: ReadRequest, file: FileRows) -> Iterator[pa.RecordBatch]:
        paths.append(file.path)
        return read_file(request, file)

    def several(request: ReadRequest, files: Sequence[FileRows]) -> Iterator[pa.RecordBatch]:
        paths.extend(file.path for file in files)
        return read_small_files(request, files)

    monkeypatch.setattr(reading, "read_file", one)
    monkeypatch.setattr(reading, "read_small_files", several)
    return paths
