"""Read the clause `[PARTITION (…)] SET SKEWED LOCATION (value = 'uri', (a, b) = 'uri', …)`.

Its parentheses, after the partition if it names one, are also the value of the table property
`skewed-locations`.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.ddl.partition_spec import read_partition
from parquetry.ddl.skewed_by import read_tuple
from parquetry.errors import NoSkewedLocationsError, SkewedLocationPairError
from parquetry.sqltext import LiteralConstant, TokenCursor, read_constant


@dataclass(frozen=True, slots=True)
class SkewedLocations:
    """A parsed clause.

    Attributes:
        partition: the values of the partition whose directories get locations, or None for the table's.
        pairs: the constants of each cell, and the URI of its directory.
    """

    partition: dict[str, LiteralConstant] | None
    pairs: tuple[tuple[tuple[LiteralConstant, ...], str], ...]


def parse_skewed_locations(text: str) -> SkewedLocations:
    """Read the clause without its words `SET SKEWED LOCATION`.

    Raises:
        ClauseError: the text is another clause; the message marks the position.
        NoSkewedLocationsError: there is no location.
        SkewedLocationPairError: an entry is not a value with a location.
        NoSkewedValuesError: a value is not a constant.

    >>> clause = parse_skewed_locations("PARTITION (ds = '1') (10 = 'hdfs://h/a', (20) = 'hdfs://h/b')")
    >>> clause.partition["ds"].text, [(key[0].text, uri) for key, uri in clause.pairs]
    ('1', [('10', 'hdfs://h/a'), ('20', 'hdfs://h/b')])
    """
    cursor = TokenCursor(text)
    partition = None
    if cursor.take("partition"):
        start = cursor.next.start
        partition = read_partition(cursor)
        if partition is None:
            raise cursor.error("PARTITION takes a value for each column, as in (ds = '2026-01-01').", start)
    cursor.expect("(", "write the values and their locations in parentheses")
    if cursor.take(")"):
        raise NoSkewedLocationsError(
            "Alter table skewed location doesn't have locations. Write them as value = 'uri'."
        )
    pairs = []
    while True:
        pairs.append(_pair(cursor))
        if not cursor.take(","):
            break
    cursor.expect(")", "write a comma and another location, or close the parenthesis")
    cursor.expect_end()
    return SkewedLocations(partition, tuple(pairs))


def _pair(cursor: TokenCursor) -> tuple[tuple[LiteralConstant, ...], str]:
    key = read_tuple(cursor)
    uri = read_constant(cursor) if cursor.take("=") else None
    if uri is None or uri.kind != "text":
        raise SkewedLocationPairError(
            f"Alter table skewed location doesn't have location map. {cursor.shown} is not expected here: write each "
            "entry as value = 'uri'."
        )
    return key, uri.text
