"""Write answers in Thrift's binary protocol; long lists go to a file, and never wholly into memory.

A list's length precedes its elements. So a `Stream` is written as its elements come, and its length is put in
its place at the end. An answer is sent once it is
whole, so an error on the way is an error for the client, too.
"""

from __future__ import annotations

import functools
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, Any, TypeAlias

from parquetry.errors import UnsupportedError
from parquetry.hive.wire.decoding import STOP, VERSION, code_of
from parquetry.hive.wire.idl import Container, Field, MetastoreCall, Struct, ThriftType

_Write: TypeAlias = Callable[[Any, "Reply"], None]

MAX_MEMORY_BYTES = 1 << 20
"""Length of an answer in memory. The rest of a longer one is in a file."""
MAX_FRAME_BYTES = (1 << 31) - 1
"""Length of a framed answer, at most; clients have limits of their own."""
_CHUNK_BYTES = 1 << 20
CALL, REPLY, EXCEPTION = 1, 2, 3
_NUMBERS = {"byte": ">b", "double": ">d", "i16": ">h", "i32": ">i", "i64": ">q"}
_length = struct.Struct(">i").pack


class Encoded(bytes):
    """A value that is written already."""


class Stream:
    """The elements of a list, which are read once.

    Args:
        elements: records, or `Encoded` ones.
    """

    def __init__(self, elements: Iterable[Any]) -> None:
        self.elements = elements


class Later:
    """A value that is known once the fields before it are written, such as a `Stream`.

    Args:
        value: returns it.
    """

    def __init__(self, value: Callable[[], Any]) -> None:
        self.value = value


class Reply(bytearray):
    """An answer that is being written, and then sent. Its beginning may be in a file."""

    def __init__(self) -> None:
        super().__init__()
        self._file: IO[bytes] | None = None
        self._filed = 0

    @property
    def length(self) -> int:
        """Return the number of bytes."""
        return self._filed + len(self)

    def stream(self, elements: Iterable[Any], write: _Write) -> None:
        """Write the length of a list, and its elements as they come."""
        position, count = self.length, 0
        self += _length(0)
        for element in elements:
            write(element, self)
            count += 1
            if len(self) > MAX_MEMORY_BYTES:
                self._move()
        self._put(position, _length(count))

    def _move(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="parquetry-hive-")  # noqa: SIM115 - `close` closes it
        self._file.write(self)
        self._filed += len(self)
        del self[:]

    def _put(self, position: int, value: bytes) -> None:
        if position >= self._filed:
            self[position - self._filed : position - self._filed + len(value)] = value
        else:
            assert self._file is not None
            self._file.seek(position)
            self._file.write(value)
            self._file.seek(0, 2)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes."""
        if self._file is not None:
            self._file.seek(0)
            while chunk := self._file.read(_CHUNK_BYTES):
                yield chunk
        yield bytes(self)

    def close(self) -> None:
        """Delete the file, if there is one."""
        if self._file is not None:
            self._file.close()


def encode_call(call: MetastoreCall, number: int, arguments: Mapping[str, Any]) -> Reply:
    """Write a call to another metastore.

    Args:
        call: the call.
        number: of the message.
        arguments: by their names.
    """
    text = _head(call.name, CALL, number)
    writer(call.arguments)(arguments, text)
    return text


def encode_reply(call: MetastoreCall, number: int, value: Any) -> Reply:
    """Write the answer to a call.

    Args:
        call: the call.
        number: of the message.
        value: the answer, as `encode` takes it; None if the call has none.
    """
    answer = _head(call.name, REPLY, number)
    try:
        if call.result is not None:
            if value is None:
                raise UnsupportedError(f"MetastoreCall {call.name} has no answer.")
            answer += struct.pack(">bh", code_of(call.result), 0)
            writer(call.result)(value, answer)
        answer.append(STOP)
    except BaseException:
        answer.close()
        raise
    return answer


def encode_error(call: MetastoreCall, number: int, kinds: Iterable[str], message: str) -> Reply:
    """Write an error.

    Args:
        call: the call that fails.
        number: of the message.
        kinds: names of errors, the most fitting first. The first that the call may raise is written.
        message: the error's text.
    """
    field = next((call.errors[kind] for kind in kinds if kind in call.errors), None)
    if field is None:
        return encode_failure(call.name, number, message)
    answer = _head(call.name, REPLY, number)
    answer += _field_head(field)
    writer(field.type)({"message": message}, answer)
    answer.append(STOP)
    return answer


def encode_failure(name: str, number: int, message: str, kind: int = 6) -> Reply:
    """Write Thrift's own error, which any call may raise: by default an internal error."""
    answer = _head(name, EXCEPTION, number)
    text = message.encode()
    answer += struct.pack(">bhi", code_of("string"), 1, len(text)) + text
    answer += struct.pack(">bhi", code_of("i32"), 2, kind) + bytes([STOP])
    return answer


