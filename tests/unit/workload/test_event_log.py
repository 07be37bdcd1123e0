"""Spark's event logs as records: a log of Spark 4.3 with Spark's own tables and ours, in all its forms."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import parquetry
from parquetry.errors import WarehouseError
from parquetry.workload import QueryCondition, QueryJoin, QueryRecord, ReadCount, TableRead

LOG = lzma.decompress((Path(__file__).parents[2] / "fixtures" / "spark-event-log.json.xz").read_bytes())
BLOCK = 1 << 15


def _blocks() -> list[bytes]:
    return [LOG[first : first + BLOCK] for first in range(0, len(LOG), BLOCK)]


def _zstd() -> bytes:
    # Spark writes the frames of its buffers one behind the other
    return b"".join(pa.compress(block, codec="zstd", asbytes=True) for block in _blocks())


def _lz4() -> bytes:
    """Return the log as `LZ4BlockOutputStream` writes it; the last block is empty."""
    parts = []
    for number, block in enumerate([*_blocks(), b""]):
        raw = number % 3 == 2 or not block
        packed = block if raw else pa.Codec("lz4_raw").compress(block, asbytes=True)
        sizes = len(packed).to_bytes(4, "little") + len(block).to_bytes(4, "little")
        parts.append(b"LZ4Block" + bytes([0x15 if raw else 0x25]) + sizes + bytes(4) + packed)
    return b"".join(parts)


def _snappy() -> bytes:
    """Return the log as `SnappyOutputStream` writes it."""
    packed = [pa.Codec("snappy").compress(block, asbytes=True) for block in _blocks()]
    header = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
    return header + b"".join(len(each).to_bytes(4, "big") + each for each in packed)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[QueryRecord]:
    """The queries of the plain log."""
    path = tmp_path_factory.mktemp("log") / "local-1"
    path.write_bytes(LOG)
    return parquetry.read_queries(path)


def test_a_table_of_sparks_own(records: list[QueryRecord]) -> None:
    """Conditions have their values and columns, counts come from metrics, and columns from the scan."""
    record = records[5]
    assert (record.door, record.user, record.time) == ("event-log", "ann", 1796029722434)
    assert (record.seconds, record.shuffles) == (4.3, 1)
    assert record.reads == (
        TableRead(
            "s.o",
            conditions=(
                QueryCondition("day = DATE '2026-01-03'", ("day",)),
                QueryCondition("id > 250", ("id",)),
                QueryCondition("st.a = 1", ("st.a",)),
            ),
            columns=("id", "amount", "st", "day"),
            partitions=ReadCount(1, 1),
            files=ReadCount(1, 1),
            bytes=ReadCount(2231, 2231),
            rows=16,
        ),
    )


def test_joins_are_followed_to_scans(records: list[QueryRecord]) -> None:
    """Keys of joins by sort and by broadcast are columns of both tables, and exchanges are counted."""
    for number, shuffles in ((6, 1), (7, 3), (14, 0)):
        first, second = records[number].reads
        assert (first.table, second.table, records[number].shuffles) == ("s.o", "s.c", shuffles)
        assert first.joins == (QueryJoin("c", "s.c", "c"),)
        assert second.joins == (QueryJoin("c", "s.o", "c"),)
    assert [each.text for each in records[7].reads[0].conditions] == [
        "day >= DATE '2026-01-05'",
        "id < 5 OR id > 900",
    ]


def test_a_table_of_ours_and_a_folder(records: list[QueryRecord]) -> None:
    """Our scans describe themselves; without values of joins. A folder is named by its path."""
    ours, other = records[1].reads
    assert (ours.table, other.table) == ("default.o", "default.c")
    assert [each.text for each in ours.conditions] == ["hash(id) > 5"]
    assert ours.joins == (QueryJoin("c", "default.c", "c"),)
    assert (ours.partitions, ours.rows) == (ReadCount(10, 10), 519)
    (folder,) = records[13].reads
    assert (folder.table, folder.conditions) == ("/data/sw/s.db/o", (QueryCondition("id = 3", ("id",)),))


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("local-1.zstd", _zstd),
        ("local-1.lz4", _lz4),
        ("local-1.snappy", _snappy),
        ("local-1.gz", lambda: gzip.compress(LOG)),
        ("local-1.inprogress", lambda: LOG + b'{"Event":"org.apache.spark.sql.exec'),
    ],
)
def test_compressed_logs(
    tmp_path: Path,
    records: list[QueryRecord],
    name: str,
    pack: Callable[[], bytes],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Every codec of Spark's gives the same queries, and the beginning of a log gives the first of them."""
    (tmp_path / name).write_bytes(pack())
    assert parquetry.read_queries(tmp_path / name) == records
    (tmp_path / name).write_bytes(pack()[: len(pack()) * 3 // 4])
    some = parquetry.read_queries(tmp_path)
    assert some == records[: len(some)]
    assert len(some) > 1
    assert capfd.readouterr() == ("", "")


def test_folders(tmp_path: Path, records: list[QueryRecord]) -> None:
    """The files of a rolled log are read in the order of their numbers, and a folder may have many logs."""
    rolled = tmp_path / "eventlog_v2_app-1"
    rolled.mkdir()
    lines = LOG.splitlines(keepends=True)
    for number in range(1, 12):
        some = lines[(number - 1) * 20 : number * 20 if number < 11 else None]
        (rolled / f"events_{number}_app-1").write_bytes(b"".join(some))
    (rolled / "appstatus_app-1").write_bytes(b"")
    assert parquetry.read_queries(rolled) == records
    (tmp_path / "app-2").write_bytes(LOG)
    assert parquetry.read_queries(tmp_path) == records + records
    (tmp_path / "none").mkdir()
    with pytest.raises(WarehouseError, match="There is no event log at"):
        parquetry.read_queries(tmp_path / "none")
    with pytest.raises(WarehouseError, match="cannot be listed"):
        parquetry.read_queries(tmp_path / "missing")
