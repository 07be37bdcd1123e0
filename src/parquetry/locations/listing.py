"""List the files below a folder, without hidden ones."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.fs as pafs

from parquetry.locations.file_names import is_hidden
from parquetry.locations.remote_access import remote_files


def visible_files(filesystem: pafs.FileSystem, folder: str) -> Iterator[str]:
    """Yield the paths of files below a folder that are neither hidden nor empty, its own files first.

    Args:
        filesystem: where the folder is.
        folder: its path; yields nothing if it is not there.
    """
    if (remote := remote_files(filesystem)) is not None:
        yield from _visible_below(remote.walk(folder), folder)
        return
    infos = sorted(
        filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True)),
        key=lambda info: str(info.path),
    )
    visible = [info for info in infos if not is_hidden(info.base_name)]
    yield from (info.path for info in visible if info.type == pafs.FileType.File and info.size)
    for info in visible:
        if info.type == pafs.FileType.Directory:
            yield from visible_files(filesystem, info.path)


def _visible_below(entries: Iterator[pafs.FileInfo], folder: str) -> Iterator[str]:
    """Yield the paths of visible files among all entries below a folder, which need not exist."""
    try:
        for info in entries:
            below = info.path[len(folder) :].strip("/").split("/")
            if info.type == pafs.FileType.File and info.size and not any(map(is_hidden, below)):
                yield info.path
    except FileNotFoundError:
        return
