"""The calls that the planner makes to the engine that asked: facts and actions that only the engine has.

`operations.engine` has the calls of operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from parquetry.compaction import Rewrite
from parquetry.config import settle
from parquetry.data_files import ArrowFooters, TableColumn
from parquetry.errors import UnsupportedError
from parquetry.layout import Counted
from parquetry.locations import FileSystems, current_file_systems
from parquetry.metastore import Check, CountedColumn, TableMetadata, TableSnapshot
from parquetry.operations import FinishedQuery, OperationEngine
from parquetry.progress import Progress
from parquetry.prune import Report
from parquetry.publishing import HiveMetastore


class Failure(NamedTuple):
    """An error of the engine's own. The engine raises it again on its side, unchanged.

    Attributes:
        code: as an answer carries it.
        message: what the engine finds its error by.
    """

    code: str
    message: str


class Engine(OperationEngine, Protocol):
    """The engine that runs queries: Spark, through `parquetry.spark.engine`."""

    @property
    def file_systems(self) -> FileSystems:
        """Return what opens locations that are not on a local disk: the file systems that the engine itself
        uses.
        """
        ...

    def hidden_option(self, reference: str, /) -> str:
        """Return an option of a catalog. Questions name it by a reference, since it may have a password."""
        ...

    def infer_columns(self, location: str, file_format: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Return the columns of the files of a location, and the partition columns its directories name.

        Args:
            location: a folder, as Hadoop writes it.
            file_format: ``parquet`` or ``orc``.

        Returns:
            The fields as Spark's JSON has them, partition columns included, and the partition columns' names.

        Raises:
            WarehouseError: they cannot be read.
        """
        ...

    def flush_history(self) -> None:
        """Record the queries that have run, before somebody reads the history."""
        ...

    def failure(self, error: Exception, /) -> Failure | None:
        """Return the engine's own error in the form that an answer carries, or None for any other error."""
        ...


class NoEngine(ArrowFooters):
    """Stands in where no engine runs: for programs that use the planner directly, and for tests."""

    @property
    def file_systems(self) -> FileSystems:
        """Return the file systems in use, which are Arrow's."""
        return current_file_systems()

    def hidden_option(self, _reference: str, /) -> str:
        """Refuse: only an engine's bridge makes references.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            "An option is a reference to a hidden value, which only Spark's bridge can resolve."
        )

    def infer_columns(self, location: str, file_format: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Refuse: an engine infers columns.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"The columns cannot be read from the {file_format} files of LOCATION {location} without an engine: name them."
        )

    @property
    def can_rewrite(self) -> bool:
        """Return False: an engine writes."""
        return False

    def target_file_size(self, metadata: TableMetadata) -> int:
        """Return what the table's properties say."""
        size: int = settle(properties=metadata.properties)["target-file-size"]
        return size

    def compact(
        self,
        table: str,
        _snapshot: TableSnapshot,
        rewrites: Sequence[Rewrite],
        operation: str,
        _progress: Progress,
        _summary: Mapping[str, str] | None = None,
        /,
    ) -> TableSnapshot:
        """Refuse: an engine writes.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"Partitions of table {table} ({len(rewrites)}) cannot be written anew without an engine: CALL system.{operation} in Spark."
        )

    def count_distinct(
        self, table: str, _snapshot: TableSnapshot, _columns: Sequence[TableColumn], /
    ) -> list[CountedColumn]:
        """Refuse: an engine reads.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"The values of table {table} cannot be counted without an engine: run ANALYZE TABLE in Spark."
        )

    def heavy_values(
        self,
        table: str,
        _snapshot: TableSnapshot,
        _where: str | None,
        _columns: Sequence[TableColumn],
        _share: float,
        _files: Sequence[str] | None = None,
        /,
    ) -> list[Counted]:
        """Refuse: an engine reads.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"The rows of table {table} cannot be counted without an engine: CALL system.suggest_skew in Spark."
        )

    def delete_rows(self, table: str, _condition: str, /) -> None:
        """Refuse: an engine deletes rows.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"Rows of table {table} cannot be deleted without an engine: CALL system.erase in Spark."
        )

    def count_rows(self, table: str, _condition: str, /) -> int:
        """Refuse: an engine reads.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"The rows of table {table} cannot be counted without an engine: CALL system.erase in Spark."
        )

    def may_have_rows(self, _table: str, _version: int, _condition: str, /) -> bool:
        """Return True: without an engine it is not known."""
        return True

    def hive(self) -> HiveMetastore:
        """Refuse: Spark's Hive support reaches a Hive metastore.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("A Hive metastore is reached through Spark: CALL system.publish in a session.")

    def storage_checks(self, _location: str, /) -> list[Check]:
        """Return nothing: no engine has settings."""
        return []

    def report(self, query: str, *, of_run: bool) -> Report:  # noqa: ARG002
        """Refuse: an engine plans queries.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"The query {query!r} is explained by Spark: CALL system.explain in a session."
        )

    def finished_queries(self, _count: int, /) -> list[FinishedQuery]:
        """Return nothing: no engine has run a query."""
        return []

    def flush_history(self) -> None:
        """Do nothing: no engine has run a query."""

    def failure(self, _error: Exception, /) -> Failure | None:
        """Return None: there is no engine whose error it could be."""
        return None
