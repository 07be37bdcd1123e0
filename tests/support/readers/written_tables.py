"""Tables that PyArrow has written, without Spark: files with their recorded statistics, in a metastore."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from parquetry.data_files import ArrowFooters
from parquetry.metastore import (
    FileRecord,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    commit,
    open_metastore,
)
from parquetry.types import Value


class WrittenTable:
    """A table `shop.t` in a new warehouse.

    Attributes:
        warehouse: its folder.
        location: the table's folder.
    """

    def __init__(
        self,
        root: Path,
        columns: Sequence[TableColumn],
        partition_by: Sequence[str] = (),
        file_format: str = "parquet",
        **more: Any,
    ) -> None:
        self.warehouse, self.location = root / "lake", root / "lake" / "shop.db" / "t"
        self._format = file_format
        with open_metastore(str(self.warehouse), create=True) as metastore:
            metastore.create_database("shop")
            metadata = TableMetadata(
                tuple(columns), tuple(partition_by), file_format, str(self.location), **more
            )
            metastore.create_table("shop", "t", metadata)

    def add(
        self, values: tuple[Value, ...], *files: pa.Table, statistics: bool = True, **options: Any
    ) -> list[str]:
        """Add files to a partition in one commit, and return their paths.

        Args:
            values: of the partition.
            files: the rows of each.
            statistics: whether the records have the statistics of Parquet's footers.
            options: of the writer.
        """
        folder = self.location
        folder.mkdir(parents=True, exist_ok=True)
        first = len(list(folder.iterdir()))
        names = [f"{first + number}.{self._format}" for number in range(len(files))]
        for name, rows in zip(names, files, strict=True):
            if self._format == "orc":
                orc.write_table(rows, folder / name, **options)
            else:
                pq.write_table(rows, folder / name, **options)
        with open_metastore(str(self.warehouse)) as metastore:
            snapshot = metastore.table("shop", "t")
            transaction = Transaction(snapshot, "append")
            transaction.append(values, self._records(folder, names, files, statistics))
            commit(transaction)
        return [str(folder / name) for name in names]

    def _records(
        self, folder: Path, names: Sequence[str], files: Sequence[pa.Table], statistics: bool
    ) -> list[FileRecord]:
        if statistics and self._format == "parquet":
            records = ArrowFooters().data_files("parquet", str(folder), names)
        else:
            records = [
                FileRecord(name, (folder / name).stat().st_size, rows.num_rows)
                for name, rows in zip(names, files, strict=True)
            ]
        return [
            FileRecord(str(folder / record.path), record.bytes, record.rows, record.modified, record.columns)
            for record in records
        ]

    def snapshot(self) -> TableSnapshot:
        """Return the table as it is now."""
        with open_metastore(str(self.warehouse)) as metastore:
            return metastore.table("shop", "t")
