"""Statements on whole partitions: ALTER TABLE … PARTITION, TRUNCATE, and DELETE FROM by condition."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import pyarrow.fs as pafs

from parquetry import errors
from parquetry.adoption import adopt_files, read_records
from parquetry.adoption.discover import discover
from parquetry.config import settle
from parquetry.data_files import FooterVisitor
from parquetry.definition import refuse_values
from parquetry.locations import is_own, join_location, open_location, stored_value
from parquetry.metastore import (
    REWRITING_OPERATIONS,
    PartitionSnapshot,
    TableSnapshot,
    Transaction,
    cheapest_plan,
    commit,
    purge,
    require_files,
    require_table,
)
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import conjuncts, replace_where
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import from_wire, to_wire
from parquetry.planner.writes import is_serializable
from parquetry.predicate import And, Compare, Filter, IsNull, Predicate
from parquetry.prune import partition_plan
from parquetry.prune.whole_partitions import whole_partitions
from parquetry.types import Value

_LOG = logging.getLogger("parquetry")


def values_of(snapshot: TableSnapshot, rows: Sequence[Sequence[str | None]]) -> list[tuple[Value, ...]]:
    """Return the values of a question's partitions."""
    types = snapshot.metadata.partition_types
    return [
        tuple(stored_value(from_wire(type_, text)) for type_, text in zip(types, row, strict=True))
        for row in rows
    ]


