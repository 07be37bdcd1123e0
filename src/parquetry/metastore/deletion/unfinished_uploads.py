"""Multipart uploads that a table's writers began, and neither completed nor ended.

S3 keeps the parts of such an upload, and charges for them, but shows no file. Only a Spark session with `s3a`
lists and ends uploads. Elsewhere there are none, and no file system is asked.

An upload belongs to a table by the name of the file that it would become, as a file does (`owned_files`).
Ending it changes no file: a file that was completed under this name by another upload stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from parquetry.errors import WarehouseError
from parquetry.locations import StoragePath, UnfinishedUpload, remote_files, spelled_root, storage_path
from parquetry.metastore.deletion.file_access import FileAccess

_LOG = logging.getLogger("parquetry")

Uploads = list[tuple[StoragePath, UnfinishedUpload]]
"""Unfinished uploads, each with the path of the file that it would become."""


def uploads_below(
    files: FileAccess, folders: Iterable[StoragePath], is_own: Callable[[StoragePath], bool]
) -> Uploads:
    """Return the unfinished uploads below directories; a directory whose uploads cannot be listed is logged.

    Args:
        files: the file systems.
        folders: the directories, resolved.
        is_own: returns whether the table writes a file of this path.
    """
    unfinished: Uploads = []
    for folder in folders:
        try:
            unfinished += [(path, each) for path, each in _uploads_below(files, folder) if is_own(path)]
        except WarehouseError as error:
            _LOG.warning("%s", error.message)
    return unfinished


def _uploads_below(files: FileAccess, folder: StoragePath) -> Uploads:
    if not folder.root:
        return []
    system, path = files.system_and_path(folder)
    if (remote := remote_files(system)) is None:
        return []
    try:
        return [(storage_path(upload.path), upload) for upload in remote.uploads(path)]
    except OSError as error:
        raise WarehouseError(
            f"The unfinished multipart uploads below {files.name(folder)} cannot be listed: {error}. Give this "
            "user the right to (s3:ListBucketMultipartUploads), or let a lifecycle rule of the store end them."
        ) from None


def end_uploads(files: FileAccess, uploads: Uploads) -> Uploads:
    """End unfinished uploads, and return the ended ones; a failure is logged.

    Args:
        files: the file systems.
        uploads: as `uploads_below` returned them.
    """
    failed: dict[str, str] = {}
    for root in {spelled_root(path) for path, _ in uploads}:
        some = [(path, upload) for path, upload in uploads if spelled_root(path) == root]
        if (remote := remote_files(files.system_and_path(some[0][0])[0])) is not None:
            try:
                failed |= remote.end_uploads([upload for _, upload in some])
            except OSError as error:
                failed |= {upload.path: str(error) for _, upload in some}
    for path, reason in failed.items():
        _LOG.warning(
            "The unfinished multipart upload of %s cannot be ended: %s. Give this user the right to "
            "(s3:AbortMultipartUpload), or let a lifecycle rule of the store end it.",
            path,
            reason,
        )
    return [(path, upload) for path, upload in uploads if upload.path not in failed]
