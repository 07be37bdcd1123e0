"""Bytes that no client of Hive sends do no harm: they are not understood, and little work is done."""

from __future__ import annotations

import logging

import pytest

from parquetry.hive import read_partition_expression
from parquetry.hive.expressions.objects import MAX_OBJECT_DEPTH
from parquetry.hive.expressions.tree import MAX_EXPRESSION_BYTES, MAX_NODES
from tests.support.hive.expressions.mutations import is_understood, mutations
from tests.support.hive.expressions.recording import column_types, recorded

COLUMNS = column_types()


def sample(text: str, hive: str = "4.0.1") -> bytes:
    """Return the bytes of a recorded expression."""
    return next(each.data for each in recorded() if (each.text, each.hive) == (text, hive))


def number(value: int) -> bytes:
    """Write a number of seven bits per byte."""
    low, rest = value & 0x7F, value >> 7
    return bytes((low | 0x80,)) + number(rest) if rest else bytes((low,))


def text(name: bytes) -> bytes:
    """Write a text of ASCII characters."""
    return name[:-1] + bytes((name[-1] | 0x80,))


class Doubling:
    """A stream of Hive 3: each AND has the next one as both of its children.

    The second child is a reference. So a tree of `levels` levels has 2 ** levels nodes, and few bytes.
    """

    def __init__(self, levels: int) -> None:
        self.data = bytearray()
        self.names: list[str] = []
        self.conjunction(levels, 0)

    def name(self, name: str) -> None:
        """Write a class: its number, and its name if it is new."""
        new = name not in self.names
        if new:
            self.names.append(name)
        self.data += b"\x01" + number(self.names.index(name)) + (text(name.encode()) if new else b"")

    def boolean_type(self) -> None:
        """Write the type of a node."""
        self.name("org.apache.hadoop.hive.serde2.typeinfo.PrimitiveTypeInfo")
        self.data += b"\x01\x01" + text(b"boolean")

    def conjunction(self, levels: int, place: int) -> None:
        """Write the object with a number, whose list has the next number, and whose child the one after."""
        self.data += b"\x01"
        self.name("java.util.ArrayList")
        self.data += b"\x01\x02"
        if levels:
            self.name("org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc")
            self.conjunction(levels - 1, place + 2)
            self.name("org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDesc")
            self.data += number(place + 4)
        else:
            for _ in range(2):
                self.name("org.apache.hadoop.hive.ql.plan.ExprNodeConstantDesc")
                self.data += b"\x01"
                self.boolean_type()
                self.data += b"\x05\x01"
        self.name("org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPAnd")
        self.data += b"\x01\x00\x00"
        self.boolean_type()


def test_damaged_expressions_raise_nothing() -> None:
    """Expressions with random damage are understood or not, and raise no error but the reader's own."""
    samples = [each.data for each in recorded()]
    understood = [is_understood(data) for data in mutations(samples, 3_000, seed=5)]
    assert set(understood) == {True, False}


@pytest.mark.parametrize("hive", ["2.3.10", "3.1.3", "4.0.1"])
def test_every_beginning_is_not_understood(hive: str) -> None:
    """An expression that ends too early is not understood, wherever it ends."""
    data = sample("i in (1, 2, 10)", hive)
    assert is_understood(data)
    assert [end for end in range(len(data)) if is_understood(data[:end])] == []
    assert not is_understood(data + b"\x00")


@pytest.mark.parametrize(
    "name",
    [
        "java.lang.Runtime",
        "javax.management.BadAttributeValueExpException",
        "org.apache.hadoop.hive.ql.udf.generic.GenericUDFReflect",
        "org.apache.hadoop.hive.ql.udf.generic.GenericUDFInFile",
        "com.example.GenericUDFOPEqual",
    ],
)
def test_other_classes_are_not_understood(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """An expression with a class that is not on the list is not understood, and the log names the class."""
    equal = text(b"org.apache.hadoop.hive.ql.udf.generic.GenericUDFOPEqual")
    data = sample("i = 2")
    assert data.count(equal) == 1
    with caplog.at_level(logging.INFO, "parquetry"):
        assert read_partition_expression(data.replace(equal, text(name.encode())), COLUMNS) is None
    assert name in caplog.text


@pytest.mark.parametrize("length", [0x7F, 0xFFFF, 2**31 - 1])
def test_lengths_beyond_the_bytes_are_not_understood(length: int) -> None:
    """A list that claims more elements than bytes follow is not understood, and takes no memory."""
    for start in (b"\x01\x01\x00" + text(b"java.util.ArrayList") + b"\x01", b"\x01\x01\x00" + text(b"[B")):
        assert not is_understood(start + number(length) + b"\x00" * 20)


def test_nested_objects_end_at_a_depth() -> None:
    """Objects within objects are read to a depth only, far from the depth of Python's calls."""
    assert is_understood(bytes(Doubling(8).data))
    assert not is_understood(bytes(Doubling(2 * MAX_OBJECT_DEPTH).data))


def test_repeated_references_end_at_a_number_of_nodes() -> None:
    """A small stream whose objects refer to each other, for 2^30 nodes, is not understood."""
    assert is_understood(bytes(Doubling(5).data))
    data = bytes(Doubling(30).data)
    assert len(data) < 3_000
    assert MAX_NODES < 2**30
    assert not is_understood(data)


def test_long_expressions_are_not_read(caplog: pytest.LogCaptureFixture) -> None:
    """An expression of more bytes than the limit is not read at all, and the log says the limit."""
    with caplog.at_level(logging.INFO, "parquetry"):
        assert read_partition_expression(sample("i = 2") + b"\x00" * MAX_EXPRESSION_BYTES, COLUMNS) is None
    assert f"{MAX_EXPRESSION_BYTES} are read at most" in caplog.text


def test_texts_of_half_characters_are_not_understood() -> None:
    """A text with half of a character, or with bytes that are no UTF-8, is not understood."""
    data = sample("s >= '\U0001f600'", "4.0.1")
    assert is_understood(data)
    low = data.index(b"\xed\xb8\x80")
    assert not is_understood(data[: low - 3] + data[low:])
    assert not is_understood(data.replace(b"\xed\xb8\x80", b"\xff\xb8\x80"))
