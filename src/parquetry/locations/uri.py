"""Take paths and URIs apart: no other module does. `filesystem` opens them.

Two kinds of text say where files are, and a `%` has another meaning in each:

| text | read as | `file:/a%20b` is |
|---|---|---|
| the *location* of a database, table, partition or file | Hadoop reads it | `/a%20b` |
| the *warehouse*, as a person names it | RFC 3986 has it | `/a b` |

Hadoop's `new Path("file:/a%20b")` removes scheme and authority, and does not decode the rest. Spark's
`LOCATION` and its readers do the same. The directory of a partition, `x=1%2F2`, has escapes of its own, which
only `partition_path` may decode. A warehouse comes from Python or the command line, where `Path.as_uri()`
writes encoded texts. `warehouse_location` decodes it once, and from then on it is a plain path. A plain path
is never decoded. The URI of a store (`sqlite:///…`, `hbase://…`) is no location, and is read in
`parquetry.store`.
"""

from __future__ import annotations

import os
import posixpath
import re
import urllib.parse
from typing import NamedTuple

from parquetry.errors import WarehouseError

_URI = re.compile("([A-Za-z][A-Za-z0-9+.-]+):(//[^/]*)?(.*)", re.DOTALL)
_S3 = ("s3a", "s3n")
# What signed URLs of S3, Google's and Azure's stores have among their parameters.
_SIGNED = re.compile(
    r"[?&](X-Amz-Signature|X-Amz-Credential|X-Goog-Signature|AWSAccessKeyId|Signature|sig)=", re.IGNORECASE
)
_HDFS_PORT = ":8020"
"""The port of an HDFS namenode if a URI has none."""


class Parts(NamedTuple):
    """A location taken apart.

    Attributes:
        scheme: as written; empty if the location is a plain path.
        authority: with its two slashes; empty if there is none.
        path: as written, which may be empty.
    """

    scheme: str
    authority: str
    path: str

    @property
    def is_local(self) -> bool:
        """Return whether this is on a local disk."""
        return not self.scheme or self.scheme.lower() == "file"


class StorageRoot(str):
    """Scheme and authority of a file system, in one spelling, so that they can be compared.

    `s3a://lake` and `s3n://lake` are the bucket `s3://lake`, and `hdfs://names:8020` is `hdfs://names`. A
    file system is opened by what the user wrote, because Hadoop may know only one of these schemes.

    Attributes:
        spelled: scheme and authority as the user wrote them.
    """

    __slots__ = ("spelled",)
    spelled: str

    def __new__(cls, compared: str, spelled: str) -> StorageRoot:
        """Make a root from its one spelling and from what the user wrote."""
        root = super().__new__(cls, compared)
        root.spelled = spelled
        return root


class StoragePath(NamedTuple):
    """A file or directory: its file system's scheme and authority (empty: local), and its path there.

    Two texts may name one (`/a/b`, `file:/a/b`, `file:///a//b`); the `StoragePath` is the same.
    """

    root: str
    path: str


def take_apart(location: str) -> Parts:
    """Return the parts of a location.

    A single letter is no scheme, because a directory may be called `a:`.

    >>> take_apart("s3://bucket/t/x=1%2F2")
    Parts(scheme='s3', authority='//bucket', path='/t/x=1%2F2')
    >>> take_apart("/lake/t"), take_apart("file:/lake").is_local
    (Parts(scheme='', authority='', path='/lake/t'), True)
    """
    uri = _URI.fullmatch(location)
    return Parts("", "", location) if uri is None else Parts(uri[1], uri[2] or "", uri[3])


def is_absolute(path: str) -> bool:
    """Return whether a path is absolute: it starts with ``/``, or is a URI.

    >>> is_absolute("s3://lake/t"), is_absolute("p=1/a.parquet"), is_absolute("part:1")
    (True, False, False)
    """
    if path.startswith("/") or ":/" not in path:
        return path.startswith("/")
    scheme, authority, rest = take_apart(path)
    return bool(scheme) and bool(authority or rest.startswith("/"))


