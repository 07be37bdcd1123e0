"""The precedence of the levels at which a setting can be given, and the errors of unusable values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from parquetry.config.precedence import DEFAULTS, settle
from parquetry.config.registry import TABLE_SETTINGS
from parquetry.config.setting import EVERYWHERE, Level
from parquetry.errors import ConfigurationError, PropertyError

TEXTS = {
    "target-file-size": ("1mb", "2mb"),
    "compression": ("gzip", "zstd"),
    "sort-by": ("a", "b, c"),
    "layout": ("auto", "manual"),
    "bloom-filter-columns": ("a", "b, c"),
    "field-statistics": ("8", "s.a, t"),
    "distribution": ("auto", "none"),
    "partition-order": ("p", "p desc"),
    "partition-indexes": ("p", "q; p, q"),
    "skewed-by": ("(x) ON (1)", "(x) ON AUTO"),
    "skewed-locations": ("(1 = 'file:/a')", "(1 = 'file:/b')"),
    "auto-skew-share": ("0.1", "0.2"),
    "auto-skew-values": ("3", "4"),
    "light-values": ("as-written", "sorted"),
    "list-bucketing-rules": ("relaxed", "strict"),
    "clustered-by": ("(a) INTO 4 BUCKETS", "(b) INTO 4 BUCKETS"),
    "bucketing-version": ("1", "spark"),
    "hive-compatible": ("true", "false"),
    "empty-buckets": ("true", "false"),
    "auto-compact": ("true", "false"),
    "auto-compact-min-files": ("5", "10"),
    "auto-compact-max-bytes": ("1mb", "2mb"),
    "purge-on-overwrite": ("true", "false"),
    "publish": ("delta", "none"),
    "partition-columns-in-files": ("true", "false"),
    "vacuum-grace-hours": ("48", "72"),
    "vacuum-retention-check": ("false", "true"),
    "history-statements": ("false", "true"),
    "pruning-history": ("on", "values"),
    "isolation": ("serializable", "snapshot"),
    "bucket-join": ("larger", "smaller"),
    "hot-bucket-rows": ("5", "6"),
    "skew-join": ("always", "off"),
    "runtime-pruning": ("false", "true"),
    "runtime-pruning-max-build-size": ("1mb", "2mb"),
    "runtime-pruning-max-wait": ("1s", "none"),
    "native-scans": ("on", "off"),
    "bucket-begin-partition": ("2024-01-01", "ds > '2024-01-01'"),
    "audit-values": ("on", "off"),
    "audit": ("on", "0.25"),
}
OF_TABLES = {
    "layout", "purge-on-overwrite", "publish", "partition-columns-in-files", "vacuum-retention-check", "vacuum-grace-hours", "partition-order", "partition-indexes", "skewed-by", "skewed-locations", "auto-skew-share", "auto-skew-values",
    "list-bucketing-rules", "clustered-by", "bucketing-version", "hive-compatible", "bucket-begin-partition",
    "field-statistics",
}  # fmt: skip
"""Two texts for each setting, of different values."""
OF_SESSIONS = {"audit", "audit-values"}
NAMED = {setting.name: setting for setting in TABLE_SETTINGS}
PAIRS = [
    (setting.name, upper, lower)
    for setting in TABLE_SETTINGS
    for upper, lower in itertools.combinations((*setting.levels, "default"), 2)
]


def given(name: str, texts: Mapping[Level, str]) -> dict[str, Mapping[str, str]]:
    """Return the arguments of `settle` that give a setting these texts at these levels."""
    keys = {"option": name, "session": f"parquetry.{name}", "property": name, "default": name}
    words = {"option": "options", "session": "session", "property": "properties", "default": "defaults"}
    return {words[level]: {keys[level]: text} for level, text in texts.items()}


def test_every_setting_is_tested() -> None:
    """The pairs below name each setting.

    Each setting but the settings of tables or sessions alone can be given at every level.
    """
    assert list(TEXTS) == list(NAMED)
    assert len(PAIRS) == 18 * 6 + 18 * 1 + 2 * 1 + 2 * 3
    for setting in TABLE_SETTINGS:
        narrow = {**dict.fromkeys(OF_TABLES, ("property",)), **dict.fromkeys(OF_SESSIONS, ("session",))}
        narrow["history-statements"] = narrow["pruning-history"] = (
            "session",
            "property",
        )  # no option of one write decides it
        assert setting.levels == narrow.get(setting.name, EVERYWHERE)
        assert setting.name in OF_TABLES or not setting.fixed


@pytest.mark.parametrize(("name", "upper", "lower"), PAIRS)
def test_each_level_comes_before_those_below_it(name: str, upper: Level, lower: Level) -> None:
    """Option, session, property, default: of two texts the upper one holds, whichever of the two it is."""
    for above, below in (TEXTS[name], TEXTS[name][::-1]):
        settings = settle(**given(name, {upper: above, lower: below}))
        assert settings[name] == NAMED[name].parse(above) != NAMED[name].parse(below)
        assert settings.effective(name).level == upper
        settings = settle(**given(name, {lower: below}))
        assert (settings[name], settings.effective(name).level) == (NAMED[name].parse(below), lower)


def test_defaults_hold_where_nothing_is_given() -> None:
    """Each setting has its default, each default can be read, and there is none but for some settings."""
    settings = settle()
    for setting in TABLE_SETTINGS:
        found = settings.effective(setting.name)
        assert (found.level, found.text) == ("default", setting.default)
        assert (settings[setting.name] is None) == (setting.default is None)
    assert DEFAULTS == {
        "target-file-size": "128mb",
        "field-statistics": "32",
        "distribution": "auto",
        "auto-skew-share": "0.05",
        "auto-skew-values": "16",
        "light-values": "sorted",
        "layout": "manual",
        "list-bucketing-rules": "strict",
        "bucketing-version": "2",
        "isolation": "snapshot",
        "bucket-join": "smaller",
        "hot-bucket-rows": "1000000",
        "skew-join": "auto",
        "runtime-pruning": "true",
        "runtime-pruning-max-build-size": "10mb",
        "runtime-pruning-max-wait": "60s",
        "native-scans": "auto",
        "auto-compact": "false",
        "auto-compact-min-files": "50",
        "auto-compact-max-bytes": "1gb",
        "purge-on-overwrite": "false",
        "publish": "none",
        "partition-columns-in-files": "false",
        "vacuum-retention-check": "true",
        "history-statements": "true",
        "vacuum-grace-hours": "24",
        "audit": "off",
        "audit-values": "off",
    }
    assert settings["target-file-size"] == 128 << 20


def test_letter_case_of_options_does_not_count() -> None:
    """Options match in any letter case, as Spark's own options do.

    Properties and session settings match only in their own case.
    """
    settings = settle(
        options={"Target-File-Size": "1k"},
        session={"x": "y", "PARQUETRY.compression": "best"},
        properties={"Sort-By": "a"},
    )
    assert [settings[name] for name in ("target-file-size", "compression", "sort-by")] == [1024, None, None]


def test_names_that_are_nobodys() -> None:
    """Unknown options, other session settings and a user's own properties change nothing."""
    settings = settle(
        options={"header": "true", "parquetry.compression": "gzip", "target-file-sise": "1k"},
        session={"spark.sql.shuffle.partitions": "4", "compression": "gzip", "parquetryx": "1"},
        properties={"owner.team": "a", "parquetry.compression": "gzip"},
    )
    assert settings == settle()


