"""The rows of types: each type of Spark has one, and what no row answers is answered with no."""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from parquetry.errors import UnsupportedError, ValueTypeError
from parquetry.hashing.bucket_hash import hive_hash
from parquetry.hashing.hash_types import HashType
from parquetry.keys import encode_value
from parquetry.layout import Version, declare_columns
from parquetry.types import (
    TYPES,
    UNKNOWN_TYPE,
    ColumnType,
    Family,
    TypeFacts,
    type_from_json,
    value_from_text,
)

SPARK_ONLY = {
    "struct": {"ordered", "orc", "hive"},
    "array": {"ordered", "orc", "hive"},
    "map": {"orc", "hive"},
    "udt": {"ordered", "orc"},
    "time": {"ordered", "orc"},
    "void": {"ordered"},
    "interval": {"orc"},
    "variant": set[str](),
    "geometry": set[str](),
    "geography": set[str](),
    "interval year to month": {"ordered", "orc", "value", "bits", "family"},
    "interval day to second": {"ordered", "orc", "value", "bits", "family"},
}
"""The questions that a type answers with another answer than no, for types that only Spark reads."""

WRITTEN = {"char": "char(3)", "varchar": "varchar(3)", "userdefinedtype": "udt"}
"""How Spark's JSON has types that PySpark names otherwise."""


def leaves(base: Any = spark.DataType) -> list[Any]:
    """Return PySpark's types that no other type of it is made from."""
    below = [each for each in base.__subclasses__() if each.__module__ == spark.__name__]
    below = [each for each in below if each is not spark.StructField]
    return [leaf for each in below for leaf in leaves(each)] if below else [base]


def names() -> list[str]:
    """Return the names of PySpark's types in its JSON, without parameters."""
    found = set()
    for each in leaves():
        try:
            json = each().jsonValue()
        except (TypeError, NotImplementedError):  # it needs arguments
            json = each.typeName()
        found.add(str(json["type"] if isinstance(json, dict) else json).partition("(")[0])
    return sorted(found)


def fields(name: str, type: str, nullable: bool = True) -> list[dict[str, Any]]:
    return [{"name": name, "type": type, "nullable": nullable, "metadata": {}}]


def answers(facts: TypeFacts) -> set[str]:
    """Return the questions that a row does not answer with no."""
    return {
        field.name
        for field in dataclasses.fields(TypeFacts)
        if field.name not in ("name", "aliases") and getattr(facts, field.name) != field.default
    }


def test_all_types_of_spark_are_found() -> None:
    """The list is not empty, and has types of each kind."""
    assert {"long", "char", "variant", "map", "interval day to second"} <= set(names())


@pytest.mark.parametrize("name", sorted({*names(), *SPARK_ONLY}))
def test_each_type_of_spark_has_a_row_with_its_answers(name: str) -> None:
    """A type of Spark is read here, or its row says which questions have another answer than no.

    A new type of Spark fails here, and the error lists the questions.
    """
    facts = type_from_json(WRITTEN.get(name, name)).facts
    open_questions = sorted(field.name for field in dataclasses.fields(TypeFacts))
    assert facts is not UNKNOWN_TYPE, (
        f"{name} has no row in parquetry.types.facts; it answers {open_questions}"
    )
    assert facts.primitive or answers(facts) == SPARK_ONLY[facts.name]


def test_a_type_without_a_row_has_the_safe_answers() -> None:
    """No statistics, no claim, no other reader: each question has a default, which is no."""
    new = ColumnType("moment(6)")
    assert answers(new.facts) == set()
    assert new.family is Family.OTHER
    for field in dataclasses.fields(TypeFacts):
        assert not getattr(UNKNOWN_TYPE, field.name) or field.name == "family", field.name
    for read in (lambda: value_from_text(new, "x"), lambda: encode_value(new, 1)):
        with pytest.raises(ValueTypeError, match=r"moment\(6\)"):
            read()


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize(
    "type", ["moment(6)", {"type": "array", "elementType": "moment", "containsNull": True}]
)
def test_a_type_without_a_row_is_refused(type: Any, file_format: str) -> None:
    """CREATE TABLE and ALTER TABLE name the column and its type, also within another type."""
    with pytest.raises(
        UnsupportedError, match=r"Column c.* is of type moment.*, which this version of Parquetry"
    ):
        declare_columns(fields("c", type), file_format)


@pytest.mark.parametrize("facts", [row for row in TYPES.values() if row.primitive], ids=lambda row: row.name)
def test_answers_of_a_type_agree(facts: TypeFacts) -> None:
    """A claim about values needs that equal values are the same value. Values and bounds have a class."""
    claims = (
        facts.reader_order,
        facts.skewed_keys,
        facts.same_in_arrow,
        facts.bounds_are_values,
        facts.delta_bounds,
    )
    assert facts.plain or not any(claims)
    assert facts.stored_order or not facts.plain
    assert facts.value is not None
    assert facts.bounds
    assert not facts.bounds_are_values or (facts.value in facts.bounds and not facts.may_be_days)
    assert not facts.delta_bounds or (facts.delta and facts.bounds_are_values)
    assert (facts.parquet is None) == (facts.name == "decimal")
    assert bool(facts.bits) == (facts.value in (int, float))
    assert (facts.family is Family.TEMPORAL) == bool(facts.ticks_per_day)


@pytest.mark.parametrize("version", [1, 2, "spark"])
@pytest.mark.parametrize("name", [row.name for row in TYPES.values() if row.primitive])
def test_primitive_types_have_a_hash(name: str, version: Version) -> None:
    """A value of each type with statistics can be hashed into buckets."""
    type = ColumnType(name, 9, 2) if name == "decimal" else ColumnType(name)
    array = pa.nulls(1, HashType.from_column_type(type).arrow)
    assert len(hive_hash(version, [array], [type])) == 1


def test_families_of_values_are_read_from_text_and_keys() -> None:
    """Each type whose values have a class here can be read from text, and be in a key."""
    samples = {bool: "true", str: "x", bytes: "x"}
    for row in TYPES.values():
        if row.value is None:
            continue
        type = ColumnType(row.name, 9, 2) if row.name == "decimal" else ColumnType(row.name)
        text = {Family.TEMPORAL: "2026-01-01", Family.INTERVAL: "1"}.get(
            row.family, samples.get(row.value, "1")
        )
        if " to " in row.name:
            continue
        value = value_from_text(type, text)
        assert value.__class__ is row.value
        assert encode_value(type, value)
