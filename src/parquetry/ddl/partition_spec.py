"""Read the clause `PARTITION (column = value, …)`, and write it as a filter on the partition columns."""

from __future__ import annotations

from parquetry.identifiers import quote_part
from parquetry.sqltext import LiteralConstant, TokenCursor, read_constant
from parquetry.types import STRING, sql_literal


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
