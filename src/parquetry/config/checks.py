"""Checks by the registry of what users set: table properties, options, settings of sessions and catalogs.

Options of Delta, Iceberg and Hudi that have no meaning here are refused, each with a remedy.

Other unknown names are ignored, as Spark's own sources ignore them. But a read that requests an old snapshot
must not get today's rows, and a write that requests some rows must not replace all.

Table properties of these formats are kept, as all unknown ones, with a warning that names ours.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from parquetry.config.registry import (
    BUCKET_BEGIN_PARTITION,
    BUCKETING_VERSION,
    CATALOG_OPTIONS,
    PROPERTIES,
    SETTINGS,
    WRITERS,
)
from parquetry.config.setting import SESSION_PREFIX
from parquetry.errors import ConfigurationError, PropertyError

_LOG = logging.getLogger("parquetry")
_SPELLINGS = {"bucketing_version": BUCKETING_VERSION}
"""Hive's names for some of our properties."""


def our_name(name: str) -> str:
    """Return our name of a table property, from our name or Hive's.

    >>> our_name("bucketing_version"), our_name("owner.team")
    ('bucketing-version', 'owner.team')
    """
    return _SPELLINGS.get(name, name)


def our_names(properties: Mapping[str, str]) -> dict[str, str]:
    """Return table properties under our names instead of Hive's.

    Raises:
        PropertyError: a property has two values, under both names.
    """
    named: dict[str, str] = {}
    for name, value in properties.items():
        ours = our_name(name)
        if named.setdefault(ours, value) != value:
            alias = next(name for name, same in _SPELLINGS.items() if same == ours)
            raise PropertyError(
                f"Table property {ours!r} is {properties[ours]!r}, and {alias!r}, which is the same, {properties[alias]!r}: "
                "give one."
            )
    return named


def is_of_reads(name: str) -> bool:
    """Return whether an option, in any letter case, is one of our options of reads."""
    setting = SETTINGS.get(name.lower())
    return setting is not None and setting.of_reads


def is_fixed(name: str) -> bool:
    """Return whether a table property may be given only when the table is created."""
    return name in PROPERTIES and PROPERTIES[name].fixed


_CODECS = {
    "parquet": ("none", "uncompressed", "snappy", "gzip", "lz4", "zstd"),
    "orc": ("none", "uncompressed", "snappy", "zlib", "lzo", "lz4", "zstd"),
}
"""The codecs that Spark can write, by format."""


def check_codec(properties: Mapping[str, str], file_format: str) -> None:
    """Check that files of a format can have the codec that a table's property names.

    >>> check_codec({"compression": "zstd"}, "orc")
    >>> check_codec({"compression": "zlib"}, "parquet")
    Traceback (most recent call last):
    parquetry.errors.PropertyError: Table property 'compression' = 'zlib': parquet files cannot have it, as Spark writes them; say one of none, uncompressed, snappy, gzip, lz4, zstd.

    Raises:
        PropertyError: Spark writes no such files.
    """
    codec = properties.get("compression")
    if codec is not None and codec.lower() not in _CODECS[file_format]:
        raise PropertyError(
            f"Table property 'compression' = {codec!r}: {file_format} files cannot have it, as Spark writes them; say one of "
            f"{', '.join(_CODECS[file_format])}."
        )


def check_properties(properties: Mapping[str, str]) -> None:
    """Check table properties that a user has set.

    Unknown names are the user's own and are kept, with two exceptions: names that are probably a slip for a
    known one, and names that begin with `parquetry.`. Names of the files' writers are not checked. Names of
    other formats' properties are a warning in the log.

    Raises:
        PropertyError: a name is unknown, or a value cannot be used.
    """
    for sentence in foreign_properties(properties):
        _LOG.warning("%s", sentence)
    for name, value in properties.items():
        if (setting := PROPERTIES.get(name)) is not None:
            setting.read(value, "property")
        elif name.startswith(WRITERS):
            continue
        elif _kebab(name).startswith(
            BUCKET_BEGIN_PARTITION
        ):  # Hive's patches put the partition into the name
            raise PropertyError(
                f"Table property {name!r} is unknown; say '{BUCKET_BEGIN_PARTITION}' = 'value', where the value is of the "
                "first partition column, or a condition on partition columns."
            )
        elif (near := _nearest(name, PROPERTIES)) is not None:
            raise PropertyError(f"Table property {name!r} is unknown; did you mean {near!r}?")
        elif name.startswith(SESSION_PREFIX):
            raise PropertyError(
                f"Table property {name!r} is unknown; known are {', '.join(sorted(PROPERTIES))}."
            )


