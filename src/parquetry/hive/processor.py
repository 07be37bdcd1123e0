"""Reply one call: read it, hand it to its answer, and write what comes back, or the error that fits.

Calls that would change something are refused with what to do instead. Other calls of the protocol are
refused, too; only bytes that are no call end a connection.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from parquetry.errors import ParquetryError
from parquetry.hive.calls.registry import answered_calls
from parquetry.hive.failures import HiveFailure, kinds_of
from parquetry.hive.warehouse import LOG, HiveWarehouse
from parquetry.hive.wire.decoding import STRUCT, ClientBytes, Decoder, ProtocolError
from parquetry.hive.wire.encoding import (
    CALL,
    MAX_FRAME_BYTES,
    Reply,
    encode_error,
    encode_failure,
    encode_reply,
)
from parquetry.hive.wire.idl import MetastoreCall, definitions

_ONEWAY = 4
_UNKNOWN_METHOD = 1
_REFUSAL = (
    "{name} is refused: this metastore is a warehouse of Parquetry, for reading. Create, change and write its tables with Spark "
    "and Parquetry's catalog, or with the command parquetry."
)
_TOO_LONG = (
    "The answer has {:,} bytes, which no frame holds: ask for fewer partitions, with a filter or max_parts."
)


@dataclass(frozen=True, slots=True)
class Request:
    """A call that was read.

    Attributes:
        name: of the call.
        number: of the message.
        call: its definition, or None if there is no such call.
        arguments: its arguments, if it is answered.
    """

    name: str
    number: int
    call: MetastoreCall | None
    arguments: dict[str, Any]


class Processor:
    """Answers the calls of all connections.

    Args:
        warehouse: what is served.
    """

    def __init__(self, warehouse: HiveWarehouse) -> None:
        self._warehouse = warehouse
        self._answers = answered_calls()
        self._calls = definitions().calls

    def read(self, source: ClientBytes) -> Request:
        """Read a call.

        Raises:
            ProtocolError: the bytes are no call.
            EOFError: the client has gone.
            OSError: the connection is broken, or the client too slow.
        """
        decoder = Decoder(source)
        name, kind, number = decoder.head()
        if kind not in (CALL, _ONEWAY):
            raise ProtocolError(f"A message of type {kind} is no call.")
        call = self._calls.get(name)
        if call is None or name not in self._answers:
            decoder.skip(STRUCT)
            return Request(name, number, call, {})
        return Request(name, number, call, decoder.record(call.arguments))

    def answer(self, request: Request, *, framed: bool = False) -> Reply | None:
        """Return the answer to a call, or None if the client expects none.

        Args:
            request: the call.
            framed: whether the answer has to fit into a frame.
        """
        started, name, number, call = time.perf_counter(), request.name, request.number, request.call
        if call is None:
            return encode_failure(name, number, f"This metastore has no call {name!r}.", _UNKNOWN_METHOD)
        if name not in self._answers:
            LOG.info("%s is refused", name)
            return encode_error(call, number, kinds_of(HiveFailure("")), _REFUSAL.format(name=name))
        answer = self._answered(call, number, request.arguments)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("%s: %d bytes, %.1f ms", name, answer.length, 1_000 * (time.perf_counter() - started))
        if call.oneway:
            answer.close()
            return None
        if framed and answer.length > MAX_FRAME_BYTES:
            answer.close()
            return encode_error(call, number, kinds_of(HiveFailure("")), _TOO_LONG.format(answer.length))
        return answer

    def _answered(self, call: MetastoreCall, number: int, arguments: dict[str, Any]) -> Reply:
        try:
            return encode_reply(call, number, self._answers[call.name](self._warehouse, arguments))
        except (HiveFailure, ParquetryError) as error:
            LOG.info("%s is refused: %s", call.name, error)
            return encode_error(call, number, kinds_of(error), str(error))
        except Exception as error:  # noqa: BLE001 - the last resort: a client always gets an error of its protocol
            LOG.exception("%s has failed", call.name)
            return encode_failure(
                call.name,
                number,
                f"{call.name} has failed: {type(error).__name__}. The server's log says more.",
            )
