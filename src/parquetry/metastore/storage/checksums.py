"""The checksums of rows: a damaged row is refused, and so is a row that was moved to another key.

A disk, a copy or a program may change a byte. Without a checksum the row would then have another number of
rows, another bound or another partition. The CRC-32 of key and value is at the end of the value:

| row             | value in the store      | remark                                               |
|-----------------|-------------------------|------------------------------------------------------|
| partition       | `01 98 … ce <crc>`      | one more field than the record                       |
| tombstone       | `00 <crc>`              | of a partition, or of an index's entry               |
| index's entry   | `01 <crc>`              |                                                      |
| list of files   | `c1 9b … ce <crc>`      | in columns; one more field than the record           |
| map             | `… "checksum" ce <crc>` | databases, heads, versions, metadata: one more key   |
| all others      | `c0 <value> <crc>`      |                                                      |
| format          | `<value>`               | no checksum: libraries of any age must read it       |
| mark of a restore | `<value>`             | no checksum                                          |

Decoders ignore fields and keys that they do not know. So partitions and index entries, which are many, are
read with their checksums; from other rows the checksum is removed. Rows of earlier formats have no checksum
and are read unchanged.

**Many rows at once.** The CRC of any text followed by its own CRC is a constant, `_CRC_RESIDUE`. The checksum
of a row is computed with this constant as the initial value. So one call over the keys and values of many
rows returns the constant again, unless one of the rows is damaged.

**Damage.** A damaged row is read as `damaged_value`: bytes that no decoder accepts, and that name the row. So
a reader that can go on without the row does. Code that counts rows without decoding them calls `refuse`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import chain
from zlib import crc32

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage import keyspace

Row = tuple[bytes, bytes]

TAGS_WITH_CHECKSUMS = (keyspace.PARTITIONS, keyspace.INDEXES)
"""The tags of rows that are read with their checksums: they are many, and to remove the checksums would cost
time."""
_CRC_RESIDUE = 0x2144DF1C
_CHECKSUM_BYTES = 4
_MARK = b"\xc0"
"""The first byte of other rows with a checksum: in msgpack it is nil, which no record is."""
_TAGS_OF_MAPS = (keyspace.DATABASES, keyspace.HEADS, keyspace.COMMITS, keyspace.METADATA)
_CHECKSUM_FIELD = b"\xa8checksum\xce"
"""The key `checksum` in msgpack, and the byte before a number of four bytes."""
_SHORT_ROW_BYTES = 1 + _CHECKSUM_BYTES
"""Bytes of tombstones and of entries of indexes."""
_NAME_ROW_BYTES = 2 * keyspace.TABLE_ID_BYTES
"""Bytes of a name's row, id and token, without a checksum. The first byte of an id may be any."""
_PLAIN, _CHECKED = b"\x97", b"\x98"
"""The second byte of a partition's row, without and with a checksum: an array of 7 or 8 fields."""
_LIST, _CHECKED_LIST = b"\xc1\x9a", b"\xc1\x9b"
"""The first bytes of a list of files in columns, without and with a checksum: an array of 10 or 11 fields."""
_NUMBER_MARK = _CHECKSUM_FIELD[-1:]
_DAMAGED = b"\xc1\xc1"
"""The first bytes of a damaged row. msgpack never uses `c1`, so neither the value nor the value behind its
first byte can be decoded."""
_KINDS = {  # of rows without which an answer would be wrong
    keyspace.DATABASES: "a database",
    keyspace.NAMES: "a table's name",
    keyspace.HEADS: "a table's head",
    keyspace.COMMITS: "a version",
    keyspace.METADATA: "a table's metadata",
    keyspace.JOURNAL: "a commit under way",
    keyspace.PARTITIONS: "a partition",
    keyspace.CHUNKS: "a list of files",
    keyspace.REMOVED_FILES: "a record of a removed file",
    keyspace.SUMMARIES: "a summary of a list of files",
    keyspace.IN_FLIGHT: "a write under way",
    keyspace.INDEXES: "an index's entry",
}
_TAGS_READ_UNDECODED = (keyspace.DATABASES, keyspace.NAMES)


def is_tombstone(value: bytes) -> bool:
    """Return whether a row is a tombstone of a partition, an index's entry or a removed file's record."""
    return value[0] == 0 and len(value) in (1, _SHORT_ROW_BYTES)


