"""PostgreSQL's SQL in dbt's tests of adapters becomes Spark's."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

TIME = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d\S*)?")
SPARK_NAMES = {
    r"\btext\b": "string",
    r"\btimestamp without time zone\b": "timestamp",
    r"\bvacuum\b": "refresh table",  # hooks that show when they run
    r'"(from|GROUP)"': r"`\1`",
    r"\{\{ *target\.database *\}\}\.": "",  # dbt-spark's target has none
}
"""Words of PostgreSQL in a project's files, and what Spark has for them."""


def text_for_spark(text: str) -> str:
    """Return a file of a dbt project with Spark's names for PostgreSQL's types.

    >>> text_for_spark("select cast('a' as text) as text_col")
    "select cast('a' as string) as text_col"
    """
    for theirs, ours in SPARK_NAMES.items():
        text = re.sub(theirs, ours, text)
    return text


def _typed(node: exp.Expr) -> exp.Expr:
    """Return a string that is a date or a time as one, which Spark does not store from a string."""
    if isinstance(node, exp.Literal) and node.is_string and (time := TIME.fullmatch(node.this)):
        return exp.cast(node.copy(), "timestamp" if time[1] else "date")
    return node


def statements(sql: str, schema: str) -> list[str]:
    """Return PostgreSQL's statements as Spark's, with the name of the test's schema in them.

    >>> statements("insert into {schema}.t values ('2026-01-02'); drop table {database}.{schema}.t", "s")
    ["INSERT INTO s.t VALUES (CAST('2026-01-02' AS DATE))", 'DROP TABLE s.t']
    """
    sql = re.sub(r"(\{database\}|\bNone)\.", "", sql).replace("{schema}", schema)
    if "`" in sql:
        return [sql]
    found = []
    for each in sqlglot.parse(sql, read="postgres"):
        if each is not None:
            text = (each.transform(_typed) if isinstance(each, exp.Insert) else each).sql("spark")
            found.append(text.replace("TIMESTAMP_NTZ", "TIMESTAMP"))
    return found
