"""The one object that Py4J calls: it answers questions by the planner, and writes rows."""

from __future__ import annotations

from typing import Any, ClassVar

from parquetry.planner import Lake, Planner
from parquetry.planner.protocol import answers, questions
from parquetry.spark.engine import SparkEngine
from parquetry.spark.write import insert, rewrite_rows


class PlannerGateway:
    """Answers for all catalogs of all sessions of one JVM; may be called by several threads."""

    def __init__(self) -> None:
        self._planner = Planner(SparkEngine())

    def ask(self, question: str) -> str:
        """Answer a question (JSON, see `parquetry.planner.protocol.codec`)."""
        return self._planner.ask(question)

    def write(self, question: str, data: Any) -> str:
        """Write the rows of a JVM DataFrame into a table."""
        return self._planner.answered(question, lambda lake, asked: _write_answer(lake, asked, data))

    class Java:
        """Names for Py4J the Java interface that the outer class implements."""

        implements: ClassVar[list[str]] = ["org.apache.spark.sql.parquetry.protocol.Planner"]


def _write_answer(lake: Lake, question: questions.Question, data: Any) -> answers.WriteSummary:
    if isinstance(question, questions.RewriteRows):
        return rewrite_rows.rewrite(lake, question, data)
    assert isinstance(question, questions.Write)
    return insert.write(lake, question, data)
