"""INSERT: write rows to files in their final locations, and make them visible by one commit.

No file is moved or overwritten: new files get new names, and nothing reads them before the commit. A failed
write deletes its files at once. If the process died, `vacuum` deletes them. `distribution` arranges the rows,
and `committed_files` makes the records of the files.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame

from parquetry.config import (
    PARTITION_COLUMNS_IN_FILES,
    PURGE_ON_OVERWRITE,
    WRITERS,
    Settings,
    refuse_foreign,
    settle,
)
from parquetry.data_files import FileRecord
from parquetry.definition import bloom_filter_options
from parquetry.errors import BatchCommittedError, CommitConflictError, PropertyError
from parquetry.locations import new_prefix, require_writable, stored_value
from parquetry.metastore import (
    PartitionSnapshot,
    TableSnapshot,
    Transaction,
    commit,
    keep_in_flight,
    own_locations,
    purge_replaced,
)
from parquetry.planner import (
    Destinations,
    Lake,
    agreeing,
    compact_after_write,
    conjuncts,
    is_serializable,
    partitions_of,
    plan_destinations,
    rely_on_reads,
    rely_on_search,
    replace_where,
    require_writable_so,
    whole,
)
from parquetry.planner.protocol import answers, questions
from parquetry.predicate import Compare, Filter, IsNull
from parquetry.spark.active import bridge_class, session_of
from parquetry.spark.write.audit import audit_files
from parquetry.spark.write.committed_files import (
    FilesKept,
    Uncommitted,
    WrittenPartition,
    collect,
    delete_files,
    empty_slots,
    nothing_kept,
)
from parquetry.spark.write.distribution import RowArrangement, stored_rows
from parquetry.spark.write.errors import write_error
from parquetry.spark.write.heavy_hitters import cached_rows as kept_rows, measure_heavy_values
from parquetry.spark.write.replace_where_check import (
    CHECKED_OPTION,
    by_partition,
    check_partitions,
    check_rows,
)
from parquetry.spark.write.slots import RowSlots
from parquetry.spark.write.stream_batches import batch_of, evaluate
from parquetry.spark.write.untouched import note_untouched, warn_of_untouched
from parquetry.types import Value

_LOG = logging.getLogger("parquetry")
_REPLACE_WHERE_TEXT = "REPLACE WHERE in"
_REPLACE_WHERE_OPTION = "parquetry.replace-where"
"""An option of a write: its condition comes from the option `replaceWhere`."""
_FIELD_IDS_OPTION = "parquetry.field-ids"
"""An option for the writer of files: JSON of pairs, a path of names in files and its field id."""
_REPEATED_COLUMNS_OPTION = "parquetry.partition-columns-in-files"
"""An option for the writer of files: JSON of the names of partition columns that files have, too."""
_IF_NOT_EXISTS_OPTION = "parquetry.if-not-exists"
"""An option of a write: JSON that names partitions. If one of them exists, the write does nothing."""
_OPERATIONS = {
    "append": "append",
    "truncate": "overwrite",
    "overwrite": "overwrite",
    "dynamic": "overwrite partitions",
}


def write(lake: Lake, q: questions.Write, data: Any) -> answers.WriteSummary:
    """Write the rows of a JVM DataFrame into a table, and commit.

    Raises:
        CommitConflictError: another writer changed what this one overwrites.
        ConfigurationError: a setting of the session cannot be used.
        PropertyError: an option or a property cannot be used.
        UnsupportedError: the overwritten filter does not select whole partitions.
        AuditError: rows of a new file are not as its record says.
        StreamError: a streaming query began to write into another table.
    """
    snapshot = lake.snapshot(q.table)
    with keep_in_flight(snapshot.store, snapshot.owner):
        return _write_rows(lake, q, data, snapshot)


def _write_rows(lake: Lake, q: questions.Write, data: Any, snapshot: TableSnapshot) -> answers.WriteSummary:
    """Write and commit; see `write`."""
    mode = _mode(snapshot, q)
    rows = DataFrame(data, session_of(data.sparkSession()))
    batch = None if q.batch is None else batch_of(lake, snapshot, q.batch)
    if batch is not None and batch.is_in(snapshot.commit):
        # it was committed before, by a query that died before it could update its checkpoint
        evaluate(rows)
        return write_summary(())
    settings = settle(q.write_options, q.settings, snapshot.metadata.properties)
    refuse_foreign(q.write_options, "write")
    arrangement = RowArrangement.from_settings(snapshot.metadata, settings, gathered=batch is not None)
    serializable = is_serializable(settings)
    options = file_options(snapshot, settings, q.write_options)
    where = [
        _to_stored_form(snapshot, predicate) for predicate in conjuncts(snapshot, q.predicates, written=True)
    ]
    require_writable_so(lake, snapshot, mode, where)
    if _is_there(snapshot, q):
        return write_summary(())
    of_rows = () if any(name.lower() == CHECKED_OPTION for name in q.write_options) else where
    if mode == "overwrite":
        whole(snapshot, where, _statement(q))  # before hours of work
        by_partition(snapshot, of_rows)
    require_writable(snapshot.metadata.location, lake.full_name(snapshot))
    destinations = plan_destinations(snapshot, keeps=mode == "append")
    kept = partial(_partition_files, snapshot) if destinations.keeps else nothing_kept
    files, slots = write_files(snapshot, rows, arrangement, options, destinations, kept, of_rows)
    uncommitted = Uncommitted(files, snapshot)
    try:
        written = collect(lake.engine, snapshot, files, slots)
        check_partitions(snapshot, of_rows, (part.values for part in written))
        audited = audit_files(rows.sparkSession, snapshot, written, settings, options)
        transaction = uncommitted.begin(_OPERATIONS[mode])
        if batch is not None:
            transaction.set_stream_batch(batch)
        _change(transaction, mode, where, written, _statement(q))
        if mode == "overwrite" and not written:
            _keep_static_partition(transaction, of_rows)
        replaced = (
            _overwritten_partitions(snapshot, mode, where, written, _statement(q))
            if settings[PURGE_ON_OVERWRITE]
            else []
        )
        if batch is None:
            _rely(lake, transaction, q, serializable, data, written)
        is_chosen = _option(q.write_options, _REPLACE_WHERE_OPTION) is not None
        note_untouched(lake, transaction, mode, where, is_chosen=is_chosen)
        summary = {} if batch is None else {"stream": batch.query, "batch": str(batch.number)}
        committed = lake.cache(commit(transaction, summary | audited))
    except BaseException as error:
        uncommitted.clean_up()
        if _is_there_by_now(lake, q, error):
            return write_summary(())
        raise
    warn_of_untouched(lake, committed)
    for failure in purge_replaced(replaced, committed) if replaced else ():
        _LOG.warning("a file that was overwritten in %s is left: %s", snapshot.label, failure)
    compact_after_write(lake, committed, settings, {snapshot.key_of(part.values) for part in written})
    return write_summary(written)


def _is_there_by_now(lake: Lake, q: questions.Write, error: BaseException) -> bool:
    """Return whether others have meanwhile written the same batch, or a partition of IF NOT EXISTS."""
    if isinstance(error, CommitConflictError):
        return _is_there(lake.current(q.table), q)
    return isinstance(error, BatchCommittedError)


def _keep_static_partition(transaction: Transaction, where: Sequence[Filter]) -> None:
    """Make a static partition empty that no rows overwrite, as in Hive, with the table's arrangement."""
    static = _static_partition(transaction.base, where)
    if static is not None:
        transaction.append(static, (), arrangement=transaction.base.metadata.arrangement)


