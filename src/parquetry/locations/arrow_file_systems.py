"""File systems outside of an engine: Arrow's, or fsspec's, with the options that pandas and Polars take.

Credentials and endpoints come from `storage_options`. Without these, Arrow reads the environment and its
profiles.

HDFS works without Hadoop's libraries if hdfs-native can reach the NameNode that a location names.

hdfs-native itself tries a host for minutes that does not exist, or does not answer.
"""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from parquetry.errors import ConfigurationError, WarehouseError
from parquetry.locations.uri import take_apart

# Hadoop's names of S3's connectors; Arrow knows but one.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}

_S3_OPTIONS = {
    "key": "access_key",
    "aws_access_key_id": "access_key",
    "access_key_id": "access_key",
    "secret": "secret_key",
    "aws_secret_access_key": "secret_key",
    "secret_access_key": "secret_key",
    "token": "session_token",
    "aws_session_token": "session_token",
    "session_token": "session_token",
    "region": "region",
    "aws_region": "region",
    "region_name": "region",
    "aws_default_region": "region",
    "endpoint": "endpoint",
    "endpoint_url": "endpoint",
    "aws_endpoint": "endpoint",
    "aws_endpoint_url": "endpoint",
    "anon": "anonymous",
    "aws_skip_signature": "anonymous",
    "skip_signature": "anonymous",
    "aws_allow_http": "allow_http",
    "allow_http": "allow_http",
}
"""The names of S3's options in fsspec (pandas) and object_store (Polars), each with its meaning here."""

_TRUE = ("true", "1", "yes")


class ArrowFileSystems:
    """Opens locations by Arrow, and what Arrow does not know by fsspec.

    Args:
        storage_options: as pandas and Polars take them, or None for what the environment says.
    """

    def __init__(self, storage_options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(storage_options or {})
        self._opened: dict[tuple[str, str], pafs.FileSystem] = {}

    def open(self, location: str, /) -> tuple[pafs.FileSystem, str]:
        """Return the file system of a location and the location's path on it; see `FileSystems.open`.

        Raises:
            WarehouseError: the scheme is unknown, or its file system cannot be reached.
            ConfigurationError: an option is unknown.
        """
        parts = take_apart(location)
        scheme = parts.scheme.lower()
        if self._options and _SCHEMES.get(scheme, scheme) == "s3":
            return self._s3(parts.authority), f"{parts.authority.lstrip('/')}/{parts.path.lstrip('/')}"
        if self._options or is_native_hdfs(scheme):
            return self._fsspec(location, scheme, parts.authority), parts.path
        try:
            filesystem, root = pafs.FileSystem.from_uri(
                f"{_SCHEMES.get(scheme, scheme)}:{parts.authority or '//'}/x"
            )
        except (pa.ArrowException, OSError, ValueError) as error:
            raise WarehouseError(
                f"The location '{location}' cannot be opened: {_reason(scheme, error)}"
            ) from error
        return filesystem, f"{root.removesuffix('x')}{parts.path.lstrip('/')}"

    def for_threads(self) -> ArrowFileSystems:
        """Return these file systems: any thread may use them."""
        return self

    def _s3(self, authority: str) -> pafs.FileSystem:
        if ("s3", authority) not in self._opened:
            self._opened["s3", authority] = pafs.S3FileSystem(**s3_arguments(self._options))
        return self._opened["s3", authority]

    def _fsspec(self, location: str, scheme: str, authority: str) -> pafs.FileSystem:
        if (scheme, authority) not in self._opened:
            try:
                import fsspec
            except ModuleNotFoundError:
                raise WarehouseError(
                    f"The location '{location}' cannot be opened with storage_options: install fsspec and its "
                    f"file system for {scheme}."
                ) from None
            file_system = _open_by_fsspec(fsspec, location, scheme, authority, self._options)
            self._opened[scheme, authority] = pafs.PyFileSystem(pafs.FSSpecHandler(file_system))
        return self._opened[scheme, authority]


def _open_by_fsspec(
    fsspec: Any, location: str, scheme: str, authority: str, options: Mapping[str, Any]
) -> Any:
    """Return a file system of fsspec's.

    Raises:
        WarehouseError: it cannot be opened, or a NameNode of HDFS does not answer.
    """
    if scheme == "hdfs":
        require_reachable(location, authority)
    try:
        return fsspec.core.url_to_fs(f"{scheme}:{authority or '//'}/", **options)[0]
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        whole = with_port(authority, error) if scheme == "hdfs" else None
        if whole is None:
            raise WarehouseError(f"The location '{location}' cannot be opened by fsspec: {error}.") from error
    return _open_by_fsspec(fsspec, location, scheme, whole, options)


def s3_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of S3 as the arguments of Arrow's S3FileSystem.

    Raises:
        ConfigurationError: an option is unknown. Its value is not shown.

    >>> s3_arguments({"key": "k", "secret": "s", "client_kwargs": {"endpoint_url": "http://localhost:9000"}})
    {'access_key': 'k', 'secret_key': 's', 'scheme': 'http', 'endpoint_override': 'localhost:9000'}
    """
    arguments: dict[str, Any] = {}
    nested = options.get("client_kwargs") or {}
    for name, value in [*((n, v) for n, v in options.items() if n != "client_kwargs"), *nested.items()]:
        if name.lower() not in _S3_OPTIONS:
            raise ConfigurationError(
                f"The storage option {name!r} is unknown for S3; known are {', '.join(sorted(_S3_OPTIONS))} and client_kwargs."
            )
        arguments[_S3_OPTIONS[name.lower()]] = value
    arguments.pop("allow_http", None)  # the endpoint's scheme says it
    if "anonymous" in arguments:
        arguments["anonymous"] = str(arguments["anonymous"]).lower() in _TRUE
    if endpoint := arguments.pop("endpoint", None):
        scheme, separator, host = str(endpoint).rpartition("://")
        arguments["scheme"] = scheme if separator else "https"
        arguments["endpoint_override"] = host.rstrip("/")
    return arguments


def _reason(scheme: str, error: Exception) -> str:
    if scheme in ("hdfs", "viewfs"):
        return (
            "outside of Spark, HDFS needs the package hdfs-native (pip install hdfs-native fsspec), or libhdfs "
            "with ARROW_LIBHDFS_DIR and CLASSPATH. In a Spark session, Hadoop's own client reaches it."
        )
    return (
        f"{error}. Check the scheme, the address and the credentials; outside of Spark, Arrow reads file, s3, gs "
        "and abfs, with the credentials of the environment, of parquetry.open's storage_options, or of the command's "
        "--storage-option KEY=VALUE. In a Spark session, Hadoop's file systems reach it."
    )


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
