"""The series of Spark that the bridge is compiled for, and the features that each of them lacks.

`bridge/versions` has a folder for each series, with what differs in Spark's interfaces.
"""

from __future__ import annotations

import os
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

    @property
    def words(self) -> str:
        """The effect and its reason, as errors, `parquetry doctor` and reasons of skipped tests say them."""
        return f"{self.text}: {self.reason}"


_SCAN_MERGING = Missing(
    "scan merging",
    "subqueries that differ only in their columns read the table once each",
    "Spark asks no table whether it can merge such scans",
)
_VIEWS = Missing(
    "views", "a catalog of Parquetry has no views", "Spark keeps views in its session catalog alone"
)
_CREATE_LIKE = Missing(
    "create table like",
    "CREATE TABLE LIKE makes no table of Parquetry",
    "Spark makes such tables in its session catalog alone",
)
_DESCRIBED_PARTITIONS = Missing(
    "described partitions",
    "DESCRIBE … PARTITION is refused; SELECT * FROM db.t.partitions shows the same",
    "Spark describes partitions of its own tables alone",
)
_OPTIONS_OF_EACH_TABLE = Missing(
    "options of each table",
    "a query that names a table twice reads both with the options of the first",
    "Spark looks such a table up once",
)
_EVOLVING_WRITES = Missing(
    "evolving writes",
    "WITH SCHEMA EVOLUTION is for MERGE alone, and there is no option mergeSchema",
    "Spark adds columns in a MERGE alone",
)
_NO_EVOLVING_WRITES = Missing(
    "evolving writes",
    "there is no INSERT WITH SCHEMA EVOLUTION, and no option mergeSchema",
    "Spark adds columns in ALTER TABLE alone",
)
_EVOLVING_MERGES = Missing(
    "evolving merges",
    "MERGE WITH SCHEMA EVOLUTION is refused",
    "Spark adds columns in ALTER TABLE alone",
)
_CONSTRAINTS = Missing(
    "constraints",
    "constraints are neither made nor shown; a table that enforces a CHECK is read, and DELETE works, but it takes no new rows",
    "Spark tests no rows by constraints",
)
_NEWER_VERSIONS = Missing(
    "newer versions",
    "a DataFrame reads the version that its table had when the DataFrame was made",
    "Spark loads a DataFrame's tables once",
)
_KEPT_CACHES = Missing(
    "kept caches",
    "data cached of a table is no longer used once the table has changed",
    "Spark caches data of the same version anew",
)
_PARAMETERS = Missing(
    "parameters",
    "clauses that Spark does not know, such as SKEWED BY, take no parameter markers",
    "Spark tells no parser the values of parameters",
)
_HIDDEN_COLUMNS = Missing(
    "hidden columns in merges",
    "a MERGE that names a hidden column, such as _file, inserts no rows",
    "Spark wants a value for each hidden column",
)
_LEFT_OUT_COLUMNS = Missing(
    "left-out columns",
    "an INSERT and a write by name give a value or DEFAULT for each column",
    "Spark fills in columns for its own tables alone",
)
_VOID_COLUMNS = Missing(
    "void columns",
    "columns of the type VOID are neither written nor read",
    "Spark's Parquet files have no such type",
)
_SHOW_PROCEDURES = Missing(
    "show procedures",
    "procedures are called, and there is no list of them",
    "Spark has no SHOW PROCEDURES",
)
_PARTITION_FUNCTIONS = Missing(
    "functions of partitions",
    "rows are tested again by a condition such as upper(p) = 'A', and with a subquery's value it prunes no partitions",
    "Spark hands such conditions to no table",
)
_COLUMN_IDS = Missing(
    "column ids",
    "a DataFrame that was made before a column was dropped and added again reads the new column",
    "Spark compares columns by name alone",
)
_OLD_COLUMNS = Missing(
    "column ids",
    "a DataFrame that was made before a column was dropped and added again reads the old column",
    "Spark loads a DataFrame's tables once",
)
_ORC_TIMES = Missing(
    "times in orc",
    "timestamps skip files of ORC, and no stripes within them",
    "Spark's reader loses rows of files that were written in another time zone",
)
_EXISTS_WITH_COMPUTED = Missing(
    "exists with computed columns",
    "a DELETE or UPDATE rewrites all files if its EXISTS compares a computed column or a CHAR by =, and another column",
    "Spark optimizes the search of files twice, and fails",
)
_OTHER_BROADCASTS = Missing(
    "broadcasts of others",
    "a join in buckets is shuffled if a side was joined before with a broadcast of what is in no such table, as VALUES",
    "Spark joins in buckets only what it reads from tables of catalogs",
)
_SUBQUERY_VALUES = Missing(
    "values of subqueries",
    "the value of a subquery, as in x = (SELECT max(x) …), leaves out no directories",
    "Spark gives a scan only the values of joins and of IN",
)

_BEFORE_4_3 = (_ORC_TIMES, _SCAN_MERGING)
_BEFORE_4_2 = (
    _VIEWS,
    _CREATE_LIKE,
    _DESCRIBED_PARTITIONS,
    _OPTIONS_OF_EACH_TABLE,
    _PARTITION_FUNCTIONS,
    _OTHER_BROADCASTS,
    _SUBQUERY_VALUES,
    _EXISTS_WITH_COMPUTED,
    *_BEFORE_4_3,
)
_BEFORE_4_1 = (
    _CONSTRAINTS,
    _NO_EVOLVING_WRITES,
    _EVOLVING_MERGES,
    _NEWER_VERSIONS,
    _KEPT_CACHES,
    _PARAMETERS,
    _HIDDEN_COLUMNS,
    _LEFT_OUT_COLUMNS,
    _VOID_COLUMNS,
    _SHOW_PROCEDURES,
    _OLD_COLUMNS,
    *_BEFORE_4_2,
)

SPARK_SERIES: dict[str, tuple[Missing, ...]] = {
    "4.3": (),
    "4.2": _BEFORE_4_3,
    "4.1": (_EVOLVING_WRITES, _COLUMN_IDS, *_BEFORE_4_2),
    "4.0": _BEFORE_4_1,
}
"""The series that the bridge is compiled for, the newest first, each with what it lacks."""


PREVIEW = "PARQUETRY_PREVIEW"
"""The environment variable with a version of Spark that is no release yet, and the series to take it for."""


def _release(version: str) -> str:
    """Return a version without the mark of a preview, as Spark itself names it.

    >>> _release("4.2.0.dev5")
    '4.2.0'
    """
    return version.partition(".dev")[0]


def series_of(version: str) -> str | None:
    """Return the supported series that a version of Spark is of, or None if it is of no such series.

    A preview may be tried as if it were of a series: `PARQUETRY_PREVIEW=4.4.0.dev1=4.3` (`make preview`).
    """
    preview, _, series = os.environ.get(PREVIEW, "").partition("=")
    if series in SPARK_SERIES and preview and version.rstrip(".") in (preview, _release(preview)):
        return series
    return next((series for series in SPARK_SERIES if version.startswith(f"{series}.")), None)


def series_text() -> str:
    """Return the supported series in words, such as ``4.3 or 4.2``."""
    return " or ".join(SPARK_SERIES)
