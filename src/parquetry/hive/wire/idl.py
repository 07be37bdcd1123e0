"""The definitions of Hive's calls and records, read from `metastore.thrift` beside this module.

The file is an excerpt of the definitions that Apache Hive publishes. Only the form that `scripts/hive_idl.py`
writes is read: one field on a line, and one call on a line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import TypeAlias

from parquetry.errors import UnsupportedError

ThriftType: TypeAlias = "str | Struct | Container"

_FIELD = re.compile(r"(\d+): ((?:[\w<>]|, )+) (\w+)")
_RECORD = re.compile(r"(struct|exception) (\w+) \{\n(.*?)\}", re.DOTALL)
_CALL = re.compile(r"^  (oneway )?([\w<>, ]+) (\w+)\((.*?)\)(?: throws \((.*)\))?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Container:
    """The type of a list, a set or a map.

    Attributes:
        kind: `list`, `set` or `map`.
        element: the type of elements, or of a map's values.
        key: the type of a map's keys.
    """

    kind: str
    element: ThriftType
    key: ThriftType = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record."""

    number: int
    name: str
    type: ThriftType


@dataclass(slots=True, eq=False)
class Struct:
    """A record: a struct, an exception, or the arguments of a call.

    Attributes:
        name: its name.
        fields: its fields, by their numbers.
    """

    name: str
    fields: dict[int, Field]


@dataclass(frozen=True, slots=True)
class MetastoreCall:
    """A call of the metastore.

    Attributes:
        name: its name.
        arguments: the record of its arguments.
        result: the type of its answer, or None.
        errors: the fields of its errors, by the errors' names.
        oneway: whether no answer is expected.
    """

    name: str
    arguments: Struct
    result: ThriftType | None
    errors: dict[str, Field]
    oneway: bool


@dataclass(frozen=True, slots=True)
class Definitions:
    """All records and calls, by their names."""

    records: dict[str, Struct]
    calls: dict[str, MetastoreCall]


@functools.cache
def definitions() -> Definitions:
    """Return the definitions."""
    text = (resources.files(__package__) / "metastore.thrift").read_text("utf-8")
    records = {match[2]: Struct(match[2], {}) for match in _RECORD.finditer(text)}
    for match in _RECORD.finditer(text):
        records[match[2]].fields.update(_fields(match[3], records))
    service = text.partition("service ThriftHiveMetastore {\n")[2]
    calls = {match[3]: _call(match, records) for match in _CALL.finditer(service)}
    return Definitions(records, calls)


def _call(match: re.Match[str], records: dict[str, Struct]) -> MetastoreCall:
    oneway, result, name, arguments, errors = match.groups()
    thrown = {
        field.type.name: field
        for field in dict(_fields(errors or "", records)).values()
        if isinstance(field.type, Struct)
    }
    return MetastoreCall(
        name,
        Struct(f"{name}_args", dict(_fields(arguments, records))),
        None if result == "void" else _type(result, records),
        thrown,
        bool(oneway),
    )


def _fields(text: str, records: dict[str, Struct]) -> Iterator[tuple[int, Field]]:
    for match in _FIELD.finditer(text):
        number = int(match[1])
        yield number, Field(number, match[3], _type(match[2], records))


def _type(text: str, records: dict[str, Struct]) -> ThriftType:
    if "<" not in text:
        return records.get(text, text)
    kind, _, within = text.removesuffix(">").partition("<")
    if kind != "map":
        return Container(kind, _type(within, records))
    depth = 0
    for position, character in enumerate(within):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            return Container("map", _type(within[position + 2 :], records), _type(within[:position], records))
    raise UnsupportedError(f"Definition {text} cannot be read: a map has two types.")