def encode(record: Struct, values: Mapping[str, Any]) -> Encoded:
    """Write a record by itself.

    Args:
        record: its definition.
        values: the values by the names of fields; absent and None are left out.
    """
    answer = Reply()
    writer(record)(values, answer)
    return Encoded(answer)


def encode_value(type: ThriftType, value: Any) -> Encoded:
    """Write a value by itself."""
    answer = Reply()
    writer(type)(value, answer)
    return Encoded(answer)


def _head(name: str, kind: int, number: int) -> Reply:
    text = name.encode()
    answer = Reply()
    answer += struct.pack(">Ii", VERSION | kind, len(text)) + text + struct.pack(">i", number)
    return answer


@functools.cache
def writer(type: ThriftType) -> _Write:
    """Return the function that writes values of a type."""
    if isinstance(type, Struct):
        return _record_writer(type)
    if isinstance(type, Container):
        return _map_writer(type) if type.kind == "map" else _list_writer(type)
    if type in ("string", "binary"):
        return _write_text
    if type == "bool":
        return lambda value, answer: answer.append(bool(value))
    pack = struct.Struct(_NUMBERS[type]).pack

    def write_number(value: Any, answer: Reply) -> None:
        answer += pack(value)

    return write_number


def _write_text(value: str | bytes, answer: Reply) -> None:
    text = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    answer += _length(len(text)) + text


def _record_writer(record: Struct) -> _Write:
    parts: list[tuple[str, bytes, _Write]] = []

    def write_record(values: Mapping[str, Any] | Encoded, answer: Reply) -> None:
        if isinstance(values, Encoded):
            answer += values
            return
        if not parts:  # now, as a record may have records of its own kind
            parts.extend((each.name, _field_head(each), writer(each.type)) for each in record.fields.values())
        for name, head, write in parts:
            value = values.get(name)
            if value is not None:
                answer += head
                if value.__class__ is Encoded:
                    answer += value
                else:
                    write(value.value() if value.__class__ is Later else value, answer)
        answer.append(STOP)

    return write_record


def _field_head(field: Field) -> bytes:
    return struct.pack(">bh", code_of(field.type), field.number)


def _list_writer(type: Container) -> _Write:
    write, code = writer(type.element), code_of(type.element)

    def write_list(value: Any, answer: Reply) -> None:
        if value.__class__ is Encoded:
            answer += value
            return
        answer.append(code)
        if isinstance(value, Stream):
            answer.stream(value.elements, write)
            return
        answer += _length(len(value))
        for element in value:
            write(element, answer)

    return write_list


def _map_writer(type: Container) -> _Write:
    write_key, write_value = writer(type.key), writer(type.element)
    codes = bytes((code_of(type.key), code_of(type.element)))

    def write_map(value: Mapping[Any, Any], answer: Reply) -> None:
        answer += codes
        answer += _length(len(value))
        for key, element in value.items():
            write_key(key, answer)
            write_value(element, answer)

    return write_map
