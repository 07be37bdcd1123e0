"""Rows that are hashed one by one have the buckets of rows that are hashed together."""

from __future__ import annotations

import random

import pytest

from parquetry.errors import ValueTypeError
from parquetry.hashing.bucket_hash import FEW_ROWS, bucket_numbers
from parquetry.types import Value, parse_type

_RANGES = {
    "tinyint": (-(2**7), 2**7 - 1),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "date": (-(10**6), 10**6),
    "bigint": (-(2**63), 2**63 - 1),
    "timestamp": (-(2**60), 2**60),
    "timestamp_ntz": (-(2**60), 2**60),
}
_BUCKETS = 1009


@pytest.mark.parametrize("name", [*_RANGES, "string", "binary", "boolean", "double", "decimal(30,2)", "void"])
def test_a_row_alone_has_the_bucket_that_it_has_among_others(name: str) -> None:
    """It has the bucket that NumPy's arrays give to many rows at once, with a NULL and a text beside it."""
    source = random.Random(1)
    types = [parse_type(name), parse_type("string")]

    def value() -> Value:
        if name in _RANGES:
            return source.choice([*_RANGES[name], 0, -1, source.randint(*_RANGES[name])])
        content = bytes(source.randrange(256) for _ in range(source.randint(0, 13)))
        return {
            "string": source.choice([content.hex()[: source.randint(0, 26)], "é€😀"]),
            "binary": content,
            "boolean": source.random() < 0.5,
            "double": source.choice([0.0, -0.0, float("nan"), source.random()]),
        }.get(name)

    rows = [(value(), source.choice([None, "", "x" * source.randint(1, 9)])) for _ in range(300)]
    together = bucket_numbers("spark", _BUCKETS, types, rows)
    assert [bucket_numbers("spark", _BUCKETS, types, [row])[0] for row in rows] == together
    few = [
        bucket_numbers("spark", _BUCKETS, types, rows[at : at + FEW_ROWS]) for at in range(0, 300, FEW_ROWS)
    ]
    assert [bucket for some in few for bucket in some] == together


def test_a_value_beyond_its_type_has_no_bucket() -> None:
    """An integer with too many bits is refused, as it is among many."""
    for rows in ([(2**31,)], [(2**31,)] * (FEW_ROWS + 1)):
        with pytest.raises(ValueTypeError):
            bucket_numbers("spark", 8, [parse_type("int")], rows)
