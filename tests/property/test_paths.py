"""A partition's values survive the way into a directory name and back."""

import math
from decimal import Decimal

from hypothesis import given, strategies as st

from parquetry.locations.partition_path import (
    escape_path_name,
    parse_partition_path,
    partition_path,
    partition_paths,
    stored_value,
    unescape_path_name,
)
from parquetry.types import order_key, parse_type, to_float32

NASTY = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("\x00\x01\n\x7f%/=:{}[]^\\'\"#*? .~é\u0130\u202e\U0001f600"),
    ),
    max_size=12,
)


def integers(bits):
    return st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


VALUES = {
    "boolean": st.booleans(),
    "tinyint": integers(8),
    "smallint": integers(16),
    "int": integers(32),
    "bigint": integers(64),
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(10,2)": st.integers(-(10**10) + 1, 10**10 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    "string": NASTY,
    "varchar(20)": NASTY,
    "char(12)": NASTY.map(lambda text: text.ljust(12)),
    "binary": NASTY.map(str.encode),
    "date": st.integers(-800_000, 4_000_000),
    "timestamp": st.integers(-70_000_000_000_000_000, 300_000_000_000_000_000),
    "timestamp_ntz": st.integers(-70_000_000_000_000_000, 300_000_000_000_000_000),
}
COLUMNS = st.sampled_from(sorted(VALUES)).flatmap(
    lambda name: st.tuples(NASTY.filter(bool), st.just(parse_type(name)), st.none() | VALUES[name])
)


@given(NASTY)
def test_escaping_round_trips(text):
    """Any text comes back from its escaped form, which has no slash in it."""
    assert unescape_path_name(escape_path_name(text)) == text
    assert "/" not in escape_path_name(text)


@given(st.lists(COLUMNS, max_size=4))
def test_partition_paths_round_trip(columns):
    """Values of every type come back from the path in their own Python types, also for upper-case columns."""
    names, types, values = zip(*columns, strict=True) if columns else ((), (), ())
    path = partition_path(names, types, values)
    assert path.count("/") == max(len(columns) - 1, 0)
    read = parse_partition_path(path, [name.upper() if name.isascii() else name for name in names], types)
    for value, back in zip(map(stored_value, values), read, strict=True):
        assert type(back) is type(value)
        assert order_key(back) == order_key(value)


@given(st.floats(width=32))
def test_floats_keep_every_bit(value):
    """The text of a single-precision number in a path is read as that very number."""
    (back,) = parse_partition_path(
        partition_path(["f"], [parse_type("float")], [value]), ["f"], [parse_type("float")]
    )
    assert math.isnan(back) if math.isnan(value) else back == value == to_float32(back)


@given(st.data())
def test_paths_of_many_partitions(data):
    """Paths of many partitions equal the paths of each one, also where values repeat."""
    kinds = data.draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=3))
    names, types = [f"{name} {place}" for place, name in enumerate(kinds)], list(map(parse_type, kinds))
    row = st.tuples(*((st.none() | VALUES[name]).map(stored_value) for name in kinds))
    some = data.draw(st.lists(row, max_size=4))
    rows = data.draw(st.lists(st.sampled_from(some), max_size=6)) if some else []
    assert partition_paths(names, types, rows) == [partition_path(names, types, row) for row in rows]
