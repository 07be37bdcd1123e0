"""Find the files that have a text: in their names, bytes, pages or blocks."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_AVRO = b"Obj\x01"
_SYNC_BYTES = 16


def holders(folder: Path, text: str) -> list[str]:
    """Return the paths of files and folders below a folder that have a text in their name or content.

    Pages of Parquet and blocks of Avro are decompressed.
    """
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if text in path.name or (path.is_file() and any(text.encode() in each for each in _contents(path)))
    )


def _contents(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and what is compressed in it."""
    raw = path.read_bytes()
    yield raw
    if raw.startswith(_AVRO):
        yield from _blocks(raw)
    if path.suffix == ".parquet":
        with contextlib.suppress(pa.ArrowInvalid):  # a file of another kind
            yield str(pq.ParquetFile(path).read().to_pydict()).encode()


def _blocks(raw: bytes) -> Iterator[bytes]:
    """Yield the blocks of a file of Avro, which end with its marker; each begins with two numbers."""
    for part in raw.split(raw[-_SYNC_BYTES:])[1:-1]:
        start = 0
        for _ in range(2):
            while part[start] & 0x80:
                start += 1
            start += 1
        yield part[start:]
        with contextlib.suppress(zlib.error):  # not compressed
            yield zlib.decompress(part[start:], wbits=-zlib.MAX_WBITS)