@pytest.mark.parametrize(
    ("text", "share"),
    [("on", 1.0), ("TRUE", 1.0), ("off", 0.0), ("false", 0.0), ("0.01", 0.01), ("1", 1.0), ("0", 0.0)],
)
def test_the_share_of_an_audit(text: str, share: float) -> None:
    """The audit is on, off, or a share of the statements."""
    assert settle(session={"parquetry.audit": text})["audit"] == share


@pytest.mark.parametrize("text", ["", "maybe", "1.5", "-0.1", "nan"])
def test_no_share_of_an_audit(text: str) -> None:
    """Another text is refused, with what can be said instead."""
    with pytest.raises(ConfigurationError, match="not on, off or a share of the statements"):
        settle(session={"parquetry.audit": text})["audit"]


def test_an_option_cannot_turn_the_audit_on() -> None:
    """The audit is of sessions alone: an option says so, and a property of that name is the user's own."""
    with pytest.raises(PropertyError, match=r"SET `parquetry\.audit` for the session"):
        settle(options={"audit": "on"})
    assert settle(properties={"audit": "by the bank"})["audit"] == 0.0


def test_an_option_cannot_give_what_is_fixed_with_the_table() -> None:
    """A setting of tables alone, given as an option, would do nothing: an error says where it belongs."""
    with pytest.raises(PropertyError) as error:
        settle(options={"header": "true", "Partition-Order": "p"}, properties={"partition-order": "p desc"})
    assert error.value.message == (
        "Option 'Partition-Order' cannot be given for one read or write: set the table property 'partition-order'."
    )


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("parquetry.target-file-sise", "is unknown: did you mean 'parquetry.target-file-size'?"),
        ("parquetry.Target_File_Size", "is unknown: did you mean 'parquetry.target-file-size'?"),
        (
            "parquetry.anything",
            "is unknown: known are parquetry.audit, parquetry.audit-values, parquetry.auto-compact, parquetry.auto-compact-max-bytes, parquetry.auto-compact-min-files, parquetry.bloom-filter-columns, parquetry.bucket-join, parquetry.compression, parquetry.distribution, "
            "parquetry.empty-buckets, parquetry.history-statements, parquetry.hot-bucket-rows, parquetry.isolation, parquetry.light-values, parquetry.native-scans, parquetry.pruning-history, parquetry.runtime-pruning, "
            "parquetry.runtime-pruning-max-build-size, parquetry.runtime-pruning-max-wait, parquetry.skew-join, parquetry.sort-by, parquetry.target-file-size",
        ),
        ("parquetry.", "is unknown: known are "),
        (
            "parquetry.partition-indexes",
            "cannot be given for a session: set the table property 'partition-indexes'",
        ),
    ],
)
def test_session_settings_that_would_do_nothing(key: str, says: str) -> None:
    """A session setting `parquetry.…` is an error if it is unknown or cannot be given for a session.

    The error says how to reset it.
    """
    with pytest.raises(ConfigurationError) as error:
        settle(session={"spark.sql.shuffle.partitions": "4", key: "1mb"})
    assert error.value.message.startswith(f"Session setting {key!r} {says}")
    assert error.value.message.endswith(f"RESET `{key}` takes it back.")