def join_location(location: str, path: str) -> str:
    """Return `path` below `location`, or `path` itself when it is absolute or a URI.

    >>> join_location("s3://lake/t/", "p=1/a.parquet")
    's3://lake/t/p=1/a.parquet'
    """
    if is_absolute(path):
        return path
    return f"{location.rstrip('/')}/{path}" if path else location


def join_relative(folder: str, path: str) -> str:
    """Return a path below a folder that is relative itself. The empty folder is where both paths begin.

    >>> join_relative("p=1", "a.parquet"), join_relative("", "a.parquet")
    ('p=1/a.parquet', 'a.parquet')
    """
    return f"{folder}/{path}" if folder else path


def path_below(location: str, path: str) -> str | None:
    """Return an absolute path relative to a location, or None if it is not below the location.

    >>> path_below("/lake/t", "/lake/t/p=1/a"), path_below("/lake/t", "/lake/u/a")
    ('p=1/a', None)
    """
    base = f"{location.rstrip('/')}/"
    return path.removeprefix(base) if path.startswith(base) else None


def path_within(location: str, path: str) -> str:
    """Return a path relative to a location, or unchanged if it is not below the location.

    >>> path_within("/t/p=1", "/t/p=1/f"), path_within("/t/p=1", "f"), path_within("/t/p=1", "/u/f")
    ('f', 'f', '/u/f')
    """
    return path_below(location, path) or path


def base_name(path: str) -> str:
    """Return the last part of a path.

    >>> base_name("p=1/a.parquet"), base_name("a.parquet")
    ('a.parquet', 'a.parquet')
    """
    return path.rpartition("/")[2]


def absolute_location(location: str, base: str | None = None) -> str:
    """Return a location as Hadoop writes it; a path without a scheme is this machine's own.

    `..` is resolved by the text alone, as in Hadoop. Above the root there is only the root.

    Args:
        location: as the user wrote it.
        base: where relative paths begin, or None for the working directory.

    Raises:
        WarehouseError: no folder can have this name.

    >>> absolute_location("file:///lake/a/../t/"), absolute_location("s3://bucket/a/./t")
    ('file:/lake/t', 's3://bucket/a/t')
    >>> absolute_location("../../../t", "/lake"), absolute_location("/lake/a%20b")
    ('file:/t', 'file:/lake/a%20b')
    """
    if "\0" in location:
        raise WarehouseError(
            f"The location {location!r} holds the character NUL, which no path can: say another LOCATION."
        )
    refuse_credentials(location)
    parts = take_apart(location)
    scheme, authority, path = parts
    if not scheme:
        if base is not None and not location.startswith("/"):
            return absolute_location(f"{absolute_location(base)}/{location}")
        return absolute_location(f"file:{os.path.join(os.getcwd(), location)}")
    if parts.is_local:  # a host counts as a folder
        scheme, authority, path = "file", "", f"{authority}{path}" or "/"
    if not path.startswith("/"):
        return f"{scheme}:{authority}{path}"
    path = "/" + posixpath.normpath(path).lstrip("/")
    return f"{scheme}:{authority}{'' if authority and path == '/' else path}"


def warehouse_location(warehouse: str) -> str:
    """Return a warehouse as an absolute local path, or as a URI without a trailing slash.

    Args:
        warehouse: path or URI, as a person wrote it; a relative path begins in the working directory.

    Raises:
        WarehouseError: it is on the local disk of another machine.

    >>> warehouse_location("file:///data/my%20lake/"), warehouse_location("/data/my%20lake")
    ('/data/my lake', '/data/my%20lake')
    >>> warehouse_location("s3a://bucket/lake/")
    's3a://bucket/lake'
    """
    parts = take_apart(warehouse)
    if not parts.scheme:
        return os.path.abspath(os.path.expanduser(warehouse))
    if not parts.is_local:
        refuse_credentials(warehouse)
        return warehouse.rstrip("/")
    uri = urllib.parse.urlsplit(warehouse)
    if uri.netloc not in ("", "localhost"):
        raise WarehouseError(f"{warehouse!r} names a host: write a local path as file:///path.")
    return os.path.abspath(urllib.parse.unquote(uri.path))


