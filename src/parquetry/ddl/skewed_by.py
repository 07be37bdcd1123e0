"""Read the clause `SKEWED BY (columns) ON (values | AUTO) [[NOT] STORED AS DIRECTORIES]`.

`ON AUTO` means directories unless the clause says NOT. Named values, which are Hive's, have directories only
if the clause says so. Its text from the first parenthesis on is also the value of the table property
`skewed-by`. This module does not check whether the table has such columns, and does not convert the constants
to their types.

`[PARTITION (…)] SET SKEWED LOCATION (value = 'uri', (a, b) = 'uri', …)` is read here, too.

Its parentheses, after the partition if it names one, are also the value of the table property
`skewed-locations`.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquetry import errors
from parquetry.ddl.clustered_by import read_partition
from parquetry.sqltext import LiteralConstant, TokenCursor, read_constant

NOT_DIRECTORIES = "NOT STORED AS DIRECTORIES"
"""The clause, and value of the property, that removes the directories of a table but keeps it skewed."""


@dataclass(frozen=True, slots=True)
class SkewedBy:
    """A parsed clause.

    Attributes:
        columns: the names of the skewed columns, as written.
        tuples: the constants of each skewed tuple, or None for AUTO, which detects them.
        directories: whether each tuple gets a directory.
    """

    columns: tuple[str, ...]
    tuples: tuple[tuple[LiteralConstant, ...], ...] | None
    directories: bool


def find_clause(cursor: TokenCursor) -> bool:
    """Skip the clause behind `SKEWED BY`, with its parentheses; return False for another clause."""
    if not (cursor.skip_parentheses() and cursor.take("on")):
        return False
    if not (cursor.take("auto") or cursor.skip_parentheses()):
        return False
    if not cursor.take("stored", "as", "directories"):
        cursor.take("not", "stored", "as", "directories")
    return True


def parse_skewed_by(text: str) -> SkewedBy:
    """Read the clause behind its words `SKEWED BY`.

    Raises:
        ClauseError: the text is another clause; the message marks the position.
        NoSkewedColumnsError: it names no column.
        NoSkewedValuesError: a value is not a constant.

    >>> found = parse_skewed_by("(x, `Y`) ON ((1, 'a'), (2, NULL)) STORED AS DIRECTORIES")
    >>> found.columns, [[each.text for each in row] for row in found.tuples], found.directories
    (('x', 'Y'), [['1', 'a'], ['2', '']], True)
    >>> [parse_skewed_by(f"(x) ON {what}").directories for what in ("AUTO", "AUTO NOT STORED AS DIRECTORIES", "(1)")]
    [True, False, False]
    """
    cursor = TokenCursor(text)
    columns = _columns(cursor)
    cursor.expect("on", "write ON and the heavy values, or ON AUTO")
    tuples = None if cursor.take("auto") else _tuples(cursor)
    refused = cursor.take("not", "stored", "as", "directories")
    stored = not refused and cursor.take("stored", "as", "directories")
    directories = stored or (tuples is None and not refused)
    if not stored and not refused and not cursor.ended:
        raise cursor.error(f"{cursor.shown} is not expected here: only STORED AS DIRECTORIES can follow.")
    cursor.expect_end()
    return SkewedBy(columns, tuples, directories)


def is_not_directories(text: str) -> bool:
    """Return whether a value of the property only removes the directories of a table."""
    cursor = TokenCursor(text)
    return cursor.take("not", "stored", "as", "directories") and cursor.ended


def _columns(cursor: TokenCursor) -> tuple[str, ...]:
    cursor.expect("(", "write the skewed columns in parentheses")
    if cursor.take(")"):
        raise errors.NoSkewedColumnsError("No skewed column name. Name one or more columns in SKEWED BY (…).")
    columns = []
    while True:
        name = cursor.name()
        if name is None:
            raise cursor.error(f"{cursor.shown} is not expected here: write the name of a column.")
        columns.append(name)
        if not cursor.take(","):
            break
    cursor.expect(")", "write a comma and another column, or close the parenthesis")
    return tuple(columns)


def _tuples(cursor: TokenCursor) -> tuple[tuple[LiteralConstant, ...], ...]:
    cursor.expect("(", "write the heavy values in parentheses, or AUTO")
    if cursor.take(")"):
        return ()
    nested = cursor.next.word == "("
    tuples = []
    while True:
        if (cursor.next.word == "(") != nested:
            raise cursor.error(
                f"{cursor.shown} is not expected here: write each value in parentheses of its own, or none."
            )
        tuples.append(read_tuple(cursor))
        if not cursor.take(","):
            break
    cursor.expect(")", "write a comma and another value, or close the parenthesis")
    return tuple(tuples)


def read_tuple(cursor: TokenCursor) -> tuple[LiteralConstant, ...]:
    """Take the values of one cell: a constant, or several in parentheses.

    Raises:
        NoSkewedValuesError: something else is next.
    """
    if not cursor.take("("):
        return (_constant(cursor),)
    constants = [_constant(cursor)]
    while cursor.take(","):
        constants.append(_constant(cursor))
    cursor.expect(")", "write a comma and the value of the next column, or close the parenthesis")
    return tuple(constants)


def _constant(cursor: TokenCursor) -> LiteralConstant:
    constant = read_constant(cursor)
    if constant is None:
        raise errors.NoSkewedValuesError(
            f"No skewed values. {cursor.shown} is no constant: write numbers, texts in quotes, NULL, TRUE, FALSE, "
            "DATE '…', TIMESTAMP '…' or X'…'."
        )
    return constant


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
        raise errors.NoSkewedLocationsError(
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
        raise errors.SkewedLocationPairError(
            f"Alter table skewed location doesn't have location map. {cursor.shown} is not expected here: write each "
            "entry as value = 'uri'."
        )
    return key, uri.text
