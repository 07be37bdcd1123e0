"""The row that says that a store is a metastore, and of which version."""

from __future__ import annotations

import msgspec

from parquetry._version import __version__
from parquetry.errors import MetastoreDamagedError, MetastoreVersionError, WarehouseError
from parquetry.metastore.head import swap
from parquetry.metastore.keyspace import FORMAT
from parquetry.metastore.wire import decoder, encode
from parquetry.store.base import Store

MAGIC = "parquetry metastore"
FORMAT_VERSION = 1


class FormatRow(msgspec.Struct, frozen=True):
    """What a store holds.

    Attributes:
        magic: always `MAGIC`.
        version: of the rows' layout; a version reads its own only.
        written_by: version of the library that made the metastore.
    """

    magic: str
    version: int
    written_by: str


def check_format(store: Store, *, create: bool) -> None:
    """Make sure that a store is a metastore of this version; make an empty store into one.

    Raises:
        WarehouseError: the store is empty and `create` is not given.
        MetastoreVersionError: it holds something else, or was written by another version.
    """
    value = store.get(FORMAT)
    if value is None:
        if not create:
            raise WarehouseError("the store holds no metastore; create one first, or correct the path")
        if next(iter(store.scan(b"", None, limit=1)), None) is not None:
            raise MetastoreVersionError("the store holds rows, but is not a metastore; choose another place")
        if swap(store, FORMAT, None, encode(FormatRow(MAGIC, FORMAT_VERSION, __version__))):
            return
        value = store.get(FORMAT) or b""
    try:
        row: FormatRow = decoder(FormatRow).decode(value)
    except MetastoreDamagedError:
        row = FormatRow("", 0, "")
    if row.magic != MAGIC:
        raise MetastoreVersionError("the store holds rows, but is not a metastore; choose another place")
    if row.version != FORMAT_VERSION:
        raise MetastoreVersionError(
            f"the metastore has format {row.version} (written by Parquetry {row.written_by}), this is "
            f"Parquetry {__version__}, which reads format {FORMAT_VERSION}; use one that fits"
        )
