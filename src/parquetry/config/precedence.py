"""Which value of a setting holds: an option of the read or write, else the session's, the table's, the default.

The settings themselves are listed in `registry`; here the texts found at each level become one value. Whoever asks
hands over what was set, so the answer is the same in a session, in a test, and on the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from parquetry.config.registry import TABLE_SETTINGS, check_options, check_session
from parquetry.config.setting import EVERYWHERE, SESSION_PREFIX, Level, Setting
from parquetry.errors import ConfigurationError, PropertyError

_NOTHING: Mapping[str, str] = MappingProxyType({})
DEFAULTS: Mapping[str, str] = MappingProxyType(
    {setting.name: setting.default for setting in TABLE_SETTINGS if setting.default is not None}
)


@dataclass(frozen=True, slots=True)
class Effective:
    """The text that holds for a setting, and where it was found.

    Attributes:
        setting: the setting.
        level: where the text was found.
        text: as it was given; None: nowhere, and the setting has no default.
    """

    setting: Setting
    level: Level
    text: str | None

    @property
    def value(self) -> Any:
        """Return the text's value; None: there is no text.

        Raises:
            ConfigurationError: the session's text cannot be used.
            PropertyError: an option's or a table's text cannot.
        """
        return None if self.text is None else self.setting.read(self.text, self.level)

    def refused(self, says: str) -> ConfigurationError | PropertyError:
        """Return the error that begins with the setting's name, and with where it was given."""
        return self.setting.refused(self.level, says)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that hold for one read or write of one table.

    A value is checked when it is asked for: a codec that cannot be used does not keep a query from reading.

    >>> settings = settle(
    ...     options={"Compression": "gzip"},
    ...     session={"parquetry.compression": "zstd", "parquetry.target-file-size": "64mb"},
    ...     properties={"target-file-size": "1gb", "sort-by": "day"},
    ... )
    >>> [settings[name] for name in ("compression", "target-file-size", "sort-by", "distribution")]
    ['gzip', 67108864, (('day',),), 'auto']
    >>> settings.effective("target-file-size").level
    'session'
    """

    by_name: Mapping[str, Effective]

    def effective(self, name: str) -> Effective:
        """Return what holds for a setting, and where it was found."""
        return self.by_name[name]

    def __getitem__(self, name: str) -> Any:
        """Return the value of a setting; see `Effective.value`."""
        return self.by_name[name].value


def settle(
    options: Mapping[str, str] = _NOTHING,
    session: Mapping[str, str] = _NOTHING,
    properties: Mapping[str, str] = _NOTHING,
    defaults: Mapping[str, str] = DEFAULTS,
    *,
    names_checked: bool = True,
) -> Settings:
    """Return the settings that hold where these have been given.

    Args:
        options: of the read or write, in any letter case; those that are nobody's are left alone.
        session: its settings by their whole names; others than `parquetry.…` may be among them.
        properties: of the table.
        defaults: texts by the settings' names.
        names_checked: whether the session's names are; of a read they were, before the table was looked into.

    Raises:
        ConfigurationError: a session setting `parquetry.…` is unknown, or cannot be given for a session.
        PropertyError: an option cannot be given for one read or write.
    """
    check_options(options)
    if names_checked:
        check_session(session)
    by_level: dict[Level, Mapping[str, str]] = {
        "option": {name.lower(): text for name, text in options.items()},
        "session": {
            name.removeprefix(SESSION_PREFIX): text
            for name, text in session.items()
            if name.startswith(SESSION_PREFIX)
        },
        "property": properties,
    }
    return Settings(MappingProxyType({s.name: _effective(s, by_level, defaults) for s in TABLE_SETTINGS}))


def _effective(
    setting: Setting, by_level: Mapping[Level, Mapping[str, str]], defaults: Mapping[str, str]
) -> Effective:
    for level in EVERYWHERE:
        if level in setting.levels and setting.name in by_level[level]:
            return Effective(setting, level, by_level[level][setting.name])
    return Effective(setting, "default", defaults.get(setting.name))
