"""The combinations that directories for heavy values exclude: rules, each with its reason and remedy.

Hive's design names these combinations. Where Hive could not support one and Parquetry can, the table property
`list-bucketing-rules` = `relaxed` lifts the rule. This is the default of tables that measure their heavy
values (`ON AUTO`), which Hive has not. The other rules always apply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from parquetry.config import LIST_BUCKETING_RULES
from parquetry.errors import ListBucketingError, LoadIntoSkewedError

MERGEABLE = ("parquet", "orc")
"""Formats of files that can be merged."""

Occasion = Literal["define", "create as", "append", "overwrite", "load", "concatenate", "name partition"]
"""The statement that a rule applies to.

`define`: CREATE or ALTER. `create as`: CREATE TABLE AS SELECT. `append` and `overwrite`: rows are added or
replaced. `load`: LOAD DATA. `concatenate`: files are merged. `name partition`: a partition gets the name of
the directory of all other rows as its value.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The properties of a table, or of a statement's new table, that the rules examine.

    Attributes:
        label: its name, for messages.
        directories: whether its heavy values have directories; without them no rule applies.
        buckets: whether its rows are in buckets.
        external: whether a statement named its location.
        partitioned: whether it has partition columns.
        file_format: of its files.
        relaxed: whether the liftable rules are lifted.
    """

    label: str
    directories: bool
    buckets: bool = False
    external: bool = False
    partitioned: bool = True
    file_format: str = "parquet"
    relaxed: bool = False


@dataclass(frozen=True, slots=True)
class ListBucketingRule:
    """A combination that is refused.

    Attributes:
        name: for messages.
        occasions: the statements that it applies to.
        broken: whether a table breaks the rule.
        text: the combination, for messages.
        instead: the remedy, for messages.
        liftable: whether the property lifts the rule.
        error: the error to raise.
    """

    name: str
    occasions: tuple[Occasion, ...]
    broken: Callable[[Subject], bool]
    text: str
    instead: str
    liftable: bool = True
    error: type[ListBucketingError | LoadIntoSkewedError] = ListBucketingError


RULES = (
    ListBucketingRule(
        "load-data", ("load",), lambda _: True,
        "A stored-as-directories table cannot be used as target for LOAD",
        "Read the files with Spark and INSERT their rows", liftable=False, error=LoadIntoSkewedError,
    ),
    ListBucketingRule(
        "buckets", ("define",), lambda each: each.buckets,
        "Directories for heavy values do not go together with CLUSTERED BY … INTO … BUCKETS",
        "Leave CLUSTERED BY or STORED AS DIRECTORIES out",
    ),
    ListBucketingRule(
        "format", ("define", "concatenate"), lambda each: each.file_format not in MERGEABLE,
        "Directories for heavy values need files that can be merged",
        "Say USING parquet or USING orc, or leave STORED AS DIRECTORIES out", liftable=False,
    ),
    ListBucketingRule(
        "external", ("define", "append", "overwrite", "concatenate"), lambda each: each.external,
        "Directories for heavy values do not go together with an external table",
        "Leave LOCATION or STORED AS DIRECTORIES out",
    ),
    ListBucketingRule(
        "create-as", ("create as",), lambda _: True,
        "A table with directories for heavy values is not made from a query",
        "Make it with CREATE TABLE and fill it with INSERT OVERWRITE",
    ),
    ListBucketingRule(
        "unpartitioned", ("append", "overwrite"), lambda each: not each.partitioned,
        "Directories for heavy values need a partitioned table to be written to",
        "Make it with PARTITIONED BY",
    ),
    ListBucketingRule(
        "insert-into", ("append",), lambda _: True,
        "INSERT INTO does not go together with directories for heavy values",
        "Write whole partitions with INSERT OVERWRITE",
    ),
    ListBucketingRule(
        "default-directory", ("name partition",), lambda _: True,
        "A partition cannot have the name of the directory of all rows without a heavy value as its value",
        "Choose another value",
    ),
)  # fmt: skip
"""All rules. The first broken one is reported."""


def require_allowed(subject: Subject, occasion: Occasion) -> None:
    """Make sure that a table breaks no rule.

    Raises:
        ListBucketingError: it breaks a rule. The message names the rule, and the property that lifts it.
        LoadIntoSkewedError: the statement loads files into it.

    >>> require_allowed(Subject(label="db.t", directories=True, external=True, relaxed=True), "define")
    >>> require_allowed(Subject(label="db.t", directories=False, external=True), "define")
    """
    if not subject.directories:
        return
    for rule in RULES:
        if occasion not in rule.occasions or (rule.liftable and subject.relaxed) or not rule.broken(subject):
            continue
        lifted = f", or set the table property '{LIST_BUCKETING_RULES}' = 'relaxed'" if rule.liftable else ""
        raise rule.error(f"{rule.text}: table {subject.label} (rule {rule.name}). {rule.instead}{lifted}.")
