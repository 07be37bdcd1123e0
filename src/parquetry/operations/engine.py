"""The work that operations leave to the engine that runs queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from parquetry.compaction import Rewrite
from parquetry.data_files import FooterReader, TableColumn
from parquetry.layout import Counted
from parquetry.metastore import Check, CountedColumn, TableMetadata, TableSnapshot
from parquetry.progress import Progress
from parquetry.prune import Report
from parquetry.publishing import HiveMetastore


class FinishedQuery(NamedTuple):
    """A query that has run.

    Attributes:
        id: of the query in its session.
        ended_at: microseconds since the epoch.
        milliseconds: that it took.
        statement: its text, or the plan's first line if a program built it.
        report: what its scans have read, and what became of its joins.
    """

    id: int
    ended_at: int
    milliseconds: int
    statement: str
    report: Report


class OperationEngine(FooterReader, Protocol):
    """The engine as operations need it: it reads footers, rewrites files, and knows its session."""

    @property
    def can_rewrite(self) -> bool:
        """Return whether it writes files, so that `compact` is possible."""
        ...

    def target_file_size(self, metadata: TableMetadata) -> int:
        """Return the bytes that a file of a table should have, as the session has it."""
        ...

    def compact(
        self,
        table: str,
        snapshot: TableSnapshot,
        rewrites: Sequence[Rewrite],
        operation: str,
        progress: Progress,
        summary: Mapping[str, str] | None = None,
        /,
    ) -> TableSnapshot:
        """Rewrite files of a table, and commit.

        Args:
            table: the table's name in the session.
            snapshot: of the table, which the rewrites are of.
            rewrites: which files, by partition.
            operation: for the history.
            progress: called with the work that is done.
            summary: texts by key, for the history.

        Returns:
            The new version.

        Raises:
            CommitConflictError: others changed one of the partitions meanwhile.
        """
        ...

    def count_distinct(
        self, table: str, snapshot: TableSnapshot, columns: Sequence[TableColumn], /
    ) -> list[CountedColumn]:
        """Count the distinct values of columns in all rows, each within some per cent.

        Args:
            table: the table's name in the session.
            snapshot: of the table.
            columns: whose values can be compared.
        """
        ...

    def heavy_values(
        self,
        table: str,
        snapshot: TableSnapshot,
        where: str | None,
        columns: Sequence[TableColumn],
        share: float,
        files: Sequence[str] | None = None,
        /,
    ) -> list[Counted]:
        """Count how often values occur in each partition. Reads nothing but these columns.

        Args:
            table: the table's name in the session.
            snapshot: of the table.
            where: a condition on partition columns, or None for all partitions.
            columns: whose values are counted together.
            share: the least share of a partition's rows that a reported value has.
            files: absolute paths, to count the rows of these files only, or None for all.
        """
        ...

    def delete_rows(self, table: str, condition: str, /) -> None:
        """Run a DELETE whose text no history records.

        Args:
            table: the table's name in the session.
            condition: of the rows, in SQL.

        Raises:
            UnsupportedError: there is no engine that could.
        """
        ...

    def count_rows(self, table: str, condition: str, /) -> int:
        """Return the number of a table's rows that satisfy a condition in SQL."""
        ...

    def may_have_rows(self, table: str, version: int, condition: str, /) -> bool:
        """Return whether a version of a table has a row that satisfies a condition.

        If the version has not the condition's columns, it may.
        """
        ...

    def hive(self) -> HiveMetastore:
        """Return the Hive metastore that the engine knows.

        Raises:
            UnsupportedError: there is no engine that might know one.
        """
        ...

    def storage_checks(self, location: str, /) -> list[Check]:
        """Check the engine's settings for the file system of a location."""
        ...

    def report(self, query: str, *, of_run: bool) -> Report:
        """Return the report of a query of the session.

        Args:
            query: a statement, which is planned and not run.
            of_run: whether to report the newest run of the same scans, if the session has run any.
        """
        ...

    def finished_queries(self, count: int, /) -> list[FinishedQuery]:
        """Return the last queries of the session that read tables of ours, the newest first."""
        ...