def _rely(
    lake: Lake,
    transaction: Transaction,
    q: questions.Write,
    serializable: bool,
    data: Any,
    written: Sequence[WrittenPartition],
) -> None:
    """Make a transaction conflict with commits that change what its statement relies on."""
    if q.searched_by is None and not serializable:
        return
    reads = _reads(data) if q.reads is None else q.reads
    if q.searched_by is not None:
        rely_on_search(lake, transaction, reads, q.searched_by, [part.values for part in written])
    if serializable:
        rely_on_reads(lake, transaction, reads)


def _reads(data: Any) -> list[questions.Read]:
    """Return what the plan of a JVM DataFrame reads."""
    door = bridge_class(SparkContext._active_spark_context._jvm, "write.StatementReads")
    return msgspec.json.decode(door.of(data), type=list[questions.Read])


def _overwritten_partitions(
    snapshot: TableSnapshot,
    mode: str,
    where: Sequence[Filter],
    written: Sequence[WrittenPartition],
    statement: str,
) -> list[PartitionSnapshot]:
    """Return the partitions that a write overwrites, in their state before the write."""
    match mode:
        case "truncate":
            return list(snapshot.partitions())
        case "overwrite":
            return list(whole(snapshot, where, statement))
        case "dynamic":
            return list(partitions_of(snapshot, [snapshot.key_of(part.values) for part in written]))
    return []


def write_summary(written: Collection[WrittenPartition]) -> answers.WriteSummary:
    """Return the numbers of written files, partitions, rows and bytes."""
    files = [file for part in written for file in part.files]
    return answers.WriteSummary(
        files=len(files),
        partitions=len(written),
        rows=sum(file.rows or 0 for file in files),
        bytes=sum(file.bytes for file in files),
    )


