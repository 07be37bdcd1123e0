"""The fields that all questions to the planner share."""

from __future__ import annotations

import msgspec


class QuestionTrace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of a question in a trace, and what of the bridge asks it, the outermost first."""

    number: int
    path: list[str]


class StatementOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who and what makes a change, for the table's history; see `metastore.storage.origin`.

    Attributes:
        user: name of the user.
        door: how the statement came.
        application: the application's id.
        application_name: the application's name.
        statement: the beginning of the statement's text, or None for a DataFrame.
        settings: the session's settings of Parquetry.
    """

    user: str | None
    door: str
    application: str | None
    application_name: str | None
    statement: str | None
    settings: dict[str, str]


class Question(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", forbid_unknown_fields=True):
    """Base of all questions. A field that a question does not know is an error.

    Attributes:
        protocol: version of this protocol.
        by_position: whether the session reads ORC files by the position of columns.
        trace: set while a trace is taken; it changes no answer.
        origin: who and what asks, where the answer may make a version.
    """

    protocol: int
    by_position: bool = False
    trace: QuestionTrace | None = None
    origin: StatementOrigin | None = None


class CatalogQuestion(Question, tag="catalog_question", frozen=True):
    """Base of all questions about a catalog.

    Attributes:
        catalog: name of the catalog in the session.
        options: the catalog's options, as configured.
    """

    catalog: str
    options: dict[str, str]


class TableRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version of one table. A question about a loaded table names it.

    Attributes:
        id: of the table, hexadecimal.
        version: the number.
        commit: the random id of the commit that made the version. After a restore of an older dump, another
            version may have the number.
        database: the database's name.
        table: the table's name.
    """

    id: str
    version: int
    commit: str
    database: str
    table: str