def with_checksum(key: bytes, value: bytes) -> bytes:
    """Return the value of a row with its checksum.

    Args:
        key: key of the row.
        value: a new value, or a value that was read, perhaps under another key.
    """
    tag = key[:1]
    if tag == keyspace.FORMAT:
        return value
    if tag == keyspace.INDEXES or (tag == keyspace.PARTITIONS and is_tombstone(value)):
        kept = value[:1]
    elif tag == keyspace.PARTITIONS:
        fields = value[1:2]
        if fields not in (_PLAIN, _CHECKED):
            return value  # not a record of a partition
        kept = (
            value[:-_CHECKSUM_BYTES]
            if fields == _CHECKED
            else value[:1] + _CHECKED + value[2:] + _NUMBER_MARK
        )
    elif tag == keyspace.CHUNKS and value[:2] == _LIST:
        kept = _CHECKED_LIST + value[2:] + _NUMBER_MARK
    elif tag in _TAGS_OF_MAPS and 0x80 <= value[0] < 0x8F:
        kept = bytes([value[0] + 1]) + value[1:] + _CHECKSUM_FIELD
    else:
        kept = _MARK + value
    return kept + crc32(kept, crc32(key, _CRC_RESIDUE)).to_bytes(_CHECKSUM_BYTES, "little")


def without_checksum(key: bytes, value: bytes) -> bytes:
    """Check a row and return its value without the checksum; see `damaged_value` and `TAGS_WITH_CHECKSUMS`.

    Raises:
        MetastoreDamagedError: the row is damaged, and rows of its kind are read without being decoded.
    """
    if not _has_checksum(key, value):
        return value
    if crc32(value, crc32(key, _CRC_RESIDUE)) != _CRC_RESIDUE:
        return damaged_value(key)
    tag = key[:1]
    if tag in TAGS_WITH_CHECKSUMS:
        return value
    if tag == keyspace.CHUNKS and value[:1] != _MARK:
        return _LIST + value[2 : -_CHECKSUM_BYTES - len(_NUMBER_MARK)]
    if tag in _TAGS_OF_MAPS and value[:1] != _MARK:
        return bytes([value[0] - 1]) + value[1 : -_CHECKSUM_BYTES - len(_CHECKSUM_FIELD)]
    return value[1:-_CHECKSUM_BYTES]


def are_right(rows: Sequence[Row]) -> bytes | None:
    """Return the joined keys and values of rows, or None if one of them is damaged or has no checksum."""
    joined = b"".join(chain.from_iterable(rows))
    return joined if crc32(joined, _CRC_RESIDUE) == _CRC_RESIDUE else None


def damaged_value(key: bytes) -> bytes:
    """Return the value that is read instead of a damaged row.

    Raises:
        MetastoreDamagedError: rows of this kind are read without being decoded.
    """
    value = _DAMAGED + key
    if key[:1] in _TAGS_READ_UNDECODED:
        refuse(value)
    return value


def is_damaged(value: bytes) -> bool:
    """Return whether a value was read instead of a damaged row."""
    return value[:2] == _DAMAGED


def refuse(value: bytes | memoryview) -> None:
    """Raise an error if a value was read instead of a damaged row.

    Raises:
        MetastoreDamagedError: it was; the message names the row.
    """
    if value[:1] != _DAMAGED[:1]:
        return
    key = bytes(value).lstrip(_DAMAGED[:1])
    kind = _KINDS.get(key[:1])
    if kind is not None:
        raise MetastoreDamagedError(
            f"The metastore's row {key.hex()}, which is {kind}, is not as it was written: its checksum does not match. "
            "A disk or a program has changed it: CALL system.fsck shows what is affected, parquetry restore brings "
            "back a dump."
        )


def _is_named(data: bytes) -> bool:
    """Return whether bytes are the checksum field, or were before damage to some of them.

    Damage to the field's name must not turn a row into one without a checksum.
    """
    if data == _CHECKSUM_FIELD:
        return True
    return (
        len(data) == len(_CHECKSUM_FIELD)
        and sum(map(operator.eq, data, _CHECKSUM_FIELD)) > len(_CHECKSUM_FIELD) // 2
    )


def _has_checksum(key: bytes, value: bytes) -> bool:
    tag = key[:1]
    if tag == keyspace.PARTITIONS:
        return len(value) == _SHORT_ROW_BYTES or value[1:2] == _CHECKED
    if tag == keyspace.INDEXES:
        return len(value) != 1
    if tag == keyspace.NAMES:
        return len(value) != _NAME_ROW_BYTES
    if tag in _TAGS_OF_MAPS and _is_named(value[-_CHECKSUM_BYTES - len(_CHECKSUM_FIELD) : -_CHECKSUM_BYTES]):
        return True
    return tag != keyspace.FORMAT and (
        value[:1] == _MARK or (tag == keyspace.CHUNKS and value[:2] == _CHECKED_LIST)
    )
