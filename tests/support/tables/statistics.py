"""Statistics of columns as a reader of footers records them."""

from __future__ import annotations

from typing import Any

from parquetry.data_files import ColumnStatistics, Trust


def exact(
    size: int | None = None,
    nulls: int | None = None,
    min: Any = None,
    max: Any = None,
    min_exact: bool = True,
    max_exact: bool = True,
) -> ColumnStatistics:
    """Return the statistics of a column whose writer is believed whole."""
    return ColumnStatistics(size, nulls, min, max, min_exact, max_exact, Trust.EXACT)
