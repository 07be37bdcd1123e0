"""Write the page of all error conditions, `docs/errors.md`, from the errors that the code raises.

    python -m scripts.errors_page > docs/errors.md

What a condition means is the docstring of its class in `parquetry.errors`. Conditions that only the bridge
raises are found in its sources. The remedies are here: each condition needs one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import parquetry.errors
from parquetry.errors import ParquetryError, SkewError

ROOT = Path(__file__).resolve().parents[1]
_OF_BRIDGE = re.compile(r'ParquetryException\("([A-Z_]+)"|\[PARQUETRY_([A-Z_]+)\]')
"""How the bridge's sources name a condition that they raise."""


class Condition(NamedTuple):
    """A condition, as a row of the page shows it."""

    code: str
    sqlstate: str
    meaning: str
    remedy: str


REMEDIES = {
    "Names": {
        "NAMESPACE_NOT_FOUND": "`SHOW NAMESPACES IN lake` lists what exists; `CREATE NAMESPACE lake.db` makes one",
        "NAMESPACE_EXISTS": "choose another name, or say `IF NOT EXISTS`",
        "NAMESPACE_NOT_EMPTY": "drop its tables first, or say `CASCADE`",
        "TABLE_NOT_FOUND": "the message suggests names that are alike. Name the catalog (`lake.db.t`), or `USE lake`",
        "TABLE_EXISTS": "choose another name, or say `IF NOT EXISTS` or `CREATE OR REPLACE`",
        "COLUMN_NOT_FOUND": "`DESCRIBE lake.db.t` lists the columns",
        "COLUMN_EXISTS": "choose another name",
        "CONSTRAINT_NOT_FOUND": "`DESCRIBE EXTENDED lake.db.t` lists the constraints; or say `IF EXISTS`",
        "CONSTRAINT_EXISTS": "choose another name",
        "PARTITION_NOT_FOUND": "`SHOW PARTITIONS lake.db.t` lists what exists; or say `IF EXISTS`",
        "PARTITION_EXISTS": "choose other values, or say `IF NOT EXISTS`",
        "INDEX_NOT_FOUND": "`DESCRIBE EXTENDED lake.db.t` shows the [indexes](sql.md#partition-indexes)",
        "INDEX_EXISTS": "nothing needs to be done",
        "VERSION_NOT_FOUND": "`SELECT * FROM lake.db.t.history` lists the versions; a `vacuum` deletes old ones",
        "LOCATION_TAKEN": "choose another `LOCATION`: a managed table shares its folder with no other",
    },
    "Statements": {
        "UNSUPPORTED": "the message says what to type instead; [SQL](sql.md#what-is-refused-and-what-to-do-instead) has the list",
        "PROPERTY": "correct the property or the option; [Configuration](configuration.md) has all, with their values",
        "VALUE_TYPE": "give a value of the column's type, or cast it",
        "FILTER": "correct the filter at the mark; [Concepts](concepts.md#pruning) says what filters may say",
        "REPORT_FILE": "save the report as JSON: `json.dumps(parquetry.report(df).to_dict())`",
        "CLAUSE": "correct the clause at the mark",
        "TEXT": "correct the text at the mark",
        "SKEW": "correct the definition: [List bucketing](list-bucketing.md#saying-what-is-heavy)",
        "LIST_BUCKETING": "the message names the rule; the property `list-bucketing-rules` = `relaxed` lifts [those of Hive](list-bucketing.md#what-does-not-go-together)",
        "BUCKET": "correct the definition: [Buckets](buckets.md#saying-which-buckets)",
        "ARRANGEMENT": "name columns that the files have, and write the files for the partition's arrangement",
        "CONSTRAINED_COLUMN_CHANGE": "drop the constraint first, and add it again",
        "OUTSIDE_CONDITION": "filter the rows by the condition, or name the condition that holds for them",
        "HIVE": "look into the log of Hive's metastore, then run the statement again: it goes on where it was",
    },
    "Commits and streams": {
        "COMMIT_CONFLICT": "run the statement again: it has changed nothing",
        "COMMIT_ABORTED": "run the statement again: it has changed nothing",
        "COMMIT_UNKNOWN": "look at `SELECT * FROM lake.db.t.history` before you run the statement again",
        "BATCH_COMMITTED": "nothing needs to be done: the query goes on with its next batch",
        "STREAM": "as the message says: begin with a new checkpoint, or with `startingVersion`; [Streaming](streaming.md)",
    },
    "Files": {
        "FILE_MISSING": "put the file back, or make the table forget it: `CALL lake.system.sync` for a table over files of others, `CALL lake.system.fsck(…, repair => true)` else",
        "FILE_CORRUPT": "restore the file from a copy, or remove it and go on as for a missing one",
        "FILE_CHANGED": "`CALL lake.system.sync(table => 'db.t')` takes in the rows that it has now",
        "AUDIT": "report it with the message: Parquetry, or a writer of files, made a claim about rows that is wrong",
        "CODEC_MISSING": "add the codec's jar to `spark.jars`, or have the file written with another codec",
    },
    "Warehouse and metastore": {
        "WAREHOUSE": "correct the path, or the rights of the folder that the message names",
        "OPEN_FILES": "start the process with a higher limit (`ulimit -n`): [Limits of the system](operating.md#limits-of-the-system)",
        "FOREIGN_WAREHOUSE": "name the store that the message names; [One metastore for a warehouse](operating.md#one-metastore-for-a-warehouse)",
        "STORE": "see whether the store can be reached (`parquetry doctor`), and try again; [PostgreSQL](postgresql.md#when-something-fails)",
        "METASTORE_VERSION": "upgrade Parquetry on this machine; [formats](concepts.md#the-format-of-the-metastore)",
        "METASTORE_DAMAGED": "`fsck` says what the row is about; restore the rest from a dump: [After a crash](operating.md#after-a-crash)",
    },
    "Session": {
        "CONFIGURATION": "correct the setting that the message names; [Configuration](configuration.md)",
        "BRIDGE": "install the Parquetry and the PySpark that belong together; [Versions of Spark](versions.md)",
        "NOT_ATTACHED": "make the session with `SparkSession.builder` and `parquetry.configure`",
        "PLANNER_NOT_STARTED": "install Parquetry into the Python that the message names; [Install](install.md#which-file-on-which-node)",
        "PLANNER_ENDED": "the message says whether the statement can have taken effect. Look for what ends processes, such as a limit of memory",
        "PLANNER_UNREACHABLE": "raise the limit that the message names (`ulimit -n`) before the process is started, and run the statement again",
        "INTERNAL": "report it, with the log of the Python process",
    },
}
"""Sections of the page: conditions, and what to do about each."""
BRIDGE_ONLY = {
    "FILE_CHANGED": ("", "A file of another writer was written anew since the table took it in."),
    "CODEC_MISSING": ("", "A data file is compressed by a codec that the session has not."),
    "NOT_ATTACHED": ("KD000", "No Spark session exists that a planner could be started for."),
    "PLANNER_NOT_STARTED": ("KD000", "The Python process that plans for a JVM did not start."),
    "PLANNER_ENDED": ("40003", "The Python process that plans ended before it had answered."),
    "PLANNER_UNREACHABLE": (
        "KD000",
        "The Python process that plans took no connection, such as at its limit of open files.",
    ),
    "INTERNAL": ("KD000", "A fault in Parquetry itself."),
}
"""SQLSTATE and meaning of conditions without a class in Python; errors of Spark's tasks have no SQLSTATE."""
_OF_TASKS = ("FILE_MISSING", "FILE_CORRUPT")
_HIDDEN = ("PARQUETRY_ERROR", "SPARK")
"""The root's code, which nothing raises, and Spark's own errors, which come back unchanged."""
_INTRODUCTION = """\
# Errors

<!-- Written by `python -m scripts.errors_page > docs/errors.md`; change src/parquetry/errors.py or scripts/errors_page.py instead. -->

You need this page when an error's message is not enough, or when a program has to tell errors apart. Each
message names the object, the value and the remedy. A statement that fails has changed nothing, or the message
says otherwise.

| where | how to tell errors apart |
|---|---|
| Spark, SQL clients | the condition in front of the message, `[PARQUETRY_COMMIT_CONFLICT]`; in Python `error.getCondition()` and `error.getSqlState()` |
| Python without Spark | the class, such as `parquetry.errors.CommitConflictError`; its `code` is the condition without `PARQUETRY_`. All have the root `parquetry.ParquetryError` |
| command line | exit code 1, and the message without the condition; 2 for a wrong option |

Spark expects errors of its own for some names, and raises `TABLE_OR_VIEW_NOT_FOUND`,
`TABLE_OR_VIEW_ALREADY_EXISTS`, `SCHEMA_NOT_FOUND`, `SCHEMA_ALREADY_EXISTS` and `SCHEMA_NOT_EMPTY` in place of
the first five conditions. Errors of statements that Spark itself refuses are Spark's.
"""
_HIVE = """\
### Codes of Hive

Where Hive has the same check, a message of `PARQUETRY_SKEW` begins with Hive's code:

| code | meaning |
|---|---|
"""


