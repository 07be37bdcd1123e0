"""Refuse options of Delta, Iceberg and Hudi that have no meaning here, each with a remedy.

Other unknown names are ignored, as Spark's own sources ignore them. But a read that requests an old snapshot
must not get today's rows, and a write that requests some rows must not replace all.

Table properties of these formats are kept, as all unknown ones, with a warning that names ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from parquetry.errors import PropertyError

Use = Literal["read", "stream", "write"]
"""The operation that an option is for: a query, a stream that reads, or a write."""

_VERSION = "say option('versionAsOf', …) with a version that `.history` lists"
_TIME = "say option('timestampAsOf', '2026-03-01 12:00:00')"
_NO_BRANCHES = "tables have versions, and neither branches nor tags: "
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
    "branch": _NO_BRANCHES + _VERSION,
    "tag": _NO_BRANCHES + _VERSION,
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
        "branch": _NO_BRANCHES + "leave the option out",
        "tag": _NO_BRANCHES + "leave the option out",
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
