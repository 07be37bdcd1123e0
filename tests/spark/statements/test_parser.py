"""The bridge's parser delegates everything, and asks the planner only about statements with its words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from parquetry.planner import statements
from parquetry.planner.protocol import answers, questions
from parquetry.spark.configuration import BRIDGE_PACKAGE, EXTENSIONS_CLASS
from parquetry.spark.serving.callbacks import PlannerGateway

WORDS = ["FROBNICATED BY", "UNSKEW"]


class Listening(PlannerGateway):
    """The planner, and which statements it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.asked = 0

    def ask(self, question: str) -> str:
        self.asked += 1
        asked = json.loads(question)
        if asked["op"] == "rewrite_statement":
            assert set(asked) - {"named", "positional"} == {
                "protocol", "op", "text", "catalogs", "other_catalogs", "current_catalog", "current_namespace",
            }  # fmt: skip
            self.shown.append(asked["text"])
        return super().ask(question)


@pytest.fixture
def installed(spark: SparkSession) -> Iterator[Callable[..., Listening]]:
    """Install a planner that looks for some words, until the test is over."""
    bridge = getattr(spark._jvm, BRIDGE_PACKAGE).protocol.Bridge

    def install(*words: str) -> Listening:
        door = Listening()
        bridge.install(door, list(words))
        return door

    yield install
    bridge.install(PlannerGateway(), list(statements.STATEMENT_WORDS))


def _first_word_as_select(q: questions.RewriteStatement) -> answers.Rewritten:
    """Rewrite `FROBNICATED BY n` to a SELECT; leave everything else."""
    words = [q.named.get(word.removeprefix(":"), word) for word in q.text.split()]
    return answers.Rewritten(f"SELECT {words[2]} AS n" if words[0].upper() == "FROBNICATED" else None)


def test_without_words_the_planner_is_never_asked(
    spark: SparkSession, installed: Callable[..., Listening]
) -> None:
    """Statements of every kind that hold none are parsed without a call into Python."""
    door = installed(*statements.STATEMENT_WORDS)
    assert spark.sql("SELECT 'frobnicated by', 1 /* unskew */").collect()[0][1] == 1
    spark.sql("CREATE OR REPLACE TEMP VIEW parser_view AS SELECT 1 AS a")
    assert spark.sql("SELECT a + :b AS c FROM parser_view", {"b": 2}).collect()[0].c == 3
    spark.catalog.dropTempView("parser_view")
    assert door.asked == 0


