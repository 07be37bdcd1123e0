"""The bytes of keys, which stores keep for years."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from parquetry.errors import ValueTypeError
from parquetry.key_schema import KeySchema
from parquetry.keys import decode_value, encode_value, escape, split_fields, successor, unescape
from parquetry.types import Value, order_key, parse_type, value_from_text

GOLDEN = Path(__file__).parent.parent / "golden" / "key-bytes.txt"
INT, STRING = parse_type("int"), parse_type("string")


def golden() -> list[tuple[str, str, str]]:
    """Read the golden file's lines."""
    lines = [line for line in GOLDEN.read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(part.strip() for part in line.rstrip("H").split("|")) for line in lines]  # type: ignore[misc]


@pytest.mark.parametrize(("type", "text", "wanted"), golden())
def test_golden_bytes(type: str, text: str, wanted: str) -> None:
    """Each field is as the golden file has it, in both directions, and decodes to its value."""
    kind = parse_type(type)
    value = None if text == "NULL" else value_from_text(kind, text)
    data = bytes.fromhex(wanted)
    assert encode_value(kind, value) == data
    assert encode_value(kind, value, descending=True) == bytes(255 - byte for byte in data)
    assert order_key(decode_value(kind, data)[0]) == order_key(value)


def test_a_text_keeps_its_zeros_and_ones() -> None:
    """Hive's a␀b␁."""
    assert encode_value(STRING, "a\x00b\x01").hex(" ") == "01 61 01 01 62 01 02 00"
    for data in (b"", b"\x00", b"\x01", b"\x01\x01", b"\x01\x02\x00", bytes(range(256)) * 2):
        assert unescape(escape(data)) == data
        assert b"\x00" not in escape(data)


def test_a_key_is_its_fields_and_their_ends() -> None:
    """The trailer holds end offsets of four bytes, the last field's last."""
    schema = KeySchema.from_columns([("p", INT), ("q", STRING), ("r", INT)], (False, True, False))
    key = schema.encode((10, "a", None))
    assert key.hex(" ") == "01 80 00 00 0a fe 9e ff 00 00 00 00 05 00 00 00 08 00 00 00 09"
    assert [field.hex() for field in split_fields(key, 3)] == ["018000000a", "fe9eff", "00"]
    assert schema.decode(key) == (10, "a", None)


def test_long_texts_have_room() -> None:
    """An offset is wider than two bytes."""
    key = KeySchema.from_columns([("p", STRING), ("q", INT)]).encode(("x" * 100_000, 1))
    assert split_fields(key, 2)[1] == encode_value(INT, 1)


def test_the_successor_carries() -> None:
    """Hive added one to the last byte and let ff wrap round, so that `p = 255` and `p = -1` found nothing."""
    assert successor(b"\x01\x80\x00\x00\xff") == b"\x01\x80\x00\x01"
    assert successor(b"\x01\x7f\xff\xff\xff") == b"\x01\x80"
    assert successor(b"\xff\xff") is None
    assert successor(b"") is None


def test_a_decimal_of_38_digits_keeps_them() -> None:
    """The precision of the decimal context makes no difference."""
    kind = parse_type("decimal(38,9)")
    for text in ("1" * 29 + ".987654321", "-" + "9" * 29 + ".000000001", "0.000000001"):
        value = Decimal(text)
        assert decode_value(kind, encode_value(kind, value)) == (value, len(encode_value(kind, value)))


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("int", "1"),
        ("int", 2**31),
        ("tinyint", -129),
        ("string", 1),
        ("boolean", 1),
        ("decimal(5,2)", 1.5),
        ("date", "x"),
    ],
)
def test_a_value_of_another_type_is_refused(type: str, value: Value) -> None:
    """With value and type in the message."""
    with pytest.raises(ValueTypeError) as caught:
        encode_value(parse_type(type), value)
    assert repr(value) in str(caught.value)
    assert type in str(caught.value)


def test_what_has_no_order_is_no_key() -> None:
    """Nested types, and a row of another width."""
    with pytest.raises(ValueTypeError, match="cannot be part of a key"):
        encode_value(parse_type("array<int>"), "x")
    with pytest.raises(ValueTypeError, match="2 columns"):
        KeySchema.from_columns([("p", INT), ("q", INT)]).encode((1,))
