"""The series of Spark that the bridge is compiled for, and the features that each of them lacks.

`bridge/versions` has a folder for each series, with what differs in Spark's interfaces.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """A feature that Parquetry leaves out on a series of Spark.

    Attributes:
        feature: its key, which tests name that need it.
        text: the effect for users.
        reason: what Spark lacks.
    """

    feature: str
    text: str
    reason: str


_SCAN_MERGING = Missing(
    "scan merging",
    "subqueries that differ only in their columns read the table once each",
    "Spark asks no table whether it can merge such scans",
)

SPARK_SERIES: dict[str, tuple[Missing, ...]] = {
    "4.3": (),
    "4.2": (_SCAN_MERGING,),
}
"""The series that the bridge is compiled for, the newest first, each with what it lacks."""


def series_of(version: str) -> str | None:
    """Return the supported series that a version of Spark is of, or None if it is of no such series."""
    return next((series for series in SPARK_SERIES if version.startswith(f"{series}.")), None)


def listed_series() -> str:
    """Return the supported series in words, such as ``4.3 or 4.2``."""
    return " or ".join(SPARK_SERIES)
