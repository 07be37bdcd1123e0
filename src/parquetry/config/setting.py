"""Define a setting: its name, default and type, and the levels at which users may set it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from parquetry.errors import ConfigurationError, PropertyError

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
