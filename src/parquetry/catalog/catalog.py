"""Look after a warehouse without Spark: go back, tidy up, check, index, adopt.

Each verb is that of `CALL lake.system.…` in Spark and of the command `parquetry`; what it does is
`parquetry.maintenance`'s. Tables are made and written through Spark.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from parquetry.catalog.reader import CatalogReader
from parquetry.catalog.shapes import Table
from parquetry.catalog.views import table_view
from parquetry.maintenance import Compacted, Difference, Finding, Misplacement, Relocated, Removed
from parquetry.progress import Progress, silent


class Catalog(CatalogReader):
    """The databases and tables of a warehouse, to look into and to look after; a context manager.

    Tables are named ``database.table``, or ``table`` in the default database, in any case; a name that holds
    a dot stands in backticks.

    Args:
        metastore: of the warehouse.
    """

    def rollback(self, name: str, version: int) -> Table:
        """Make a table what it was in an earlier version, as a new version.

        Args:
            name: of the table.
            version: to go back to; see `history`.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table, or the version was vacuumed away.
            FileMissingError: a file of that version is gone.
            CommitConflictError: others changed meanwhile what differs.
        """
        from parquetry.maintenance.rollback import rollback

        current = self._snapshot(name)
        target = self._metastore.table(current.database, current.name, version=version)
        with self._file_access():
            return table_view(rollback(current, target))

    def vacuum(
        self, name: str, older_than: datetime | None = None, *, dry_run: bool = False
    ) -> list[Removed]:
        """Delete files and records that only old versions of a table need.

        Args:
            name: of the table.
            older_than: versions that another took the place of before this time go, with a time zone; by default
                seven days ago.
            dry_run: report only.

        Returns:
            What was deleted, or would be: one for each file, and one for each kind of record.

        Raises:
            ValueError: the time has no time zone.
            TableNotFoundError: there is no such table.
            WarehouseError: a file cannot be deleted, or a directory cannot be listed.
            CommitConflictError: others keep committing; nothing is lost, run it again.
        """
        from parquetry.maintenance.deletion.vacuum import vacuum

        if older_than is not None and older_than.tzinfo is None:
            raise ValueError(
                f"The time older_than, {older_than.isoformat()}, has no time zone: give one, as {older_than.isoformat()}+00:00."
            )
        before = None if older_than is None else int(older_than.timestamp() * 1000)
        with self._file_access():
            return vacuum(self._snapshot(name), older_than=before, dry_run=dry_run)

    def relocate(
        self,
        old: str | os.PathLike[str],
        new: str | os.PathLike[str],
        *,
        dry_run: bool = False,
        progress: Progress = silent,
    ) -> list[Relocated]:
        """Have all databases, tables and versions look in another place for what lay in one; no file is touched.

        What lies below the warehouse needs none of it: it is looked for below the warehouse, wherever that is.

        Args:
            old: path or URI of a folder that locations name, or that lies above them.
            new: where it is now. The same as `old`: what older libraries wrote below the warehouse becomes relative to it.
            dry_run: report only.
            progress: called with how many rows of the metastore have been looked at.

        Returns:
            What was changed, or would be: one for each kind of location of each database and table.

        Raises:
            WarehouseError: nothing lies there, or one of the places is below the other.
            CommitConflictError: others keep changing a table or writing such locations; run it again.
        """
        from parquetry.maintenance.relocate import relocate

        return relocate(self._metastore, os.fspath(old), os.fspath(new), dry_run=dry_run, progress=progress)

    def compact_metadata(self, name: str, *, progress: Progress = silent) -> Compacted:
        """Write long lists of files anew, sorted and in full parts; no data file is touched, and no answer changes.

        Args:
            name: of the table.
            progress: called with how many partitions have been looked at.

        Returns:
            How many partitions' lists were written anew, and of how many parts they were and are.

        Raises:
            TableNotFoundError: there is no such table, or a list of files is missing.
            MetastoreDamagedError: a list of files cannot be read.
            CommitConflictError: others took a partition out meanwhile; run it again.
        """
        from parquetry.maintenance.compaction.compact_metadata import compact_metadata

        return compact_metadata(self._snapshot(name), progress)

    def fsck(self, name: str, *, repair: bool = False, footers: bool = True) -> list[Finding]:
        """Compare what is known of a table with itself and with the files.

        Args:
            name: of the table.
            repair: put right what can be; missing files are taken out of the table in one commit.
            footers: read the footers of Parquet files that others wrote, for columns that cannot be read as the table has them.

        Raises:
            TableNotFoundError: there is no such table.
            WarehouseError: its files cannot be looked at.
            CommitConflictError: others changed meanwhile what is to be repaired.
        """
        from parquetry.maintenance.check.fsck import fsck

        with self._file_access():
            return fsck(self._snapshot(name), repair=repair, footers=footers)

    def verify(
        self, name: str, where: str | None = None, *, progress: Progress = silent
    ) -> list[Misplacement]:
        """Read the rows of a table's buckets, and name files in which one lies in a wrong bucket or out of order.

        Args:
            name: of the table.
            where: a condition on partition columns: only these partitions. Timestamps without a zone are in UTC.
            progress: called with how many partitions have been read.

        Returns:
            One for each file with rows that lie wrong, and what is not known of others.

        Raises:
            TableNotFoundError: there is no such table.
            FilterError: the condition cannot be used.
        """
        from parquetry.verification.verify import verify

        with self._file_access():
            return list(verify(self._snapshot(name), where, progress=progress))

    def sync(
        self,
        name: str,
        where: str | None = None,
        *,
        dry_run: bool = False,
        readopt: bool = False,
        buckets: bool = False,
        time_zone: str | None = None,
        progress: Progress = silent,
    ) -> list[Difference]:
        """Make a table of Parquet files agree with the files below its location, in one commit.

        Args:
            name: of the table.
            where: a condition on partition columns: only these partitions.
            dry_run: report only.
            readopt: take in again what was taken out on purpose.
            buckets: look again at files that were not believed to lie in buckets.
            time_zone: of directories that are named for timestamps, such as ``Europe/Berlin``: that of the session
                that wrote them. Needed for tables partitioned by a timestamp only.
            progress: called with what is listed or read.

        Returns:
            What was said of each partition that differed.

        Raises:
            TableNotFoundError: there is no such table.
            FilterError: the condition cannot be used.
            UnsupportedError: ORC files are to be read, or the time zone is needed: nothing was changed.
            FileCorruptError: a file that would be taken in cannot be read.
            FileMissingError: the table's location is not there.
            CommitConflictError: others changed these partitions each time; run it again.
        """
        from parquetry.adoption import SyncOptions, synchronise
        from parquetry.data_files import ArrowFooters

        with self._file_access():
            return synchronise(
                self._snapshot(name),
                ArrowFooters(time_zone),
                SyncOptions(where, dry_run, readopt=readopt, buckets=buckets),
                progress,
            )

    def set_skew(
        self,
        name: str,
        columns: Sequence[str],
        values: Sequence[Any] | Literal["auto"],
        *,
        directories: bool = True,
    ) -> Table:
        """Say which values of a table are heavy, for partitions made from now on; see `docs/list-bucketing.md`.

        Args:
            name: of the table.
            columns: the skewed columns; none: the table is not skewed any more.
            values: of one column its values, of several tuples of theirs, None being NULL; or ``"auto"``: they are found
                while each partition is loaded.
            directories: whether the rows of each get a directory of their own.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table.
            SkewError: a column or a value cannot be skewed; each reason has a class of its own.
            ListBucketingError: directories do not go together with what the table is.
            CommitConflictError: others keep changing the table's metadata.
        """
        from parquetry.definition import set_skew

        heavy = None if isinstance(values, str) and values == "auto" else values
        return table_view(set_skew(self._snapshot(name), _columns(columns), heavy, directories))

    def set_buckets(
        self,
        name: str,
        columns: Sequence[str],
        count: int | None = None,
        *,
        sorted_by: Sequence[str] = (),
        version: Literal[1, 2, "spark"] | None = None,
    ) -> Table:
        """Say into which buckets rows of a table go, for partitions made from now on; see `docs/buckets.md`.

        Args:
            name: of the table.
            columns: the bucket columns; none: the table is not bucketed any more.
            count: of the buckets, from 1 to 100,000.
            sorted_by: what each bucket is sorted by, such as ``day DESC``; names that are no plain words in backticks.
            version: of the hash, for `bucketing-version`; None: as it is.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table.
            BucketError: a column is none of the files or is of a type without a hash or an order, or the count is missing or
                out of bounds.
            PropertyError: there is no such version.
            ListBucketingError: buckets do not go together with the directories of the table's heavy values.
            CommitConflictError: others keep changing the table's metadata.
        """
        from parquetry.definition import set_buckets

        chosen, order = _columns(columns), _columns(sorted_by)
        return table_view(set_buckets(self._snapshot(name), chosen, count, order, version))

    def create_partition_index(
        self,
        name: str,
        columns: Sequence[str],
        index: str | None = None,
        *,
        progress: Progress = silent,
    ) -> Table:
        """Make an index over partition columns, for filters that skip the first.

        Args:
            name: of the table.
            columns: partition columns, the first to look by first.
            index: its name; by default that of its columns.
            progress: called with how many partitions are indexed.

        Returns:
            The table as it is now, with its indexes.

        Raises:
            TableNotFoundError: there is no such table.
            IndexExistsError: there is such an index already.
            ColumnNotFoundError: a column is none of the partition columns.
            CommitConflictError: others keep changing the table's metadata.
        """
        from parquetry.maintenance import create_index

        return table_view(create_index(self._snapshot(name), _columns(columns), index, progress))

    def drop_partition_index(self, name: str, index: str | Sequence[str]) -> Table:
        """Drop an index over partition columns.

        Args:
            name: of the table.
            index: its name, or its columns.

        Returns:
            The table as it is now, with its indexes.

        Raises:
            TableNotFoundError: there is no such table.
            IndexNotFoundError: there is no such index.
            CommitConflictError: others keep changing the table's metadata.
        """
        from parquetry.maintenance import drop_index

        return table_view(drop_index(self._snapshot(name), index))

    def rebuild_partition_index(
        self, name: str, index: str | Sequence[str], *, progress: Progress = silent
    ) -> Table:
        """Build an index over partition columns anew, while the old one is used.

        Args:
            name: of the table.
            index: its name, or its columns.
            progress: called with how many partitions are indexed.

        Returns:
            The table as it is now, with its indexes.

        Raises:
            TableNotFoundError: there is no such table.
            IndexNotFoundError: there is no such index.
            CommitConflictError: others keep changing the table's metadata.
        """
        from parquetry.maintenance import rebuild_index

        return table_view(rebuild_index(self._snapshot(name), index, progress))


def _columns(columns: Sequence[str]) -> Sequence[str]:
    if isinstance(columns, str):
        raise TypeError(f"Columns {columns!r} is a text: give a list of names, such as [{columns!r}].")
    return columns
