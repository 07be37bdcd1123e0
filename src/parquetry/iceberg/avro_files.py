"""Files for PyIceberg's readers and writers of Avro, reached as all files of the warehouse are.

A file that is written is put together in memory, and stored whole. Another process never reads a part of it,
and a process that dies leaves none.
"""

from __future__ import annotations

import io
from typing import Any

from parquetry.locations import open_location, replace_small_file


def input_file(location: str) -> Any:
    """Return a file for PyIceberg's readers."""
    from pyiceberg.io.pyarrow import PyArrowFile

    filesystem, path = open_location(location)
    return PyArrowFile(location=location, path=path, fs=filesystem)


class MemoryFile:
    """A file in memory, in the form of PyIceberg's `OutputFile`.

    Args:
        location: where it will be stored.
    """

    def __init__(self, location: str) -> None:
        self.location = location
        self._buffer = _Buffer()

    def create(self, overwrite: bool = False) -> io.BytesIO:  # noqa: ARG002
        """Return the stream to write to."""
        return self._buffer

    def __len__(self) -> int:
        """Return the number of bytes that were written."""
        return len(self._buffer.getbuffer())

    def store(self) -> None:
        """Write the file to its location, whole from the first moment on.

        Raises:
            OSError: it cannot be written.
        """
        replace_small_file(self.location, self._buffer.getvalue())


class _Buffer(io.BytesIO):
    """A buffer that PyIceberg's writers close, and that is read afterwards."""

    def close(self) -> None:
        """Keep the bytes."""
