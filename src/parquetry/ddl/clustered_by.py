"""Read `CLUSTERED BY (columns) [SORTED BY (columns)] INTO n BUCKETS`, and clauses that change parts of it.

Its text from the first parenthesis on is also the value of the table property `clustered-by`. So are
`INTO n BUCKETS`, which keeps the columns, and `NOT SORTED`, which removes the order. This module does not
check whether the table has such columns.

`PARTITION (column = value, …)` is read here, too, and written as a filter on the partition columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.identifiers import quote_part
from parquetry.sqltext import LiteralConstant, TokenCursor, read_constant
from parquetry.types import STRING, sql_literal

NOT_SORTED = "NOT SORTED"
"""The clause, and value of the property, that removes the buckets' order and keeps the buckets."""
NOT_CLUSTERED = "NOT CLUSTERED"
"""The clause that removes the buckets; for a partition it is parsed and then refused."""


@dataclass(frozen=True, slots=True)
class ClusteredBy:
    """A parsed clause; an attribute that is None keeps its present value.

    Attributes:
        columns: the names of the bucket columns, as written.
        sorted_by: the names of the columns that each bucket is sorted by, each with whether it is descending.
        count: the number of buckets.
        partition: the values of the partition that the clause is about, or None for the table.
    """

    columns: tuple[str, ...] | None = None
    sorted_by: tuple[tuple[str, bool], ...] | None = None
    count: int | None = None
    partition: dict[str, LiteralConstant] | None = None


def find_clause(cursor: TokenCursor) -> bool:
    """Skip the clause behind `CLUSTERED BY`, with its parentheses; return False for another clause."""
    if not cursor.skip_parentheses():
        return False
    if cursor.take("sorted", "by") and not cursor.skip_parentheses():
        return False
    return find_count(cursor)


def find_count(cursor: TokenCursor) -> bool:
    """Skip `INTO n BUCKETS`; return False for another clause.

    The number may be a marker that Spark fills in later.
    """
    if not cursor.take("into"):
        return False
    while not cursor.ended and cursor.next.word not in ("buckets", "(", ")"):
        cursor.advance()
    return cursor.take("buckets")


def parse_clustered_by(text: str) -> ClusteredBy:
    """Read the clause behind its words `CLUSTERED BY`, or a clause that changes a part of it.

    Raises:
        ClauseError: the text is another clause; the message marks the position.

    >>> clause = parse_clustered_by("(id, `a b`) SORTED BY (day DESC, id) INTO 16 BUCKETS")
    >>> clause.columns, clause.sorted_by, clause.count
    (('id', 'a b'), (('day', True), ('id', False)), 16)
    >>> parse_clustered_by("into 8 buckets").count, parse_clustered_by(NOT_SORTED).sorted_by
    (8, ())
    """
    cursor = TokenCursor(text)
    columns: tuple[str, ...] | None = None
    sorted_by: tuple[tuple[str, bool], ...] | None = None
    count, partition = None, None
    if cursor.take("partition"):
        start = cursor.next.start
        partition = read_partition(cursor)
        if partition is None:
            raise cursor.error("PARTITION takes a value for each column, as in (ds = '2026-01-01').", start)
    if cursor.take("not", "sorted"):
        sorted_by = ()
    elif partition is None or not cursor.take("not", "clustered"):
        if cursor.next.word != "into":
            columns, sorted_by = _columns(cursor), _parse_sort_columns(cursor)
        count = _count(cursor)
    cursor.expect_end()
    return ClusteredBy(columns, sorted_by, count, partition)


def _columns(cursor: TokenCursor) -> tuple[str, ...]:
    cursor.expect("(", "write the bucket columns in parentheses")
    columns = [_name(cursor)]
    while cursor.take(","):
        columns.append(_name(cursor))
    cursor.expect(")", "write a comma and another column, or close the parenthesis")
    return tuple(columns)


def _parse_sort_columns(cursor: TokenCursor) -> tuple[tuple[str, bool], ...]:
    if not cursor.take("sorted"):
        return ()
    cursor.expect("by", "write SORTED BY and the columns")
    cursor.expect("(", "write the columns to sort by in parentheses")
    columns = [_parse_sort_column(cursor)]
    while cursor.take(","):
        columns.append(_parse_sort_column(cursor))
    cursor.expect(")", "write ASC or DESC, a comma and another column, or close the parenthesis")
    return tuple(columns)


def _parse_sort_column(cursor: TokenCursor) -> tuple[str, bool]:
    """Take a column and its direction.

    NULL is first in ascending order and last in descending order; Hive takes no other.
    """
    name = _name(cursor)
    descending = not cursor.take("asc") and cursor.take("desc")
    if cursor.take("nulls"):
        wanted = "last" if descending else "first"
        cursor.expect(
            wanted,
            f"in buckets NULLS {wanted.upper()} goes with {'DESC' if descending else 'ASC'}, as in Hive",
        )
    return name, descending


def _count(cursor: TokenCursor) -> int:
    cursor.expect("into", "write INTO, the number of buckets, and BUCKETS")
    token = cursor.next
    if token.kind != "NUMBER" or not (token.text.isascii() and token.text.isdigit()):
        raise cursor.error(f"{cursor.shown} is not expected here: write the number of buckets.")
    cursor.advance()
    cursor.expect("buckets", "write BUCKETS after their number")
    return int(token.text)


def _name(cursor: TokenCursor) -> str:
    name = cursor.name()
    if name is None:
        raise cursor.error(f"{cursor.shown} is not expected here: write the name of a column.")
    return name


def read_partition(cursor: TokenCursor) -> dict[str, LiteralConstant] | None:
    """Take the clause behind its word `PARTITION`, or return None for another clause or a missing value.

    >>> spec = read_partition(TokenCursor("(ds = '2026-01-01', `h r` = 5)"))
    >>> {name: value.text for name, value in spec.items()}
    {'ds': '2026-01-01', 'h r': '5'}
    """
    values: dict[str, LiteralConstant] = {}
    if not cursor.take("("):
        return None
    while True:
        name = cursor.name()
        if name is None or name in values or not cursor.take("="):
            return None
        value = read_constant(cursor)
        if value is None:
            return None
        values[name] = value
        if not cursor.take(","):
            break
    return values if cursor.take(")") else None


def filter_text(values: dict[str, LiteralConstant]) -> str:
    """Return the filter for partition values; each value is a text, as in a directory's name.

    >>> filter_text(read_partition(TokenCursor("(`a``b` = 'it''s', n = -5, s = NULL)")))
    "`a``b` = 'it''s' AND `n` = '-5' AND `s` IS NULL"
    """
    return " AND ".join(f"{quote_part(name)} {_condition(value)}" for name, value in values.items())


def _condition(value: LiteralConstant) -> str:
    match value.kind:
        case "null":
            return "IS NULL"
        case "binary":
            return f"= X'{value.text}'"
    return f"= {sql_literal(STRING, value.text)}"
