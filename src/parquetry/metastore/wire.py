"""The bytes of the metastore's records: msgpack, decoded by type."""

from __future__ import annotations

import functools
import threading
from typing import Any

import msgspec

from parquetry.errors import MetastoreDamagedError

encode = msgspec.msgpack.Encoder().encode


class RecordDecoder:
    """Decodes the records of a type.

    Args:
        type: of the records.
    """

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decode = msgspec.msgpack.Decoder(type).decode

    def decode(self, data: bytes | memoryview | msgspec.Raw) -> Any:
        """Return a record.

        Raises:
            MetastoreDamagedError: the bytes are none.
        """
        try:
            return self._decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            name = getattr(self._type, "__name__", str(self._type))
            raise MetastoreDamagedError(
                f"a row of the metastore cannot be read as {name}: {error}. Something else than Parquetry has "
                "written there: CALL system.fsck tells what is affected, parquetry restore brings back a dump"
            ) from None


_look_at_types = threading.Lock()


@functools.cache
def decoder(type: Any) -> RecordDecoder:
    """Return the one decoder of a record type."""
    # msgspec looks at a struct when it is first decoded; a second thread that does so meanwhile ends the process.
    with _look_at_types:
        return RecordDecoder(type)
