"""Compare the record of a file with what its rows say: rows, NULLs, and the bounds of each column.

The caller has read the rows (`spark.write.audit`). This module knows which of a record's numbers are claims,
and how much each claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from parquetry.data_files import FileBounds, FileRecord, TableColumn, bounds_reader
from parquetry.identifiers import field_path
from parquetry.texts import quantity, shorten

_MAX_VALUE = 60
"""Most characters of a bound in a message."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Facts of one column in the rows of a file.

    Attributes:
        nulls: the rows without a value.
        below: the rows below the recorded minimum; 0 if none is recorded.
        above: the rows above the recorded maximum, likewise. NaN is neither below nor above.
        at_min: the rows that have the recorded minimum.
        at_max: the rows that have the recorded maximum.
    """

    nulls: int
    below: int = 0
    above: int = 0
    at_min: int = 0
    at_max: int = 0


def recorded_bounds(file: FileRecord, columns: Sequence[TableColumn]) -> dict[str, FileBounds]:
    """Return what a file's record claims of its columns, by their physical names."""
    claimed = ((column.physical, bounds_reader(column)(file)) for column in columns)
    return {name: bounds for name, bounds in claimed if bounds is not None}


def broken_claims(
    file: FileRecord, rows: int, facts: Mapping[str, ColumnFacts], bounds: Mapping[str, FileBounds]
) -> Iterator[str]:
    """Yield the claims of a file's record that its rows do not bear out, each as the end of a sentence.

    Args:
        file: its record.
        rows: of the file.
        facts: of its columns, by their physical names.
        bounds: as `recorded_bounds` returns them.

    >>> file = FileRecord("f", 10, rows=3)
    >>> list(broken_claims(file, 2, {"a": ColumnFacts(0, below=1)}, {"a": FileBounds(min=5, max=9, nulls=0, rows=3)}))
    ['has 2 rows, and its record says 3', 'has 1 row below the recorded minimum 5 of a', 'has no row with the recorded minimum 5 of a', 'has no row with the recorded maximum 9 of a']
    """
    if file.rows is not None and rows != file.rows:
        yield f"has {quantity(rows, 'row')}, and its record says {file.rows}"
    for name, claimed in bounds.items():
        yield from _broken_bounds(".".join(field_path(name)), facts[name], claimed)


def _broken_bounds(name: str, facts: ColumnFacts, claimed: FileBounds) -> Iterator[str]:
    if claimed.nulls is not None and facts.nulls != claimed.nulls:
        yield f"has {quantity(facts.nulls, 'row')} with {name} IS NULL, and its record says {claimed.nulls}"
    ends = (
        ("minimum", "below", claimed.min, claimed.min_exact, facts.below, facts.at_min),
        ("maximum", "above", claimed.max, claimed.max_exact, facts.above, facts.at_max),
    )
    for end, side, value, exact, beyond, there in ends:
        if value is None:
            continue
        text = shorten(str(value), _MAX_VALUE)
        if beyond:
            yield f"has {quantity(beyond, 'row')} {side} the recorded {end} {text} of {name}"
        if exact and not there:
            yield f"has no row with the recorded {end} {text} of {name}"
