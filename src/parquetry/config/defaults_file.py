r"""Read spark-defaults.conf, and add settings to it.

Spark reads the file as Java properties (`java.util.Properties.load`): a name, then a space, `=` or `:`, then
the value. A line that ends with a backslash goes on in the next one. `#` and `!` begin a comment. If a name
comes twice, the later value counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from parquetry.config.spark import SPARK_SETTINGS

_ENGINES = ("org.apache.comet.", "org.apache.gluten.", "com.nvidia.spark.")
LIST_SETTINGS = ("spark.jars", "spark.sql.extensions")
"""Settings whose values are lists. Users and other products add their own values."""

_OUR_JAR = re.compile(r"(?:.*/)?(?:[0-9a-f]{16}-)?parquetry-bridge-[^/]*\.jar")
_OF_SPARK = {setting.name for setting in SPARK_SETTINGS}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_CONTINUED = re.compile(r"(?:^|[^\\])(?:\\\\)*\\$")
_NAME = re.compile(r"((?:[^\s=:\\]|\\.)*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Entry(NamedTuple):
    """A setting in the file.

    Attributes:
        name: of the setting.
        value: of the setting.
        start: where its first line begins in the text.
        end: where its last line ends, without the end of the line.
    """

    name: str
    value: str
    start: int
    end: int


def defaults_entries(text: str) -> Iterator[Entry]:
    r"""Yield the settings of a file, in their order.

    >>> text = "# mine\nspark.jars /a.jar,\\\n  /b.jar\nspark.a=1\nspark.b : c\\\\d"
    >>> [(each.name, each.value) for each in defaults_entries(text)]
    [('spark.jars', '/a.jar,/b.jar'), ('spark.a', '1'), ('spark.b', 'c\\d')]
    """
    start, logical = 0, ""
    for line in _LINE.finditer(text):
        content = line[0].rstrip("\r\n").lstrip(" \t\f")
        if not logical:
            start = line.start()
            if not content or content[0] in "#!":
                continue
        logical += content
        if _CONTINUED.search(content):
            logical = logical[:-1]
            if line.end() < len(text):
                continue
        name = _NAME.match(logical)
        if name is not None:
            end = line.start() + len(line[0].rstrip("\r\n"))
            yield Entry(_unescape(name[1]), _unescape(logical[name.end() :]).strip(), start, end)
        logical = ""


def _unescape(text: str) -> str:
    return _ESCAPE.sub(
        lambda match: chr(int(match[1][1:], 16)) if len(match[1]) > 1 else _ESCAPED.get(match[1], match[1]),
        text,
    )


def beside_existing(existing: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings, with the existing values that stay.

    A list keeps the values of others, and loses the jars of other versions of Parquetry. Spark's own settings
    for buckets keep a user's value.

    >>> theirs = {"spark.jars": "/x.jar,/old/parquetry-bridge-0.1.0-spark-4.2.1.jar", "spark.sql.extensions": "a.B"}
    >>> beside_existing(theirs, {"spark.jars": "/parquetry-bridge-0.2.0-spark-4.3.0.jar", "spark.sql.extensions": "p.Q"})
    {'spark.jars': '/x.jar,/parquetry-bridge-0.2.0-spark-4.3.0.jar', 'spark.sql.extensions': 'a.B,p.Q'}
    """
    return {name: _beside(name, existing.get(name, ""), value) for name, value in settings.items()}


def _beside(name: str, existing: str, value: str) -> str:
    if name in _OF_SPARK and existing:
        return existing
    if name not in LIST_SETTINGS:
        return value
    parts = [part for item in existing.split(",") if (part := item.strip())]
    if value in parts:
        return ",".join(part for part in parts if part == value or not _OUR_JAR.fullmatch(part))
    return ",".join(with_part([part for part in parts if not _OUR_JAR.fullmatch(part)], value))


def with_part(parts: Sequence[str], value: str) -> list[str]:
    """Return the parts of a list, such as `spark.sql.extensions`, with one of ours.

    It comes last, but before native engines' extensions: Spark runs the rules in this order, and an engine
    looks for scans only once.

    >>> with_part(["a.B", "org.apache.comet.CometSparkSessionExtensions"], "p.Q")
    ['a.B', 'p.Q', 'org.apache.comet.CometSparkSessionExtensions']
    """
    position = next((i for i, part in enumerate(parts) if part.startswith(_ENGINES)), len(parts))
    return [*parts[:position], value, *parts[position:]]


def with_settings(text: str, settings: Mapping[str, str]) -> str:
    r"""Return the text of a file with settings in it: instead of the same setting, or at the end.

    All other lines are kept unchanged. A setting that the file already has with the same value changes nothing.

    >>> with_settings("spark.a 1 # no comment\n! mine", {"spark.b": "c\\d", "spark.a": "2"})
    'spark.a 2\n! mine\nspark.b c\\\\d\n'
    """
    last = {entry.name: entry for entry in defaults_entries(text)}
    for entry in sorted(last.values(), key=lambda entry: -entry.start):
        if entry.name in settings and settings[entry.name] != entry.value:
            text = text[: entry.start] + defaults_line(entry.name, settings[entry.name]) + text[entry.end :]
    added = [defaults_line(name, value) for name, value in settings.items() if name not in last]
    if added and text and not text.endswith(("\n", "\r")):
        text += "\n\n" if _CONTINUED.search(text) else "\n"
    return text + "".join(f"{line}\n" for line in added)


def defaults_line(name: str, value: str) -> str:
    """Return the line of a setting. A backslash is doubled, because it escapes."""
    return f"{name} {value.replace(chr(92), 2 * chr(92))}"
