"""Locations as Iceberg's readers get them, and the folder with what is made for them."""

from __future__ import annotations

from parquetry.locations import join_location

MANIFEST_FOLDER = "_iceberg"
"""The folder below a table with manifests that were made for engines that plan by themselves."""


def manifest_folder(location: str) -> str:
    """Return the location of the folder with a table's manifests.

    Args:
        location: of the table.
    """
    return join_location(location, MANIFEST_FOLDER)


def file_uri(location: str) -> str:
    """Return a location as all engines read it: with a scheme, and with three slashes on a local disk.

    >>> file_uri("file:/lake/t"), file_uri("/lake/t"), file_uri("s3a://bucket/t")
    ('file:///lake/t', 'file:///lake/t', 's3a://bucket/t')
    """
    if location.startswith("/"):
        return f"file://{location}"
    if location.startswith("file:/") and not location.startswith("file://"):
        return f"file://{location.removeprefix('file:')}"
    return location
