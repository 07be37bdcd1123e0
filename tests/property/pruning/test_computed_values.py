"""Values of a computed key leave out only files that hold none of them, alone and in tuples."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from parquetry.types import Value, order_key, parse_type
from tests.property.pruning.test_found_values import LAYOUTS, kept, tables
from tests.support.effort import examples
from tests.support.spark.packed_values import membership, tuples
from tests.support.tables.generated_tables import POOLS

K = {"col": ["K"]}


class Computed(NamedTuple):
    """A function of the column `k` as the bridge sends it, and its value in Spark without ANSI."""

    tree: dict[str, Any]
    of: Callable[[Any], Value]


def call(name: str, of_class: str, type: str, *args: Any, **more: Any) -> dict[str, Any]:
    """Return the tree of a function; numbers among the arguments are literals of its type."""
    trees = [each if isinstance(each, dict) else {"lit": str(each), "type": type} for each in args]
    return {"fn": name, "class": of_class, "type": type, "args": trees, **more}


def wrapped(bits: int, value: int) -> int:
    """Return a whole number as Java has it in so many bits."""
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def of_numbers(type: str, bits: int) -> dict[str, Computed]:
    """Return functions of whole numbers."""
    wide = call("CAST", "Cast", "decimal(20,0)", K, mode="ANSI")
    return {
        "k + 1": Computed(call("+", "Add", type, K, 1), lambda k: wrapped(bits, k + 1)),
        "3 - k": Computed(call("-", "Subtract", type, 3, K), lambda k: wrapped(bits, 3 - k)),
        "-k": Computed(call("NEGATIVE", "UnaryMinus", type, K), lambda k: wrapped(bits, -k)),
        "k * 2": Computed(call("*", "Multiply", type, K, 2), lambda k: wrapped(bits, k * 2)),
        "k + k": Computed(call("+", "Add", type, K, K), lambda k: wrapped(bits, k + k)),
        "greatest(k, 1)": Computed(call("GREATEST", "Greatest", type, K, 1), lambda k: max(k, 1)),
        "CAST(k AS decimal(20,0))": Computed(wide, lambda k: k),
        "hash(k)": Computed(call("HASH", "Murmur3Hash", type, K), lambda k: k % 7),
    }


FUNCTIONS: dict[str, dict[str, Computed]] = {
    "int": of_numbers("int", 32),
    "bigint": of_numbers("bigint", 64),
    "double": {
        "k + 1": Computed(call("+", "Add", "double", K, 1.0), lambda k: k + 1.0),
        "-k": Computed(call("NEGATIVE", "UnaryMinus", "double", K), lambda k: -k),
    },
    "date": {
        "date_add(k, 1)": Computed(
            {**call("DATE_ADD", "DateAdd", "date", K), "args": [K, {"lit": "1", "type": "int"}]},
            lambda k: wrapped(32, k + 1),
        ),
    },
    "timestamp": {
        "CAST(k AS date)": Computed(
            call("CAST", "Cast", "date", K, mode="LEGACY", offsets=[[None, 0]]), lambda k: k // 86_400_000_000
        ),
    },
    "string": {"upper(k)": Computed(call("UPPER", "Upper", "string", K), lambda k: k.upper())},
}
CASES = [(type, name) for type, functions in FUNCTIONS.items() for name in functions]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("text", "name"), CASES)
def test_every_file_with_a_match_is_kept(text: str, name: str, layout: str) -> None:
    """A file with a value of the key is kept, for few values and many, with NULL, NaN and sums that wrap."""
    function, pool, chance = FUNCTIONS[text][name], POOLS[text], random.Random(f"{text} {name} {layout}")
    result = parse_type(function.tree["type"])
    for _ in range(examples(30, least=5)):
        if layout == "files":
            contents: list[list[Value]] = [
                chance.choices([None, *pool], k=chance.randint(1, 3)) for _ in range(8)
            ]
        else:
            contents = [[value] for value in {order_key(value): value for value in pool}.values()]
        results = [function.of(value) for value in pool]
        wanted = chance.sample(results, chance.randint(1, len(results)))
        if chance.random() < 0.3 and text in ("int", "bigint"):
            wanted += list(range(40, 80))  # more values than become ranges
        tree = membership("k", result, wanted)
        tree = {**{part: tree[part] for part in tree if part != "col"}, "of": function.tree}
        found = kept(tables(text, layout, contents), tree)
        keys = {order_key(value) for value in wanted}
        assert found >= {
            f"f{number}"
            for number, values in enumerate(contents)
            if any(value is not None and order_key(function.of(value)) in keys for value in values)
        }


def test_files_are_left_out() -> None:
    """Files without a value of the key are left out by bounds, buckets and partitions."""
    contents: list[list[Value]] = [[0, 9], [10, 19], [25, None], [2**31 - 1]]
    of = FUNCTIONS["int"]["k + 1"].tree
    for wanted, expected in (
        ([11, 12], {"f1", "f3"}),
        ([11, *range(100, 200)], {"f1", "f3"}),
        ([500], {"f3"}),
        ([], set()),
    ):
        tree = {"fn": "IN", "of": of, "type": "int", "values": [str(each) for each in wanted]}
        assert kept(tables("int", "files", contents), tree) == expected
    single: list[list[Value]] = [[value] for value in (-(2**31), 0, 1, 255, 2**31 - 1)]
    tree = {"fn": "IN", "of": of, "type": "int", "values": ["1", "256"]}
    assert kept(tables("int", "partitions", single), tree) == {"f1", "f3", "f4"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS["int"])
def test_tuples_with_a_computed_key(name: str, layout: str) -> None:
    """A file with one of many pairs of a column and a computed key is kept, with NULL for the column."""
    function, pool, chance = FUNCTIONS["int"][name], POOLS["int"], random.Random(f"{name} {layout}")
    result = parse_type(function.tree["type"])
    for count in (*[3] * examples(20, least=4), 150):
        contents = [[value] for value in (None, *pool)]
        if layout == "files":
            contents = [chance.choices([None, *pool], k=chance.randint(1, 3)) for _ in range(8)]
        everywhere = list(itertools.product([None, *pool], [*map(function.of, pool), *range(40, 60)]))
        pairs = chance.sample(everywhere, min(count, len(everywhere)))
        tree = tuples({"k": parse_type("int"), "of": result}, pairs)
        tree["args"][1] = {
            **{part: tree["args"][1][part] for part in tree["args"][1] if part != "col"},
            "of": function.tree,
        }
        found = kept(tables("int", layout, contents), tree)
        assert found >= {
            f"f{number}"
            for number, values in enumerate(contents)
            if any(value is not None and (value, function.of(value)) in pairs for value in values)
        }
