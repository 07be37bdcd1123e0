"""Literals fitted to columns, and conditions as the bridge sends them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from parquetry.errors import ColumnNotFoundError, UnsupportedError, ValueTypeError
from parquetry.predicate.bind import NUMBER_TYPE, bind, never
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import (
    MAX_CONDITION_DEPTH,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    columns_of,
    depth,
    opaque_parts,
    truth_of,
)
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.spark_json import from_json
from parquetry.types import STRING, ColumnType, parse_type

TYPES = {
    name: parse_type(text)
    for name, text in {
        "n": "int",
        "t": "tinyint",
        "dc": "decimal(4,2)",
        "s": "string",
        "ok": "boolean",
        "d": "date",
        "c": "char(3)",
        "f": "float",
        "g": "double",
        "b": "binary",
        "ts": "timestamp",
        "st": "struct<a:int>",
    }.items()
}
DOUBLE, TIMESTAMP = parse_type("double"), parse_type("timestamp")


def number(op: str, name: str, text: str) -> Compare:
    """Compare a column with an unquoted number."""
    return Compare(op, name, Decimal(text), NUMBER_TYPE)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (number("<", "N", "2.5"), "n <= 2"),
        (number(">=", "n", "-0.5"), "n > -1"),
        (number("=", "t", "127"), "t = 127"),
        (number("<", "f", "-1e-60"), "f <= -1.401298464324817E-45"),
        (number("<", "f", "1e-60"), "f <= 0.0"),
        (number("<=", "t", "128"), "t <= 127"),
        (number(">", "t", "128"), "t > 127"),
        (number("<=>", "t", "128"), "FALSE"),
        (number(">", "t", "-129"), "NOT (t IS NULL AND NULL)"),
        (number("<", "t", "-129"), "t IS NULL AND NULL"),
        (number("<", "dc", "1.005"), "dc <= 1.00"),
        (number(">", "dc", "1000"), "dc > 99.99"),
        (number("<", "dc", "-99.995"), "dc IS NULL AND NULL"),
        (number("=", "dc", "5"), "dc = 5.00"),
        (Compare("=", "dc", 0.1, DOUBLE), "dc = 0.10"),
        (Compare("<", "n", float("inf"), DOUBLE), "n <= 2147483647"),
        (Compare("<=", "n", float("-inf"), DOUBLE), "n IS NULL AND NULL"),
        (Compare("=", "n", float("nan"), DOUBLE), "n IS NULL AND NULL"),
        (Compare("=", "g", 3, ColumnType("int")), "g = 3.0"),
        (number("=", "g", "1e400"), "g = 'Infinity'"),
        (Compare("=", "s", None, STRING), "NULL"),
        (Compare("<=>", "s", None, STRING), "s IS NULL"),
        (Compare("=", "c", "ab   ", STRING), "c = 'ab '"),
        (Compare(">", "c", "abc!", STRING), "c > 'abc'"),
        (Compare(">", "c", "abc\t", STRING), "c >= 'abc'"),
        (Compare("=", "c", "abcd", STRING), "c IS NULL AND NULL"),
        (Compare("=", "d", 86_400_000_000, TIMESTAMP), "d = DATE '1970-01-02'"),
        (Compare("<", "d", 86_400_000_001, TIMESTAMP), "d <= DATE '1970-01-02'"),
        (Compare("=", "ts", 1, parse_type("date")), "ts = TIMESTAMP '1970-01-02 00:00:00 UTC'"),
        (In("n", (Decimal("1.5"), Decimal(2)), NUMBER_TYPE, True), "n IN (2, NULL)"),
        (truth_of("OK"), "ok = true"),
        (In("n", (Decimal("1.5"),), NUMBER_TYPE, True), "NULL"),
        (In("N", (1,), TYPES["n"]), "n IN (1)"),
        (
            TupleIn(("N", "s"), ((Decimal(1), "a"), (Decimal("1.5"), "b")), (NUMBER_TYPE, STRING)),
            "(n, s) IN ((1, 'a')) OR (n IS NULL AND NULL AND s = 'b')",
        ),
        (Not(Or((IsNull("S"), Like("D", "2024%")))), "NOT (s IS NULL OR d LIKE '2024%')"),
    ],
)
def test_literals_are_fitted(node: Predicate, text: str) -> None:
    """A literal that the column cannot hold becomes a bound or a constant of the same meaning."""
    bound = bind(node, TYPES)
    assert str(bound) == text
    assert bind(bound, TYPES) == bound


def test_a_not_in_over_tuples_keeps_null_apart_from_false() -> None:
    """`(n, s) NOT IN ((1.5, 'b'))` is TRUE for n = 1 and NULL where n is NULL and s is 'b'."""
    node = bind(Not(TupleIn(("n", "s"), ((Decimal("1.5"), "b"),), (NUMBER_TYPE, STRING))), TYPES)
    assert evaluate(node, {"n": 1, "s": "b"}) is True
    assert evaluate(node, {"n": None, "s": "b"}) is None
    assert evaluate(node, {"n": None, "s": "c"}) is True


def test_never_is_null_for_null() -> None:
    """And else FALSE."""
    assert [evaluate(never("n"), {"n": value}) for value in (1, None)] == [False, None]


@pytest.mark.parametrize(
    "node",
    [
        number("=", "s", "5"),
        Compare("=", "n", True, parse_type("boolean")),
        Compare("=", "ok", 1, TYPES["n"]),
        Compare("=", "n", "x", STRING),
        truth_of("n"),
        Like("st", "x"),
        Compare("=", "st", 1, TYPES["n"]),
        Compare("=", "c", 5, TYPES["n"]),
        Compare("=", "d", 5, TYPES["n"]),
        Compare("=", "b", 5, TYPES["n"]),
    ],
)
def test_what_cannot_be_compared_is_refused(node: Predicate) -> None:
    """With the column's name and type."""
    with pytest.raises(ValueTypeError):
        bind(node, TYPES)


