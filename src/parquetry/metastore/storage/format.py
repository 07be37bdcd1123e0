"""The format row, which says that a store is a metastore, and which version its rows have.

This library reads every version from the first on, and makes a new store in the newest version. An existing
store keeps its version, so that older libraries can go on using it, until a library writes something that the
version cannot express. That library first raises the version, by compare-and-set of the format row. From then
on older libraries refuse the store with a message. A library that dies in between has raised a store whose
rows have not changed, which does no harm.

| version | new in it                                                                         |
|---------|-----------------------------------------------------------------------------------|
| 1       | all rows that `keyspace` lists, without the additions below                       |
| 2       | arrangements of tables and partitions, cells and buckets of files (`arrangement`); |
|         | long lists of files in columns, each chunk with a summary row (`chunks`)          |
| 3       | views: the kind in the head, and the definition in the metadata;                  |
|         | names of dropped columns, which files may still use;                              |
|         | progress of streaming queries that write into a table                             |
| 4       | locations relative to the warehouse (`warehouse_store`);                          |
|         | constraints of tables, which a library that does not know them would not enforce  |
| 5       | REPLACE TABLE as a commit: a table's versions may have different partition columns |
|         | checksums of rows (`checksums`); a raised store also has rows without             |
| 7       | commits of several tables: intents in the places of heads (`intents`)             |
| 8       | tags of versions, in heads                                                        |
| 9       | branches of tables, in heads; a library that does not know them would delete      |
|         | their files                                                                       |
| 6       | a retired metastore, which another one has taken the warehouse from: only it has  |
|         | this version, so that libraries that do not know of this refuse it                |

A library may have a store open while a later library raises it. The older library notices when it next
commits: it reads the format row after the head on which the commit builds. So it cannot build on rows that a
later library has committed.

Beside it is the epoch of the store: bytes that change when the files of an unchanged version get other
places.

A version never changes, except that `relocate` gives its files other locations. And somebody may fill a store
anew while a program has it open. The restored metastore has another identity then, as after a claim. A
manifest for other readers has absolute paths of a version's files, so it names the epoch beside the version.
"""

from __future__ import annotations

import secrets

import msgspec

from parquetry._version import __version__
from parquetry.errors import (
    ForeignWarehouseError,
    MetastoreDamagedError,
    MetastoreVersionError,
    WarehouseError,
)
from parquetry.layout import PLAIN
from parquetry.metastore.storage.head import swap
from parquetry.metastore.storage.keyspace import FORMAT, IDENTITY, LOCATIONS_EPOCH
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

MAGIC = "parquetry metastore"
FIRST = 1
ARRANGED = 2
"""The first version with arrangements of rows."""
IN_COLUMNS = 2
"""The first version with long lists of files in columns."""
DROPPED = VIEWS = STREAMS = 3
"""The first version with views, dropped columns and the progress of streaming queries."""
RELATIVE = CONSTRAINTS = 4
"""The first version with locations relative to the warehouse, and with constraints."""
REPLACED = 5
"""The first version with REPLACE TABLE as a commit: earlier versions of a table may have other partition
columns."""
CHECKED = 5
"""The first version with checksums. No row needs one, so nothing raises a store for checksums alone."""
FORMAT_VERSION = 5
"""The version of new metastores."""
TOGETHER = 7
"""The version with commits of several tables. The first such commit raises the store."""
TAGGED = 8
"""The version with tags. A library that does not know them would drop them, and retire their versions."""
BRANCHED = 9
"""The version with branches. A library that does not know them would delete their files."""
NEWEST = BRANCHED
"""The last version that this library reads."""
OWN_FOLDER = "the warehouse's own folder"
"""Begins the name of the store inside the warehouse, in messages and in `FormatRow.retired_for`."""
RETIRED = 6
"""The version of a retired metastore, whose rows keep their version."""


class FormatRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """The record of the format row.

    Attributes:
        magic: always `MAGIC`.
        version: format version of the store's rows.
        written_by: version of the library that raised the store to this format.
        retired_for: the store that has the warehouse now, or empty if this metastore has it.
        before: the version before the metastore was retired: its rows have it still.
    """

    magic: str
    version: int
    written_by: str
    retired_for: str = ""
    before: int = 0


