"""Replace errors of Spark in a write that name neither the cause nor the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from parquetry.errors import ParquetryError, PropertyError, ValueTypeError
from parquetry.locations import MAX_NAME_BYTES
from parquetry.metastore import TableSnapshot
from parquetry.predicate import Filter
from parquetry.spark.active import java_error
from parquetry.spark.write.distribution import unnameable
from parquetry.spark.write.replace_where_check import outside


def write_error(
    snapshot: TableSnapshot,
    where: Sequence[Filter],
    options: Mapping[str, str],
    error: Py4JJavaError | CapturedException,
) -> ParquetryError | None:
    """Return the error to raise instead of Spark's error, or None if Spark's error says as much.

    Args:
        snapshot: the table.
        where: the conditions, joined by AND, that each row has to satisfy; see `replace_where_check`.
        options: the users' options for the writer of files.
        error: Spark's error.
    """
    refusal = _raised_text(error)
    if refusal.startswith(unnameable(snapshot)):
        return ValueTypeError(refusal)
    if (outside_error := outside(snapshot, where, refusal)) is not None:
        return outside_error
    if _names_too_much(f"{error} {getattr(error, '_stackTrace', '')}"):
        return ValueTypeError(
            f"A value of a partition column ({', '.join(snapshot.metadata.partition_by)}) of table {snapshot.label} is too "
            f"long for the name of a directory, which most file systems limit to {MAX_NAME_BYTES} bytes, escapes included: "
            "shorten it, or partition by another column. Nothing was written."
        )
    if options and (reason := _not_an_argument(error)) is not None:
        return PropertyError(
            f"Table {snapshot.label} cannot be written with {dict(options)}: {reason}. Change the properties or the options "
            "of the write. Nothing was written."
        )
    return None


def _raised_text(error: Py4JJavaError | CapturedException) -> str:
    """Return the text that a task raised by `raise_error`. It may come from the user's own query."""
    if not isinstance(error, CapturedException) or error.getCondition() != "USER_RAISED_EXCEPTION":
        return ""
    parameters: dict[str, str] = error.getMessageParameters() or {}
    return parameters.get("errorMessage", "")


def _not_an_argument(error: Py4JJavaError | CapturedException) -> str | None:
    """Return Java's message about an invalid argument, or None if that is not why Spark failed."""
    cause = java_error(error)
    if isinstance(error, CapturedException) and error.getCondition() is not None:
        return None
    while cause.getCause() is not None:
        cause = cause.getCause()
    name = cause.getClass().getName()
    return (
        str(cause.toString())
        if name in ("java.lang.IllegalArgumentException", _NUMBER_FORMAT_ERROR)
        else None
    )


_NUMBER_FORMAT_ERROR = "java.lang.NumberFormatException"


def _names_too_much(trace: str) -> bool:
    """Return whether a write failed because a directory's name was too long; local disks do not say so."""
    if "PathComponentTooLongException" in trace or "File name too long" in trace:
        return True
    failed = re.search(r"Mkdirs failed to create (.*)", trace)
    return failed is not None and any(len(name.encode()) > MAX_NAME_BYTES for name in failed[1].split("/"))
