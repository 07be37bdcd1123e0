"""The data files that programs open, as Linux sees it."""

from __future__ import annotations

import ctypes
import os
import struct
from collections import Counter
from pathlib import Path

IN_OPEN = 0x20
EVENT = struct.Struct("iIII")


class OpenedFiles:
    """The data files below a folder that are opened while this is entered, counted by table."""

    def __init__(self, folder: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = self._libc.inotify_init1(os.O_NONBLOCK)
        self._folders: dict[int, Path] = {}
        self._root = folder
        self.files: set[Path] = set()

    def __enter__(self) -> OpenedFiles:
        for folder, _, _ in os.walk(self._root):
            watch = self._libc.inotify_add_watch(self._inotify, folder.encode(), IN_OPEN)
            assert watch >= 0, folder
            self._folders[watch] = Path(folder)
        assert self._folders, self._root
        return self

    def __exit__(self, *_: object) -> None:
        try:
            while True:
                data, at = os.read(self._inotify, 1 << 20), 0
                while at < len(data):
                    watch, _, _, length = EVENT.unpack_from(data, at)
                    name = data[at + EVENT.size : at + EVENT.size + length].split(b"\0", 1)[0].decode()
                    at += EVENT.size + length
                    if name.endswith(".parquet") and not name.startswith("."):
                        self.files.add(self._folders[watch] / name)
        except BlockingIOError:
            os.close(self._inotify)

    def by_table(self) -> dict[str, int]:
        """Return the number of files of each table."""
        return dict(Counter(file.relative_to(self._root).parts[0] for file in self.files))
