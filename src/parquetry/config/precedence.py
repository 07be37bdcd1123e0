"""Decide which value of a setting applies: an option's, else the session's, the table's, the default.

`registry` lists the settings. This module reduces the texts of all levels to one value. The caller passes
these texts, so the answer is the same in a session, in a test, and on the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from parquetry.config.checks import check_options, check_session
from parquetry.config.registry import SETTINGS, TABLE_SETTINGS
from parquetry.config.setting import EVERYWHERE, SESSION_PREFIX, Level, Setting
from parquetry.errors import ConfigurationError, PropertyError

_NOTHING: Mapping[str, str] = MappingProxyType({})
DEFAULTS: Mapping[str, str] = MappingProxyType(
    {setting.name: setting.default for setting in TABLE_SETTINGS if setting.default is not None}
)


@dataclass(frozen=True, slots=True)
class Effective:
    """The text that applies to a setting, and its level.

    Attributes:
        setting: the setting.
        level: where the text was found.
        text: as it was given, or None if no level has one and the setting has no default.
    """

    setting: Setting
    level: Level
    text: str | None

    @property
    def value(self) -> Any:
        """Return the text's value, or None if there is no text.

        Raises:
            ConfigurationError: the session's text cannot be used.
            PropertyError: the text of an option or a table property cannot be used.
        """
        return None if self.text is None else self.setting.read(self.text, self.level)

    def error(self, says: str) -> ConfigurationError | PropertyError:
        """Return an error that begins with the setting's name and its level."""
        return self.setting.error(self.level, says)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that apply to one read or write of one table.

    A value is checked when it is read: a codec that cannot be used does not stop a query.

    >>> settings = settle(
    ...     options={"Compression": "gzip"},
    ...     session={"parquetry.compression": "zstd", "parquetry.target-file-size": "64mb"},
    ...     properties={"target-file-size": "1gb", "sort-by": "day"},
    ... )
    >>> [settings[name] for name in ("compression", "target-file-size", "distribution")]
    ['gzip', 67108864, 'auto']
    >>> settings["sort-by"].paths
    (('day',),)
    >>> settings.effective("target-file-size").level
    'session'
    """

    by_name: Mapping[str, Effective]

    def effective(self, name: str) -> Effective:
        """Return the text that applies to a setting, and its level."""
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
    """Return the settings that apply after all levels are considered.

    Args:
        options: of the read or write, in any letter case. Unknown ones are ignored.
        session: its settings by their full names. Names without `parquetry.` are ignored.
        properties: of the table.
        defaults: texts by the settings' names.
        names_checked: whether to check the session's names. For a read they were checked before the table was
            loaded.

    Raises:
        ConfigurationError: a session setting `parquetry.…` is unknown, or cannot be given for a session.
        PropertyError: an option is not allowed for one read or write.
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
    return Settings(_EffectiveSettings(by_level, defaults))


class _EffectiveSettings(dict[str, Effective]):
    """The settings by name, each looked for when it is first read: most questions need a few of them."""

    def __init__(self, by_level: Mapping[Level, Mapping[str, str]], defaults: Mapping[str, str]) -> None:
        super().__init__()
        self._by_level = by_level
        self._defaults = defaults

    def __missing__(self, name: str) -> Effective:
        """Return the text that applies to a setting."""
        effective = self[name] = self._find(SETTINGS[name])
        return effective

    def _find(self, setting: Setting) -> Effective:
        for level in EVERYWHERE:
            if level in setting.levels and setting.name in self._by_level[level]:
                return Effective(setting, level, self._by_level[level][setting.name])
        return Effective(setting, "default", self._defaults.get(setting.name))