def check_options(options: Iterable[str]) -> None:
    """Check the names of options of a read or write; values are checked where they are used.

    Unknown names are ignored, as Spark's own sources ignore them: other parts of Spark may know them.

    Raises:
        PropertyError: the setting is not allowed for one read or write.
    """
    for key in options:
        setting = SETTINGS.get(key.lower())
        if setting is not None and "option" not in setting.levels:
            remedy = (
                f"set the table property {setting.name!r}"
                if "property" in setting.levels
                else f"SET `{SESSION_PREFIX}{setting.name}` for the session"
            )
            raise PropertyError(f"Option {key!r} cannot be given for one read or write: {remedy}.")


def check_session(session: Mapping[str, str]) -> None:
    """Check the names of a session's settings; values are checked where they are used.

    All names that begin with `parquetry.` are Parquetry's own. An unknown one is a misspelt setting, which
    would otherwise be ignored without a message.

    Raises:
        ConfigurationError: such a name is unknown, or the setting is not allowed for a session.
    """
    known = [name for name, setting in SETTINGS.items() if "session" in setting.levels]
    for key in session:
        name = key.removeprefix(SESSION_PREFIX)
        if name == key or name in known:
            continue
        if name in SETTINGS:
            says = f"cannot be given for a session: set the table property {name!r}"
        elif (near := _nearest(name, known)) is not None:
            says = f"is unknown: did you mean '{SESSION_PREFIX}{near}'?"
        else:
            says = f"is unknown: known are {', '.join(SESSION_PREFIX + name for name in sorted(known))}"
        raise ConfigurationError(f"Session setting {key!r} {says}; RESET `{key}` takes it back.")


def check_catalog_options(catalog: str, options: Mapping[str, str]) -> None:
    """Check the options `spark.sql.catalog.<catalog>.*`.

    Raises:
        ConfigurationError: an option is unknown, or the warehouse is missing.
    """
    known = {setting.name for setting in CATALOG_OPTIONS}
    for name in options:
        if name not in known:
            raise ConfigurationError(
                f"spark.sql.catalog.{catalog}.{name} is unknown; known are {', '.join(sorted(known, key=_passwords_last))}."
            )
    if not options.get("warehouse"):
        raise ConfigurationError(
            f"Catalog {catalog} has no warehouse: set spark.sql.catalog.{catalog}.warehouse to a folder."
        )


def read_catalog_option(name: str, options: Mapping[str, str], where: str) -> Any:
    """Return the value of a catalog's option, or its default.

    Args:
        name: of the option.
        options: by name.
        where: what gives them, for messages.

    Raises:
        ConfigurationError: the value cannot be used.
    """
    (setting,) = (each for each in CATALOG_OPTIONS if each.name == name)
    text = options.get(name, setting.default)
    try:
        return setting.parse(str(text))
    except ValueError as error:
        raise ConfigurationError(f"{where} gives {name!r} as {text!r}: {error}.") from None


