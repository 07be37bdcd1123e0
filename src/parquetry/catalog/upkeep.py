"""The upkeep of all tables for `Catalog`, outside of Spark: no file is rewritten here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from parquetry.catalog.lookup import find_table
from parquetry.catalog.views import full_name
from parquetry.config import settle
from parquetry.metastore import Metastore, TableMetadata, TableSnapshot, require_table
from parquetry.operations import OperationEngine


class _NoWriter:
    """Stands for the engine in what upkeep asks of it where none runs."""

    can_rewrite = False

    def target_file_size(self, metadata: TableMetadata) -> int:
        """Return what the table's properties say."""
        size: int = settle(properties=metadata.properties)["target-file-size"]
        return size


@dataclass(frozen=True, slots=True)
class UpkeepContext:
    """A warehouse outside of Spark, for `status` and `maintain`; see `operations.operation.Context`."""

    metastore: Metastore
    engine: OperationEngine = field(default_factory=lambda: cast("OperationEngine", _NoWriter()))
    time_zone: str = "UTC"

    def find(self, name: str) -> TableSnapshot:
        """Return a table as it is now."""
        return require_table(find_table(self.metastore, name))

    def full_name(self, snapshot: TableSnapshot) -> str:
        """Return a table's name as the users write it."""
        return full_name(snapshot.database, snapshot.name)

    def cache(self, snapshot: TableSnapshot) -> TableSnapshot:
        """Return the version. No cache exists here."""
        return snapshot
