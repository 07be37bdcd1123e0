"""The bridge sees that no one has written by the header of the index of SQLite's log."""

from __future__ import annotations

import struct
from pathlib import Path

from parquetry.metastore import change_file, open_metastore
from parquetry.store.sqlite import SQLiteStore

_HEADER_BYTES = 48


def header(path: Path) -> bytes:
    """Return the header, whose two copies are equal while no one writes it."""
    copies = Path(f"{path}-shm").read_bytes()[: 2 * _HEADER_BYTES]
    assert copies[:_HEADER_BYTES] == copies[_HEADER_BYTES:]
    version, complete = struct.unpack_from("=I8xB", copies)
    assert (version, complete) == (3007000, 1)
    return copies[:_HEADER_BYTES]


def test_the_header_changes_with_each_write(tmp_path: Path) -> None:
    """Each write of any connection changes the header, and reads, checkpoints and lost races do not."""
    path = tmp_path / "metastore.sqlite"
    reader, writer = SQLiteStore(path), SQLiteStore(path)
    reader.get(b"a")
    headers = [header(path)]
    for number in range(50):
        assert writer.compare_and_set(b"a", b"%d" % (number - 1) if number else None, b"%d" % number)
        headers.append(header(path))
        assert reader.get(b"a") == b"%d" % number
        assert not reader.compare_and_set(b"a", b"other", b"new")
        assert header(path) == headers[-1]
    writer.scrub(whole=False)
    writer.put_many([(b"a", b"50")])
    headers.append(header(path))
    assert len(set(headers)) == len(headers)
    reader.close()
    writer.close()


def test_only_a_file_can_show_it(tmp_path: Path) -> None:
    """The embedded metastore names its file, and a metastore in memory none."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        assert Path(str(change_file(metastore))).samefile(tmp_path / "_parquetry" / "metastore.sqlite")
    with open_metastore(str(tmp_path / "other"), "memory") as metastore:
        assert change_file(metastore) is None
