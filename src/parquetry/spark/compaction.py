"""Rewrite files of a table in one commit, with the reader of all queries and the writer of all writes.

`compaction.compact` and `compaction.rebucket` choose the files, and the new
arrangement of their rows. Readers of earlier versions are not disturbed: the old files stay until a vacuum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from parquetry.compaction import Rewrite
from parquetry.config import Settings, settle
from parquetry.data_files import FooterReader
from parquetry.errors import FileCorruptError
from parquetry.locations import join_location, require_writable
from parquetry.metastore import TableSnapshot, commit, keep_in_flight
from parquetry.planner import CHOSEN_FILES_OPTION, chosen_files, own_destinations
from parquetry.progress import Progress
from parquetry.spark.active import active_session
from parquetry.spark.write.audit import audit_files
from parquetry.spark.write.committed_files import Uncommitted, collect
from parquetry.spark.write.distribution import RowArrangement
from parquetry.spark.write.insert import file_options, write_files
from parquetry.texts import quantity

_FILE_SIZE_MARGIN = 1.3
"""The factor on the target size of files when bucketed files are compacted.

The writer only estimates a file's size. Without a margin it would often write two files for the rows of one.
"""


def compact(
    footers: FooterReader,
    table: str,
    snapshot: TableSnapshot,
    rewrites: Sequence[Rewrite],
    session: Mapping[str, str],
    record: tuple[str, Mapping[str, str]],
    progress: Progress,
) -> TableSnapshot:
    """Rewrite files and commit; see `Engine.compact`.

    Args:
        footers: reads the footers of the new files.
        table: its name in the session.
        snapshot: of the table.
        rewrites: the files, by partition.
        session: the session's settings.
        record: the name of the operation in the history, and texts by key.
        progress: called with the step.

    Raises:
        AuditError: rows of a new file are not as its record says.
    """
    require_writable(snapshot.metadata.location, table)
    settings = settle(session=session, properties=snapshot.metadata.properties)
    paths = (join_location(each.partition.location, file.path) for each in rewrites for file in each.files)
    options = file_options(snapshot, settings)
    progress("Writing files", 0, None)
    with keep_in_flight(snapshot.store, snapshot.owner), chosen_files(paths) as token:
        reader = (
            active_session()
            .read.option("versionAsOf", str(snapshot.version))
            .option(CHOSEN_FILES_OPTION, token)
        )
        files, slots = write_files(
            snapshot,
            reader.table(table),
            _arrangement(snapshot, rewrites, settings),
            options,
            own_destinations({each.partition.key: each.arrangement for each in rewrites}),
            lambda _keys: {each.partition.key: each.kept for each in rewrites},
        )
    uncommitted = Uncommitted(files, snapshot)
    try:
        # by keys, because keys of NaN are equal
        written = {snapshot.key_of(part.values): part for part in collect(footers, snapshot, files, slots)}
        audited = audit_files(active_session(), snapshot, written.values(), settings, options)
        operation, summary = record
        transaction = uncommitted.begin(operation)
        for each in rewrites:
            partition = each.partition
            new = written.pop(partition.key).files if partition.key in written else ()
            _require_all(snapshot, each, sum(file.rows or 0 for file in new))
            transaction.replace(
                partition.values, (*each.kept, *new), partition.entry.location, each.arrangement
            )
        return commit(transaction, {**summary, **audited})
    except BaseException:
        uncommitted.clean_up()
        raise


def _arrangement(snapshot: TableSnapshot, rewrites: Sequence[Rewrite], settings: Settings) -> RowArrangement:
    """Return the arrangement of the rows in the new files."""
    arrangement = RowArrangement.from_settings(snapshot.metadata, settings, gathered=True)
    together = max(rewrite.bytes for rewrite in rewrites)
    split, single = together > 2 * arrangement.file_bytes, len(rewrites) == 1
    arrangement = replace(arrangement, clustered=True, split=split, single=single)
    if any(part.one_file_per_slot for each in rewrites for part in each.arrangement.parts):
        # rows of one file are to stay in one file, although the writer only estimates its size
        arrangement = replace(arrangement, file_bytes=int(arrangement.file_bytes * _FILE_SIZE_MARGIN))
    return arrangement


def _require_all(snapshot: TableSnapshot, rewrite: Rewrite, rows: int) -> None:
    """Make sure that as many rows were written as the records of the files say.

    Raises:
        FileCorruptError: rows are missing, or too many.
    """
    counts = [file.rows for file in rewrite.files]
    expected = sum(count or 0 for count in counts)
    if None not in counts and rows != expected:
        raise FileCorruptError(
            f"Partition {snapshot.describe(rewrite.partition.key)} of table {snapshot.label}: {quantity(len(counts), 'file')} "
            f"should have {quantity(expected, 'row')}, and {rows} were read; nothing was changed. CALL system.fsck for details."
        )
