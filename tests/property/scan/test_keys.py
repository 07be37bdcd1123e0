"""Keys sort as their values do, and give their values back."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from parquetry.key_schema import KeyField, KeySchema
from parquetry.keys import decode_value, encode_value, field_count, split_fields, successor
from parquetry.types import Value, order_key, parse_type
from tests.support.effort import examples
from tests.support.tables.generated_tables import free_values, tables, types, values


class Descending:
    """A sort key turned round."""

    def __init__(self, key: object) -> None:
        self.key = key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and self.key == other.key

    def __lt__(self, other: Descending) -> bool:
        return bool(other.key < self.key)  # type: ignore[operator]

    __hash__ = None  # type: ignore[assignment]


def ordered(row: tuple[Value, ...], descending: list[bool]) -> list[object]:
    """Give the sort key of a row."""
    keys = [order_key(value) for value in row]
    return [Descending(key) if down else key for key, down in zip(keys, descending, strict=True)]


@settings(max_examples=examples(500), deadline=None, derandomize=True)
@given(st.data())
def test_bytes_are_in_the_order_of_the_values(data: st.DataObject) -> None:
    """For rows of any types, NULLs and directions: bytes(a) < bytes(b) exactly if a sorts before b."""
    columns = data.draw(tables())
    kinds = [type for _, type in columns]
    descending = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    row = st.tuples(*(free_values(type) for type in kinds))
    left, right = data.draw(row), data.draw(row)
    left_bytes, right_bytes = map(KeySchema.from_columns(columns, descending).encode, (left, right))
    left_order, right_order = ordered(left, descending), ordered(right, descending)
    assert (left_bytes < right_bytes) == (left_order < right_order)
    assert (left_bytes == right_bytes) == (left_order == right_order)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.data())
def test_a_key_gives_its_values_back(data: st.DataObject) -> None:
    """Decoding undoes encoding, from the beginning and by the n-th field from the end."""
    columns = data.draw(tables())
    kinds = [type for _, type in columns]
    descending = data.draw(st.lists(st.booleans(), min_size=len(kinds), max_size=len(kinds)))
    row = data.draw(st.tuples(*(free_values(type) for type in kinds)))
    schema = KeySchema.from_columns(columns, descending)
    key = schema.encode(row)
    decoded = schema.decode(key)
    assert schema.fits(key)
    assert field_count(key) == len(kinds)
    assert list(map(order_key, decoded)) == list(map(order_key, row))
    assert [str(value) for value in decoded] == [
        "0.0" if value == 0 and isinstance(value, float) else str(value) for value in row
    ]
    for position, type in enumerate(kinds):
        cut = split_fields(key, len(kinds))[position]
        assert cut == schema.fields[position].encode(row[position])
        assert cut == encode_value(type, row[position], descending[position])
        assert decode_value(type, b"??" + cut, 2, descending[position])[1] == 2 + len(cut)


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.data())
def test_no_field_begins_another(data: st.DataObject) -> None:
    """So a prefix of whole fields selects exactly the keys that have these values."""
    type = data.draw(types)
    left, right = (encode_value(type, data.draw(values(type))) for _ in range(2))
    assert left == right or not (left.startswith(right) or right.startswith(left))


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(st.binary(max_size=6), st.binary(max_size=6), st.binary(max_size=6))
def test_the_successor_follows_everything_with_the_prefix_and_nothing_else(
    prefix: bytes, rest: bytes, other: bytes
) -> None:
    """prefix + anything < successor(prefix), and what is between has the prefix."""
    end = successor(prefix)
    assert end is None or prefix + rest < end
    if prefix <= other and (end is None or other < end):
        assert other.startswith(prefix)


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(st.data())
def test_fields_in_another_order_are_the_same_fields(data: st.DataObject) -> None:
    """A key of a reordered schema holds the same bytes field by field, each with its own direction."""
    columns = data.draw(tables())
    schema = KeySchema.from_columns(
        columns, data.draw(st.lists(st.booleans(), min_size=len(columns), max_size=len(columns)))
    )
    order = data.draw(st.permutations(range(len(columns))))
    row = data.draw(st.tuples(*(free_values(type) for _, type in columns)))
    other = schema.reorder(order)
    fields = split_fields(schema.encode(row), len(columns))
    moved = split_fields(other.encode([row[position] for position in order]), len(columns))
    assert moved == [fields[position] for position in order]
    for name, _ in columns:
        assert moved[other.position(name)] == fields[schema.position(name)]
        assert other.field(name) == schema.field(name)


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(st.data(), st.booleans())
def test_a_prefix_begins_the_fields_of_the_texts_that_begin_with_it(data: st.DataObject, down: bool) -> None:
    """A prefix begins the fields of the texts that begin with it, and no others; no prefix begins NULL."""
    type = parse_type("string")
    field = KeyField("s", type, down)
    text, prefix = (data.draw(free_values(type).filter(lambda value: value is not None)) for _ in range(2))
    assert field.encode(text).startswith(field.prefix(prefix)) == text.startswith(prefix)
    assert field.encode(None) == field.null
    assert not field.null.startswith(field.prefix(""))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(st.data())
def test_many_keys_give_their_values_back(data: st.DataObject) -> None:
    """All at once they are decoded as each by itself, whole numbers without NULL among them or not."""
    whole = st.sampled_from(["tinyint", "smallint", "int", "bigint", "date", "timestamp"]).map(parse_type)
    named = st.lists(whole, max_size=3).map(lambda kinds: [(f"c{n}", kind) for n, kind in enumerate(kinds)])
    columns = data.draw(tables() | named)
    descending = data.draw(st.lists(st.booleans(), min_size=len(columns), max_size=len(columns)))
    schema = KeySchema.from_columns(columns, descending)
    fields = [free_values(type) for _, type in columns]
    if data.draw(st.booleans()):
        fields = [field.filter(lambda value: value is not None) for field in fields]
    keys = [schema.encode(row) for row in data.draw(st.lists(st.tuples(*fields), max_size=4))]
    assert repr(schema.decode_all(keys)) == repr([schema.decode(key) for key in keys])
