"""Maintain a warehouse without Spark: roll back, vacuum, check, index, adopt.

Each method has the name of a `CALL lake.system.…` in Spark and of a command of `parquetry`.
The operations' own modules do the work. Tables are made and written through Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast

from parquetry import adoption, definition, metastore as ms, publishing, verification
from parquetry.catalog.reader import CatalogReader
from parquetry.catalog.shapes import Table
from parquetry.catalog.views import full_name, table_view
from parquetry.progress import Progress, silent

if TYPE_CHECKING:
    from parquetry.adviser import Advice, Queries
    from parquetry.operations import Maintained, StatusRow, TableDetail


class Catalog(CatalogReader):
    """The databases and tables of a warehouse, to read and to maintain. It is a context manager.

    Tables are named ``database.table``, or ``table`` in the default database, in any case. A name with a dot
    needs backticks.

    Args:
        metastore: of the warehouse.
    """

    @contextmanager
    def transaction(self) -> Iterator[Catalog]:
        """Change several tables in one commit: in the block by the catalog that it yields.

        That catalog shows all tables as they were when the block began, with its own changes. At the end of
        the block, others see the changes of all tables at once. If an error leaves the block, nothing has
        changed.

        Yields:
            The catalog as the transaction sees it.

        Raises:
            CommitConflictError: others have changed what the transaction changes, so nothing was written: run
                the block again.
            CommitUnknownError: the store does not answer whether the commit took place.
        """
        draft = ms.Draft(self._metastore)
        try:
            inside = type(self)(draft.metastore, self._storage_options)
            inside._history = self._history
            yield inside
        except BaseException:
            draft.rollback()
            raise
        draft.commit()

    def rollback(
        self, name: str, version: int | str | None = None, *, timestamp: datetime | None = None
    ) -> Table:
        """Make a table what it was in an earlier version, or at an earlier time, as a new version.

        Args:
            name: of the table.
            version: to go back to, its number or its tag; see `history` and `tags`.
            timestamp: instead of a version, a time with a time zone: the newest version made until then.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table, or the version was vacuumed away.
            FileMissingError: a file of that version is missing.
            CommitConflictError: others changed some of the differing partitions meanwhile.
            ValueError: neither version nor timestamp is given, or both, or a time without a zone.
        """
        if (version is None) == (timestamp is None):
            raise ValueError(f"Rollback of table {name} needs either version or timestamp: give one of them.")
        as_of = None if timestamp is None else _milliseconds("timestamp", timestamp)
        current = self._snapshot(name)
        target = self._metastore.table(current.database, current.name, version=version, as_of=as_of)
        with self._file_access():
            return table_view(ms.rollback(current, target))

    def _table(self, name: str) -> ms.TableSnapshot:
        return ms.require_table(self._snapshot(name))

    def rollback_transaction(self, id: str) -> list[Table]:
        """Undo a transaction in all of its tables, in one commit. Changes of other commits stay.

        Args:
            id: of the transaction, as the history of its tables has it in `summary`.

        Returns:
            The tables in their new versions, by name.

        Raises:
            TableNotFoundError: no table has a version of it, or one of its tables was dropped or vacuumed.
            CommitConflictError: others have changed the same partitions since; nothing was written.
            UnsupportedError: it made or replaced a table.
            FileMissingError: a file that it removed is missing.
        """
        with self._file_access():
            return [table_view(undone.after) for undone in ms.undo_transaction(self._metastore, id)]

    def tag(
        self,
        name: str,
        tag: str,
        version: int | None = None,
        *,
        timestamp: datetime | None = None,
        replace: bool = False,
    ) -> ms.TaggedVersion:
        """Give a version of a table a tag: it is read by this name, and kept by vacuum.

        Args:
            name: of the table.
            tag: such as ``end-of-year``.
            version: its number, or None for the newest.
            timestamp: instead of a version, a time with a time zone: the newest version made until then.
            replace: whether the tag may be taken from another version.

        Raises:
            TableNotFoundError: there is no such table, or no such version.
            UnsupportedError: no tag can have the name, or another version has it.
            ValueError: both version and timestamp are given, or a time without a zone.
        """
        if version is not None and timestamp is not None:
            raise ValueError(f"Tag {tag!r} of table {name} has version and timestamp: give one of them.")
        table = self._table(name)
        if timestamp is not None:
            as_of = _milliseconds("timestamp", timestamp)
            version = self._metastore.table(table.database, table.name, as_of=as_of).version
        return ms.set_tag(table, tag, table.version if version is None else version, replace=replace)

    def drop_tag(self, name: str, tag: str) -> ms.TaggedVersion:
        """Drop a tag, and return it as it was. The next vacuum may take its version.

        Raises:
            TableNotFoundError: there is no such table, or it has no such tag.
        """
        return ms.drop_tag(self._table(name), tag)

    def branch(self, name: str, branch: str, version: int | str | None = None) -> ms.TableBranch:
        """Make a branch of a table, which is read and written as ``database.table.branch_name``.

        Args:
            name: of the table.
            branch: such as ``audit``.
            version: that it begins with, its number or its tag; None for the newest.

        Raises:
            TableNotFoundError: there is no such table, or no such version.
            UnsupportedError: no branch can have the name, or a branch or a tag has it.
        """
        table = self._table(name)
        if version is not None:
            table = ms.require_table(self._metastore.table(table.database, table.name, version=version))
        return ms.create_branch(table, branch)

    def publish_branch(self, name: str, branch: str) -> Table:
        """Make the changes of a branch a version of its table, and end the branch.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table, or it has no such branch.
            CommitConflictError: others changed the same partitions since the branch began, or are writing it.
            FileMissingError: a file of the branch is missing.
        """
        with self._file_access():
            return table_view(ms.publish_branch(self._table(name), branch).after)

    def drop_branch(self, name: str, branch: str) -> ms.TableBranch:
        """Drop a branch, and return it as it was. The next vacuum of the table deletes its files.

        Raises:
            TableNotFoundError: there is no such table, or it has no such branch.
        """
        return ms.drop_branch(self._table(name), branch)

    def vacuum(
        self,
        name: str,
        older_than: datetime | None = None,
        *,
        dry_run: bool = False,
        grace_hours: int | None = None,
        force: bool = False,
        allow_recent: bool = False,
    ) -> list[ms.Removed]:
        """Delete files and records that only old versions of a table need.

        Args:
            name: of the table.
            older_than: a time with a time zone, which must be past. Versions that were replaced before it are
                deleted; the default is seven days ago.
            dry_run: report only.
            grace_hours: the age at which a file that no version lists is deleted; the default is the table
                property `vacuum-grace-hours`. No running write may have older files.
            force: go on if the clocks of this machine and of the metastore's server differ by minutes.
            allow_recent: delete versions, too, that were replaced less than 168 hours ago. Time travel and
                rollback to them end.

        Returns:
            What was deleted, or would be: one for each file, and one for each kind of record.

        Raises:
            ValueError: the time has no time zone.
            TableNotFoundError: there is no such table.
            UnsupportedError: versions would go that were replaced less than 168 hours ago, or the time is in
                the future.
            ConfigurationError: the grace period is shorter than an hour.
            WarehouseError: a file cannot be deleted, or a directory cannot be listed; or the clocks differ.
            CommitConflictError: others keep committing. The table is unharmed: run it again.
        """
        from parquetry.operations import VacuumOptions, checked_vacuum

        before = None if older_than is None else _milliseconds("older_than", older_than)
        with self._file_access():
            table = self._table(name)
            options = VacuumOptions(
                before, dry_run=dry_run, grace_hours=grace_hours, force=force, allow_recent=allow_recent
            )
            return checked_vacuum(table, full_name(table.database, table.name), options)

    def detail(self, name: str) -> TableDetail:
        """Return what Delta's DESCRIBE DETAIL has of a table: format, location, times, files and bytes.

        Raises:
            TableNotFoundError: there is no such table.
        """
        from parquetry.catalog.upkeep import UpkeepContext
        from parquetry.operations import detail

        (record,) = detail.run(UpkeepContext(self._metastore), name)
        return cast("TableDetail", record)

    def status(self, tables: str | None = None) -> list[StatusRow]:
        """Return what the tables need, the greatest gain first. It reads the metastore alone.

        Args:
            tables: only those whose name fits, such as ``sales.*``.

        Raises:
            UnsupportedError: no table fits.
        """
        from parquetry.catalog.upkeep import UpkeepContext
        from parquetry.operations import status

        with self._file_access():
            return list(status.run(UpkeepContext(self._metastore), tables))

    def maintain(
        self, tables: str | None = None, *, max_minutes: int | None = None, dry_run: bool = False
    ) -> list[Maintained]:
        """Vacuum the tables that need it, and rewrite old lists of files, the greatest gain first.

        Small files and buckets are left: `CALL lake.system.maintain()` in Spark rewrites files.

        Args:
            tables: only those whose name fits, such as ``sales.*``.
            max_minutes: after which no further piece of work begins.
            dry_run: report only.

        Raises:
            UnsupportedError: no table fits.
        """
        from parquetry.catalog.upkeep import UpkeepContext
        from parquetry.operations import maintain

        with self._file_access():
            context = UpkeepContext(self._metastore)
            return list(maintain.run(context, tables, max_minutes, dry_run=dry_run))

    def advise(self, name: str, queries: Queries = (), *, sample_rows: int | None = None) -> Advice:
        """Return which layout a table should have for its queries; see `parquetry.advise`.

        Args:
            name: of the table.
            queries: conditions in SQL, one for each query; or records of queries; or the path of a file.
            sample_rows: rows to draw.

        Raises:
            TableNotFoundError: there is no such table.
            UnsupportedError: there is no query of the table, or only Spark reads its rows.
        """
        from parquetry.catalog.advising import SampleOptions, advise_on_table

        with self._file_access():
            return advise_on_table(self._metastore, name, queries, SampleOptions(sample_rows))

    def claim(self, *, copy: bool = False, outside: bool = False) -> ms.Claimed:
        """Give the warehouse to this metastore, although the warehouse's mark may name another one.

        Use it if the other metastore is no more, or to give a copy of a warehouse an identity of its own. The
        other metastore may only be read from then on.

        Args:
            copy: whether the warehouse is a copy of one that is not seen from here. Tables outside of a
                copied warehouse stay the original's: they are read here, and not written.
            outside: whether such tables belong to this metastore, too: they were copied, or the original is
                no more.

        Raises:
            WarehouseError: the mark in the warehouse's folder cannot be written.
        """
        with self._file_access():
            return self._metastore.claim(copy=copy, outside=outside)

    def doctor(self, *, write: bool = False) -> list[ms.Check]:
        """Check the reach of the warehouse and the metastore, each right, and clocks.

        Args:
            write: whether to write a small file to the warehouse's folder, read it back and delete it.
                Without it, the check only reads.
        """
        with self._file_access():
            return list(ms.check_storage(self._metastore, write=write))

    def relocate(
        self,
        old: str | os.PathLike[str],
        new: str | os.PathLike[str],
        *,
        dry_run: bool = False,
        progress: Progress = silent,
    ) -> list[ms.Relocated]:
        """Change the locations in all databases, tables and versions after a folder was moved.

        No file is touched.

        Locations below the warehouse need no change: they are relative to it.

        Args:
            old: path or URI of the folder's old location, or of a folder above it.
            new: its location now. If it is `old`, absolute locations below the warehouse become relative:
                older libraries wrote those.
            dry_run: report only.
            progress: called with the number of metastore rows that have been read.

        Returns:
            The changes, or what they would be: one for each kind of location of each database and table.

        Raises:
            WarehouseError: no location is below `old`, or one of the two is below the other.
            CommitConflictError: others keep changing a table or writing such locations; run it again.
        """
        with self._file_access():
            return ms.relocate(
                self._metastore, os.fspath(old), os.fspath(new), dry_run=dry_run, progress=progress
            )

    def publish_delta(self, name: str, *, follow: bool = False, progress: Progress = silent) -> int:
        """Write a table's versions as a Delta log into its folder, so that Delta's readers read its files.

        Args:
            name: of the table.
            follow: publish each later version with its commit, too. This sets the table property `publish`.
            progress: called with the number of versions.

        Returns:
            The number of versions that were added to the log.

        Raises:
            TableNotFoundError: there is no such table.
            UnsupportedError: Delta's readers would read other rows, or another program has written to the
                log.
        """
        from parquetry.operations import follow_with_delta_log

        with self._file_access():
            snapshot = self._table(name)
            published = publishing.publish_delta(snapshot, progress)
            if follow:
                follow_with_delta_log(snapshot)
            return sum(each.count for each in published if "versions" in each.action)

    def publish_hive(
        self, name: str, metastore: str, hive_table: str | None = None
    ) -> list[publishing.Published]:
        """Bring a Hive metastore to a table's newest version, and have it follow each later one.

        The metastore gets folders of hard links. Its clients cannot write there. This sets the table property
        `publish`. If the metastore follows already, the whole publication is repaired.

        Args:
            name: of the table.
            metastore: the metastore's server, such as `thrift://hive:9083`.
            hive_table: the table's name there, as ``database.table``, or None for the same.

        Returns:
            The changes, with their numbers.

        Raises:
            TableNotFoundError: there is no such table.
            TableExistsError: the metastore has another table of this name.
            UnsupportedError: its clients would read other rows, or the files are where no hard links can be
                made.
            HiveError: the metastore is not reached, or refuses a call.
        """
        from parquetry.operations import follow_with_hive

        with self._file_access():
            return follow_with_hive(self._table(name), metastore, hive_table)

    def compact_metadata(self, name: str, *, progress: Progress = silent) -> ms.Compacted:
        """Rewrite long lists of files, sorted and in full parts.

        No data file is touched, and no answer changes.

        Args:
            name: of the table.
            progress: called with the number of partitions that have been read.

        Returns:
            The number of partitions whose lists were rewritten, and the number of their parts before and
            after.

        Raises:
            TableNotFoundError: there is no such table, or a list of files is missing.
            MetastoreDamagedError: a list of files cannot be read.
            CommitConflictError: others dropped a partition meanwhile; run it again.
        """
        with self._file_access():
            return ms.compact_metadata(self._table(name), progress)

    def fsck(
        self, name: str, *, repair: bool = False, footers: bool = True, full: bool = False
    ) -> list[ms.Finding]:
        """Compare the metadata of a table with itself and with the files.

        Args:
            name: of the table.
            repair: repair what can be repaired. Missing files are removed from the table in one commit.
            footers: read the footers of Parquet files that others wrote, to find columns that do not fit the
                table's.
            full: look at everything. Otherwise, in a table with 4,096 partitions or more, an unchanged
                partition is not looked at again after an fsck without findings.

        Raises:
            TableNotFoundError: there is no such table.
            WarehouseError: its files cannot be read.
            CommitConflictError: others changed meanwhile what is to be repaired.
        """
        with self._file_access():
            return ms.fsck(self._table(name), repair=repair, footers=footers, full=full)

    def verify(
        self, name: str, where: str | None = None, *, progress: Progress = silent
    ) -> list[verification.Misplacement]:
        """Read the rows of a table's buckets, and report files with rows in a wrong bucket or out of order.

        Args:
            name: of the table.
            where: a condition on partition columns: only these partitions. Timestamps without a zone are in
                UTC.
            progress: called with the number of partitions that have been read.

        Returns:
            One entry for each file with misplaced rows, and for each that could not be judged.

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
    ) -> list[adoption.Difference]:
        """Make a table of Parquet files agree with the files below its location, in one commit.

        Args:
            name: of the table.
            where: a condition on partition columns: only these partitions.
            dry_run: report only.
            readopt: adopt files again that commits removed on purpose.
            buckets: check files again whose buckets were refused before.
            time_zone: of directories that are named for timestamps, such as ``Europe/Berlin``: the zone of
                the session that wrote them. Only tables partitioned by a timestamp need it.
            progress: called while files are listed or read.

        Returns:
            The report: each partition that differs, and each file or directory that is ignored.

        Raises:
            TableNotFoundError: there is no such table.
            FilterError: the condition cannot be used.
            UnsupportedError: there are ORC files to read, or the time zone is missing. Nothing was changed.
            FileCorruptError: a file to adopt cannot be read.
            FileMissingError: the table's location does not exist.
            CommitConflictError: others changed these partitions each time; run it again.
        """
        from parquetry.data_files import ArrowFooters

        with self._file_access():
            return adoption.synchronise(
                self._table(name),
                ArrowFooters(time_zone),
                adoption.SyncOptions(where, dry_run, readopt=readopt, buckets=buckets),
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
        """Set the heavy values of a table, for partitions made from now on; see `docs/list-bucketing.md`.

        Args:
            name: of the table.
            columns: the skewed columns; empty to remove the heavy values.
            values: values of one column, or tuples for several, with None for NULL; or ``"auto"`` to measure
                them while each partition is loaded (`ON AUTO`).
            directories: whether the rows of each get a directory of their own.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table.
            SkewError: a column or a value cannot be skewed; each reason has a class of its own.
            ListBucketingError: the table's other properties do not allow directories.
            CommitConflictError: others keep changing the table's metadata.
        """
        heavy = None if isinstance(values, str) and values == "auto" else values
        with self._file_access():
            return table_view(definition.set_skew(self._table(name), _columns(columns), heavy, directories))

    def set_buckets(
        self,
        name: str,
        columns: Sequence[str],
        count: int | None = None,
        *,
        sorted_by: Sequence[str] = (),
        version: Literal[1, 2, "spark"] | None = None,
    ) -> Table:
        """Set the buckets of a table, for partitions made from now on; see `docs/buckets.md`.

        Args:
            name: of the table.
            columns: the bucket columns; empty to remove the buckets.
            count: of the buckets, from 1 to 100,000.
            sorted_by: the order of each bucket, such as ``day DESC``. Names that are no plain words need
                backticks.
            version: of the hash, for `bucketing-version`; or None to keep it.

        Returns:
            The table as it is now.

        Raises:
            TableNotFoundError: there is no such table.
            BucketError: a column is not in the files, or its type has no hash or no order; or the count is
                missing or out of bounds.
            PropertyError: there is no such version.
            ListBucketingError: the directories of the table's heavy values do not allow buckets.
            CommitConflictError: others keep changing the table's metadata.
        """
        chosen, order = _columns(columns), _columns(sorted_by)
        with self._file_access():
            return table_view(definition.set_buckets(self._table(name), chosen, count, order, version))

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
            columns: partition columns. The index is sorted by the first one first.
            index: its name; the default is made of its columns.
            progress: called with the number of partitions that are indexed.

        Returns:
            The table as it is now, with its indexes.

        Raises:
            TableNotFoundError: there is no such table.
            IndexExistsError: there is such an index already.
            ColumnNotFoundError: a column is no partition column.
            CommitConflictError: others keep changing the table's metadata.
        """
        with self._file_access():
            return table_view(ms.create_index(self._table(name), _columns(columns), index, progress))

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
        with self._file_access():
            return table_view(ms.drop_index(self._table(name), index))

    def rebuild_partition_index(
        self, name: str, index: str | Sequence[str], *, progress: Progress = silent
    ) -> Table:
        """Build an index over partition columns again, while queries use the old one.

        Args:
            name: of the table.
            index: its name, or its columns.
            progress: called with the number of partitions that are indexed.

        Returns:
            The table as it is now, with its indexes.

        Raises:
            TableNotFoundError: there is no such table.
            IndexNotFoundError: there is no such index.
            CommitConflictError: others keep changing the table's metadata.
        """
        with self._file_access():
            return table_view(ms.rebuild_index(self._table(name), index, progress))


def _milliseconds(name: str, time: datetime) -> int:
    """Return a time in milliseconds since the epoch.

    Raises:
        ValueError: it has no time zone.
    """
    if time.tzinfo is None:
        raise ValueError(
            f"The time {name}, {time.isoformat()}, has no time zone: give one, as {time.isoformat()}+00:00."
        )
    return int(time.timestamp() * 1000)


def _columns(columns: Sequence[str]) -> Sequence[str]:
    if isinstance(columns, str):
        raise TypeError(f"Columns {columns!r} is a text: give a list of names, such as [{columns!r}].")
    return columns
