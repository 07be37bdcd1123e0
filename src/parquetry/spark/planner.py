"""What the bridge asks, answered: the one object that Py4J calls.

Decodes a question, finds the function that answers it, and turns errors into answers. What the answers are is
written in `tables`, `partitions`, `scans`, `writes` and `procedures`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException

from parquetry.errors import ParquetryError
from parquetry.spark import (
    metadata_tables,
    namespaces,
    partitions,
    procedures,
    protocol,
    scans,
    tables,
    writes,
)
from parquetry.spark.lake import Lake

_LOG = logging.getLogger("parquetry")
_ENCODE = msgspec.json.Encoder().encode

_ANSWERS: dict[type[protocol.Question], Callable[[Lake, Any], Any]] = {
    **namespaces.ANSWERS,
    **tables.ANSWERS,
    **metadata_tables.ANSWERS,
    **partitions.ANSWERS,
    **scans.ANSWERS,
    **procedures.ANSWERS,
}


def _subject(question: protocol.Question | None, code: str) -> list[str]:
    """Return the name that Spark's own errors (no such table, …) are about; nothing where ours say more."""
    match question:
        case protocol.RenameTable(namespace=[database], to=to) if code in (
            "TABLE_EXISTS",
            "NAMESPACE_NOT_FOUND",
        ):
            *namespace, name = [part for i, part in enumerate(to) if i > 0 or len(to) < 3]
            namespace = namespace or [database]
        case protocol.LoadTable(namespace=namespace, name=name, version=None, as_of=None):
            pass
        case (
            protocol.CreateTable(namespace=namespace, name=name)
            | protocol.StageTable(namespace=namespace, name=name)
            | protocol.AlterTable(namespace=namespace, name=name)
            | protocol.RenameTable(namespace=namespace, name=name)
        ):
            pass
        case (
            protocol.LoadNamespace(namespace=namespace)
            | protocol.CreateNamespace(namespace=namespace)
            | protocol.AlterNamespace(namespace=namespace)
            | protocol.DropNamespace(namespace=namespace)
            | protocol.ListTables(namespace=namespace)
        ):
            name = ""
        case protocol.PublishTable(table=protocol.TableRef(database=database, table=name)):
            namespace = [database]
        case _:
            return []
    return [question.catalog, *namespace, *([name] if name and not code.startswith("NAMESPACE_") else [])]


class Planner:
    """Answers for all catalogs of all sessions of one JVM; may be called by several threads."""

    def __init__(self) -> None:
        self._lakes: dict[tuple[str, tuple[tuple[str, str], ...]], Lake] = {}
        self._opening = threading.Lock()

    def ask(self, question: str) -> str:
        """Answer a question (JSON, see `protocol`)."""
        return self._answered(question, lambda lake, asked: _ANSWERS[type(asked)](lake, asked))

    def write(self, question: str, data: Any) -> str:
        """Write the rows of a JVM DataFrame into a table."""
        return self._answered(question, lambda lake, asked: writes.write(lake, asked, data))

    def _answered(self, text: str, answer: Callable[[Lake, Any], Any]) -> str:
        question: protocol.Question | None = None
        try:
            question = protocol.decode(text)
            return _ENCODE({"ok": answer(self._lake(question), question)}).decode()
        except ParquetryError as error:
            failure = {"code": error.code, "message": error.message, "name": _subject(question, error.code)}
        except (Py4JJavaError, CapturedException) as error:
            failure = {"code": "SPARK", "message": _kept(error), "name": []}
        except Exception as error:  # noqa: BLE001 — whatever it is, Spark must be told, and the log keeps the rest
            _LOG.exception("a question of the bridge could not be answered: %s", text[:2000])
            failure = {"code": "INTERNAL", "message": f"{type(error).__name__}: {error}", "name": []}
        return _ENCODE({"error": failure}).decode()

    def _lake(self, question: protocol.Question) -> Lake:
        key = (question.catalog, tuple(sorted(question.options.items())))
        lake = self._lakes.get(key)
        if lake is None or lake.lost:
            with self._opening:
                lake = self._lakes.get(key)
                if lake is None or lake.lost:
                    lake = self._lakes[key] = Lake.open(question.catalog, question.options)
        return lake

    class Java:
        """What Py4J looks for."""

        implements: ClassVar[list[str]] = ["org.apache.spark.sql.parquetry.Planner"]


def _kept(error: Py4JJavaError | CapturedException) -> str:
    """Leave an error of Spark's own on its side, where it is raised again as if nobody had stood between."""
    door = SparkContext._active_spark_context._jvm.org.apache.spark.sql.parquetry.Bridge
    name: str = door.keep(error._origin if isinstance(error, CapturedException) else error.java_exception)
    return name
