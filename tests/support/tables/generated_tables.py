"""Strategies for columns of every type, rows with NULLs, and conditions on them."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache
from random import Random
from typing import TypeAlias

from hypothesis import strategies as st

from parquetry.predicate.nodes import (
    OPERATORS,
    And,
    BooleanConstant,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    truth_of,
)
from parquetry.types import ColumnType, Value, parse_type

_DAY = 19_782
POOLS: dict[str, list[Value]] = {
    "boolean": [False, True],
    "tinyint": [-128, -1, 0, 1, 126, 127],
    "smallint": [-32768, -257, -1, 0, 255, 256, 32767],
    "int": [-(2**31), -256, -1, 0, 1, 2, 254, 255, 256, 65535, 2**31 - 1],
    "bigint": [-(2**63), -1, 0, 1, 255, 2**53 + 1, 2**63 - 1],
    "float": [-math.inf, -1.5, -0.0, 0.0, 0.10000000149011612, 3.0, math.inf, math.nan],
    "double": [-math.inf, -1.5, -0.0, 0.0, 0.1, 3.0, 1e300, math.inf, math.nan],
    "decimal(5,2)": [
        Decimal(t) for t in ("-999.99", "-12.50", "-0.01", "0.00", "0.10", "12.50", "100.00", "999.99")
    ],
    "string": [
        "",
        "a",
        "ab",
        "abc",
        "abcd",
        "b",
        "a\x00",
        "a\x00b",
        "a\x01",
        "\x00",
        "\x01",
        "é",
        "中",
        "z",
        "A",
        "😀",
    ],
    "varchar(4)": ["", "a", "ab", "abcd", "b%", "b_", "zz"],
    "char(3)": ["   ", "a  ", "ab ", "abc", "b\x01 ", "zzz"],
    "binary": [b"", b"\x00", b"\x01", b"\x00\x01", b"a", b"ab", b"\xff", b"\xff\xff"],
    "date": [-(2**31), -1, 0, _DAY, _DAY + 1, 2**31 - 1],
    "timestamp": [-(2**63), -1, 0, _DAY * 86_400_000_000, 2**63 - 1],
    "timestamp_ntz": [-1, 0, 255, 256],
}
TYPES = [parse_type(text) for text in POOLS]
PATTERNS = [
    "%",
    "",
    "a",
    "a%",
    "ab%",
    "%b",
    "%b%",
    "a_c",
    "a%c",
    "_",
    "%_",
    "a\\%",
    "b\\_",
    "é%",
    "a\x00%",
    "a  ",
    "abc%d%",
]

types = st.sampled_from(TYPES)


@cache
def values(type: ColumnType) -> st.SearchStrategy[Value]:
    """Values of a type, NULL among them: mostly from a pool, so that rows and literals meet."""
    return st.one_of(st.none(), literals(type), literals(type))


@cache
def literals(type: ColumnType) -> st.SearchStrategy[Value]:
    """Values of a type, but NULL."""
    return st.sampled_from(POOLS[str(type)])


@cache
def free_values(type: ColumnType) -> st.SearchStrategy[Value]:
    """Values of a type from all of its range, NULL among them."""
    bits = {
        "tinyint": 8,
        "smallint": 16,
        "int": 32,
        "bigint": 64,
        "date": 32,
        "timestamp": 64,
        "timestamp_ntz": 64,
    }
    match type.name:
        case "boolean":
            drawn: st.SearchStrategy[Value] = st.booleans()
        case "float" | "double":
            drawn = st.floats(width=32 if type.name == "float" else 64)
        case "decimal":
            limit = 10**type.precision - 1
            drawn = st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-type.scale))
        case "string":
            drawn = st.text(st.characters(codec="utf-8") | st.sampled_from("\x00\x01\x02"), max_size=8)
        case "varchar":
            drawn = st.text(st.characters(codec="utf-8"), max_size=type.length)
        case "char":
            drawn = st.text(st.characters(codec="utf-8"), max_size=type.length).map(
                lambda t: t.ljust(type.length)
            )
        case "binary":
            drawn = st.binary(max_size=8)
        case name:
            limit = 1 << (bits[name] - 1)
            drawn = st.integers(-limit, limit - 1)
    return st.one_of(values(type), drawn)


Columns: TypeAlias = tuple[tuple[str, ColumnType], ...]


def _shapes() -> list[Columns]:
    """Every type alone, and every type as each column of two and of three."""
    chance = Random(7)
    columns: list[list[ColumnType]] = [[type] for type in TYPES]
    for width in (2, 3):
        shuffled = [chance.sample(TYPES, len(TYPES)) for _ in range(width)]
        columns += [list(found) for found in zip(*shuffled, strict=True)]
    return [tuple(zip("abc", found, strict=False)) for found in columns]


SHAPES = _shapes()


def tables(max_columns: int = 3) -> st.SearchStrategy[Columns]:
    """The key columns of a table: `a`, `b`, `c`. A fixed choice of types, as making strategies is slow."""
    return st.sampled_from([shape for shape in SHAPES if len(shape) <= max_columns])


def rows(columns: Columns, size: int = 40) -> st.SearchStrategy[list[tuple[Value, ...]]]:
    """Rows of a table, by a seed: drawing each value would take most of the time."""

    def make(seed: int) -> list[tuple[Value, ...]]:
        chance = Random(seed)
        pools = [[None, *POOLS[str(type)]] for _, type in columns]
        return [tuple(chance.choice(pool) for pool in pools) for _ in range(chance.randint(0, size))]

    return st.integers(0, 2**32).map(make)


@cache
def predicates(columns: Columns, opaque: bool = False) -> st.SearchStrategy[Predicate]:
    """Conditions on columns, three and more levels deep."""
    leaf = st.sampled_from(columns).flatmap(lambda column: _leaves(*column))
    if len(columns) > 1:
        leaf = st.one_of(leaf, leaf, leaf, _tuples(columns))
    rare: list[Predicate] = [BooleanConstant(True), BooleanConstant(False), BooleanConstant(None)]
    if opaque:
        rare.append(Opaque("f(a)", ("a",), "function on the column"))
    leaf = st.one_of(*[leaf] * 8, st.sampled_from(rare))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map(lambda found: And(tuple(found))),
            st.lists(inner, min_size=1, max_size=4).map(lambda found: Or(tuple(found))),
            inner.map(Not),
        ),
        max_leaves=10,
    )


def _leaves(name: str, type: ColumnType) -> st.SearchStrategy[Predicate]:
    found: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, st.sampled_from(OPERATORS), st.just(name), literals(type), st.just(type)),
        st.builds(Compare, st.sampled_from(OPERATORS), st.just(name), values(type), st.just(type)),
        st.builds(
            In, st.just(name), st.lists(literals(type), max_size=4).map(tuple), st.just(type), st.booleans()
        ),
        st.just(IsNull(name)),
    ]
    if type.name == "boolean":
        found.append(st.just(truth_of(name)))
    if type.name != "binary":
        found.append(st.builds(Like, st.just(name), st.sampled_from(PATTERNS), st.just("\\"), st.just(type)))
    return st.one_of(*found)


def _tuples(columns: Columns) -> st.SearchStrategy[Predicate]:
    @st.composite
    def tuple_in(draw: st.DrawFn) -> Predicate:
        chosen = draw(st.permutations(columns))[: draw(st.integers(1, len(columns)))]
        found = draw(st.lists(st.tuples(*(values(type) for _, type in chosen)), max_size=4))
        return TupleIn(tuple(n for n, _ in chosen), tuple(found), tuple(t for _, t in chosen))

    return tuple_in()
