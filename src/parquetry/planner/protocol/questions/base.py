"""What every question to the planner is made of."""

from __future__ import annotations

import msgspec


class Question(msgspec.Struct, frozen=True, kw_only=True, tag_field="op"):
    """What every question carries.

    Attributes:
        protocol: version of this protocol.
    """

    protocol: int


class CatalogQuestion(Question, tag="catalog_question", frozen=True):
    """What every question about a catalog carries.

    Attributes:
        catalog: name of the catalog in the session.
        options: the catalog's options, as configured.
    """

    catalog: str
    options: dict[str, str]


class TableRef(msgspec.Struct, frozen=True):
    """One version of one table: what a question about a loaded table names."""

    id: str
    version: int
    database: str
    table: str
