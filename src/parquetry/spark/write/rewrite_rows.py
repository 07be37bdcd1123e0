"""DELETE, UPDATE and MERGE of rows: rewrite the files with a match, and replace the old files in one commit.

Spark has found these files and read all of their rows. The rows that come here are the new contents. If a
file of a partition is rewritten, the partition must not have changed since it was read, or the commit
conflicts. Rows for other partitions are added, even if others change these partitions meanwhile. An exception
are the inserts of a MERGE, which rely on a search without a match: the commit conflicts if others have added
rows where the MERGE searched (`planner.writes`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from parquetry.config import settle
from parquetry.data_files import FileRecord
from parquetry.locations import join_location, require_writable
from parquetry.metastore import PartitionSnapshot, TableSnapshot, Transaction, commit, keep_in_flight
from parquetry.planner import (
    Lake,
    compact_after_write,
    is_serializable,
    partitions_of,
    plan_destinations,
    rely_on_reads,
    rely_on_search,
    require_writable_so,
    values_of,
)
from parquetry.planner.protocol import answers, questions
from parquetry.spark.active import session_of
from parquetry.spark.write.audit import audit_files
from parquetry.spark.write.committed_files import Uncommitted, WrittenPartition, collect
from parquetry.spark.write.distribution import RowArrangement
from parquetry.spark.write.insert import file_options, take_in, write_files, write_summary
from parquetry.spark.write.replace_where_check import check_partitions


class _Rewritten(NamedTuple):
    """A partition with rewritten files, and the files that it keeps."""

    partition: PartitionSnapshot
    kept: tuple[FileRecord, ...]


def rewrite(lake: Lake, q: questions.RewriteRows, data: Any) -> answers.WriteSummary:
    """Replace some files by the rows of a JVM DataFrame, and commit. If nothing changes, there is no commit.

    Raises:
        CommitConflictError: another writer changed a partition with such a file.
        ConfigurationError: a setting of the session cannot be used.
        ListBucketingError: the rules of list-bucketed tables forbid the write.
        AuditError: rows of a new file are not as its record says.
    """
    snapshot = lake.snapshot(q.table)
    if not q.files and q.statement != "merge":
        return write_summary(())
    with keep_in_flight(snapshot.store, snapshot.owner):
        return _rewrite(lake, q, data, snapshot)


def _rewrite(
    lake: Lake, q: questions.RewriteRows, data: Any, snapshot: TableSnapshot
) -> answers.WriteSummary:
    """Replace the files and commit; see `rewrite`."""
    spark = session_of(data.sparkSession())
    settings = settle({}, q.settings, snapshot.metadata.properties)
    serializable = is_serializable(settings)
    require_writable_so(lake, snapshot, "overwrite", ())
    require_writable(snapshot.metadata.location, lake.full_name(snapshot))
    rewritten = _find_rewritten(snapshot, q)
    options = file_options(snapshot, settings)
    files, slots = write_files(
        snapshot,
        DataFrame(data, spark),
        RowArrangement.from_settings(snapshot.metadata, settings, gathered=True),
        options,
        plan_destinations(snapshot, keeps=True, extends=False),
        lambda keys: _kept_files(snapshot, rewritten, keys),
    )
    uncommitted = Uncommitted(files, snapshot)
    try:
        written = {
            snapshot.key_of(part.values): part for part in collect(lake.engine, snapshot, files, slots)
        }
        check_partitions(snapshot, (), (part.values for part in written.values()))
        audited = audit_files(spark, snapshot, written.values(), settings, options)
        transaction = uncommitted.begin(q.statement)
        _change(transaction, rewritten, written)
        if q.searched_by is not None:
            inserted = [part.values for part in written.values()]
            searched = [questions.Read(q.table, q.predicates)]
            rely_on_search(lake, transaction, searched, q.searched_by, inserted)
        if serializable:
            rely_on_reads(lake, transaction, q.reads)
        committed = lake.cache(commit(transaction, _summary(snapshot, q, files) | audited))
    except BaseException:
        uncommitted.clean_up()
        raise
    compact_after_write(lake, committed, settings, written.keys())
    return write_summary(written.values())


def _find_rewritten(snapshot: TableSnapshot, q: questions.RewriteRows) -> dict[bytes, _Rewritten]:
    """Return the partitions with rewritten files, by their keys."""
    read = frozenset(q.files)
    rewritten = {}
    for part in partitions_of(
        snapshot, {snapshot.key_of(values) for values in values_of(snapshot, q.partitions)}
    ):
        kept = tuple(file for file in part.files if join_location(part.location, file.path) not in read)
        if len(kept) < part.file_count:
            rewritten[part.key] = _Rewritten(part, kept)
    taken_out = sum(each.partition.file_count - len(each.kept) for each in rewritten.values())
    if taken_out < len(read):  # otherwise their rows would be stored twice
        raise AssertionError(f"{len(read)} files of {snapshot.label} were read, and {taken_out} are known")
    return rewritten


def _kept_files(
    snapshot: TableSnapshot, rewritten: Mapping[bytes, _Rewritten], keys: Collection[bytes]
) -> dict[bytes, Sequence[FileRecord]]:
    others = {part.key: part.files for part in partitions_of(snapshot, set(keys) - rewritten.keys())}
    return {**others, **{key: rewritten[key].kept for key in keys if key in rewritten}}


def _change(
    transaction: Transaction,
    rewritten: Mapping[bytes, _Rewritten],
    written: Mapping[bytes, WrittenPartition],
) -> None:
    """Make a transaction remove the rewritten files, and add the written ones."""
    for key, (partition, kept) in rewritten.items():
        new = written[key].files if key in written else ()
        if kept or new:
            transaction.replace(
                partition.values, (*kept, *new), partition.entry.location, partition.arrangement
            )
        else:
            transaction.drop(partition.values)
    added = [part for key, part in written.items() if key not in rewritten]
    take_in(transaction, "append", added)


def _summary(
    snapshot: TableSnapshot, q: questions.RewriteRows, files: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Return the statement's numbers for the history."""
    return {
        "files rewritten": f"{len(q.files)} of {snapshot.totals.files}",
        "files written": str(len(files)),
    }
