"""The libraries that take rows, and the scan that they get. Each library is loaded when a caller uses it."""

from __future__ import annotations

import importlib
from typing import Any, Literal, Protocol, Self

import pyarrow as pa

from parquetry.errors import ConfigurationError
from parquetry.predicate import Predicate

Extra = Literal["duckdb", "pandas", "polars"]


class NarrowableScan(Protocol):
    """A scan that a library narrows by its own conditions and columns; see `scan.Scan`."""

    @property
    def is_limited(self) -> bool:
        """Whether it has a limit, so that a library's condition must not choose the rows."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """The schema of its rows."""
        ...

    def filter(self, where: str | Predicate, /) -> Self:
        """Return a scan of the rows that satisfy a further condition."""
        ...

    def select(self, *columns: str) -> Self:
        """Return a scan of some columns."""
        ...

    def limit(self, count: int, /) -> Self:
        """Return a scan of at most so many rows."""
        ...

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows."""
        ...


def require_extra(name: Extra) -> Any:
    """Return the module of a library.

    Raises:
        ConfigurationError: it is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ConfigurationError(
            f"This needs {name}, which is not installed: pip install 'parquetry[{name}]'"
        ) from None
