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

from parquetry.errors import ParquetryError
from parquetry.spark import partitions, procedures, protocol, scans, tables, writes
from parquetry.spark.lake import Lake

_LOG = logging.getLogger("parquetry")
_ENCODE = msgspec.json.Encoder().encode

_ANSWERS: dict[type[protocol.Question], Callable[[Lake, Any], Any]] = {
    **tables.ANSWERS,
    **partitions.ANSWERS,
    **scans.ANSWERS,
    **procedures.ANSWERS,
}


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
        name: list[str] = []
        try:
            question = protocol.decode(text)
            name = [question.catalog, *getattr(question, "namespace", []), *filter(None, [getattr(question, "name", "")])]
            return _ENCODE({"ok": answer(self._lake(question), question)}).decode()
        except ParquetryError as error:
            failure = {"code": error.code, "message": error.message, "name": name}
        except Exception as error:  # noqa: BLE001 — whatever it is, Spark must be told, and the log keeps the rest
            _LOG.exception("a question of the bridge could not be answered: %s", text[:2000])
            failure = {"code": "INTERNAL", "message": f"{type(error).__name__}: {error}", "name": []}
        return _ENCODE({"error": failure}).decode()

    def _lake(self, question: protocol.Question) -> Lake:
        key = (question.catalog, tuple(sorted(question.options.items())))
        lake = self._lakes.get(key)
        if lake is None:
            with self._opening:
                lake = self._lakes.get(key) or Lake.open(question.catalog, question.options)
                self._lakes[key] = lake
        return lake

    class Java:
        """What Py4J looks for."""

        implements: ClassVar[list[str]] = ["org.apache.spark.sql.parquetry.Planner"]