def test_an_unknown_column_is_refused_with_those_to_choose_from() -> None:
    """Hive dropped such a condition from a range silently."""
    with pytest.raises(ColumnNotFoundError, match=r"'nn'.*n, t, dc"):
        bind(And((IsNull("nn"),)), TYPES)


def lit(text: str | None, type: str) -> dict[str, Any]:
    """A literal as the bridge sends it."""
    return {"lit": text, "type": type}


def col(*path: str) -> dict[str, Any]:
    """A column as the bridge sends it."""
    return {"col": list(path)}


def fn(name: str, *arguments: Any) -> dict[str, Any]:
    """A function as the bridge sends it."""
    return {"fn": name, "args": list(arguments)}


def listed(column: Any, type: str, *values: str | None) -> dict[str, Any]:
    """A column with a list of literals as the bridge sends it."""
    return {"fn": "IN", **column, "type": type, "values": list(values)}


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (fn("=", col("N"), lit("10", "int")), "n = 10"),
        (fn("<>", col("n"), lit("10", "int")), "n != 10"),
        (fn(">", lit("10", "int"), col("n")), "n < 10"),
        (fn("<=>", col("n"), lit(None, "int")), "n IS NULL"),
        (
            fn("AND", fn("IS_NOT_NULL", col("n")), fn("NOT", fn("IS_NULL", col("s")))),
            "n IS NOT NULL AND s IS NOT NULL",
        ),
        (fn("OR", col("ok"), fn("=", col("ok"), lit("false", "boolean"))), "ok = true OR ok = false"),
        (fn("IN", col("n"), lit("3", "int"), lit("1", "int"), lit(None, "int")), "n IN (1, 3, NULL)"),
        (fn("IN", col("s"), lit(None, "string")), "s IN (NULL)"),
        (listed(col("N"), "int", "3", "1", None), "n IN (1, 3, NULL)"),
        (listed(col("n"), "int", "3", "1", "3"), "n IN (1, 3)"),
        (listed(col("n"), "int", None), "n IN (NULL)"),
        (listed(col("n"), "void", None), "n IN (NULL)"),
        (listed(col("n"), "bigint", "3", "9999999999"), "n IN (3)"),
        (listed(col("s"), "varchar(3)", "b", "a"), "s IN ('a', 'b')"),
        (listed(col("d"), "date", "19782"), "d IN (DATE '2024-02-29')"),
        (listed(col("dc"), "decimal(4,2)", "1.50", "2.00"), "dc IN (1.50, 2.00)"),
        (listed(col("b"), "binary", "00ff"), "b IN (X'00FF')"),
        (listed(col("ok"), "boolean", "TRUE"), "ok IN (true)"),
        (listed(col("g"), "double", "NaN", "-Infinity"), "g IN ('-Infinity', 'NaN')"),
        (listed(col("c"), "string", "a"), "c IN ('a  ')"),
        (fn("STARTS_WITH", col("s"), lit("5%", "string")), r"s LIKE '5\\%%'"),
        (fn("ENDS_WITH", col("s"), lit("x", "string")), "s LIKE '%x'"),
        (fn("CONTAINS", col("s"), lit("x", "string")), "s LIKE '%x%'"),
        (fn("CONTAINS", col("s"), lit(None, "string")), "NULL"),
        (fn("ALWAYS_TRUE"), "TRUE"),
        (fn("ALWAYS_FALSE"), "FALSE"),
        (lit("true", "boolean"), "TRUE"),
        (lit(None, "boolean"), "NULL"),
        (fn("=", col("d"), lit("19782", "date")), "d = DATE '2024-02-29'"),
        (fn("=", col("ts"), lit("-1", "timestamp")), "ts = TIMESTAMP '1969-12-31 23:59:59.999999 UTC'"),
        (fn("=", col("b"), lit("00ff", "binary")), "b = X'00FF'"),
        (fn("=", col("dc"), lit("1.50", "decimal(4,2)")), "dc = 1.50"),
        (fn("<", col("g"), lit("NaN", "double")), "g < 'NaN'"),
        (fn(">", col("g"), lit("-Infinity", "double")), "g > '-Infinity'"),
        (fn("=", col("f"), lit("1.5", "float")), "f = 1.5"),
        (fn("=", col("c"), lit("a", "string")), "c = 'a  '"),
        (fn("BOOLEAN_EXPRESSION", fn("=", col("n"), lit("1", "int"))), "n = 1"),
        (fn("=", col("n"), lit("1", "long")), "n = 1"),
    ],
)
def test_sparks_predicates_are_read(tree: Any, text: str) -> None:
    """Each of Spark's names, and literals as InternalRow holds them."""
    assert str(from_json(tree, TYPES)) == text


