"""HDFS without Hadoop's libraries: whether hdfs-native can reach the NameNode that a location names.

hdfs-native itself tries a host for minutes that does not exist, or does not answer.
"""

from __future__ import annotations

import importlib.util
import socket
from urllib.parse import urlsplit

from parquetry.errors import WarehouseError

CONNECT_SECONDS = 10
"""Seconds that a NameNode has to accept a connection. A network's round trip takes less than one."""
_DEFAULT_PORT = 8020
_NO_NAME_SERVICE = "No NameNode hosts found"
"""Part of hdfs-native's error for a name without a port that Hadoop's settings do not have."""


def is_native_hdfs(scheme: str) -> bool:
    """Return whether HDFS can be reached without Hadoop's libraries, by the package hdfs-native."""
    return scheme in ("hdfs", "viewfs") and all(map(importlib.util.find_spec, ("hdfs_native", "fsspec")))


def with_port(authority: str, error: Exception) -> str | None:
    """Return the authority with the NameNode's usual port, or None if the error is about something else.

    A name without a port is a host, unless Hadoop's settings have it as a name service.

    >>> with_port("//names", RuntimeError('InvalidArgument("No NameNode hosts found")'))
    '//names:8020'
    """
    if _NO_NAME_SERVICE not in str(error) or urlsplit(authority).port is not None:
        return None
    return f"{authority}:{_DEFAULT_PORT}"


def require_reachable(location: str, authority: str) -> None:
    """Refuse a NameNode that does not answer. A name without a port is not tried: it may be a name service.

    Args:
        location: what is opened, for the message.
        authority: as in ``//host:8020``.

    Raises:
        WarehouseError: it does not accept a connection; the message names the host.
    """
    parts = urlsplit(authority)
    if parts.hostname is None or parts.port is None:
        return
    try:
        socket.create_connection((parts.hostname, parts.port), CONNECT_SECONDS).close()
    except OSError as error:
        raise WarehouseError(
            f"The location '{location}' cannot be opened: HDFS at {parts.hostname}:{parts.port} does not answer "
            f"({error}). Check the host, the port and the network; for a name service, name it without a port, and "
            "set HADOOP_CONF_DIR to the folder of its hdfs-site.xml."
        ) from error
