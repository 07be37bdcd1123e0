"""The fields of a key: names, types and directions, in the order of the key.

`keys` encodes the bytes. Code that plans, tests or reads keys takes a `KeySchema`: for the keys of
partitions, and for the entries of an index, which have the same fields in another order.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from parquetry.errors import ColumnNotFoundError, ValueTypeError
from parquetry.keys import (
    INVERT,
    NULL_FIELD,
    TRAILER_WIDTH,
    VALUE_MARKER,
    decode_value,
    encode_value,
    escape,
    field_count,
    join_fields,
)
from parquetry.types import ColumnType, Value


@dataclasses.dataclass(frozen=True, slots=True)
class KeyField:
    """A field of a key: one column.

    Attributes:
        name: name of the column.
        type: type of the column.
        descending: whether greater values come first. If so, all bytes of the field are inverted.
    """

    name: str
    type: ColumnType
    descending: bool = False

    def encode(self, value: Value) -> bytes:
        """Encode a value as it stands in a key.

        Raises:
            ValueTypeError: the value does not fit the type, or a key cannot have this type.
        """
        return encode_value(self.type, value, self.descending)

    def decode(self, data: bytes, offset: int = 0) -> tuple[Value, int]:
        """Decode the value that begins at an offset; return it and the offset after it."""
        return decode_value(self.type, data, offset, self.descending)

    @property
    def null(self) -> bytes:
        """Return the bytes of NULL, which sort before any value, and after all values in descending order."""
        return self.apply_direction(NULL_FIELD)

    def prefix(self, text: str) -> bytes:
        """Return the first bytes of all fields whose text begins with a text.

        NULL's field is not among them.
        """
        return self.apply_direction(VALUE_MARKER + escape(text.encode("utf-8", "surrogatepass")))

    def apply_direction(self, data: bytes) -> bytes:
        """Invert bytes of the field if it is descending. The same call undoes it."""
        return data.translate(INVERT) if self.descending else data


@dataclasses.dataclass(frozen=True, slots=True)
class KeySchema:
    """The fields of a key in their order.

    >>> from parquetry.types import parse_type
    >>> schema = KeySchema.from_columns([('day', parse_type('int')), ('region', parse_type('string'))])
    >>> schema.decode(schema.encode((10, 'eu')))
    (10, 'eu')
    >>> schema.reorder((1, 0)).position('day')
    1
    """

    fields: tuple[KeyField, ...]
    _positions: dict[str, int] = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positions = {field.name: position for position, field in enumerate(self.fields)}
        object.__setattr__(self, "_positions", positions)

    @classmethod
    def from_columns(
        cls, columns: Iterable[tuple[str, ColumnType]], descending: Sequence[bool] = ()
    ) -> KeySchema:
        """Make a schema of columns.

        Args:
            columns: names and types, in key order.
            descending: whether each column is in descending order; empty if none is.
        """
        named = tuple(columns)
        down = descending or (False,) * len(named)
        return cls(tuple(KeyField(*column, bool(turned)) for column, turned in zip(named, down, strict=True)))

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def types(self) -> dict[str, ColumnType]:
        """Return the columns' types by their names, in key order."""
        return {field.name: field.type for field in self.fields}

    def position(self, name: str) -> int:
        """Return the position of a column's field, from 0.

        Raises:
            ColumnNotFoundError: the key does not have the column.
        """
        index = self._positions.get(name)
        if index is None:
            raise ColumnNotFoundError(f"Column {name!r} is not part of the key {tuple(self._positions)}.")
        return index

    def field(self, name: str) -> KeyField:
        """Return the field of a column.

        Raises:
            ColumnNotFoundError: the key does not have the column.
        """
        return self.fields[self.position(name)]

    def encode(self, values: Sequence[Value]) -> bytes:
        """Encode a whole key: the fields and the trailer.

        Raises:
            ValueTypeError: there are too many or too few values, or one does not fit its column.
        """
        if len(values) != len(self.fields):
            raise ValueTypeError(
                f"{len(values)} values {tuple(values)!r} are no key of {len(self.fields)} columns."
            )
        return join_fields(
            [
                encode_value(field.type, value, field.descending)
                for field, value in zip(self.fields, values, strict=True)
            ]
        )

    def decode(self, key: bytes) -> tuple[Value, ...]:
        """Decode all values of a key, from its beginning; the trailer is not needed."""
        values: list[Any] = []
        offset = 0
        for field in self.fields:
            value, offset = decode_value(field.type, key, offset, field.descending)
            values.append(value)
        return tuple(values)

    def fits(self, key: bytes) -> bool:
        """Return whether this schema can have made a key.

        Before a REPLACE TABLE the table may have had others.

        >>> from parquetry.types import parse_type
        >>> numbers, texts = (KeySchema.from_columns([('p', parse_type(name))]) for name in ('int', 'string'))
        >>> numbers.fits(numbers.encode((7,))), numbers.fits(texts.encode(('seven',))), KeySchema(()).fits(b'')
        (True, False, True)
        """
        if field_count(key) != len(self.fields):
            return False
        try:
            return self.encode(self.decode(key)) == key
        except (ValueTypeError, ValueError, ArithmeticError, LookupError, struct.error):
            return False

    def decode_all(self, keys: Sequence[bytes]) -> list[tuple[Value, ...]]:
        """Decode all values of many keys. Keys of whole numbers without NULL are decoded in arrays.

        >>> from parquetry.types import parse_type
        >>> schema = KeySchema.from_columns([('h', parse_type('tinyint')), ('d', parse_type('date'))], [True, False])
        >>> schema.decode_all([schema.encode((-1, 20000)), schema.encode((7, -1))])
        [(-1, 20000), (7, -1)]
        """
        widths = [f.type.facts.bits // 8 if f.type.facts.value is int else 0 for f in self.fields]
        # A NULL is shorter than any number, so that keys of this length hold none.
        length = sum(widths) + (1 + TRAILER_WIDTH) * len(widths)
        if not widths or 0 in widths or set(map(len, keys)) != {length}:
            return list(map(self.decode, keys))
        table = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, length)
        columns, offset = [], 0
        for field, width in zip(self.fields, widths, strict=True):
            data = table[:, offset + 1 : offset + 1 + width].copy()
            if field.descending:
                data ^= 0xFF
            data[:, 0] ^= 0x80
            columns.append(data.view(f">i{width}").ravel().tolist())
            offset += 1 + width
        return list(zip(*columns, strict=True))

    def reorder(self, order: Sequence[int]) -> KeySchema:
        """Return the same fields in another order, such as the order of an index.

        Args:
            order: positions of this schema's fields.
        """
        return KeySchema(tuple(self.fields[position] for position in order))
