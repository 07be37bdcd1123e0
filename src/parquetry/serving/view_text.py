"""The text of a view for other engines, which have the warehouse under a name of their own.

A view's text names tables as the session did that made it. So the first part of a name is left out if it is
the catalog's name in Spark. A view that reads another catalog is refused.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from parquetry.errors import UnsupportedError
from parquetry.metastore import ViewDefinition


def portable_text(label: str, view: ViewDefinition, catalog: str, readers: str) -> str:
    """Return a view's text without the catalog's name before the names of tables.

    Args:
        label: the view's name for messages.
        view: its definition.
        catalog: the warehouse's name in the sessions that made the view.
        readers: who gets the text, for messages.

    Raises:
        UnsupportedError: a name is of another catalog, or the text cannot be read.

    >>> portable_text("db.v", ViewDefinition("SELECT t.id FROM lake.db.t AS t", "spark_catalog"), "lake", "others")
    'SELECT t.id FROM db.t AS t'
    """
    try:
        query = sqlglot.parse_one(view.text, read="spark")
    except sqlglot.errors.SqlglotError:
        raise _refusal(label, readers, "its text cannot be read") from None
    names = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    text = view.text
    for table in sorted(query.find_all(exp.Table), key=_position, reverse=True):
        if isinstance(table.this, exp.Func):
            continue  # such as range(5)
        if not isinstance(table.this, exp.Identifier):
            raise _refusal(
                label, readers, f"it reads {table.sql('spark')}, a name of more parts than tables have"
            )
        parts = table.parts
        if len(parts) == 1 and parts[0].name.lower() in names:
            continue
        spelled = ".".join(part.name for part in parts)
        if len(parts) == 3:
            if parts[0].name.lower() != catalog.lower():
                raise _refusal(label, readers, f"it reads {spelled}, which is not of the catalog {catalog}")
            text = text[: parts[0].meta["start"]] + text[parts[1].meta["start"] :]
        elif (view.catalog or "").lower() != catalog.lower():
            raise _refusal(
                label, readers, f"it reads {spelled} of the catalog {view.catalog}, and not of {catalog}"
            )
    return text


def _position(table: exp.Table) -> int:
    return int(table.parts[0].meta.get("start", 0))


def _refusal(label: str, readers: str, reason: str) -> UnsupportedError:
    return UnsupportedError(
        f"View {label} cannot be read by {readers}: {reason}. Write its query in the engine, or make a view of the "
        "warehouse's own tables."
    )