def _partition_files(snapshot: TableSnapshot, keys: Collection[bytes]) -> dict[bytes, Sequence[FileRecord]]:
    return {part.key: part.files for part in partitions_of(snapshot, keys)}


def _change(
    transaction: Transaction,
    mode: str,
    where: Sequence[Filter],
    written: Sequence[WrittenPartition],
    statement: str,
) -> None:
    """Make a transaction drop what the write replaces, and add what it has written."""
    if mode == "truncate":
        transaction.replace_where(None)
    elif mode == "overwrite":
        replace_where(transaction, where, statement)
    take_in(transaction, mode, written)


def take_in(transaction: Transaction, mode: str, written: Sequence[WrittenPartition]) -> None:
    """Make a transaction add written files to their partitions.

    Args:
        transaction: to change.
        mode: see `questions.Write`. In "dynamic", the files replace the partition's files.
        written: the files by partition.
    """
    for part in written:
        if mode == "dynamic" or part.remade:
            only_new = mode == "dynamic" and not part.remade
            transaction.replace(part.values, part.files, arrangement=part.arrangement, only_new=only_new)
        elif mode == "append" and part.grows and part.arrangement is not None:
            transaction.grow(part.values, part.files, part.arrangement)
        elif mode == "append" and not any(file.is_arranged for file in part.files):
            transaction.append(
                part.values, part.files
            )  # which fits a partition however others arrange it meanwhile
        else:
            transaction.append(part.values, part.files, arrangement=part.arrangement)


def _to_stored_form(snapshot: TableSnapshot, predicate: Filter) -> Filter:
    """Return the predicate of a static partition in stored form: rows with p = '' are stored under NULL."""
    match predicate.node:
        case Compare("=" | "<=>", name, value) if name in snapshot.metadata.partition_by:
            if value is not None and stored_value(value) is None:
                return Filter(IsNull(name))
    return predicate


def _static_partition(snapshot: TableSnapshot, where: Sequence[Filter]) -> tuple[Value, ...] | None:
    """Return the one partition that INSERT OVERWRITE names, or None for other filters or fewer columns."""
    values: dict[str, Value] = {}
    for predicate in where:
        match predicate.node:
            case Compare("<=>", name, value):
                values[name] = value
            case IsNull(name):
                values[name] = None
            case _:
                return None
    names = snapshot.metadata.partition_by
    return tuple(values[name] for name in names) if names and set(values) == set(names) else None


def _statement(q: questions.Write) -> str:
    """Return the beginning of a message about the condition of an overwrite."""
    return (
        "Option replaceWhere of a write into"
        if _option(q.write_options, _REPLACE_WHERE_OPTION)
        else _REPLACE_WHERE_TEXT
    )


def _is_there(snapshot: TableSnapshot, q: questions.Write) -> bool:
    """Return whether a partition exists that the write names with IF NOT EXISTS."""
    text = _option(q.write_options, _IF_NOT_EXISTS_OPTION)
    if text is None:
        return False
    named = msgspec.json.decode(text)
    return next(agreeing(snapshot, named["names"], named["values"]), None) is not None


def _mode(snapshot: TableSnapshot, q: questions.Write) -> str:
    """Return the statement's mode, unless an option says which partitions a plain overwrite replaces.

    In a table without partition columns, an overwrite replaces all rows, even by none, as in Spark's tables.
    """
    if q.mode == "dynamic" and not snapshot.metadata.partition_by:
        return "truncate"
    mode_option = _option(q.write_options, "partitionOverwriteMode")
    if mode_option is None:
        return q.mode
    if mode_option.lower() not in ("static", "dynamic"):
        raise PropertyError(f"Write option partitionOverwriteMode is {mode_option!r}: say static or dynamic.")
    if mode_option.lower() == "dynamic" and _option(q.write_options, _REPLACE_WHERE_OPTION) is not None:
        raise PropertyError(
            "Write options replaceWhere and partitionOverwriteMode both say which partitions are replaced: give one of them."
        )
    if q.mode not in ("truncate", "dynamic") or not snapshot.metadata.partition_by:
        return q.mode
    return "dynamic" if mode_option.lower() == "dynamic" else "truncate"


