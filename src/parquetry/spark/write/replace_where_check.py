"""Rows that take the place of others: each has to satisfy the condition whose partitions are replaced.

A row outside of the condition would be added to a partition that stays, and a row for which the condition is
NULL is outside. A row is told of as soon as a task comes upon it; what a row's partition decides, and Spark would
have to be asked for, or holds for all rows of a static partition, is seen when the partitions are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from parquetry.definition import refuse_values
from parquetry.errors import OutsideConditionError, UnsupportedError
from parquetry.identifiers import quoted
from parquetry.metastore.versions import TableSnapshot
from parquetry.predicate import And, Compare, Filter, IsNull, Predicate, columns_of, opaque_parts
from parquetry.predicate.evaluate import evaluate
from parquetry.types import Value

CHECKED_OPTION = "parquetry.rows-checked"
"""The option of a write of which the bridge checks the rows, by a condition that only Spark can evaluate."""
_MAX_VALUE_CHARACTERS = 100


def by_partition(snapshot: TableSnapshot, where: Sequence[Filter]) -> list[Filter]:
    """Return the conditions that are checked against the values of the partitions written.

    Raises:
        UnsupportedError: whether a row satisfies a condition cannot be told before the row is written, nor after.
    """
    partition_by = set(snapshot.metadata.partition_by)
    found = []
    for predicate in where:
        opaque = opaque_parts(predicate.node)
        if columns_of(predicate.node) <= partition_by:
            if opaque or isinstance(predicate.node, IsNull) or _is_static(predicate.node):
                found.append(predicate)
        elif opaque:
            raise UnsupportedError(
                f"REPLACE WHERE in {snapshot.label} of '{predicate}': whether a row satisfies the condition is not "
                f"known ({opaque[0].reason}). Compare columns with values, or name partition columns only."
            )
    return found


def checked_rows(snapshot: TableSnapshot, where: Sequence[Filter], rows: DataFrame) -> DataFrame:
    """Return rows that fail their task at the first one outside of the conditions; see `outside` for the error.

    Args:
        snapshot: of the table.
        where: the conditions, joined by AND.
        rows: as they are stored, with the columns of the files.
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
    fits = sf.when(sf.expr(str(now)).cast("boolean"), first).otherwise(sf.raise_error(refusal).cast(kind))
    return rows.select(fits.alias(rows.columns[0]), *others).toDF(*physical)


def check_partitions(
    snapshot: TableSnapshot, where: Sequence[Filter], written: Iterable[tuple[Value, ...]]
) -> None:
    """Make sure that partitions with new rows lie within the conditions that their values decide.

    Raises:
        OutsideConditionError: one does not.
        ListBucketingError: one has a value that a list-bucketed table's partitions cannot have.
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
    """Return the error that a failed task told of, if it is that of `checked_rows`, or of the bridge's own check."""
    if message.startswith(f"{CHECKED_OPTION}: "):
        condition, *values = message.removeprefix(f"{CHECKED_OPTION}: ").split("\n")
        return OutsideConditionError(
            f"{_refused(snapshot, condition)}{', '.join(values)}{_remedy_of(condition)}"
        )
    return OutsideConditionError(message) if where and message.startswith(_refusal(snapshot, where)) else None


def _all(where: Sequence[Filter]) -> And:
    """Return the conditions as they were written, joined by AND."""
    return And(tuple(predicate.node for predicate in where))


def _is_static(predicate: Predicate) -> bool:
    return isinstance(predicate, Compare) and predicate.op == "<=>"


def _refusal(snapshot: TableSnapshot, where: Sequence[Filter]) -> str:
    return _refused(snapshot, str(_all(where)))


def _refused(snapshot: TableSnapshot, condition: str) -> str:
    return f"Table {snapshot.label} is to have new rows where {condition}, and one of them is not there: "


def _remedy(where: Sequence[Filter]) -> str:
    return _remedy_of(str(_all(where)))


def _remedy_of(condition: str) -> str:
    return f". Leave out such rows with WHERE {condition}, or name a wider condition. Nothing was written."
