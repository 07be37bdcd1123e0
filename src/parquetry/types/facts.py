"""One row for each type of columns, with all that distinguishes it from other types.

A room that treats some types differently has a question here, with its reason. It does not list types. Each
answer that a row does not give is the safe one: no statistics, no claim, no file left out, no other reader. A
type without a row has the safe answer to all questions, and CREATE TABLE refuses it.

A new type needs a row here and a value's forms in `values`. Where the implementation differs by type, such as
a hash or the bytes of a key, it is found by the type's family or its name, in the room that has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from parquetry.intervals import INTERVAL_BITS
from parquetry.temporal import MICROS_PER_DAY


class Family(StrEnum):
    """Types whose values are read, compared and converted by the same code."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    TEXT = "text"
    BINARY = "binary"
    TEMPORAL = "temporal"
    """Dates and timestamps."""
    INTERVAL = "interval"
    OTHER = "other"
    """Values are not read here: nested types, and types that only Spark knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeFacts:
    """The row of a type.

    Attributes:
        name: its name in SQL, without parameters.
        family: the types that it shares code with.
        aliases: its other names in SQL and in Spark's schema JSON.
        value: the Python class of its values, or None if they are not read here.
        bits: the width of a number, or 0.
        digits: the most digits of an integer, or 0.
        exact_bits: integers of this width are floats without rounding. 0 for other types.
        ticks_per_day: the units of a date or timestamp in a day, or 0.
        primitive: values can be compared, be in a path and in a key, and have statistics in files.
        ordered: SORTED BY and `sort-by` may name a column of it.
        constants: kinds of constants in SQL (`sqltext.LiteralConstant`) that are values of it, besides texts.

        plain: equal values are the same value, and files have it in that form. So bounds are values, and may
            answer MIN and MAX. Zero has two signs, NaN is in no bounds, and a char may lack its blanks.
        stored_order: files have values in a form whose order is Spark's, NaN aside. A char without its blanks
            may be before a text that it is behind when it is read.
        bounds: the Python classes of bounds in files' records; other bounds are not used.
        bounds_are_values: bounds in files' records are values in Spark's order. Decimals are texts there,
            bounds of floats leave out NaN, and a TIMESTAMP_NTZ may have days.
        may_be_days: records may have days instead of microseconds, from before ALTER TABLE widened a DATE.
        reader_order: the formats whose readers compare a value with the bounds of row groups as Spark
            compares it with rows. They distinguish zeros, and may have chars without blanks. Times in ORC
            depend on the reader's zone. Booleans and binary values were not compared.
        skewed_keys: a join may have its heavy keys joined apart, as keys are equal there exactly if they are
            equal here. So are booleans and binary keys, which no join apart was tried with.
        same_in_arrow: PyArrow and Spark read the same values of a file. PyArrow has timestamps of another
            zone, chars without blanks, and NaN in several forms.
        python_literals: Spark hands literals to Python data sources in a form that is read here. A timestamp
            comes as a local time, a char as a text without its blanks.
        native: native engines read it as Spark does.
        counted: Spark's optimizer can use its number of distinct values. It takes columns of other types for
            empty if they have statistics.
        ranged: the optimizer also needs its least and greatest value. It fails if other types have them.
        bloom_filter: Bloom filters can leave out row groups. A boolean has two values, and a float's filter
            separates the zeros, which are equal in SQL.
        hashed_as_text: Spark, in Hive's tables of version 1, hashes it as a string, and Hive does not.
        one_text: Spark's and Hive's text of a value depends on no setting, so that LIKE can be tested here.
        empty_is_null: in a path, an empty value is NULL.

        parquet: its physical type and annotation in Parquet files of Spark, or None if it has none or has
            parameters.
        parquet_forms: its forms in Parquet files that all readers read as this type, besides the form that
            we write.
        orc: ORC has it.
        iceberg: Iceberg's name, or None if Iceberg has no such type. Its readers would not pad a char.
        iceberg_keys: Iceberg's readers compare its partition values exactly.
        pyiceberg_keys: PyIceberg does not take its partition values in a plan for texts.
        delta: the name in Delta's schema, or None as for Iceberg.
        delta_keys: all of Delta's readers read its partition values alike.
        delta_bounds: Delta's JSON has its bounds exactly. Bounds of floats would hide NaN.
        hive: Hive has it.
    """

    name: str = ""
    family: Family = Family.OTHER
    aliases: tuple[str, ...] = ()
    value: type | None = None
    bits: int = 0
    digits: int = 0
    exact_bits: int = 0
    ticks_per_day: int = 0
    primitive: bool = False
    ordered: bool = False
    constants: tuple[str, ...] = ()

    plain: bool = False
    stored_order: bool = False
    bounds: tuple[type, ...] = ()
    bounds_are_values: bool = False
    may_be_days: bool = False
    reader_order: tuple[str, ...] = ()
    skewed_keys: bool = False
    same_in_arrow: bool = False
    python_literals: bool = False
    native: bool = False
    counted: bool = False
    ranged: bool = False
    bloom_filter: bool = False
    hashed_as_text: bool = False
    one_text: bool = False
    empty_is_null: bool = False

    parquet: str | None = None
    parquet_forms: tuple[str, ...] = ()
    orc: bool = False
    iceberg: str | None = None
    iceberg_keys: bool = False
    pyiceberg_keys: bool = False
    delta: str | None = None
    delta_keys: bool = False
    delta_bounds: bool = False
    hive: bool = False


UNKNOWN_TYPE = TypeFacts()
"""The answers for a type without a row: no to everything."""

_PRIMITIVE = TypeFacts(
    primitive=True,
    ordered=True,
    counted=True,
    bloom_filter=True,
    orc=True,
    hive=True,
    pyiceberg_keys=True,
)
_PLAIN = replace(_PRIMITIVE, plain=True, stored_order=True, native=True, iceberg_keys=True, delta_keys=True)
_BOTH, _PARQUET = ("parquet", "orc"), ("parquet",)

_BOOLEAN = replace(
    _PLAIN, name="boolean", family=Family.BOOLEAN, aliases=("bool",), value=bool, bounds=(bool,), ranged=True,
    constants=("boolean",), bounds_are_values=True, same_in_arrow=True, python_literals=True, bloom_filter=False,
    one_text=True, parquet="BOOLEAN", parquet_forms=("BOOLEAN",), iceberg="boolean", delta="boolean",
)  # fmt: skip

_INTEGER = replace(
    _PLAIN, family=Family.INTEGER, value=int, bounds=(int,), constants=("number",), bounds_are_values=True, ranged=True,
    reader_order=_BOTH, skewed_keys=True, same_in_arrow=True, python_literals=True, one_text=True, delta_bounds=True,
)  # fmt: skip
_INT8, _INT16, _INT32 = ("INT32 INT(8)",), ("INT32 INT(16)", "INT32 INT(8)"), ("INT32", "INT32 INT(32)")
_INTEGERS = (
    replace(
        _INTEGER, name="tinyint", aliases=("byte",), bits=8, digits=3, iceberg="int", delta="byte",
        parquet="INT32 INT(8)", parquet_forms=_INT8,
    ),
    replace(
        _INTEGER, name="smallint", aliases=("short",), bits=16, digits=5, iceberg="int", delta="short",
        parquet="INT32 INT(16)", parquet_forms=_INT16,
    ),
    replace(
        _INTEGER, name="int", aliases=("integer",), bits=32, digits=10, iceberg="int", delta="integer",
        parquet="INT32", parquet_forms=(*_INT32, *_INT16),
    ),
    replace(
        _INTEGER, name="bigint", aliases=("long",), bits=64, digits=19, iceberg="long", delta="long",
        parquet="INT64", parquet_forms=("INT64", "INT64 INT(64)", *_INT32, *_INT16),
    ),
)  # fmt: skip

_FLOAT = replace(
    _PRIMITIVE, family=Family.FLOAT, value=float, bounds=(int, float), constants=("number",), stored_order=True,
    native=True, python_literals=True, ranged=True, bloom_filter=False,
)  # fmt: skip
_FLOATS = (
    replace(
        _FLOAT, name="float", aliases=("real",), bits=32, exact_bits=24, iceberg="float", delta="float",
        parquet="FLOAT", parquet_forms=("FLOAT",),
    ),
    replace(
        _FLOAT, name="double", aliases=("double precision",), bits=64, exact_bits=53, iceberg="double",
        delta="double", parquet="DOUBLE", parquet_forms=("DOUBLE", "FLOAT"),
    ),
)  # fmt: skip

_DECIMAL = replace(
    _PLAIN, name="decimal", family=Family.DECIMAL, aliases=("dec", "numeric"), value=Decimal, bounds=(int, str),
    constants=("number",), reader_order=_BOTH, skewed_keys=True, same_in_arrow=True, python_literals=True, ranged=True,
    iceberg="decimal", pyiceberg_keys=False, delta="decimal",
)  # fmt: skip

_TIMES = ("date", "timestamp", "timestamp_ntz")
_TEXT = replace(
    _PLAIN, name="string", family=Family.TEXT, value=str, bounds=(str, bytes),
    constants=("number", "boolean", *_TIMES), bounds_are_values=True, reader_order=_BOTH, skewed_keys=True,
    same_in_arrow=True, python_literals=True, one_text=True, empty_is_null=True, parquet="BYTE_ARRAY STRING",
    parquet_forms=("BYTE_ARRAY STRING",), iceberg="string", delta="string", delta_bounds=True,
)  # fmt: skip
_TEXTS = (
    _TEXT,
    replace(_TEXT, name="varchar", hashed_as_text=True),
    replace(
        _PRIMITIVE, name="char", family=Family.TEXT, aliases=("character",), value=str, bounds=(str, bytes),
        constants=_TEXT.constants, hashed_as_text=True, one_text=True, empty_is_null=True, parquet="BYTE_ARRAY STRING",
    ),
)  # fmt: skip

_BINARY = replace(
    _PLAIN, name="binary", family=Family.BINARY, value=bytes, bounds=(str, bytes), constants=("binary",),
    bounds_are_values=True, same_in_arrow=True, python_literals=True, hashed_as_text=True, empty_is_null=True,
    parquet="BYTE_ARRAY", parquet_forms=("BYTE_ARRAY",), iceberg="binary", pyiceberg_keys=False, delta="binary",
    delta_keys=False,
)  # fmt: skip

_TIMESTAMP = replace(
    _PLAIN, name="timestamp", family=Family.TEMPORAL, aliases=("timestamp_ltz",), value=int, bits=64,
    bounds=(int,), ticks_per_day=MICROS_PER_DAY, constants=_TIMES, bounds_are_values=True, reader_order=_PARQUET,
    skewed_keys=True, ranged=True, parquet="INT64 TIMESTAMP(MICROS)", parquet_forms=("INT96", "INT64 TIMESTAMP(MILLIS)"),
    iceberg="timestamptz", delta="timestamp",
)  # fmt: skip
_DATES_AND_TIMES = (
    replace(
        _PLAIN, name="date", family=Family.TEMPORAL, value=int, bits=32, bounds=(int,), ticks_per_day=1,
        constants=("date",), bounds_are_values=True, reader_order=_BOTH, skewed_keys=True, same_in_arrow=True,
        python_literals=True, one_text=True, ranged=True, parquet="INT32 DATE", parquet_forms=("INT32 DATE",), iceberg="date", delta="date",
        delta_bounds=True,
    ),
    _TIMESTAMP,
    replace(
        _TIMESTAMP, name="timestamp_ntz", aliases=(), bounds_are_values=False, may_be_days=True, parquet_forms=(),
        counted=False, ranged=False, iceberg="timestamp", delta="timestamp_ntz", hive=False,
    ),
)  # fmt: skip

_INTERVALS = tuple(
    TypeFacts(name=name, family=Family.INTERVAL, value=int, bits=bits, ordered=True, orc=True)
    for name, bits in INTERVAL_BITS.items()
)
_OTHERS = (
    TypeFacts(name="struct", ordered=True, orc=True, hive=True),
    TypeFacts(name="array", ordered=True, orc=True, hive=True),
    TypeFacts(name="map", orc=True, hive=True),
    TypeFacts(name="udt", ordered=True, orc=True),
    TypeFacts(name="time", ordered=True, orc=True),
    TypeFacts(name="void", ordered=True),
    TypeFacts(name="interval", orc=True),
    TypeFacts(name="variant"),
    TypeFacts(name="geometry"),
    TypeFacts(name="geography"),
)
"""Types whose values only Spark reads."""

TYPES = {
    row.name: row
    for row in (
        _BOOLEAN, *_INTEGERS, *_FLOATS, _DECIMAL, *_TEXTS, _BINARY, *_DATES_AND_TIMES, *_INTERVALS, *_OTHERS,
    )
}  # fmt: skip
"""The rows by their names in SQL."""
PRIMITIVE_NAMES = {
    alias: row.name for row in TYPES.values() if row.primitive for alias in (row.name, *row.aliases)
}
"""The names in SQL of primitive types by all their names."""
TIME_NAMES = {alias: name for alias, name in PRIMITIVE_NAMES.items() if TYPES[name].family is Family.TEMPORAL}
"""The names of dates and timestamps by all their names, which begin a literal: `DATE '2026-01-01'`."""
INTEGERS = {row.bits: row.name for row in _INTEGERS}
"""The integer types by their widths in bits."""


def facts_of(name: str) -> TypeFacts:
    """Return the row of a type, given its name with or without parameters.

    >>> facts_of("char(3)").family, facts_of("time(6)").ordered, facts_of("string collate UNICODE") is UNKNOWN_TYPE
    (<Family.TEXT: 'text'>, True, True)
    """
    return TYPES.get(name) or TYPES.get(name.partition("(")[0], UNKNOWN_TYPE)