def codes_of_bridge() -> set[str]:
    """Return the conditions that the bridge's sources raise."""
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "bridge").rglob("*.scala")))
    return {first or second for first, second in _OF_BRIDGE.findall(text)}


def codes_of_python() -> dict[str, type[ParquetryError]]:
    """Return the conditions that Python raises, each with the first class that has it."""
    classes: dict[str, type[ParquetryError]] = {}
    for each in vars(parquetry.errors).values():
        if isinstance(each, type) and issubclass(each, ParquetryError) and each.code not in _HIDDEN:
            classes.setdefault(each.code, each)
    return classes


def page() -> str:
    """Return the page as Markdown."""
    parts = [_INTRODUCTION]
    for section in REMEDIES:
        rows = "".join(_row(each) for each in _conditions(section))
        parts.append(
            f"## {section}\n\n| condition | SQLSTATE | meaning | what to do |\n|---|---|---|---|\n{rows}"
        )
        if "SKEW" in REMEDIES[section]:
            parts.append(_HIVE + "".join(_hive_codes()))
    return "\n".join(parts)


def _conditions(section: str) -> Iterator[Condition]:
    classes = codes_of_python()
    for code, remedy in REMEDIES[section].items():
        if code in BRIDGE_ONLY:
            yield Condition(code, *BRIDGE_ONLY[code], remedy)
        else:
            sqlstate = "" if code in _OF_TASKS else classes[code].sqlstate
            yield Condition(code, sqlstate, _meaning(classes[code]), remedy)


def _row(each: Condition) -> str:
    state = f"`{each.sqlstate}`" if each.sqlstate else ""
    return f"| `PARQUETRY_{each.code}` | {state} | {each.meaning} | {each.remedy} |\n"


def _hive_codes() -> Iterator[str]:
    classes = [each for each in vars(parquetry.errors).values() if isinstance(each, type)]
    for each in classes:
        if issubclass(each, SkewError) and each.hive is not None:
            yield f"| {each.hive} | {_meaning(each)} |\n"


def _meaning(of: type[ParquetryError]) -> str:
    """Return the first paragraph of a class's docstring, in one line."""
    return " ".join((of.__doc__ or "").split("\n\n")[0].split())


if __name__ == "__main__":
    print(page(), end="")
