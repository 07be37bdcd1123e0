"""The lines of Spark's event logs: one file, a rolled folder, or a folder of many; compressed or not.

Spark compresses with zstd by default, and may use LZ4 or Snappy, each in a form of its Java library. A file
may end in the middle of a line, or of a compressed block, since its application still runs or was killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, cast

import pyarrow as pa
from pyarrow import fs

from parquetry.errors import WarehouseError
from parquetry.locations import open_location

_EVENTS = re.compile(r"events_(\d+)_")
_IGNORED = ("appstatus_", ".", "_")
_BYTES_PER_READ = 1 << 20
_PLAIN_BYTES_PER_READ = 1 << 14
"""At the end of a file that was cut off, a part of this size is lost."""
_LZ4_MAGIC, _SNAPPY_MAGIC = b"LZ4Block", b"\x82SNAPPY\x00"
_LZ4_HEADER_BYTES, _SNAPPY_HEADER_BYTES = 21, 16
_RAW_METHOD = 0x10
"""The token of an LZ4 block whose bytes are not compressed."""


def event_logs(location: str) -> list[list[tuple[fs.FileSystem, str]]]:
    """Return the event logs at a location, each with its files in their order.

    Args:
        location: a log, a rolled log's folder, or a folder of logs; a path or a URI.

    Raises:
        WarehouseError: there is nothing, or it cannot be listed.
    """
    filesystem, path = open_location(location)
    try:
        (info,) = filesystem.get_file_info([path])
        if info.type == fs.FileType.File:
            return [[(filesystem, path)]]
        files = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
    except OSError as error:
        raise WarehouseError(f"The event logs at {location} cannot be listed: {error}") from None
    logs: dict[str, list[tuple[int, str]]] = {}
    for file in sorted(files, key=lambda each: each.path):
        name = file.base_name
        if file.type != fs.FileType.File or name.startswith(_IGNORED) or name.endswith(".crc"):
            continue
        part = _EVENTS.match(name)
        folder = file.path.rpartition("/")[0]
        logs.setdefault(folder if part else file.path, []).append((int(part[1]) if part else 0, file.path))
    if not logs:
        raise WarehouseError(
            f"There is no event log at {location}: name a log of Spark, or a folder of logs."
        )
    return [[(filesystem, each) for _, each in sorted(parts)] for parts in logs.values()]


def lines_of(filesystem: fs.FileSystem, path: str) -> Iterator[bytes]:
    """Yield the whole lines of a file."""
    rest = b""
    with filesystem.open_input_stream(path, compression=None) as stream:
        start = stream.read(_BYTES_PER_READ)
        for data in _plain(start, cast(BinaryIO, stream)):
            lines = (rest + data).split(b"\n")
            rest = lines.pop()
            yield from lines
    if rest:
        yield rest


def _plain(start: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a file without its compression, which its first bytes tell."""
    if start.startswith(_LZ4_MAGIC):
        yield from _lz4_blocks(_Joined(start, stream))
    elif start.startswith(_SNAPPY_MAGIC):
        yield from _snappy_blocks(_Joined(start, stream))
    elif start.startswith(b"\x28\xb5\x2f\xfd"):
        yield from _stream(start, stream, "zstd")
    elif start.startswith(b"\x1f\x8b"):
        yield from _stream(start, stream, "gzip")
    elif start.startswith(b"\x04\x22\x4d\x18"):
        yield from _stream(start, stream, "lz4")
    else:
        while start:
            yield start
            start = stream.read(_BYTES_PER_READ)


class _Joined:
    """A stream with bytes before it that were read already."""

    closed = False

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start, self._stream = start, stream

    def read(self, count: int = -1) -> bytes:
        """Return so many bytes, or fewer at the end."""
        taken, self._start = (self._start, b"") if count < 0 else (self._start[:count], self._start[count:])
        missing = count - len(taken)
        return taken + self._stream.read(-1 if count < 0 else missing) if missing else taken

    def readable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Leave the stream open: who opened it closes it."""


def _stream(start: bytes, stream: BinaryIO, codec: str) -> Iterator[bytes]:
    source = pa.PythonFile(_Joined(start, stream), "r")
    plain = pa.CompressedInputStream(source, codec)
    with suppress(OSError):  # the application may have been killed in the middle of a block
        while data := plain.read(_PLAIN_BYTES_PER_READ):
            yield data


def _lz4_blocks(stream: _Joined) -> Iterator[bytes]:
    codec = pa.Codec("lz4_raw")
    while len(header := stream.read(_LZ4_HEADER_BYTES)) == _LZ4_HEADER_BYTES:
        packed, plain = int.from_bytes(header[9:13], "little"), int.from_bytes(header[13:17], "little")
        data = stream.read(packed)
        if len(data) < packed:
            return
        if plain:
            yield data if header[8] & 0xF0 == _RAW_METHOD else codec.decompress(data, plain, asbytes=True)


def _snappy_blocks(stream: _Joined) -> Iterator[bytes]:
    codec = pa.Codec("snappy")
    stream.read(_SNAPPY_HEADER_BYTES)
    while len(size := stream.read(4)) == 4:
        length = int.from_bytes(size, "big")
        data = stream.read(length)
        if len(data) < length:
            return
        plain, shift = 0, 0
        for byte in data[:5]:  # the length of the block, seven bits at a time
            plain |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield codec.decompress(data, plain, asbytes=True)