def file_options(
    snapshot: TableSnapshot, settings: Settings, write_options: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return the options for the writer of files: the codec, and options that only this writer understands.

    Args:
        snapshot: of the table.
        settings: of the write.
        write_options: the options of the write.

    Raises:
        PropertyError: `bloom-filter-columns` names no column, or one that cannot have a Bloom filter.
        ConfigurationError: the session's `bloom-filter-columns` does.
    """
    options = (
        bloom_filter_options(snapshot.metadata, settings)
        | _schema_options(snapshot, settings)
        | {
            name: value
            for name, value in snapshot.metadata.properties.items()
            if name.startswith((*WRITERS, "maxRecords"))
        }
    )
    options.update((name, value) for name, value in write_options.items() if name.startswith(WRITERS))
    if (most := _option(write_options, "maxRecordsPerFile")) is not None:
        options["maxRecordsPerFile"] = most
    if (compression := settings["compression"]) is not None:
        options["compression"] = compression
    return options


def _schema_options(snapshot: TableSnapshot, settings: Settings) -> dict[str, str]:
    """Return the writer's options for the schemas of files: field ids, and partition columns in files."""
    metadata = snapshot.metadata
    ids = [[path, number] for path, number in metadata.ids_by_path.items()]
    options = {_FIELD_IDS_OPTION: json.dumps(ids)}
    if settings[PARTITION_COLUMNS_IN_FILES] and metadata.partition_by:
        names = [column.physical for column in metadata.partition_columns]
        options[_REPEATED_COLUMNS_OPTION] = json.dumps(names)
    return options


def _option(options: Mapping[str, str], name: str) -> str | None:
    """Return an option of the write, by its name in any letter case."""
    return {key.lower(): value for key, value in options.items()}.get(name.lower())


def write_files(
    snapshot: TableSnapshot,
    frame: DataFrame,
    arrangement: RowArrangement,
    options: Mapping[str, str],
    destinations: Destinations,
    kept: FilesKept,
    where: Sequence[Filter] = (),
) -> tuple[list[dict[str, Any]], RowSlots]:
    """Write rows as data files of a table. No commit names them yet.

    Args:
        snapshot: the table.
        frame: its columns, in order.
        arrangement: of the rows in the files.
        options: for the writer of files.
        destinations: the arrangements of partitions. If they need heavy values, the values are measured here.
        kept: the files that partitions keep besides.
        where: the conditions, joined by AND, that each row has to satisfy; see `replace_where_check`.

    Returns:
        For each file: its partition's directory below the table, the partition's location if it is elsewhere
        (or None), the number of its slot, its path, bytes and time of change. And the slots of these numbers.

    Raises:
        ValueTypeError: a partition's value cannot be the name of a directory.
        PropertyError: the writer of files cannot use an option.
        OutsideConditionError: a row does not satisfy the conditions.
    """
    rows = check_rows(snapshot, where, stored_rows(snapshot, frame))
    try:
        if (measuring := destinations.to_measure) is None:
            return _write(snapshot, rows, arrangement, options, destinations, kept)
        with kept_rows(rows) as rows:
            destinations = destinations.measured(snapshot, measure_heavy_values(snapshot, rows, measuring))
            return _write(snapshot, rows, arrangement, options, destinations, kept)
    except (Py4JJavaError, CapturedException) as error:
        if (refusal := write_error(snapshot, where, options, error)) is not None:
            raise refusal from None
        raise


def _write(
    snapshot: TableSnapshot,
    rows: DataFrame,
    arrangement: RowArrangement,
    options: Mapping[str, str],
    destinations: Destinations,
    kept: FilesKept,
) -> tuple[list[dict[str, Any]], RowSlots]:
    metadata, totals = snapshot.metadata, snapshot.totals
    slots = RowSlots(snapshot, destinations)
    arrangement = arrangement.by_slot(slots)
    arranged = arrangement.apply(slots.add(rows), slots.order(light_sorted=arrangement.light_sorted))
    door = bridge_class(rows.sparkSession._jvm, "datafiles.FileWriter")
    elsewhere = own_locations(snapshot)
    columns = list(arrangement.partition_columns)
    what = arranged.rows._jdf, metadata.format, metadata.location, elsewhere, columns
    slots_json = json.dumps(
        [
            {
                "first": directory.first,
                "directory": directory.directory,
                "bucketed": directory.one_file_per_slot,
            }
            for directory in slots.numbers.directories
        ]
    )
    prefix = new_prefix(snapshot.owner)
    row_bytes = totals.bytes / totals.rows if totals.rows and totals.bytes else 0.0
    options = {**options, "timeZone": "UTC"}  # for timestamps in paths; see types.text_from_value
    how = arrangement.file_bytes, row_bytes, arranged.tasks, arranged.one_partition
    files = json.loads(door.write(*what, slots_json, prefix, *how, options))
    try:
        if empty := empty_slots(snapshot, slots, files, arrangement.empty_buckets, kept):
            files += json.loads(door.writeEmpty(*what, slots_json, prefix, json.dumps(empty), options))
    except BaseException:
        delete_files([file["path"] for file in files], metadata.location)
        raise
    for file in files:
        file["location"] = elsewhere.get(file["directory"])
    return files, slots
