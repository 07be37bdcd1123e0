"""What users are told of a write that Spark could not do, where its own error names neither cause nor remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from parquetry.errors import ParquetryError, PropertyError, ValueTypeError
from parquetry.locations import MAX_NAME_BYTES
from parquetry.metastore.versions import TableSnapshot
from parquetry.predicate import Filter
from parquetry.spark.write.distribution import unnameable
from parquetry.spark.write.replace_where_check import outside


def write_error(
    snapshot: TableSnapshot,
    where: Sequence[Filter],
    options: Mapping[str, str],
    error: Py4JJavaError | CapturedException,
) -> ParquetryError | None:
    """Return what to raise instead of an error of Spark's; None: nothing that would say more.

    Args:
        snapshot: the table.
        where: the conditions, joined by AND, that each row has to satisfy; see `replace_where_check`.
        options: what users gave the files' writer.
        error: Spark's.
    """
    refusal = _raised(error)
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


def _raised(error: Py4JJavaError | CapturedException) -> str:
    """Return the text that a task raised by `raise_error`, which a user's own query may do as well."""
    if not isinstance(error, CapturedException) or error.getCondition() != "USER_RAISED_EXCEPTION":
        return ""
    parameters: dict[str, str] = error.getMessageParameters() or {}
    return parameters.get("errorMessage", "")


def _not_an_argument(error: Py4JJavaError | CapturedException) -> str | None:
    """Return what Java says of a value that it cannot use, where nobody has given that error a class."""
    cause = error._origin if isinstance(error, CapturedException) else error.java_exception
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
