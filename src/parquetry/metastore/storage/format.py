"""The row that says that a store is a metastore, and of which version.

This library reads every version from the first on, and makes a new store in its newest. A store that is there stays
as it is, so that older libraries can go on with it, until somebody writes what its version cannot say: this raises
it first, by compare-and-set of the row, and from then on older libraries refuse it with a sentence. Whoever dies in
between has raised a store whose rows are as they were, which does no harm.

| version | what came with it |
|---------|-----------------------------------------------------------------------------------|
| 1       | all rows that `keyspace` lists                                                    |
| 2       | arrangements of tables and partitions, cells and buckets of files (`arrangement`); |
|         | long lists of files in columns, each part with a row that sums it up (`chunks`)   |
| 3       | views: heads that say that they are one, and what it says in its metadata;        |
|         | names in files that dropped columns leave taken;                                  |
|         | how far streaming queries are that write into a table                             |
| 4       | locations relative to the warehouse (`warehouse_store`);                          |
|         | constraints of tables, which a library that does not know them would not enforce  |
| 5       | REPLACE TABLE as a commit: a table's versions may have different partition columns |
|         | checksums of rows (`checksums`); a store that was raised has rows without, too    |

A library that had the store open when it was raised by a later one notices when it next commits: it reads the row
after the head on which the commit builds, so that whatever a later one has published is met by this check.
"""

from __future__ import annotations

import msgspec

from parquetry._version import __version__
from parquetry.errors import MetastoreDamagedError, MetastoreVersionError, WarehouseError
from parquetry.layout import PLAIN
from parquetry.metastore.storage.head import swap
from parquetry.metastore.storage.keyspace import FORMAT
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

MAGIC = "parquetry metastore"
FIRST = 1
ARRANGED = 2
"""The first version that can say how rows are arranged."""
IN_COLUMNS = 2
"""The first version whose long lists of files are in columns."""
DROPPED = VIEWS = STREAMS = 3
"""The first version that has views, and that knows of dropped columns and of streaming queries."""
RELATIVE = CONSTRAINTS = 4
"""The first version that can say that something lies below the warehouse, wherever that is, and that has constraints."""
REPLACED = 5
"""The first version in which a table's earlier versions may have had other columns and partition columns."""
CHECKED = 5
"""The first version whose rows have checksums. No row needs them, so that nothing raises a store for them alone."""
FORMAT_VERSION = 5
"""The newest."""


class FormatRow(msgspec.Struct, frozen=True):
    """What a store holds.

    Attributes:
        magic: always `MAGIC`.
        version: of the rows.
        written_by: version of the library that gave the metastore this version.
    """

    magic: str
    version: int
    written_by: str


def check_format(store: Store, *, create: bool) -> int:
    """Make sure that a store is a metastore that can be read; make an empty store into one. Return its version.

    Raises:
        WarehouseError: the store is empty and `create` is not given.
        MetastoreVersionError: it holds something else, or was written by a later version.
    """
    value = store.get(FORMAT)
    if value is None:
        if not create:
            raise WarehouseError(
                "The store holds no metastore; a Spark session makes one (parquetry.configure), or correct the path."
            )
        if next(iter(store.scan(b"", None, limit=1)), None) is not None:
            raise MetastoreVersionError("The store holds rows, but is not a metastore; choose another place.")
        if swap(store, FORMAT, None, encode(FormatRow(MAGIC, FORMAT_VERSION, __version__))):
            return FORMAT_VERSION
        value = store.get(FORMAT) or b""
    return version_in(value)


def format_of(metadata: TableMetadata) -> int:
    """Return the first version that can say what a table is."""
    if metadata.replacement:
        return REPLACED
    if metadata.constraints:
        return CONSTRAINTS
    if metadata.view is not None or metadata.dropped:
        return VIEWS
    return FIRST if metadata.arrangement == PLAIN else ARRANGED


def require_format(store: Store, version: int) -> None:
    """Make sure that rows of a version may be written; raise the store's to it if it is lower.

    Raises:
        MetastoreVersionError: a later library has raised it beyond what this one reads.
    """
    while True:
        value = store.get(FORMAT)
        if _read(value or b"").version >= version:
            return
        swap(store, FORMAT, value, encode(FormatRow(MAGIC, version, __version__)))


def version_in(value: bytes) -> int:
    """Return the version that the row says.

    Raises:
        MetastoreVersionError: it says something else, or a later version.
    """
    return _read(value).version


def _read(value: bytes) -> FormatRow:
    """Return what a store says that it holds.

    Raises:
        MetastoreVersionError: it holds something else, or rows of a later version.
    """
    try:
        row: FormatRow = decoder(FormatRow).decode(value)
    except MetastoreDamagedError:
        row = FormatRow("", 0, "")
    if row.magic != MAGIC:
        raise MetastoreVersionError("The store holds rows, but is not a metastore; choose another place.")
    if not FIRST <= row.version <= FORMAT_VERSION:
        raise MetastoreVersionError(
            f"The metastore has format {row.version} (written by Parquetry {row.written_by}), this is "
            f"Parquetry {__version__}, which reads formats {FIRST} to {FORMAT_VERSION}; use one that fits."
        )
    return row
