"""The checksum of a row: what stands in the store is what was written there, under the key that it was written under, or is refused.

A byte that a disk, a copy or a program has changed would otherwise be another number of rows, another bound, another partition. The
CRC-32 of key and value stands at the end of the value:

    partition           01 98 … ce <crc>         a field more than the record has
    tombstone           00 <crc>                 of a partition, or of an index's entry
    index's entry       01 <crc>
    list of files       c1 9b … ce <crc>         likewise
    map                 … "checksum" ce <crc>    databases, heads, versions, metadata: a key more
    all others          c0 <value> <crc>
    format              <value>                  has none: libraries of any age have to read it; nor has the mark of a restore

Decoders pass over fields and keys that they do not know, so the rows of which there are many, partitions and entries, are read with their checksums;
of others they are taken off. Rows of metastores of earlier formats have none, and are read as they are.

**Many rows at once.** The CRC of a text that ends with its own is the same whatever the text is: `_CRC_RESIDUE`. Each checksum is computed as if
`_CRC_RESIDUE` came before, so that one call over the keys and values of many rows gives `_CRC_RESIDUE` again, unless one of them is not as it was.

A row that is not as it was is read as `damaged`: bytes that no decoder takes, and that tell which row it is, so that those who go on past rows that cannot be read
can. Where rows count without being decoded, `refuse` is called.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import chain
from zlib import crc32

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    COMMITS,
    DATABASES,
    FORMAT,
    HEADS,
    INDEXES,
    JOURNAL,
    METADATA,
    NAMES,
    PARTITIONS,
    REMOVED_FILES,
    SUMMARIES,
    TABLE_ID_BYTES,
)

Row = tuple[bytes, bytes]

TAGS_WITH_CHECKSUMS = (PARTITIONS, INDEXES)
"""The first bytes of the keys of rows that are read with their checksums: there are many, and to take them off is dear."""
_CRC_RESIDUE = 0x2144DF1C
_CHECKSUM_BYTES = 4
_MARK = b"\xc0"
"""The first byte of rows that have nothing else to say it: msgpack has it for nil, which no record is."""
_TAGS_OF_MAPS = (DATABASES, HEADS, COMMITS, METADATA)
_CHECKSUM_FIELD = b"\xa8checksum\xce"
"""The key, and what msgpack has before a number of four bytes."""
_SHORT_ROW_BYTES = 1 + _CHECKSUM_BYTES
"""Bytes of tombstones and of entries of indexes."""
_NAME_ROW_BYTES = 2 * TABLE_ID_BYTES
"""Bytes of the row of a name, which may begin with any: id and token."""
_PLAIN, _CHECKED = b"\x97", b"\x98"
"""How the records of partitions begin, behind the first byte: so many fields."""
_LIST, _CHECKED_LIST = b"\xc1\x9a", b"\xc1\x9b"
"""How lists of files in columns begin, likewise."""
_NUMBER_MARK = _CHECKSUM_FIELD[-1:]
_DAMAGED = b"\xc1\xc1"
"""What no msgpack begins with, nor the rest of it behind the first byte."""
_KINDS = {
    DATABASES: "a database",
    NAMES: "a table's name",
    HEADS: "a table's head",
    COMMITS: "a version",
    METADATA: "a table's metadata",
    JOURNAL: "a commit under way",
    PARTITIONS: "a partition",
    CHUNKS: "a list of files",
    REMOVED_FILES: "a file taken out",
    SUMMARIES: "a list of files' sums",
    INDEXES: "an index's entry",
}
_TAGS_READ_UNDECODED = (DATABASES, NAMES)


def is_tombstone(value: bytes) -> bool:
    """Return whether a row of those that belong to versions is a tombstone, with a checksum or without."""
    return value[0] == 0 and len(value) in (1, _SHORT_ROW_BYTES)


def with_checksum(key: bytes, value: bytes) -> bytes:
    """Return the value of a row as it is kept.

    Args:
        key: of the row.
        value: as it was read, maybe as a row of another key, or made.
    """
    tag = key[:1]
    if tag == FORMAT:
        return value
    if tag == INDEXES or (tag == PARTITIONS and is_tombstone(value)):
        kept = value[:1]
    elif tag == PARTITIONS:
        fields = value[1:2]
        if fields not in (_PLAIN, _CHECKED):
            return value  # none of ours
        kept = (
            value[:-_CHECKSUM_BYTES]
            if fields == _CHECKED
            else value[:1] + _CHECKED + value[2:] + _NUMBER_MARK
        )
    elif tag == CHUNKS and value[:2] == _LIST:
        kept = _CHECKED_LIST + value[2:] + _NUMBER_MARK
    elif tag in _TAGS_OF_MAPS and 0x80 <= value[0] < 0x8F:
        kept = bytes([value[0] + 1]) + value[1:] + _CHECKSUM_FIELD
    else:
        kept = _MARK + value
    return kept + crc32(kept, crc32(key, _CRC_RESIDUE)).to_bytes(_CHECKSUM_BYTES, "little")


def without_checksum(key: bytes, value: bytes) -> bytes:
    """Return the value of a row as it was written; see `damaged` and `TAGS_WITH_CHECKSUMS`.

    Raises:
        MetastoreDamagedError: it is not as it was, and of a kind that is read without being decoded.
    """
    if not _has_checksum(key, value):
        return value
    if crc32(value, crc32(key, _CRC_RESIDUE)) != _CRC_RESIDUE:
        return damaged(key)
    tag = key[:1]
    if tag in TAGS_WITH_CHECKSUMS:
        return value
    if tag == CHUNKS and value[:1] != _MARK:
        return _LIST + value[2 : -_CHECKSUM_BYTES - len(_NUMBER_MARK)]
    if tag in _TAGS_OF_MAPS and value[:1] != _MARK:
        return bytes([value[0] - 1]) + value[1 : -_CHECKSUM_BYTES - len(_CHECKSUM_FIELD)]
    return value[1:-_CHECKSUM_BYTES]


def are_right(rows: Sequence[Row]) -> bytes | None:
    """Return keys and values of rows, joined, if all of them have checksums and are as they were written; None if not."""
    joined = b"".join(chain.from_iterable(rows))
    return joined if crc32(joined, _CRC_RESIDUE) == _CRC_RESIDUE else None


def damaged(key: bytes) -> bytes:
    """Return what is read in place of a row that is not as it was written.

    Raises:
        MetastoreDamagedError: it is of a kind that is read without being decoded.
    """
    value = _DAMAGED + key
    if key[:1] in _TAGS_READ_UNDECODED:
        refuse(value)
    return value


def is_damaged(value: bytes) -> bool:
    """Return whether this was read in place of a row that is not as it was written."""
    return value[:2] == _DAMAGED


def refuse(value: bytes | memoryview) -> None:
    """Raise an error if this was read in place of a row that is not as it was written.

    Raises:
        MetastoreDamagedError: it was; the message names the row.
    """
    if value[:1] != _DAMAGED[:1]:
        return
    key = bytes(value).lstrip(_DAMAGED[:1])
    kind = _KINDS.get(key[:1])
    if kind is not None:
        raise MetastoreDamagedError(
            f"The metastore's row {key.hex()}, which is {kind}, is not as it was written: its checksum is another. A disk or a "
            "program has changed it: CALL system.fsck tells what is affected, parquetry restore brings back a dump."
        )


def _is_named(data: bytes) -> bool:
    """Return whether these bytes name a checksum, though one of them may have been changed, by which a row must not become one without."""
    if data == _CHECKSUM_FIELD:
        return True
    return (
        len(data) == len(_CHECKSUM_FIELD)
        and sum(map(operator.eq, data, _CHECKSUM_FIELD)) > len(_CHECKSUM_FIELD) // 2
    )


def _has_checksum(key: bytes, value: bytes) -> bool:
    tag = key[:1]
    if tag == PARTITIONS:
        return len(value) == _SHORT_ROW_BYTES or value[1:2] == _CHECKED
    if tag == INDEXES:
        return len(value) != 1
    if tag == NAMES:
        return len(value) != _NAME_ROW_BYTES
    if tag in _TAGS_OF_MAPS and _is_named(value[-_CHECKSUM_BYTES - len(_CHECKSUM_FIELD) : -_CHECKSUM_BYTES]):
        return True
    return tag != FORMAT and (value[:1] == _MARK or (tag == CHUNKS and value[:2] == _CHECKED_LIST))
