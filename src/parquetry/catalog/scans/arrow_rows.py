"""Hand rows over to libraries that take Arrow: what a scan, and a scan of changes, have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from parquetry.rows import require_valid_texts

if TYPE_CHECKING:
    import pandas


class ArrowRows(ABC):
    """Rows with a schema, which are read while a caller iterates."""

    __slots__ = ()

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows.

        Raises:
            UnsupportedError: a column's type is read by Spark alone.
        """

    @abstractmethod
    def _rows(self) -> Iterator[pa.RecordBatch]:
        """Plan what to read, and return its rows."""

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream of record batches.

        Memory holds some batches, or some small files. For changes, it holds the rows of one partition's
        files in one version, or with a key of one version's files. If these files have more than 64 MB, their
        rows go through a temporary folder, part by part.

        Raises:
            UnsupportedError: a column, or a part of the condition, is for Spark alone. Errors of files are
                raised when their rows are read.
        """
        return pa.RecordBatchReader.from_batches(self.schema, self._rows())

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table.

        Raises:
            UnsupportedError: they cannot be read as Spark reads them.
            FileMissingError, FileCorruptError: a file cannot be read.
        """
        return pa.Table.from_batches(list(self._rows()), self.schema)

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """Return the rows as a DataFrame of pandas.

        Args:
            options: of `pyarrow.Table.to_pandas`, such as ``types_mapper=pandas.ArrowDtype``. Without it an
                integer column with NULL becomes a column of floats, as pandas has it.

        Raises:
            ConfigurationError: pandas is not installed.
            UnsupportedError, FileMissingError, FileCorruptError: as `to_arrow`.
        """
        from parquetry.catalog.scans.libraries import require_extra

        require_extra("pandas")
        return self.to_arrow().to_pandas(**options)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows by Arrow's C stream interface: `pl.DataFrame(scan)` and `pa.table(scan)` work.

        Its libraries take for granted that texts are UTF-8. For a text that is not, an error comes instead.
        """
        batches = require_valid_texts(self._rows(), "a library of Arrow's stream interface")
        stream = pa.RecordBatchReader.from_batches(self.schema, batches)
        return stream.__arrow_c_stream__(requested_schema)
