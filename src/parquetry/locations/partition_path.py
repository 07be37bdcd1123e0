"""Partition values in directory names, letter for letter as Hive and Spark write them.

Only text is handled here. `adoption.discover` finds the directories that exist, and `parquetry.types` turns
values into text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from parquetry.errors import ValueTypeError
from parquetry.types import ColumnType, Value, text_from_value, value_from_text

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The directory's value for NULL, and for the empty string, which no directory name can hold."""

MAX_NAME_BYTES = 255
"""The longest name of a directory, in bytes, escapes included, that most file systems accept."""

_HEX_PAIR = re.compile("%([0-9a-fA-F]{2})")
# Spark's ExternalCatalogUtils.charToEscape, and NUL, which Spark does not escape and no file system accepts.
_ESCAPES = {ord(char): f"%{ord(char):02X}" for char in [*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"]}


def escape_path_name(text: str) -> str:
    r"""Return `text` escaped for a directory's name.

    ASCII's control characters and `" # % ' * / : = ? \ { [ ] ^` become `%XX`. All other characters stay,
    including blanks and non-ASCII (Spark's `ExternalCatalogUtils.escapePathName`).

    >>> escape_path_name("a/b: {z} é")
    'a%2Fb%3A %7Bz} é'
    """
    return text.translate(_ESCAPES)


def unescape_path_name(name: str) -> str:
    """Return the text of an escaped directory's name. A `%` without two hex digits stays.

    >>> unescape_path_name("a%2Fb 100%")
    'a/b 100%'
    """
    return _HEX_PAIR.sub(lambda pair: chr(int(pair.group(1), 16)), name) if "%" in name else name


def stored_value(value: Value) -> Value:
    """Return a partition value in the form of keys: the empty string is NULL, and zero has no sign.

    Writers must use this value. Otherwise `''` and NULL would be two partitions in one directory. And files
    of -0.0 would be written to `d=-0.0`, but read from `d=0.0`, because -0.0 and 0.0 have the same key.
    """
    if value in ("", b"", DEFAULT_PARTITION):
        return None
    return 0.0 if isinstance(value, float) and value == 0 else value


def partition_path(names: Sequence[str], types: Sequence[ColumnType], values: Sequence[Value]) -> str:
    """Return a partition's directory relative to its table, `k=v/…`, in Hive's and Spark's spelling.

    Args:
        names: the partition columns.
        types: their types.
        values: internal values, as many; timestamps are written in UTC.

    >>> from parquetry.types import parse_type
    >>> partition_path(["d", "s"], [parse_type("date"), parse_type("string")], [0, None])
    'd=1970-01-01/s=__HIVE_DEFAULT_PARTITION__'
    """
    return "/".join(
        f"{_escape_name(name)}={_value_text(kind, value)}"
        for name, kind, value in zip(names, types, values, strict=True)
    )


def partition_paths(
    names: Sequence[str], types: Sequence[ColumnType], rows: Sequence[Sequence[Value]]
) -> list[str]:
    """Return the directories of many partitions, as `partition_path` does, but faster, because values repeat.

    Args:
        names: the partition columns.
        types: their types.
        rows: internal values, in the form of keys.
    """
    if not names:
        return [""] * len(rows)
    columns = zip(names, types, zip(*rows, strict=True), strict=False)
    levels = [_levels(name, kind, values) for name, kind, values in columns]
    return levels[0] if len(levels) == 1 else list(map("/".join, zip(*levels, strict=True)))


def _levels(name: str, kind: ColumnType, values: Sequence[Value]) -> list[str]:
    """Return the directory of each of a column's values."""
    head = f"{_escape_name(name)}="
    if kind.integral:
        return [head + (DEFAULT_PARTITION if value is None else str(value)) for value in values]
    directories = {value: f"{head}{_value_text(kind, value)}" for value in set(values)}
    return [directories[value] for value in values]


def parse_partition_path(
    relative: str, names: Sequence[str], types: Sequence[ColumnType], zone: str = "UTC"
) -> tuple[Value, ...]:
    """Return the values that a partition's directory stands for.

    Args:
        relative: the path below the table, `k=v/…`; slashes at the ends do not matter.
        names: the partition columns in order; letter case does not matter.
        types: their types.
        zone: the time zone of the timestamps, an IANA name or an offset.

    Raises:
        ValueTypeError: the path has other keys, more or fewer levels, or a value that does not fit its type.

    >>> from parquetry.types import parse_type
    >>> parse_partition_path("D=1970-01-02/s=a%2Fb", ["d", "s"], [parse_type("date"), parse_type("string")])
    (1, 'a/b')
    """
    parts = relative.strip("/").split("/") if relative.strip("/") else []
    wanted = "/".join(f"{name}=…" for name in names)
    if len(parts) != len(names):
        raise ValueTypeError(
            f"The path '{relative}' has {len(parts)} levels, but the table's partition columns make "
            f"{len(names)} ('{wanted}'). Move the directory to where it belongs, or leave it out."
        )
    return tuple(
        _parse_part(relative, part, name, kind, wanted, zone)
        for part, name, kind in zip(parts, names, types, strict=True)
    )


@functools.lru_cache(maxsize=1024)
def _escape_name(column: str) -> str:
    return escape_path_name(column)


def _value_text(kind: ColumnType, value: Value) -> str:
    text = "" if value is None else text_from_value(kind, value)
    return escape_path_name(text) if text else DEFAULT_PARTITION


def _parse_part(path: str, part: str, name: str, kind: ColumnType, wanted: str, zone: str) -> Value:
    key, equals, escaped = part.partition("=")
    if not equals or unescape_path_name(key).lower() != name.lower():
        raise ValueTypeError(
            f"The path '{path}' has '{part}' where '{name}=…' belongs: the table's partitions are in "
            f"'{wanted}'. Rename the directory, or leave it out."
        )
    if not escaped:
        raise ValueTypeError(
            f"The path '{path}' has no value for the partition column '{name}'. NULL and the empty string "
            f"are written '{name}={DEFAULT_PARTITION}'; rename the directory, or leave it out."
        )
    text = unescape_path_name(escaped)
    if text == DEFAULT_PARTITION:
        return None
    try:
        return value_from_text(kind, text, zone)
    except ValueTypeError as error:
        raise ValueTypeError(
            f"The path '{path}' has the value '{text}' for the partition column '{name}', which does not fit "
            f"{kind}. Rename the directory, declare the column as string, or leave it out. {error.message}"
        ) from error