@pytest.mark.parametrize(
    ("level", "kind", "begins"),
    [
        ("option", PropertyError, "Option 'compression'"),
        ("session", ConfigurationError, "Session setting 'parquetry.compression'"),
        ("property", PropertyError, "Table property 'compression'"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(level: Level, kind: Any, begins: str) -> None:
    """The error says where the value was given, the value itself, and the possible values.

    It also says how to reset a session setting. Other settings can still be read.
    """
    settings = settle(**given("compression", {level: "best"}))
    with pytest.raises(kind) as error:
        settings["compression"]
    remedy = "; SET another value, or RESET `parquetry.compression`" if level == "session" else ""
    assert error.value.message == (
        f"{begins} is 'best': not one of none, uncompressed, snappy, gzip, lz4, zstd, brotli, zlib, lzo{remedy}."
    )
    assert settings["target-file-size"] == 128 << 20


def test_names_of_the_session_that_were_checked_before() -> None:
    """Names of the session are not checked again; a value is checked when it is read."""
    session = {
        "parquetry.anything": "1",
        "parquetry.partition-order": "x",
        "parquetry.runtime-pruning": "perhaps",
    }
    settings = settle(session=session, names_checked=False)
    assert settings["target-file-size"] == settle()["target-file-size"]
    with pytest.raises(ConfigurationError, match="runtime-pruning"):
        assert settings["runtime-pruning"]
