"""List the files below a folder, without hidden ones."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.fs as pafs

from parquetry.locations.file_names import is_hidden


def visible_files(filesystem: pafs.FileSystem, folder: str) -> Iterator[str]:
    """Yield the paths of files below a folder that are neither hidden nor empty, its own files first.

    Args:
        filesystem: where the folder is.
        folder: its path; yields nothing if it is not there.
    """
    found = sorted(
        filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True)),
        key=lambda info: str(info.path),
    )
    visible = [info for info in found if not is_hidden(info.base_name)]
    yield from (info.path for info in visible if info.type == pafs.FileType.File and info.size)
    for info in visible:
        if info.type == pafs.FileType.Directory:
            yield from visible_files(filesystem, info.path)