def _nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that was probably meant."""
    near = difflib.get_close_matches(_kebab(name), list(names), 1, 0.85)
    return near[0] if near else None


def _kebab(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-").removeprefix(SESSION_PREFIX.replace(".", "-"))


def _passwords_last(name: str) -> tuple[bool, str]:
    return "." in name, name


Use = Literal["read", "stream", "write"]
"""The operation that an option is for: a query, a stream that reads, or a write."""

_VERSION = "say option('versionAsOf', …) with a version that `.history` lists"
_TIME = "say option('timestampAsOf', '2026-03-01 12:00:00')"
_NAMED = "say option('versionAsOf', '…') with the name of the tag or the branch"
_CHANGES = "which rows a version changed is not recorded: spark.readStream with startingVersion reads those that it added"
_STREAMS = (
    "it is an option of streams: read with spark.readStream, or one version with option('versionAsOf', …)"
)
_SKIP = "say option('skipChangeCommits', 'true')"
_STARTING = "say option('startingVersion', …) or option('startingTimestamp', …)"
_ENDLESS = "a stream ends at no version: stop it with trigger(availableNow=True)"
_CONDITION = "say option('replaceWhere', …) with a condition on partition columns"
_BATCHES = "a write that runs twice is written twice: write each batch with a stream, or MERGE INTO the table"
_CHECKED = "each commit is checked against what others have committed since the table was read"

_OF_READS = {
    "version-as-of": _VERSION,
    "snapshot-id": _VERSION,
    "as-of-timestamp": _TIME,
    "timestamp-as-of": _TIME,
    "as.of.instant": _TIME,
    "branch": _NAMED,
    "tag": _NAMED,
    "readChangeFeed": _CHANGES,
    "readChangeData": _CHANGES,
    "start-snapshot-id": _CHANGES,
    "end-snapshot-id": _CHANGES,
    "start-timestamp": _CHANGES,
    "end-timestamp": _CHANGES,
}
_OPTIONS: dict[Use, dict[str, str]] = {
    "read": _OF_READS
    | dict.fromkeys(("startingVersion", "startingTimestamp", "endingVersion", "endingTimestamp"), _STREAMS),
    "stream": _OF_READS
    | {
        "stream-from-timestamp": _STARTING,
        "endingVersion": _ENDLESS,
        "endingTimestamp": _ENDLESS,
        "ignoreChanges": _SKIP,
        "ignoreDeletes": _SKIP,
        "streaming-skip-overwrite-snapshots": _SKIP,
        "streaming-skip-delete-snapshots": _SKIP,
        "streaming-max-files-per-micro-batch": "say option('maxFilesPerTrigger', …)",
        "streaming-max-rows-per-micro-batch": "say option('maxFilesPerTrigger', …)",
    },
    "write": {
        "replaceWhere": "it goes with mode('overwrite') of a table that is there, and with no other condition",
        "replaceOn": _CONDITION,
        "replaceUsing": _CONDITION,
        "overwrite-mode": "say option('partitionOverwriteMode', 'dynamic')",
        "merge-schema": "say option('mergeSchema', 'true')",
        "target-file-size-bytes": "say option('target-file-size', '64mb')",
        "branch": "write to the table lake.db.t.branch_…",
        "tag": "a tag is of a version that is there: CALL system.tag gives it after the write",
        "txnAppId": _BATCHES,
        "txnVersion": _BATCHES,
        "dataChange": "files are written anew without a change of rows by CALL system.compact",
        "isolation-level": _CHECKED,
        "validate-from-snapshot-id": _CHECKED,
    },
}
_PREFIXES = {
    "delta.": "Delta",
    **dict.fromkeys(
        (
            "write.",
            "read.split.",
            "read.parquet.",
            "read.orc.",
            "commit.retry.",
            "commit.manifest",
            "history.expire.",
        ),
        "Iceberg",
    ),
}
"""The beginnings of the names of other formats' table properties."""
_OWN_NAMES = {
    "delta.autooptimize.autocompact": "auto-compact",
    "delta.autooptimize.optimizewrite": "distribution",
    "delta.isolationlevel": "isolation",
    "delta.targetfilesize": "target-file-size",
    "write.distribution-mode": "distribution",
    "write.delete.isolation-level": "isolation",
    "write.merge.isolation-level": "isolation",
    "write.update.isolation-level": "isolation",
    "write.orc.compression-codec": "compression",
    "write.parquet.compression-codec": "compression",
    "write.target-file-size-bytes": "target-file-size",
}
"""Our table properties for other formats' ones, which are in small letters here."""
_HARMLESS = {
    ("readchangefeed", "false"),
    ("readchangedata", "false"),
    ("datachange", "true"),
    ("ignorechanges", "false"),
    ("ignoredeletes", "false"),
}
"""Values, in small letters, that request the behaviour of Parquetry anyway."""


def refuse_foreign(options: Mapping[str, str], use: Use) -> None:
    """Refuse options that request something other than what a read or a write does.

    Args:
        options: as they were given. Names match in any letter case.
        use: the operation that they are for.

    Raises:
        PropertyError: such an option is among them.

    >>> refuse_foreign({"header": "true", "readChangeFeed": "false"}, "read")
    >>> refuse_foreign({"Snapshot-Id": "7"}, "read")
    Traceback (most recent call last):
    parquetry.errors.PropertyError: Option 'Snapshot-Id' cannot be honoured, and without it other rows would be read: \
say option('versionAsOf', …) with a version that `.history` lists.
    """
    for name, remedy in _find_unsupported(options, use):
        without = "written" if use == "write" else "read"
        raise PropertyError(
            f"Option {name!r} cannot be honoured, and without it other rows would be {without}: {remedy}."
        )


def _find_unsupported(options: Mapping[str, str], use: Use) -> Iterator[tuple[str, str]]:
    known = {name.lower(): remedy for name, remedy in _OPTIONS[use].items()}
    for name, value in options.items():
        if name.lower() in known and (name.lower(), value.lower()) not in _HARMLESS:
            yield name, known[name.lower()]


def foreign_properties(properties: Mapping[str, str]) -> Iterator[str]:
    """Return a sentence for each table property of another format, which has no effect here.

    Args:
        properties: as they were given.

    >>> list(foreign_properties({"write.target-file-size-bytes": "1", "owner.team": "a"}))
    ["Table property 'write.target-file-size-bytes' is Iceberg's and has no effect here; ours is 'target-file-size'."]
    """
    for name in properties:
        lower = name.lower()
        if of := next((of for prefix, of in _PREFIXES.items() if lower.startswith(prefix)), None):
            ours = "" if lower not in _OWN_NAMES else f"; ours is {_OWN_NAMES[lower]!r}"
            yield f"Table property {name!r} is {of}'s and has no effect here{ours}."
