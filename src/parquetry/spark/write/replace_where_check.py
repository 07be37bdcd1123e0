"""Check that the rows of a REPLACE WHERE satisfy its condition.

A row outside of the condition would be added to a partition that stays. A row is also outside if the
condition is NULL for it.

Usually a task checks each of its rows, and fails at the first row outside. But some conditions on partition
columns are checked only when the partitions of the rows are known. These are conditions that Spark would have
to evaluate, and the conditions of static partitions, `p <=> 1` and `p IS NULL`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, functions as sf

from parquetry.definition import refuse_values
from parquetry.errors import OutsideConditionError, UnsupportedError
from parquetry.identifiers import quoted
from parquetry.metastore import TableSnapshot
from parquetry.predicate import And, Compare, Filter, IsNull, Predicate, columns_of, opaque_parts
from parquetry.predicate.evaluate import evaluate
from parquetry.types import Value

CHECKED_OPTION = "parquetry.rows-checked"
"""An option of a write: the bridge checks the rows, by a condition that only Spark can evaluate."""
_MAX_VALUE_CHARACTERS = 100
_QUOTED = re.compile(r"(`(?:[^`]|``)*`)|'((?:[^'\\]|\\.|'')*)'", re.DOTALL)
"""A quoted name, or a literal in quotes."""


def by_partition(snapshot: TableSnapshot, where: Sequence[Filter]) -> list[Filter]:
    """Return the conditions that are checked against the values of the partitions written.

    Raises:
        UnsupportedError: a condition can be checked neither on rows nor on partitions.
    """
    partition_by = set(snapshot.metadata.partition_by)
    predicates = []
    for predicate in where:
        opaque = opaque_parts(predicate.node)
        if columns_of(predicate.node) <= partition_by:
            if opaque or isinstance(predicate.node, IsNull) or _is_static(predicate.node):
                predicates.append(predicate)
        elif opaque:
            raise UnsupportedError(
                f"REPLACE WHERE in {snapshot.label} of '{predicate}': whether a row satisfies the condition is not "
                f"known ({opaque[0].reason}). Compare columns with values, or name partition columns only."
            )
    return predicates


def check_rows(snapshot: TableSnapshot, where: Sequence[Filter], rows: DataFrame) -> DataFrame:
    """Return rows whose task fails at the first row outside of the conditions; `outside` has the error.

    Args:
        snapshot: of the table.
        where: the conditions, joined by AND.
        rows: in stored form, with the columns of the files.
    """
    later = by_partition(snapshot, where)
    now = And(tuple(predicate.node for predicate in where if predicate not in later))
    if not now.children:
        return rows
    physical = rows.columns
    rows = rows.toDF(*(column.name for column in snapshot.metadata.columns))
    named = [name for name in rows.columns if name in (columns_of(now) or snapshot.metadata.partition_by)]
    values = []
    for name in named:
        value = sf.left(rows[quoted(name)].cast("string"), sf.lit(_MAX_VALUE_CHARACTERS))
        values.append(sf.concat(sf.lit(f"{name} = "), sf.coalesce(value, sf.lit("NULL"))))
    refusal = sf.concat(
        sf.lit(_refusal(snapshot, where)), sf.concat_ws(", ", *values), sf.lit(_remedy(where))
    )
    first, *others = (rows[quoted(name)] for name in rows.columns)
    kind = rows.schema[0].dataType
    fits = sf.when(sf.expr(_with_backslashes(str(now))).cast("boolean"), first).otherwise(
        sf.raise_error(refusal).cast(kind)
    )
    return rows.select(fits.alias(rows.columns[0]), *others).toDF(*physical)


def _with_backslashes(condition: str) -> str:
    """Write quotes within literals with backslashes, as every version of Spark reads them.

    To Spark 4.0, two quotes are the end of a literal and the beginning of another one.

    >>> print(_with_backslashes("`it''s` = 'it''s' OR s = ''"))
    `it''s` = 'it\\'s' OR s = ''
    """

    def escape(quoted: re.Match[str]) -> str:
        name, literal = quoted.groups()
        return name or "'" + literal.replace("''", "\\'") + "'"

    return _QUOTED.sub(escape, condition)


def check_partitions(
    snapshot: TableSnapshot, where: Sequence[Filter], written: Iterable[tuple[Value, ...]]
) -> None:
    """Make sure that partitions with new rows satisfy the conditions that are checked on partitions.

    Raises:
        OutsideConditionError: a partition does not.
        ListBucketingError: a partition has a value that partitions of a list-bucketed table cannot have.
    """
    condition = _all(by_partition(snapshot, where))
    for values in written:
        refuse_values(snapshot, values)
        row = dict(zip(snapshot.metadata.partition_by, values, strict=True))
        if evaluate(condition, row) is not True:
            raise OutsideConditionError(
                f"{_refusal(snapshot, where)}{snapshot.describe(snapshot.key_of(values))}{_remedy(where)}"
            )


def outside(snapshot: TableSnapshot, where: Sequence[Filter], message: str) -> OutsideConditionError | None:
    """Return the error of a check that failed in a task or in the bridge, or None for other messages."""
    if message.startswith(f"{CHECKED_OPTION}: "):
        condition, *values = message.removeprefix(f"{CHECKED_OPTION}: ").split("\n")
        return OutsideConditionError(
            f"{_refusal_of(snapshot, condition)}{', '.join(values)}{_remedy_of(condition)}"
        )
    return OutsideConditionError(message) if where and message.startswith(_refusal(snapshot, where)) else None


def _all(where: Sequence[Filter]) -> And:
    """Return the conditions, joined by AND."""
    return And(tuple(predicate.node for predicate in where))


def _is_static(predicate: Predicate) -> bool:
    return isinstance(predicate, Compare) and predicate.op == "<=>"


def _refusal(snapshot: TableSnapshot, where: Sequence[Filter]) -> str:
    return _refusal_of(snapshot, str(_all(where)))


def _refusal_of(snapshot: TableSnapshot, condition: str) -> str:
    return f"A row written to table {snapshot.label} does not satisfy REPLACE WHERE {condition}: "


def _remedy(where: Sequence[Filter]) -> str:
    return _remedy_of(str(_all(where)))


def _remedy_of(condition: str) -> str:
    return f". Leave out such rows with WHERE {condition}, or name a wider condition. Nothing was written."