def check_format(store: Store, *, create: bool) -> int:
    """Make sure that a store is a readable metastore, or make an empty store into one. Return its version.

    Raises:
        WarehouseError: the store is empty and `create` is False.
        MetastoreVersionError: the store holds something else, or a later version wrote it.
    """
    value = store.get(FORMAT)
    if value is None:
        if not create:
            raise WarehouseError(
                "The store holds no metastore; correct the path, or make one: a Spark session does "
                "(parquetry.configure), and `parquetry restore` of a dump."
            )
        if next(iter(store.scan(b"", None, limit=1)), None) is not None:
            raise MetastoreVersionError("The store holds rows, but is not a metastore; choose another place.")
        if swap(store, FORMAT, None, encode(FormatRow(MAGIC, FORMAT_VERSION, __version__))):
            return FORMAT_VERSION
        value = store.get(FORMAT) or b""
    return version_in(value)


def format_of(metadata: TableMetadata) -> int:
    """Return the first version that can express a table's metadata."""
    if metadata.replacement:
        return REPLACED
    if metadata.constraints:
        return CONSTRAINTS
    if metadata.view is not None or metadata.dropped:
        return VIEWS
    return FIRST if metadata.arrangement == PLAIN else ARRANGED


def require_format(store: Store, version: int) -> None:
    """Make sure that rows of a version may be written, and raise the store's version if it is lower.

    Raises:
        MetastoreVersionError: a later library has raised the store beyond the versions that this library
            reads.
        ForeignWarehouseError: the metastore was retired.
    """
    while True:
        value = store.get(FORMAT)
        row = _read(value or b"")
        if row.retired_for:
            name = "leave out the" if row.retired_for.startswith(OWN_FOLDER) else "name that"
            raise ForeignWarehouseError(
                f"This metastore may only be read, since the warehouse was given to the metastore in {row.retired_for}: "
                f"{name} store (--store, PARQUETRY_STORE, the catalog's option store), or, if that metastore is no more, take "
                "the warehouse back by `parquetry claim` or CALL system.claim()."
            )
        if row.version >= version:
            return
        swap(store, FORMAT, value, encode(FormatRow(MAGIC, version, __version__)))


def read_successor(store: Store) -> str:
    """Return the store that has the warehouse of a retired metastore, or an empty text."""
    return _read(store.get(FORMAT) or b"").retired_for


def retire_format(store: Store, successor: str) -> None:
    """Write into the format row which store has the warehouse now; empty: this metastore has it again."""
    while True:
        value = store.get(FORMAT)
        row = _read(value or b"")
        version = _version_of_rows(row)
        changed = FormatRow(MAGIC, version, __version__)
        if successor:
            changed = FormatRow(MAGIC, max(RETIRED, version), __version__, successor, version)
        if row.retired_for == successor or swap(store, FORMAT, value, encode(changed)):
            return


def version_in(value: bytes) -> int:
    """Return the version in the value of the format row.

    Raises:
        MetastoreVersionError: the value is something else, or a later version.
    """
    return _version_of_rows(_read(value))


def _version_of_rows(row: FormatRow) -> int:
    return row.before if row.retired_for else row.version


def _read(value: bytes) -> FormatRow:
    """Return the record in the value of the format row.

    Raises:
        MetastoreVersionError: the value is something else, or a later version.
    """
    try:
        row: FormatRow = decoder(FormatRow).decode(value)
    except MetastoreDamagedError:
        row = FormatRow("", 0, "")
    if row.magic != MAGIC:
        raise MetastoreVersionError("The store holds rows, but is not a metastore; choose another place.")
    if not FIRST <= _version_of_rows(row) <= NEWEST:
        raise MetastoreVersionError(
            f"The metastore has format {row.version} (written by Parquetry {row.written_by}), this is "
            f"Parquetry {__version__}, which reads formats {FIRST} to {NEWEST}; use one that fits."
        )
    return row


_EPOCH_BYTES = 8


def locations_epoch(store: Store) -> bytes:
    """Return bytes that differ after each call of `relocate`, after a restore, and after a claim."""
    rewritten, identity = store.get_many([LOCATIONS_EPOCH, IDENTITY])
    return (rewritten or bytes(_EPOCH_BYTES)) + (identity or b"")


def renew_locations_epoch(store: Store) -> None:
    """Say that locations are rewritten. Of two writers at once, either may be the last."""
    store.put_many([(LOCATIONS_EPOCH, secrets.token_bytes(_EPOCH_BYTES))])
