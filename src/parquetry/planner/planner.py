"""Answer the questions of the bridge.

Decodes a question, finds the function that answers it, and turns errors into answers. The answers themselves
are made in `tables`, `scans`, `streams`, `writes` and `procedures`. `parquetry.spark.write.insert` answers
INSERT: it needs the engine.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

from parquetry.config import HISTORY_STATEMENTS, SESSION_PREFIX
from parquetry.errors import ParquetryError, UnsupportedError
from parquetry.locations import use_file_systems
from parquetry.metastore import Author, Door, author_of_commits
from parquetry.open_files import open_files_error
from parquetry.planner import history, metadata_tables, statements, tracing
from parquetry.planner.engine import Engine, Failure
from parquetry.planner.lake import Lake
from parquetry.planner.procedures import analyze, calls
from parquetry.planner.procedures.transactions import TRANSACTION_OPTION
from parquetry.planner.protocol import answers, codec, questions
from parquetry.planner.scans import estimates, joins, scans
from parquetry.planner.streams import streams
from parquetry.planner.tables import namespaces, partitions, table_changes, tables, views
from parquetry.prune import reading_by_position
from parquetry.texts import shorten

_LOG = logging.getLogger("parquetry")

_ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    **namespaces.ANSWERS,
    **tables.ANSWERS,
    **views.ANSWERS,
    **metadata_tables.ANSWERS,
    **partitions.ANSWERS,
    **scans.ANSWERS,
    **streams.ANSWERS,
    **table_changes.ANSWERS,
    **joins.ANSWERS,
    **estimates.ANSWERS,
    **calls.ANSWERS,
    **analyze.ANSWERS,
    **history.ANSWERS,
}

_CHANGES = (
    questions.CreateNamespace,
    questions.AlterNamespace,
    questions.DropNamespace,
    questions.CreateTable,
    questions.StageTable,
    questions.PublishTable,
    questions.AlterTable,
    questions.DropTable,
    questions.RenameTable,
    questions.PutView,
    questions.DropView,
    questions.Delete,
    questions.Truncate,
    questions.AddPartitions,
    questions.DropPartitions,
    questions.TruncatePartitions,
    questions.RenamePartition,
    questions.AlterPartition,
    questions.Repair,
    questions.Write,
    questions.RewriteRows,
)
"""Questions that change the warehouse. They are refused, before any work, if another metastore owns it."""


def _subject(question: questions.Question | None, code: str) -> list[str]:
    """Return the name in Spark's own error (no such table, …), or an empty list if our message says more."""
    match question:
        case questions.RenameTable(namespace=[database], to=to) if code in (
            "TABLE_EXISTS",
            "NAMESPACE_NOT_FOUND",
        ):
            *namespace, name = [part for i, part in enumerate(to) if i > 0 or len(to) < 3]
            namespace = namespace or [database]
        case questions.LoadTable(namespace=namespace, name=name, version=None, as_of=None):
            pass
        case (
            questions.CreateTable(namespace=namespace, name=name)
            | questions.StageTable(namespace=namespace, name=name)
            | questions.AlterTable(namespace=namespace, name=name)
            | questions.RenameTable(namespace=namespace, name=name)
            | questions.PutView(namespace=namespace, name=name)
        ):
            pass
        case (
            questions.LoadNamespace(namespace=namespace)
            | questions.CreateNamespace(namespace=namespace)
            | questions.AlterNamespace(namespace=namespace)
            | questions.DropNamespace(namespace=namespace)
            | questions.ListTables(namespace=namespace)
            | questions.ListViews(namespace=namespace)
        ):
            name = ""
        case questions.PublishTable(table=questions.TableRef(database=database, table=name)):
            namespace = [database]
        case _:
            return []
    return [question.catalog, *namespace, *([name] if name and not code.startswith("NAMESPACE_") else [])]


