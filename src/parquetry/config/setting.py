"""What a setting is: its name, default and type, and where it can be given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from parquetry.errors import ConfigurationError, PropertyError

Level = Literal["option", "session", "property", "default"]
"""Where the value of a setting comes from: an option of one read or write, the session, a property of the table."""
EVERYWHERE: tuple[Level, ...] = ("option", "session", "property")
"""All levels at which users make settings; the first comes before the others."""
SESSION_PREFIX = "parquetry."
"""What names of the session's settings begin with."""
_LABELS: dict[Level, str] = {
    "option": "Option",
    "session": "Session setting",
    "property": "Table property",
    "default": "The default of",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting users can make.

    Attributes:
        name: in kebab-case.
        default: as text; None: no default.
        parse: from text to value; raises ValueError saying what the text is not.
        text: what it does, for the reference.
        levels: where it can be given; none for options of a catalog.
        fixed: whether it may be given only when a table is created.
    """

    name: str
    default: str | None
    parse: Callable[[str], Any]
    text: str
    levels: tuple[Level, ...] = ()
    fixed: bool = False

    def read(self, text: str, level: Level) -> Any:
        """Return the value of a text that was found at some level.

        Raises:
            ConfigurationError: the session's text cannot be used.
            PropertyError: an option's or a table's text cannot.
        """
        try:
            return self.parse(text)
        except ValueError as error:
            remedy = (
                f"; SET another value, or RESET `{SESSION_PREFIX}{self.name}`" if level == "session" else ""
            )
            raise self.refused(level, f" is {text!r}: {error}{remedy}.") from None

    def refused(self, level: Level, says: str) -> ConfigurationError | PropertyError:
        """Return the error that begins with the setting's name, and with where it was given."""
        key = f"{SESSION_PREFIX}{self.name}" if level == "session" else self.name
        kind = ConfigurationError if level == "session" else PropertyError
        return kind(f"{_LABELS[level]} {key!r}{says}")
