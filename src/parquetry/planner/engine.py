"""What the planner asks back of the engine that asked it: five things that only the engine knows."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from parquetry.errors import UnsupportedError
from parquetry.layout.footers import ArrowFooters, FooterReader
from parquetry.maintenance.publishing import HiveMetastore


class Failure(NamedTuple):
    """An error of the engine's own, to be raised there again as if nobody had stood between.

    Attributes:
        code: as an answer carries it.
        message: what the engine finds its error by.
    """

    code: str
    message: str


class Engine(FooterReader, Protocol):
    """The engine that runs queries: Spark, through `parquetry.spark.engine`."""

    def inferred(self, location: str, file_format: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
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

    def hive(self) -> HiveMetastore:
        """Return the Hive metastore that the engine knows.

        Raises:
            UnsupportedError: there is no engine that might know one.
        """
        ...

    def failure(self, error: Exception, /) -> Failure | None:
        """Return how an answer tells of an error; None if it is not one of the engine's own."""
        ...


class NoEngine(ArrowFooters):
    """Stands where no engine runs: for programs that ask the planner themselves, and for tests."""

    def inferred(self, location: str, file_format: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        """Refuse: an engine infers columns.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"The columns cannot be read from the {file_format} files of LOCATION {location} without an engine: name them."
        )

    def hive(self) -> HiveMetastore:
        """Refuse: Spark's Hive support reaches a Hive metastore.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError("A Hive metastore is reached through Spark: CALL system.publish in a session.")

    def failure(self, _error: Exception, /) -> Failure | None:
        """Return None: there is no engine whose error it could be."""
        return None
