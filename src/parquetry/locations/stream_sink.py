"""Read the log that Spark's streams keep beside the files they write, in the folder `_spark_metadata`.

A batch that fails leaves files behind, and the next try writes them again under other names. So Spark reads
from such a folder only the files that the log lists (`FileStreamSinkLog`). The log has a file for each batch,
`0`, `1`, and so on. Every tenth or so, such as `9.compact`, has the files of all batches before it, too.
"""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pyarrow.fs as pafs

from parquetry.errors import WarehouseError
from parquetry.locations.uri import base_name

SINK_LOG = "_spark_metadata"
"""The folder of the log, in the folder that a stream writes to."""
_BATCH = re.compile(r"(\d+)(\.compact)?", re.ASCII)
_VERSION = re.compile(r"v\d+", re.ASCII)


def sink_files(filesystem: pafs.FileSystem, folder: str) -> frozenset[str] | None:
    """Return the names of the files that the log in a folder lists, or None if it has no log.

    The names alone tell files apart, as Spark puts a UUID into each. So a folder may have been moved.

    Args:
        filesystem: where the folder is.
        folder: its path.

    Raises:
        WarehouseError: the log cannot be read.
    """
    log = f"{folder.rstrip('/')}/{SINK_LOG}"
    try:
        entries = filesystem.get_file_info(pafs.FileSelector(log, allow_not_found=True))
        batches = {
            (int(batch[1]), bool(batch[2])): str(entry.path)
            for entry in entries
            if (batch := _BATCH.fullmatch(entry.base_name)) is not None
        }
        if not batches:
            return None
        begin = max((number for number, is_compact in batches if is_compact), default=-1)
        names: set[str] = set()
        for (number, is_compact), path in sorted(batches.items()):
            if number > begin or (number == begin and is_compact):
                with filesystem.open_input_file(path) as source:
                    _apply(source.read().decode(), names)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WarehouseError(
            f"The log of the stream that writes to '{folder}' cannot be read ({log}): {error}. Restore it; or copy the rows that "
            "are wanted with INSERT INTO … SELECT into a table with a folder of its own."
        ) from error
    return frozenset(names)


def _apply(text: str, names: set[str]) -> None:
    """Add the files that a batch lists, and take away the files that it deletes."""
    version, *lines = text.split("\n")
    if _VERSION.fullmatch(version.strip()) is None:
        raise ValueError(f"a batch begins with {version[:20]!r}, where its version belongs")
    for line in filter(None, lines):
        entry = json.loads(line)
        name = unquote(base_name(entry["path"]))
        if entry.get("action", "add") == "delete":
            names.discard(name)
        elif not entry.get("isDir", False):
            names.add(name)
