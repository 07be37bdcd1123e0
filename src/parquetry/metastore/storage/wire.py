"""The bytes of the metastore's records: msgpack, decoded by type.

Records have the form of format 1 if it can express them. A file without cell, bucket and order is written
without these fields, and a plain arrangement is the empty map that format 1 wrote there. The field
`FileRecord.rest_of` and `field_ids` are written only if they are set; older libraries ignore them.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Sequence
from typing import Any

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError
from parquetry.layout import PLAIN, ArrangementSpec
from parquetry.metastore.storage.checksums import refuse

_encode = msgspec.msgpack.Encoder().encode
_LONG_MAP, _SHORT_MAP, _SHORT_FIELDS = b"\xde\x00", 0x80, 16
"""In msgpack: how a long map begins, how a short one begins, and from how many fields on a map is long."""


def encode(record: Any) -> bytes:
    """Return the bytes of a record.

    A struct that could have 16 fields has the short form as long as fewer are set. msgspec gives it the long
    one.
    """
    data = _encode(record)
    if data[:2] == _LONG_MAP and data[2] < _SHORT_FIELDS:
        return bytes((_SHORT_MAP + data[2],)) + data[3:]
    return data


class RecordDecoder:
    """Decodes the records of a type.

    Args:
        type: type of the records.
    """

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decode = msgspec.msgpack.Decoder(type).decode

    def decode(self, data: bytes | memoryview | msgspec.Raw) -> Any:
        """Return a record.

        Raises:
            MetastoreDamagedError: the bytes are not such a record.
        """
        try:
            return self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            refuse(memoryview(data))
            name = getattr(self._type, "__name__", str(self._type))
            raise MetastoreDamagedError(
                f"A row of the metastore cannot be read as {name}: {error}. Another program has written there: CALL "
                "system.fsck shows what is affected, parquetry restore brings back a dump."
            ) from None


look_at_types = threading.Lock()
"""Guards the making of decoders. msgspec inspects a struct type then, and two threads at once crash the
process."""


@functools.cache
def decoder(type: Any) -> RecordDecoder:
    """Return the shared decoder of a record type."""
    with look_at_types:
        return RecordDecoder(type)


def join_values(values: Sequence[bytes | memoryview | msgspec.Raw]) -> bytes:
    """Join msgpack values into one array, to be decoded in one call."""
    return b"".join((b"\xdd", len(values).to_bytes(4, "big"), *values))


def encode_file(file: FileRecord) -> msgspec.Raw:
    """Return the bytes of a file's record in a list of files."""
    if file.field_ids is not None:
        return msgspec.Raw(_encode(file))
    if file.rest_of is not None:
        return msgspec.Raw(_encode(msgspec.structs.astuple(file)[:-1]))
    if file.is_arranged:
        return msgspec.Raw(_encode(msgspec.structs.astuple(file)[:-2]))
    return msgspec.Raw(_encode((file.path, file.bytes, file.rows, file.modified, file.columns)))


def encode_arrangement(arrangement: ArrangementSpec) -> msgspec.Raw:
    """Return the bytes of a partition's arrangement in its entry."""
    return msgspec.Raw(_encode(arrangement))


def decode_arrangement(data: msgspec.Raw) -> ArrangementSpec:
    """Return the arrangement in an entry. Partitions with equal arrangements share one object.

    Raises:
        MetastoreDamagedError: the bytes are not an arrangement.
    """
    return _arrangement(bytes(data))


@functools.lru_cache(maxsize=1024)
def _arrangement(data: bytes) -> ArrangementSpec:
    arrangement: ArrangementSpec = decoder(ArrangementSpec).decode(data)
    return arrangement


@functools.lru_cache(maxsize=1024)
def fingerprint(data: bytes) -> int:
    """Return a 64-bit hash of an arrangement, given its bytes; 0 for a plain one."""
    arrangement = _arrangement(data)
    if arrangement == PLAIN:
        return 0
    return int.from_bytes(hashlib.sha256(encode(arrangement)).digest()[:8], "big")
