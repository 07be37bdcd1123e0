"""The property `bucket-begin-partition`: a value of the first partition column, or a condition."""

from __future__ import annotations

import pytest

from parquetry.definition.bucketing import bucket_begin
from parquetry.errors import PropertyError
from parquetry.types import parse_type


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("string", "2024-01-01", "p >= '2024-01-01'"),
        ("string", "'2024-01-01'", "p >= '2024-01-01'"),
        ("string", "it's", "p >= 'it''s'"),
        ("string", "p > 'a'", "p > 'a'"),
        ("string", "P > 'a' OR q = 1", "p > 'a' OR q = 1"),
        ("string", "q", "p >= 'q'"),
        ("string", "'a=b'", "p >= 'a=b'"),
        ("int", "7", "p >= 7"),
        ("date", "2024-01-01", "p >= DATE '2024-01-01'"),
        ("date", "p >= '2024-01-01'", "p >= DATE '2024-01-01'"),
        ("timestamp", "2024-01-01 12:00:00", "p >= TIMESTAMP '2024-01-01 12:00:00 UTC'"),
        ("boolean", "true", "p >= true"),
        ("decimal(5,2)", "1.5", "p >= 1.50"),
    ],
)
def test_what_is_read(type: str, text: str, expected: str) -> None:
    """A condition that names a column is one; all else is a value, with quotes or without."""
    types = {"p": parse_type(type), "q": parse_type("int")}
    assert str(bucket_begin({"bucket-begin-partition": text}, types)) == expected


@pytest.mark.parametrize(
    ("types", "text", "says"),
    [
        ({"p": "int"}, "yesterday", "neither a value of p"),
        ({"p": "date"}, "p >", "no condition on partition columns"),
        ({"p": "string"}, "was_p >= '2024-01-01'", "was_p"),
        ({"p": "string"}, "was_p IN ('a')", "was_p"),
        ({"p": "date"}, "id > 5", "id"),
        ({}, "7", "no partition columns"),
    ],
)
def test_what_cannot_be_read(types: dict[str, str], text: str, says: str) -> None:
    """The error names the property, its text, and both things that it could be."""
    with pytest.raises(PropertyError, match="bucket-begin-partition") as caught:
        bucket_begin(
            {"bucket-begin-partition": text}, {name: parse_type(type) for name, type in types.items()}
        )
    assert says in str(caught.value)
    assert text in str(caught.value)


def test_a_table_that_does_not_say() -> None:
    """It has no condition."""
    assert bucket_begin({"other": "x"}, {"p": parse_type("int")}) is None
