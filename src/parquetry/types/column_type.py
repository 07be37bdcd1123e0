"""The type of a column, read from SQL or from Spark's schema JSON."""

from __future__ import annotations

import functools
import json as jsonlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from parquetry.errors import ValueTypeError
from parquetry.intervals import INTERVAL_BITS
from parquetry.types.facts import PRIMITIVE_NAMES, Family, TypeFacts, facts_of

_SQL_TYPE = re.compile(r"([a-z_]+(?: precision)?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_NUMERIC = (Family.INTEGER, Family.FLOAT, Family.DECIMAL)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's type under its SQL name.

    Attributes:
        name: a name in `facts.TYPES`, without parameters. Any other type (a nested type, a collated string…)
            has its whole text as its name and is not `primitive`. An interval, such as
            `interval day to second`, is not primitive either, but can be a partition column (`keyed`).
        precision: digits of a decimal, 1 to 38.
        scale: digits of a decimal after the point.
        length: characters of a `char` or `varchar`.
        facts: the type's row, with all that distinguishes it from other types.
    """

    name: str
    precision: int = 0
    scale: int = 0
    length: int = 0
    facts: TypeFacts = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", facts_of(self.name))

    @property
    def family(self) -> Family:
        """The types that are read, compared and converted by the same code."""
        return self.facts.family

    @property
    def primitive(self) -> bool:
        """Whether values can be compared, be in a path and in a key, and have statistics in files."""
        return self.facts.primitive

    @property
    def keyed(self) -> bool:
        """Whether values can be compared, be in a path and in a key, as partition columns need."""
        return self.facts.primitive or self.facts.family is Family.INTERVAL

    @property
    def interval(self) -> bool:
        """Whether values are intervals: whole months, or microseconds."""
        return self.facts.family is Family.INTERVAL

    @property
    def textual(self) -> bool:
        """Whether values are text: string, varchar or char."""
        return self.facts.family is Family.TEXT

    @property
    def unpadded(self) -> bool:
        """Whether values are text that Spark never pads: string or varchar."""
        return self.facts.family is Family.TEXT and self.name != "char"

    @property
    def integral(self) -> bool:
        """Whether values are whole numbers: tinyint, smallint, int or bigint."""
        return self.facts.family is Family.INTEGER

    @property
    def floating(self) -> bool:
        """Whether values may be NaN: float or double."""
        return self.facts.family is Family.FLOAT

    @property
    def numeric(self) -> bool:
        """Whether values are numbers: integral, floating or decimal."""
        return self.facts.family in _NUMERIC

    @property
    def temporal(self) -> bool:
        """Whether values are dates or timestamps."""
        return self.facts.family is Family.TEMPORAL

    def widens(self, narrow: ColumnType) -> bool:
        """Return whether this is a wider integer than another, or a wider floating-point number."""
        return (
            self.family is narrow.family
            and (self.integral or self.floating)
            and self.facts.bits > narrow.facts.bits
        )

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return f"{self.name}({self.length})" if self.length else self.name


STRING = ColumnType("string")
BOOLEAN = ColumnType("boolean")


@functools.lru_cache(maxsize=4096)
def parse_type(text: str) -> ColumnType:
    """Read a type as SQL's DDL writes it, names and aliases in any case.

    Raises:
        ValueTypeError: the parameters do not fit, as in `decimal(40,2)` or `int(3)`.

    >>> str(parse_type('NUMERIC(10, 2)')), str(parse_type('long')), parse_type('struct<a:int>').primitive
    ('decimal(10,2)', 'bigint', False)
    """
    stripped = " ".join(text.split())
    match = _SQL_TYPE.fullmatch(stripped.lower())
    name = PRIMITIVE_NAMES.get(match[1].strip()) if match else None
    if match is None or name is None:
        return ColumnType(stripped.lower() if stripped.lower() in INTERVAL_BITS else stripped)
    numbers = [int(number) for number in match.groups()[1:] if number is not None]
    if name == "decimal":
        precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
        if not 1 <= precision <= 38 or scale > precision:
            raise ValueTypeError(f"Type {text}: a decimal has 1 to 38 digits, and no more of them as scale.")
        return ColumnType(name, precision=precision, scale=scale)
    if name in ("char", "varchar"):
        if len(numbers) != 1 or numbers[0] < 1:
            raise ValueTypeError(f"Type {text}: write one length of at least 1, as in {name}(10).")
        return ColumnType(name, length=numbers[0])
    if numbers:
        raise ValueTypeError(f"Type {text}: {name} takes no parameters.")
    return ColumnType(name)


def type_from_json(json: Any) -> ColumnType:
    """Read a type of Spark's schema JSON: a name, or an object for struct, array and map.

    >>> str(type_from_json('long')), type_from_json({'type': 'struct', 'fields': []}).primitive
    ('bigint', False)
    """
    if isinstance(json, str):
        return parse_type(json)
    return ColumnType(jsonlib.dumps(json, separators=(",", ":")))


def type_text(json: Any) -> str:
    """Return a type of Spark's schema JSON as DDL writes it.

    >>> type_text({"type": "array", "elementType": "long", "containsNull": True})
    'array<bigint>'
    """
    match json:
        case {"type": "struct", "fields": fields}:
            members = (f"{field['name']}:{type_text(field['type'])}" for field in fields)
            return f"struct<{','.join(members)}>"
        case {"type": "array", "elementType": element}:
            return f"array<{type_text(element)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{type_text(key)},{type_text(value)}>"
    return str(type_from_json(json))


def names_within(json: Any) -> Iterator[str]:
    """Yield the name of a type of Spark's schema JSON, and the names of all types in it.

    >>> list(names_within({"type": "array", "elementType": "char(3)", "containsNull": True}))
    ['array', 'char(3)']
    """
    if isinstance(json, str):
        yield json
        return
    yield json["type"]
    parts = [json[part] for part in ("elementType", "keyType", "valueType") if part in json]
    for part in [*parts, *(each["type"] for each in json.get("fields", ()))]:
        yield from names_within(part)