def _described(question: questions.Question | None) -> str:
    """Return a question's kind and table for the log, without the options and texts in it."""
    table = getattr(question, "table", None) or getattr(question, "name", None)
    return "not decoded" if question is None else f"{type(question).__name__} {shorten(str(table or ''))}"


def _author(origin: questions.StatementOrigin | None) -> contextlib.AbstractContextManager[None]:
    """Return a block whose commits record the author of a question."""
    if origin is None:
        return contextlib.nullcontext()
    author = Author(origin.user, origin.door, origin.application, origin.application_name, origin.statement)
    name = SESSION_PREFIX + HISTORY_STATEMENTS
    return author_of_commits(
        Door(author, {key: value for key, value in origin.settings.items() if key == name})
    )


class Planner:
    """Answers for all catalogs of all sessions of one engine. Several threads may call it.

    Args:
        engine: for facts and actions that only the engine has.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lakes: dict[tuple[str, tuple[tuple[str, str], ...]], Lake] = {}
        self._opening = threading.Lock()

    def ask(self, question: str) -> str:
        """Answer a question (JSON, see `protocol.codec`)."""
        return self.answered(question, lambda lake, asked: _ANSWERS[type(asked)](lake, asked))

    def answered(self, text: str, answer: Callable[[Lake, Any], answers.Answer]) -> str:
        """Answer a question by a function of its catalog, if it has one. Errors become answers, too."""
        recorder = tracing.recorder()
        if recorder is None:
            return self._answer(text, answer)[1]
        with recorder.measure() as measured:
            question, told = self._answer(text, answer)
        recorder.record(question, measured, len(text), len(told))
        return told

    def _answer(
        self, text: str, answer: Callable[[Lake, Any], answers.Answer]
    ) -> tuple[questions.Question | None, str]:
        """Return a question, or None if it cannot be decoded, and its answer."""
        question: questions.Question | None = None
        try:
            question = codec.decode(text)
            with use_file_systems(self._engine.file_systems), _author(question.origin):
                if isinstance(question, questions.CatalogQuestion):
                    lake = self._lake(question)
                    if isinstance(question, _CHANGES):
                        lake.metastore.require_owned()
                    with reading_by_position(question.by_position):
                        told = answer(lake, question)
                else:
                    told = statements.ANSWERS[type(question)](question)
                return question, codec.encode(told)
        except ParquetryError as error:
            failure = answers.Error(error.code, error.message, _subject(question, error.code), error.sqlstate)
        except RecursionError:  # of the JSON, or of what walks through its trees
            reason = (
                "An expression of the statement is nested too deep to be planned, by several hundred levels: write it flat, such as "
                "a IN (1, 2) for a = 1 OR a = 2, or as several filters, one after the other."
            )
            failure = answers.Error(UnsupportedError.code, reason, [], UnsupportedError.sqlstate)
        except Exception as error:  # noqa: BLE001 — any error needs an answer; the log has details
            own = self._engine.failure(error)
            if own is None and isinstance(error, OSError) and (at_limit := open_files_error(error)):
                own = Failure(at_limit.code, at_limit.message)
            if own is None:
                _LOG.exception("A question of the bridge could not be answered: %s", _described(question))
                own = Failure("INTERNAL", shorten(f"{type(error).__name__}: {error}"))
            failure = answers.Error(own.code, own.message, [])
        return question, codec.encode(failure)

    def _lake(self, question: questions.CatalogQuestion) -> Lake:
        options = dict(question.options)
        transaction = options.pop(TRANSACTION_OPTION, None)
        key = (question.catalog, tuple(sorted(options.items())))
        lake = self._lakes.get(key)
        if lake is None or lake.is_removed:
            with self._opening:
                lake = self._lakes.get(key)
                if lake is None or lake.is_removed:
                    lake = self._lakes[key] = Lake.open(question.catalog, options, self._engine)
        if lake.drafts:
            lake.give_up_idle()
        return lake if transaction is None else lake.of_transaction(transaction)