def test_a_statement_with_a_word_is_asked_about(
    spark: SparkSession, installed: Callable[..., Listening], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is parsed instead of the text, in any letter case; null keeps the text; other statements are
    not sent.
    """
    monkeypatch.setitem(statements.ANSWERS, questions.RewriteStatement, _first_word_as_select)
    door = installed(*WORDS)
    assert spark.sql("Frobnicated By 7").collect() == [(7,)]
    assert spark.sql("FROBNICATED BY :n x", {"n": 8}).collect() == [(8,)]  # the planner fills it in
    assert spark.sql("SELECT 1 AS unskew").collect() == [(1,)]
    assert spark.sql("SELECT 1 AS unskewed").collect() == [(1,)]  # another word
    assert door.shown == ["Frobnicated By 7", "FROBNICATED BY :n x", "SELECT 1 AS unskew"]
    assert door.asked == 3


def test_an_error_of_the_planner_is_the_statements(
    spark: SparkSession, installed: Callable[..., Listening], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the planner refuses a statement, the result is an analysis error with our code."""

    def refuse(q: questions.RewriteStatement) -> answers.Rewritten:
        from parquetry.errors import UnsupportedError

        raise UnsupportedError(f"{q.text} cannot be said.")

    monkeypatch.setitem(statements.ANSWERS, questions.RewriteStatement, refuse)
    installed(*WORDS)
    with pytest.raises(Exception, match=r"\[PARQUETRY_UNSUPPORTED\] UNSKEW t cannot be said\."):
        spark.sql("UNSKEW t")


@pytest.mark.parametrize(
    ("text", "rewritten"), [("SELECT 1\nFORM t WHERE", None), ("UNSKEW t", "SELECT 12\n  FORM t WHERE")]
)
def test_errors_keep_their_positions(
    spark: SparkSession, installed: Callable[..., Listening], monkeypatch: pytest.MonkeyPatch,
    text: str, rewritten: str | None,
) -> None:  # fmt: skip
    """An error shows the parsed text with the position in it, as Spark's own parser does."""
    monkeypatch.setitem(
        statements.ANSWERS, questions.RewriteStatement, lambda _: answers.Rewritten(rewritten)
    )
    installed(*WORDS)
    assert (
        spark._jsparkSession.sessionState().sqlParser().getClass().getName()
        == f"{BRIDGE_PACKAGE}.statements.Parser"
    )
    plain = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    with pytest.raises(ParseException) as alone:
        plain.parsePlan(rewritten or text)
    with pytest.raises(ParseException) as ours:
        spark.sql(text)
    assert str(ours.value) == str(alone.value)
    assert ours.value.getCondition() == alone.value.getCondition()
    assert (rewritten or text).split("\n")[1] in str(ours.value)


class Recording:
    """A parser that another extension might bring: it says what it was asked."""

    def __init__(self, name: str = "", calls: list[tuple[str, ...]] | None = None) -> None:
        self._name = name
        self.calls = [] if calls is None else calls

    def __getattr__(self, method: str) -> Callable[..., None]:
        if not method.startswith(("parse", "split")):
            raise AttributeError(method)
        return lambda *arguments: self.calls.append((method, *map(str, arguments)))

    class Java:
        implements: ClassVar[list[str]] = ["org.apache.spark.sql.catalyst.parser.ParserInterface"]


def test_every_method_is_handed_on(spark: SparkSession, installed: Callable[..., Listening]) -> None:
    """Every method of this Spark's parser interface is delegated to the parser below, also methods with a
    default.
    """
    installed()
    jvm: Any = spark._jvm
    interface = jvm.java.lang.Class.forName(
        Recording.Java.implements[0], False, jvm.Thread.currentThread().getContextClassLoader()
    )
    methods = {m.getName(): m.getParameterCount() for m in interface.getMethods() if "$" not in m.getName()}
    assert {"parsePlan", "parseTableSchema"} <= set(methods)
    below = Recording()
    parser = getattr(jvm, BRIDGE_PACKAGE).statements.Parser(spark._jsparkSession, below)
    for name, parameters in methods.items():
        getattr(parser, name)(*["a text", None][:parameters])
    assert below.calls == [(name, *["a text", "None"][:n]) for name, n in methods.items()]


class Injection:
    """The parser that another extension injects, over the existing one."""

    def __init__(self, calls: list[tuple[str, ...]]) -> None:
        self._calls = calls

    def apply(self, _session: Any, inner: Any) -> Any:
        self._calls.append(("over", inner.getClass().getSimpleName()))
        return Recording("other", self._calls)

    class Java:
        implements: ClassVar[list[str]] = ["scala.Function2"]


def test_other_extensions_have_their_parsers(
    spark: SparkSession, installed: Callable[..., Listening]
) -> None:
    """Extensions before ours are asked by our parser, and those after it are given ours to ask."""
    installed()
    jvm: Any = spark._jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()
    apply = loader.loadClass(EXTENSIONS_CLASS).getDeclaredConstructor(None).newInstance(None).apply
    for ours_last in (True, False):
        calls: list[tuple[str, ...]] = []
        extensions = jvm.org.apache.spark.sql.SparkSessionExtensions()
        if not ours_last:
            apply(extensions)
        extensions.injectParser(Injection(calls))
        if ours_last:
            apply(extensions)
        plain = jvm.org.apache.spark.sql.execution.SparkSqlParser()
        parser = extensions.buildParser(spark._jsparkSession, plain)
        parser.parsePlan("SELECT 1")
        below = "SparkSqlParser" if ours_last else "Parser"
        assert calls == [("over", below), ("parsePlan", "SELECT 1")]
