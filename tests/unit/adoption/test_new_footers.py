"""Footers of many partitions are read together, and each partition gets its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.adoption import footers as footers_module
from parquetry.adoption.discover import DiscoveredPartition
from parquetry.adoption.footers import NewFooters
from parquetry.data_files import FileRecord, TableColumn
from parquetry.data_files.footers.footer_reader import ArrowFooters
from tests.support.stores.metastores import metadata


class Counting(ArrowFooters):
    """Footers of real files, with the number of paths in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    def data_files(
        self, file_format: str, location: str, paths: Sequence[str], *more: Any, **named: Any
    ) -> list[FileRecord]:
        self.calls.append(len(paths))
        return super().data_files(file_format, location, paths, *more, **named)


def test_each_partition_gets_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call reads at most four files below the table, or one partition's files elsewhere.

    Two partitions may share a location.
    """
    monkeypatch.setattr(footers_module, "_FILES_PER_CALL", 4)
    table, elsewhere = tmp_path / "t", tmp_path / "elsewhere"
    places = ["d=1/s=a", "d=2/s=a", "d=3/s=a", elsewhere.as_uri(), "d=3/s=a", "d=4/s=a"]
    for number, place in enumerate(places):
        folder = elsewhere if ":" in place else table / place
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": range(number + 1)}), folder / "one.parquet")
        (folder / "two.parquet").write_bytes(b"broken")
    partitions = [
        (DiscoveredPartition((n, "a"), place, ()), ["one.parquet", "two.parquet"])
        for n, place in enumerate(places)
    ]
    counting = Counting()
    footers = NewFooters(counting, metadata(location=table.as_uri()), partitions)
    read = [footers.read_next() for _ in partitions]
    assert [[(file.path, file.rows) for file in each.files] for each in read] == [
        [("one.parquet", rows)] for rows in (1, 2, 5, 4, 5, 6)
    ]
    assert [list(each.broken) for each in read] == [["two.parquet"]] * 6
    assert counting.calls == [4, 2, 2, 4]


def test_no_footer_stops_the_others(tmp_path: Path) -> None:
    """A corrupt footer byte never stops the read of the other file.

    The corrupt file is read, or reported as broken.
    """
    table = tmp_path / "t"
    table.mkdir()
    nested = pa.table({"x": [1, None], "s": [{"a": "u", "b": [1.5]}, None], "é": ["v", "w"]})
    pq.write_table(nested, tmp_path / "whole", compression="none", use_dictionary=False)
    whole = (tmp_path / "whole").read_bytes()
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    names = ["good.parquet"]
    for position in range(start, len(whole), 3):
        for bits in (0x01, 0x80, 0xFF):
            changed = bytearray(whole)
            changed[position] ^= bits
            names.append(f"{position}-{bits}.parquet")
            (table / names[-1]).write_bytes(changed)
    (table / "good.parquet").write_bytes(whole)
    columns = (TableColumn("x", "integer"), TableColumn("s", "string"), TableColumn("é", "date"))
    partition = DiscoveredPartition((), "", ())
    footers = NewFooters(
        ArrowFooters(),
        metadata(location=table.as_uri(), columns=columns, partition_by=()),
        [(partition, names)],
    )
    read = footers.read_next()
    assert sorted([*(file.path for file in read.files), *read.broken]) == sorted(names)
    assert read.files[0].path == "good.parquet"
    assert len(read.broken) > 20
    for name, reason in read.broken.items():
        assert name in reason
        assert reason.endswith(".")