def _nameable(snapshot: TableSnapshot, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return values, once it is certain that a directory's name can contain them.

    Raises:
        ValueTypeError: a value contains the character NUL.
    """
    for name, value in zip(snapshot.metadata.partition_by, values, strict=True):
        if (isinstance(value, str) and "\0" in value) or (isinstance(value, bytes) and b"\0" in value):
            raise errors.ValueTypeError(
                f"Table {snapshot.label}: a directory's name cannot hold {value!r}, which partition column {name} is "
                "given, as the character NUL is in it: write it as text, with hex() or base64()."
            )
    refuse_values(snapshot, values)
    return values


def add(lake: Lake, q: questions.AddPartitions) -> answers.Done:
    """Add partitions, with the files in their locations."""
    snapshot = require_table(lake.current(q.table))
    metadata = snapshot.metadata
    columns = frozenset(column.physical.lower() for column in metadata.data_columns)
    transaction = Transaction(snapshot, "add partitions")
    taken: list[str] = []
    transaction.requirements.adopt(lambda: require_files(snapshot.label, taken))
    for values, properties in zip(values_of(snapshot, q.partitions), q.properties, strict=True):
        _nameable(snapshot, values)
        given = properties.get("location")
        location = snapshot.placement.default_location(values)
        if given:
            name = snapshot.describe(snapshot.key_of(values))
            location = lake.locations.partition(snapshot, given, name)
        filesystem, path = open_location(location)
        files: list[Any] = []
        if _is_folder(filesystem, path):
            (part,) = discover(filesystem, path, columns=columns)
            foreign = [file.path for file in part.files if not is_own(file.path, snapshot.id)]
            visitor = FooterVisitor()
            files = read_records(lake.engine, metadata, location, foreign, visitor)
            for reason in visitor.broken.values():
                raise errors.FileCorruptError(reason)
        adopted, unfit = adopt_files(snapshot, values, location, files, metadata.arrangement)
        taken += (join_location(location, file.path) for file in adopted.files)
        for each in unfit:
            _LOG.warning("Table %s: %s", snapshot.label, each.detail)
        transaction.add(values, location if given else None, adopted.files, adopted.arrangement)
    commit(transaction)
    return answers.Done()


def _is_folder(filesystem: pafs.FileSystem, path: str) -> bool:
    """Return whether there is a folder at a path.

    Raises:
        WarehouseError: the file system refuses to look: the path is too long, or the user may not read there.
    """
    try:
        return bool(filesystem.get_file_info(path).type == pafs.FileType.Directory)
    except OSError as error:
        raise errors.WarehouseError(
            f"The folder of a partition cannot be looked at: {error}. Shorten the value, say another LOCATION, or give "
            "the user that runs Spark's driver the right to read there."
        ) from None


def drop(lake: Lake, q: questions.DropPartitions) -> answers.Confirmation:
    """Drop partitions. Files stay for readers of older versions unless purged: see `metastore.deletion`."""
    snapshot = lake.current(q.table)
    transaction = Transaction(snapshot, "drop partitions")
    gone: list[str] = []
    for values in values_of(snapshot, q.partitions):
        partition = _existing(snapshot, values)
        gone += [join_location(partition.location, file.path) for file in partition.files]
        transaction.drop(values)
    dropped = commit(transaction)
    if q.purge:
        for failure in purge(dropped, gone):
            _LOG.warning("a file of a dropped partition of %s is left: %s", snapshot.label, failure)
    return answers.Confirmation(True)


def truncate_partitions(lake: Lake, q: questions.TruncatePartitions) -> answers.Confirmation:
    """Remove all rows of partitions. The partitions stay."""
    snapshot = lake.current(q.table)
    transaction = Transaction(snapshot, "truncate partitions")
    for values in values_of(snapshot, q.partitions):
        _existing(snapshot, values)
        transaction.replace(values, ())
    commit(transaction)
    return answers.Confirmation(True)


def rename(lake: Lake, q: questions.RenamePartition) -> answers.Confirmation:
    """Give a partition other values. Its files stay where they are."""
    snapshot = lake.current(q.table)
    old, new = values_of(snapshot, q.partitions)
    _existing(snapshot, old)
    transaction = Transaction(snapshot, "rename partition")
    transaction.rename(old, _nameable(snapshot, new))
    commit(transaction)
    return answers.Confirmation(True)


def alter(lake: Lake, q: questions.AlterPartition) -> NoReturn:
    """Refuse: a partition lists each of its files, so a new location would have none of them."""
    snapshot = lake.current(q.table)
    raise errors.UnsupportedError(
        f"ALTER TABLE {lake.full_name(snapshot)} PARTITION … SET LOCATION is not supported: drop the partition, and add it "
        "again with its new LOCATION."
    )


def load(lake: Lake, q: questions.LoadPartition) -> answers.Properties:
    """Return the location, statistics and arrangement of a partition."""
    snapshot = lake.snapshot(q.table)
    partition = _existing(snapshot, values_of(snapshot, q.partitions)[0])
    known = {
        "location": partition.location,
        "files": str(partition.file_count),
        "bytes": str(partition.bytes),
    }
    rows = {} if partition.rows is None else {"rows": str(partition.rows)}
    location = _truncated(snapshot, partition.location)
    arranged = partition.arrangement.describe(snapshot.metadata.data_columns, location)
    return answers.Properties({**known, **rows, **dict(arranged)})


def _truncated(snapshot: TableSnapshot, location: str) -> str:
    """Return a partition's path from its table's folder on, or its location in full if it is elsewhere."""
    table = snapshot.metadata.location.rstrip("/")
    return location.removeprefix(table.rpartition("/")[0]) if location.startswith(f"{table}/") else location


def _existing(snapshot: TableSnapshot, values: tuple[Value, ...]) -> Any:
    partition = snapshot.partition(values)
    if partition is None:
        raise errors.PartitionNotFoundError(
            f"Table {snapshot.label} has no partition {snapshot.describe(snapshot.key_of(values))}: SHOW PARTITIONS lists them."
        )
    return partition


def listed(lake: Lake, q: questions.ListPartitions) -> answers.Rows:
    """Return the values of the partitions that match the values in the question, in key order."""
    snapshot = lake.current(q.table)
    types = snapshot.metadata.partition_types
    rows = [
        [to_wire(type_, value) for type_, value in zip(types, partition.values, strict=True)]
        for partition in agreeing(snapshot, q.names, q.values)
    ]
    return answers.Rows(rows)


def shown(lake: Lake, q: questions.ShowPartitions) -> answers.NameList:
    """Return the same partitions as SHOW PARTITIONS prints them. NULL is `__HIVE_DEFAULT_PARTITION__`."""
    snapshot = lake.current(q.table)
    return answers.NameList(
        [snapshot.describe(partition.key) for partition in agreeing(snapshot, q.names, q.values)]
    )


def agreeing(
    snapshot: TableSnapshot, names: Sequence[str], values: Sequence[str | None]
) -> Iterator[PartitionSnapshot]:
    """Yield the partitions that have some values, in key order.

    Args:
        snapshot: of the table.
        names: of partition columns; if empty, all partitions match.
        values: of these columns, as the question has them.
    """
    metadata = snapshot.metadata
    parts: list[Predicate] = []
    for name, text in zip(names, values, strict=True):
        type_ = metadata.column(name).column_type
        value = stored_value(from_wire(type_, text))
        parts.append(IsNull(name) if value is None else Compare("=", name, value, type_))
    if not parts:
        return snapshot.partitions()
    agreeing = Filter.bind(And(tuple(parts)), snapshot.key_schema.types)
    return snapshot.partitions(cheapest_plan(snapshot, agreeing))


def can_delete(lake: Lake, q: questions.CanDelete) -> answers.Confirmation:
    """Return whether the condition selects whole partitions, so that no file has to be rewritten."""
    snapshot = lake.snapshot(q.table)
    return answers.Confirmation(
        not isinstance(whole_partitions(snapshot, conjuncts(snapshot, q.predicates)), str)
    )


def delete(lake: Lake, q: questions.Delete) -> answers.Done:
    """Drop the partitions that a condition selects."""
    snapshot = lake.current(q.table)
    transaction = Transaction(snapshot, "delete")
    selected = conjuncts(snapshot, q.predicates)
    replace_where(transaction, selected, "DELETE FROM")
    if is_serializable(settle(session=q.settings, properties=snapshot.metadata.properties)):
        transaction.requirements.rely_on(
            snapshot, partition_plan(snapshot, selected, indexed=False), REWRITING_OPERATIONS
        )
    commit(transaction)
    return answers.Done()


def truncate(lake: Lake, q: questions.Truncate) -> answers.Confirmation:
    """Remove all rows of a table. Its partitions stay, as in Hive and Spark (SPARK-34418)."""
    snapshot = lake.current(q.table)
    transaction = Transaction(snapshot, "truncate")
    for partition in snapshot.partitions():
        transaction.replace(partition.values, ())
    commit(transaction)
    return answers.Confirmation(True)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.AddPartitions: add,
    questions.DropPartitions: drop,
    questions.TruncatePartitions: truncate_partitions,
    questions.RenamePartition: rename,
    questions.AlterPartition: alter,
    questions.LoadPartition: load,
    questions.ListPartitions: listed,
    questions.ShowPartitions: shown,
    questions.CanDelete: can_delete,
    questions.Delete: delete,
    questions.Truncate: truncate,
}
