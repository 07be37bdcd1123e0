"""A record is compared with facts of the rows: each number that it claims, and no number that it does not."""

from __future__ import annotations

from typing import Any

import pytest

from parquetry.data_files.records import ColumnStatistics, FileRecord, TableColumn, Trust
from parquetry.verification.recorded_claims import ColumnFacts, broken_claims, recorded_bounds

COLUMN = TableColumn("a", "integer")


def broken(statistics: ColumnStatistics, facts: ColumnFacts, rows: int = 3, **recorded: Any) -> list[str]:
    """Return what is wrong with a record of the column `a`, and of a file of three rows."""
    file = FileRecord("f", 10, rows=3, columns={"a": statistics}, **recorded)
    return list(broken_claims(file, rows, {"a": facts}, recorded_bounds(file, [COLUMN])))


EXACT = ColumnStatistics(nulls=1, min=5, max=9, trust=int(Trust.EXACT))
BOUNDS = ColumnStatistics(nulls=1, min=5, max=9, trust=int(Trust.BOUNDS))


@pytest.mark.parametrize(
    ("statistics", "facts", "says"),
    [
        (EXACT, ColumnFacts(1, at_min=1, at_max=1), []),
        (BOUNDS, ColumnFacts(1), []),
        (BOUNDS, ColumnFacts(1, above=2), ["has 2 rows above the recorded maximum 9 of a"]),
        (EXACT, ColumnFacts(1, at_min=1), ["has no row with the recorded maximum 9 of a"]),
        (EXACT, ColumnFacts(0, at_min=1, at_max=1), ["has 0 rows with a IS NULL, and its record says 1"]),
        (ColumnStatistics(nulls=3, trust=2), ColumnFacts(3), []),
        (
            ColumnStatistics(nulls=3, trust=2),
            ColumnFacts(2),
            ["has 2 rows with a IS NULL, and its record says 3"],
        ),
        (ColumnStatistics(), ColumnFacts(2), []),
    ],
)
def test_claims_of_a_column(statistics: ColumnStatistics, facts: ColumnFacts, says: list[str]) -> None:
    """Bounds hold for each row, exact bounds are values of rows, and counts of NULL are right."""
    assert broken(statistics, facts) == says


def test_the_number_of_rows() -> None:
    """Another number of rows than the record has is a broken claim."""
    assert broken(EXACT, ColumnFacts(1, at_min=1, at_max=1), rows=2) == ["has 2 rows, and its record says 3"]