@pytest.mark.parametrize(
    ("tree", "reason", "columns"),
    [
        (fn("=", fn("CAST", col("n")), lit("1", "int")), "function on the column", ("n",)),
        (fn("=", col("n"), col("t")), "comparison of two columns", ("n", "t")),
        (fn("=", col("st", "a"), lit("1", "int")), "nested field", ("st",)),
        (fn("=", col("nope"), lit("1", "int")), "unknown column", ("nope",)),
        (fn("RLIKE", col("s"), lit("x", "string")), "function RLIKE", ("s",)),
        (fn("=", col("s"), lit("1", "int")), "literal not understood", ("s",)),
        (fn("=", col("n"), lit("x", "int")), "literal not understood", ("n",)),
        (fn("=", col("n")), "literal not understood", ("n",)),
        (fn("IN", col("n"), col("t")), "comparison of two columns", ("n", "t")),
        (listed(col("st", "a"), "int", "1"), "nested field", ("st",)),
        (listed(col("n"), "int", "x"), "literal not understood", ("n",)),
        (listed(col("n"), "variant", "1"), "literal of type", ("n",)),
        (listed(col("n"), "int", "1") | {"values": None}, "literal not understood", ("n",)),
        (fn("STARTS_WITH", col("n"), lit("x", "string")), "not text", ("n",)),
        (fn("=", col("n"), lit("1", "variant")), "literal of type", ("n",)),
        (fn("=", col("n"), lit("86400000000", "interval day")), "literal not understood", ("n",)),
        ({}, "literal not understood", ()),
        (None, "literal not understood", ()),
        ([], "literal not understood", ()),
        (col("n"), "no condition", ("n",)),
        (lit("5", "int"), "no condition", ()),
        (fn("=", lit("1", "int"), lit("1", "int")), "", ()),
        ({"fn": "=", "args": 5}, "literal not understood", ()),
        ({"col": []}, "nested field", ()),
        ({"fn": None}, "function", ()),
    ],
)
def test_what_is_not_understood_is_opaque_with_a_reason(
    tree: Any, reason: str, columns: tuple[str, ...]
) -> None:
    """And never an error, as Spark evaluates the condition again."""
    found = from_json(tree, TYPES)
    assert isinstance(found, Opaque)
    assert reason in found.reason
    assert found.columns == columns
    assert str(found)


def test_one_side_is_used_when_the_other_is_not_understood() -> None:
    """An AND of something and something else prunes by the first."""
    found = from_json(fn("AND", fn("=", col("n"), lit("1", "int")), fn("F", col("s"))), TYPES)
    assert isinstance(found, And)
    assert str(found) == "n = 1 AND F(s)"


@pytest.mark.parametrize("joined", ["AND", "OR"])
def test_a_long_chain_is_no_deep_tree(joined: str) -> None:
    """`reduce(or_, conditions)` is as deep as it is long; NOT in NOT as well."""
    tree: Any = fn("=", col("n"), lit("0", "int"))
    node: Predicate = Compare("=", "n", 0, TYPES["n"])
    for n in range(1, 3000):
        equal = fn("!=", col("n"), lit(str(n), "int"))
        tree = fn(joined, tree, equal) if n % 2 else fn(joined, equal, tree)
        node = (And if joined == "AND" else Or)((node, Compare("!=", "n", n, TYPES["n"])))
    for found in (from_json(tree, TYPES), bind(node, TYPES), normalise(node)):
        assert isinstance(found, And | Or)
        assert len(found.children) == 3000
    bound = bind(node, TYPES)
    for _ in range(3001):
        node = Not(node)
    assert bind(node, TYPES) == Not(bound)


def test_what_is_too_deep() -> None:
    """Spark's conditions are left to Spark, others refused."""
    tree: Any = fn("=", col("n"), lit("0", "int"))
    node: Predicate = Compare("=", "n", 0, TYPES["n"])
    for n in range(3000):
        tree = fn("OR" if n % 2 else "AND", tree, fn("=", col("s"), lit("a", "string")))
        node = (Or if n % 2 else And)((node, IsNull("s")))
        if n == MAX_CONDITION_DEPTH - 1:
            assert not opaque_parts(from_json(tree, TYPES))
            assert depth(bind(node, TYPES)) == MAX_CONDITION_DEPTH
    found = from_json(tree, TYPES)
    assert opaque_parts(found)
    assert columns_of(found) == {"n", "s"}
    with pytest.raises(UnsupportedError, match=f"more than {MAX_CONDITION_DEPTH} deep"):
        bind(node, TYPES)
