"""Directory names, letter for letter as Spark writes them."""

import pytest

from parquetry.errors import ValueTypeError
from parquetry.locations.partition_path import (
    DEFAULT_PARTITION,
    escape_path_name,
    parse_partition_path,
    partition_path,
    stored_value,
    unescape_path_name,
)
from parquetry.types import parse_type

INT, STRING, DATE, TIMESTAMP = (parse_type(name) for name in ("int", "string", "date", "timestamp"))

# What org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils gave for each character below 256.
SPARK_ESCAPES = {chr(code): f"%{code:02X}" for code in range(1, 32)} | {
    '"': "%22", "#": "%23", "%": "%25", "'": "%27", "*": "%2A", "/": "%2F", ":": "%3A", "=": "%3D",
    "?": "%3F", "[": "%5B", "\\": "%5C", "]": "%5D", "^": "%5E", "{": "%7B", "\x7f": "%7F",
}  # fmt: skip


def test_escapes_what_spark_escapes_and_nothing_else():
    """All characters up to 255 come out as Spark's own table of escapes has them."""
    for code in range(1, 256):
        assert escape_path_name(chr(code)) == SPARK_ESCAPES.get(chr(code), chr(code))


def test_escapes_nul_which_no_file_system_takes():
    """Though it is not among the characters that Spark escapes."""
    assert escape_path_name("a\0") == "a%00"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("%", "%"),
        ("%4", "%4"),
        ("%4g", "%4g"),
        ("a%2", "a%2"),
        ("%%41", "%A"),
        ("%+1", "%+1"),
        ("%C3%A9", "Ã©"),
        ("%7f%7F", "\x7f\x7f"),
        ("%252F", "%2F"),
    ],
)
def test_unescapes_as_spark_does(name, text):
    """A percent sign without two hexadecimal digits after it stays; no text is unescaped twice."""
    assert unescape_path_name(name) == text


def test_null_and_empty_string_share_the_default_directory():
    """Both are written as Hive's default partition, which is read as NULL; 0 and false are values."""
    for value in (None, ""):
        assert partition_path(["s"], [STRING], [value]) == f"s={DEFAULT_PARTITION}"
        assert stored_value(value) is None
    assert parse_partition_path(f"s={DEFAULT_PARTITION}", ["s"], [STRING]) == (None,)
    assert stored_value(DEFAULT_PARTITION) is None
    assert stored_value(0) == 0
    assert stored_value(False) is False


def test_column_names_are_escaped_and_found_in_any_case():
    """`a=b` is `a%3Db` in a path."""
    path = partition_path(["a=b", "C"], [INT, STRING], [1, "x y"])
    assert path == "a%3Db=1/C=x y"
    assert parse_partition_path("A%3Db=1/c=x y", ["a=b", "C"], [INT, STRING]) == (1, "x y")


def test_timestamps_are_written_in_utc_and_read_in_a_zone():
    """One in the path without a zone of its own is a clock's time in the zone given."""
    assert partition_path(["t"], [TIMESTAMP], [500_000]) == "t=1970-01-01 00%3A00%3A00.5"
    read = parse_partition_path("t=1970-01-01 01%3A00%3A00", ["t"], [TIMESTAMP], "Europe/Berlin")
    assert read == (0,)


def test_an_unpartitioned_table_is_the_empty_path():
    """Slashes at the ends of a path say nothing."""
    assert partition_path([], [], []) == ""
    assert parse_partition_path("", [], []) == ()
    assert parse_partition_path("/a=1/", ["a"], [INT]) == (1,)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("p=1", ["'p=1'", "1 levels", "p=…/s=…"]),
        ("p=1/s=a/z=3", ["3 levels"]),
        ("q=1/s=a", ["'q=1/s=a'", "'q=1'", "p=…"]),
        ("p/s=a", ["'p'", "p=…"]),
        ("p=/s=a", ["no value", "'p'", DEFAULT_PARTITION]),
        ("p=abc/s=a", ["'p=abc/s=a'", "'abc'", "'p'", "does not fit int", "string"]),
        ("p=3000000000/s=a", ["3000000000"]),
    ],
)
def test_paths_that_do_not_fit_are_told_with_the_remedy(path, told):
    """The error names the path, what is wrong in it, and the form that belongs there."""
    with pytest.raises(ValueTypeError) as error:
        parse_partition_path(path, ["p", "s"], [INT, STRING])
    for text in told:
        assert text in error.value.message
