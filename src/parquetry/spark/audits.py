"""Try a failed audit again, from the file that its error names.

An audit checks claims about rows (`bridge/audit`). A claim that does not hold leaves a file with the claim in
words, the conditions, the statement, settings and versions. Here, the same claim is checked again, in a
session of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from parquetry.errors import ConfigurationError
from parquetry.identifiers import quote_part
from parquetry.spark.session import configure
from parquetry.warehouse import Warehouse

_REFERENCE = "spark.parquetry.audit.reference"
"""The setting of a session whose queries leave out no file (`bridge/protocol/AuditMode.scala`)."""
_BY_FILE = frozenset({"files", "rows", "settled"})
"""Claims about one file, which its own rows decide."""


class FailedAudit(msgspec.Struct, frozen=True):
    """The file that an audit leaves behind; `bridge/audit/AuditFailure.scala` writes it.

    Attributes:
        format: 1.
        parquetry: the version of the library.
        spark: the version of Spark.
        claim: the kind of claim: `files`, `rows`, `settled`, `first rows`, `answer`, `query`, `location` or
            `delete`.
        words: what was claimed, and what the rows say.
        rules: the steps of pruning that left something out.
        catalog: the name of the catalog in the session, or None if the claim is about a whole query.
        table: its database and its name.
        id: the identity of the table.
        version: the version that was read.
        file: the path of the file that the claim is about.
        conditions: the conditions, as SQL. Values that joins found are counted, unless a setting shows them.
        statement: the SQL of the query, or None if it was made by methods of DataFrames.
        plan: the query's plan.
        settings: of the session.
    """

    format: int
    parquetry: str
    spark: str
    claim: str
    words: str
    rules: tuple[str, ...]
    catalog: str | None
    table: tuple[str, ...] | None
    id: str | None
    version: str | None
    file: str | None
    conditions: tuple[str, ...]
    statement: str | None
    plan: str
    settings: dict[str, str]

    @property
    def is_of_file(self) -> bool:
        """Return whether one file and conditions that can be evaluated decide the claim."""
        return self.claim in _BY_FILE and not any("values of a join" in each for each in self.conditions)


class Replay(msgspec.Struct, frozen=True):
    """The outcome of a second check.

    Attributes:
        claim: the claim, in words.
        fails: whether it still does not hold; None if it cannot be checked again.
        outcome: what the check has shown, in a sentence.
    """

    claim: str
    fails: bool | None
    outcome: str


def read_failed_audit(path: Path) -> FailedAudit:
    """Return the content of an audit's file.

    Raises:
        ConfigurationError: the file is none of an audit.
        OSError: it cannot be read.
    """
    try:
        failed = msgspec.json.decode(path.read_bytes(), type=FailedAudit)
    except msgspec.MsgspecError as error:
        raise ConfigurationError(
            f"{path} is no file of an audit ({error}): take the file that the error PARQUETRY_AUDIT named."
        ) from None
    if failed.format != 1:
        raise ConfigurationError(f"{path} is of format {failed.format}: try it again with a newer Parquetry.")
    return failed


def replay_audit(warehouse: Warehouse, failed: FailedAudit, conf: Mapping[str, str]) -> Replay:
    """Start Spark, check a claim again, and stop Spark.

    Args:
        warehouse: of the table.
        failed: the claim.
        conf: settings of the Spark session.

    Raises:
        BridgeError: there is no bridge for the installed PySpark.
    """
    builder = SparkSession.builder.appName("parquetry audit")
    for key, value in {"spark.ui.enabled": "false", **conf}.items():
        builder.config(key, value)
    options = {} if warehouse.store is None else {"store": warehouse.store}
    spark = configure(builder, failed.catalog or "lake", warehouse.location, **options).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        for key, value in failed.settings.items():
            spark.conf.set(key, value)
        return check_again(spark, failed)
    finally:
        spark.stop()


def check_again(spark: SparkSession, failed: FailedAudit) -> Replay:
    """Check a claim again in a session that has the settings of the query."""
    if failed.is_of_file and failed.table is not None:
        return _check_file(spark, failed)
    if failed.statement is None or failed.claim == "delete":
        why = "a DELETE changes the table" if failed.claim == "delete" else "the query has no SQL"
        return Replay(
            failed.words, None, f"It cannot be checked again, since {why}; its plan is in the file."
        )
    spark.conf.set("parquetry.audit", "on")
    try:
        spark.sql(failed.statement).collect()
    except PySparkException as error:
        if "[PARQUETRY_AUDIT]" in str(error):  # Spark wraps what a task has found
            return Replay(failed.words, True, str(error))
        return Replay(failed.words, None, f"The statement fails otherwise now: {error}")
    return Replay(failed.words, False, "All claims of the statement hold now.")


def _check_file(spark: SparkSession, failed: FailedAudit) -> Replay:
    spark.conf.unset("parquetry.audit")
    name = ".".join(map(quote_part, (failed.catalog or "lake", *(failed.table or ()))))
    rows = f"{name} VERSION AS OF {failed.version}"
    condition = " AND ".join(f"({each})" for each in failed.conditions) or "true"
    read = _count(spark, rows, condition, failed.file)
    spark.conf.set(_REFERENCE, "true")
    try:
        there = _count(spark, rows, condition, failed.file)
    finally:
        spark.conf.unset(_REFERENCE)
    outcome = f"{there} rows of the file satisfy the conditions, and a query returns {read} of them."
    return Replay(failed.words, read != there, outcome)


def _count(spark: SparkSession, rows: str, condition: str, file: str | None) -> int:
    counts = spark.sql(f"SELECT _file FROM {rows} WHERE {condition}").groupBy("_file").count().collect()
    return sum(row["count"] for row in counts if row["_file"] == file)
