"""Define a setting: its name, default and type, its text, and the levels at which users may set it.

Parsers return the value, or raise a ValueError that names the expected form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from parquetry.errors import ConfigurationError, PropertyError
from parquetry.identifiers import parse_paths

Level = Literal["option", "session", "property", "default"]
"""The level of a setting's value: an option of one read or write, the session, or a property of the table."""
EVERYWHERE: tuple[Level, ...] = ("option", "session", "property")
"""All levels that users can set, in the order of precedence."""
SESSION_PREFIX = "parquetry."
"""Prefix of the names of session settings."""
_LABELS: dict[Level, str] = {
    "option": "Option",
    "session": "Session setting",
    "property": "Table property",
    "default": "The default of",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of users.

    Attributes:
        name: in kebab-case.
        default: as text, or None if there is no default.
        parse: from text to value; raises ValueError with the expected form.
        text: its effect, for the reference.
        levels: where users may set it; empty for options of a catalog.
        fixed: whether it is allowed only when a table is created.
        of_reads: whether its option is one of a read, not of a write.
    """

    name: str
    default: str | None
    parse: Callable[[str], Any]
    text: str
    levels: tuple[Level, ...] = ()
    fixed: bool = False
    of_reads: bool = False

    def read(self, text: str, level: Level) -> Any:
        """Return the value of a text from some level.

        Raises:
            ConfigurationError: the session's text cannot be used.
            PropertyError: the text of an option or a table property cannot be used.
        """
        try:
            return self.parse(text)
        except ValueError as error:
            remedy = (
                f"; SET another value, or RESET `{SESSION_PREFIX}{self.name}`" if level == "session" else ""
            )
            raise self.error(level, f" is {text!r}: {error}{remedy}.") from None

    def error(self, level: Level, says: str) -> ConfigurationError | PropertyError:
        """Return an error that begins with the setting's name and its level."""
        key = f"{SESSION_PREFIX}{self.name}" if level == "session" else self.name
        kind = ConfigurationError if level == "session" else PropertyError
        return kind(f"{_LABELS[level]} {key!r}{says}")


_SIZE = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MAX_BYTES = 1 << 60


def parse_size(text: str) -> int:
    """Return a size in bytes, from a number with an optional unit (powers of 1024).

    Raises:
        ValueError: it is not a size, is zero, or is more than any file can have.

    >>> parse_size("64kb"), parse_size("1 GiB"), parse_size("10")
    (65536, 1073741824, 10)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match or int(match[1]) == 0:
        raise ValueError("not a size such as 128mb")
    size = int(match[1]) * _FACTORS[match[2].lower()]
    if size > _MAX_BYTES:
        raise ValueError("more than an exbibyte")
    return size


def parse_size_or_none(text: str) -> int:
    """Return a size in bytes, which may be zero.

    Raises:
        ValueError: it is not a size, or is more than any file can have.

    >>> parse_size_or_none("0"), parse_size_or_none("0 mb"), parse_size_or_none("1kb")
    (0, 0, 1024)
    """
    match = _SIZE.fullmatch(text.strip())
    return 0 if match and int(match[1]) == 0 else parse_size(text)


_WAIT = re.compile(r"(\d+)\s*(ms|s|min|h)", re.IGNORECASE)
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
_MAX_MILLISECONDS = 1 << 40
_MAX_FIELDS = 1 << 31


def parse_wait(text: str) -> int | None:
    """Return how many milliseconds to wait, or None for no limit.

    Raises:
        ValueError: it is no such time, or more than 2^40 milliseconds.

    >>> parse_wait("60s"), parse_wait("5 min"), parse_wait("none"), parse_wait("0")
    (60000, 300000, None, None)
    """
    if text.strip().lower() in ("none", "0"):
        return None
    match = _WAIT.fullmatch(text.strip())
    if not match:
        raise ValueError("neither a time such as 60s nor none")
    wait = int(match[1]) * _MILLISECONDS[match[2].lower()]
    if wait > _MAX_MILLISECONDS:
        raise ValueError("more than a lifetime")
    return wait or None


_AGE = re.compile(r"(\d{1,9})\s*(min|h|d|w)", re.IGNORECASE)
_MINUTES = {"min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}


def parse_age(text: str) -> int:
    """Return an age in milliseconds, from a number with a unit.

    Raises:
        ValueError: it is no such age, or no time at all.

    >>> parse_age("30d"), parse_age("12 h"), parse_age("90min")
    (2592000000, 43200000, 5400000)
    """
    match = _AGE.fullmatch(text.strip())
    age = int(match[1]) * _MINUTES[match[2].lower()] * 60_000 if match else 0
    if not 0 < age <= _MAX_MILLISECONDS:
        raise ValueError("not an age such as 30d, 12h or 90min")
    return age


HistoryMode = Literal["off", "on", "values"]
"""Whether a history of queries is kept, and whether it has the values of conditions."""
_HISTORY_MODES: dict[str, HistoryMode] = {
    "off": "off", "false": "off", "on": "on", "true": "on", "values": "values",
}  # fmt: skip


def parse_history_mode(text: str) -> HistoryMode:
    """Return whether a history of queries is kept.

    Raises:
        ValueError: the text is none of the words.

    >>> parse_history_mode("on"), parse_history_mode("Values"), parse_history_mode("false")
    ('on', 'values', 'off')
    """
    try:
        return _HISTORY_MODES[text.strip().lower()]
    except KeyError:
        raise ValueError("not one of off, on, values") from None


def parse_statistics_fields(text: str) -> int | tuple[tuple[str, ...], ...]:
    """Return how many fields of structs have statistics, or the paths of the structs and fields that have.

    Raises:
        ValueError: it is neither a number, nor a list of fields.

    >>> parse_statistics_fields("32"), parse_statistics_fields("s.a, t")
    (32, (('s', 'a'), ('t',)))
    """
    if text.strip().isdigit():
        return min(int(text), _MAX_FIELDS)
    try:
        return parse_paths(text)
    except ValueError:
        raise ValueError("neither a number of fields, nor a list of them such as s.a, s.t.b") from None


def choice_parser(*choices: str) -> Callable[[str], str]:
    """Return a parser that accepts some words, in any case."""

    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"not one of {', '.join(choices)}")
        return text.lower()

    return parse


_HIVE_URI = re.compile(r"thrift://[^/\s]+/[^./\s]+\.[^./\s]+")


def parse_follower(text: str) -> str:
    """Return what follows a table: ``none``, ``delta``, or a table's place in a Hive metastore."""
    if text.lower() in ("none", "delta"):
        return text.lower()
    if _HIVE_URI.fullmatch(text) is None:
        raise ValueError("not one of none, delta, thrift://host:9083/database.table")
    return text


def parse_boolean(text: str) -> bool:
    """Return whether a text is `true` and not `false`."""
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("not true or false")
    return text.strip().lower() == "true"


def parse_bucketing_version(text: str) -> int | str:
    """Return a version of the hash: 1, 2 or ``spark``."""
    known: dict[str, int | str] = {"1": 1, "2": 2, "spark": "spark"}
    if text.strip().lower() not in known:
        raise ValueError("not one of 1, 2, spark")
    return known[text.strip().lower()]


def parse_share(text: str) -> float:
    """Return a share of the rows, above 0 and at most 1."""
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError("not a share of the rows such as 0.05, above 0 and at most 1")
    return share


def parse_audit(text: str) -> float:
    """Return the share of statements to audit, from 0 for none to 1 for all.

    >>> parse_audit("on"), parse_audit("off"), parse_audit("0.01")
    (1.0, 0.0, 0.01)

    Raises:
        ValueError: it is neither on, off nor such a share.
    """
    word = text.strip().lower()
    if word in _SWITCH:
        return _SWITCH[word]
    try:
        share = float(word)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError("not on, off or a share of the statements such as 0.01, from 0 to 1")
    return share


_SWITCH = {"on": 1.0, "true": 1.0, "off": 0.0, "false": 0.0}


def count_up_to(most: int) -> Callable[[str], int]:
    """Return a parser of numbers from 1 on."""

    def parse(text: str) -> int:
        stripped = text.strip()
        if not (stripped.isascii() and stripped.isdigit() and 1 <= int(stripped) <= most):
            raise ValueError(f"not a number from 1 to {most}")
        return int(stripped)

    return parse
