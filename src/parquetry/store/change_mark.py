"""A mark of a SQLite store's state, equal only while no process has written.

It is the header of the index of SQLite's write-ahead log. A commit is visible from the moment that this
header has changed, and all readers look there. So what was read since the mark was taken need not be read
again. The bridge does the same for sessions of Spark (`bridge/catalog/StoreMark.scala`).

The header stands in the file `…-shm` twice. It has a counter of commits, the number of frames in the log,
random salts of the log, and checksums over its frames. If its copies differ, a commit is under way, and there
is no mark. There is none, either, if no process has the store open, or if SQLite keeps no such file.

An empty log has an empty header, and the last process to close a store empties its log into the file. So the
mark has the file's time and size, too.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

_HEADER_BYTES = 48
_BEGINNING = struct.Struct("=I8xB")
"""The version of the format, and whether the header is complete."""
_COMPLETE = 3_007_000, 1
"""The only version that there has been, in a complete header."""


class ChangeMark(NamedTuple):
    """A mark.

    Attributes:
        device: of the store's file, since another one may have taken its path.
        inode: of the file.
        size: of the file.
        modified: time of the file's last change, in nanoseconds.
        header: of the log's index.
    """

    device: int
    inode: int
    size: int
    modified: int
    header: bytes


def read_change_mark(path: str) -> ChangeMark | None:
    """Return the mark of a store, or None if nothing shows its state.

    Args:
        path: of the store's file.
    """
    try:
        file = os.stat(path)
        index = os.open(f"{path}-shm", os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        copies = os.read(index, 2 * _HEADER_BYTES)
    except OSError:
        return None
    finally:
        os.close(index)
    header = copies[:_HEADER_BYTES]
    if len(copies) < 2 * _HEADER_BYTES or header != copies[_HEADER_BYTES:]:
        return None
    if _BEGINNING.unpack_from(header) != _COMPLETE:
        return None
    return ChangeMark(file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, header)