def storage_path(location: str) -> StoragePath:
    """Return the storage path of a location. It is the same for every spelling of the location.

    >>> storage_path("file:///lake//t/p=1%2F2/") == storage_path("/lake/t/p=1%2F2")
    True
    >>> storage_path("s3a://bucket/t/") == storage_path("s3://bucket/t")
    True
    >>> storage_path("hdfs://namenode:8020/t") == storage_path("hdfs://namenode/t")
    True
    """
    parts = take_apart(location)
    path = parts.path
    path = (re.sub("/{2,}", "/", path) if "//" in path else path).rstrip("/") or "/"
    if parts.is_local:
        return StoragePath("", path)
    scheme, authority = parts.scheme.lower(), parts.authority
    if scheme == "hdfs":
        authority = authority.removesuffix(_HDFS_PORT)
    compared = f"{'s3' if scheme in _S3 else scheme}:{authority}"
    return StoragePath(StorageRoot(compared, f"{parts.scheme}:{parts.authority}"), path)


def library_path(location: str) -> str:
    """Return a location as Python's libraries take it: a plain path, or a URI with the scheme that they know.

    >>> library_path("file:/lake/t/p=1%2F2/x.parquet"), library_path("s3a://lake/t/x.parquet")
    ('/lake/t/p=1%2F2/x.parquet', 's3://lake/t/x.parquet')
    """
    parts = take_apart(location)
    if parts.is_local:
        return parts.path
    scheme = "s3" if parts.scheme.lower() in _S3 else parts.scheme
    return f"{scheme}:{parts.authority}{parts.path}"


def spelled_root(entry: StoragePath) -> str:
    """Return the scheme and authority of a file or directory as the user wrote them.

    >>> spelled_root(storage_path("s3a://bucket/t"))
    's3a://bucket'
    """
    return entry.root.spelled if isinstance(entry.root, StorageRoot) else entry.root


def refuse_credentials(location: str) -> None:
    """Make sure that a location of a file system elsewhere holds no password, key or signature.

    A location is stored in the metastore and shown to everybody who reads the table's description.

    Raises:
        WarehouseError: it holds one. The message does not show it.

    >>> refuse_credentials("abfss://container@account.dfs.core.windows.net/lake")
    """
    parts = take_apart(location)
    if parts.is_local:
        return
    user, at, host = parts.authority.lstrip("/").rpartition("@")
    if at and ":" in user:
        raise WarehouseError(
            f"The location {parts.scheme}://…@{host} holds a password or a secret key: leave out what is before "
            "the @, and give credentials by spark.hadoop.fs.… settings, storage_options or the environment."
        )
    if signed := _SIGNED.search(parts.path):
        raise WarehouseError(
            f"The location below {parts.scheme}:{parts.authority} is a signed URL ({signed[1]}=…), which expires "
            "and lets everybody in who sees it: give the plain path, and credentials by spark.hadoop.fs.… "
            "settings, storage_options or the environment."
        )


def parent_folder(entry: StoragePath) -> StoragePath:
    """Return the directory that holds a file or directory."""
    return StoragePath(entry.root, entry.path.rpartition("/")[0] or "/")


def is_below(entry: StoragePath, folder: StoragePath) -> bool:
    """Return whether a file or directory is inside a directory, at any depth."""
    return (
        entry.root == folder.root and entry != folder and entry.path.startswith(f"{folder.path.rstrip('/')}/")
    )
