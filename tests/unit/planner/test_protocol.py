"""Questions of the bridge: read as what they are, or refused with what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NoReturn, get_type_hints

import pytest
from msgspec.inspect import is_struct_type

from parquetry.errors import BridgeError
from parquetry.joins.plan.bucket_splits import BucketPieces, SplitDecision
from parquetry.joins.plan.skew_joins import SkewFacts, SkewSplit
from parquetry.joins.runtime.candidates import Build, Candidate, Part, PlanNode, PlanTimeValues, Verdict
from parquetry.joins.scans.buckets import BucketSizes
from parquetry.metastore.storage.model import Constraint
from parquetry.planner import planner, statements
from parquetry.planner.protocol import answers, codec, questions
from parquetry.planner.protocol.terms import Terms
from parquetry.prune.reader_filters import Usable

BASE = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": "/w"}}
TABLE = {"id": "ab", "version": 3, "commit": "cd", "database": "db", "table": "t"}


def test_a_question() -> None:
    """A question is typed by its `op`; what it leaves out has its default."""
    question = codec.decode(json.dumps({**BASE, "op": "load_table", "namespace": ["db"], "name": "t"}))
    assert question == questions.LoadTable(
        protocol=codec.PROTOCOL, catalog="lake", options={"warehouse": "/w"}, namespace=["db"], name="t"
    )
    asked = codec.decode(
        json.dumps(
            {**BASE, "op": "drop_partitions", "table": TABLE, "partitions": [["1", None]], "purge": True}
        )
    )
    assert isinstance(asked, questions.DropPartitions)
    assert asked.table == questions.TableRef("ab", 3, "cd", "db", "t")
    assert asked.partitions == [["1", None]]


@pytest.mark.parametrize(
    "change",
    [{"op": "nope"}, {"namespace": "db"}, {"name": None}, {"version": 3}],
)
def test_a_question_nobody_understands(change: dict[str, object]) -> None:
    """An unknown op or a field of another type means that the versions differ, and is said so."""
    question = {**BASE, "op": "load_table", "namespace": ["db"], "name": "t", **change}
    with pytest.raises(
        BridgeError, match=r"versions differ, start the session again with parquetry\.configure"
    ):
        codec.decode(json.dumps(question))


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"op": "load_table", "name": "t", "as_off": 1}, "as_off"),
        ({"op": "publish_table", "mode": "create", "table": {**TABLE, "versoin": 3}}, "versoin"),
        ({"op": "alter_table", "name": "t", "changes": [
            {"change": "rename_column", "column": ["a"], "to": "b", "too": "b"}]}, "too"),
    ],
)  # fmt: skip
def test_a_misspelt_field_of_a_question(fields: dict[str, object], name: str) -> None:
    """A field that a question, or a part of it, does not know is an error that names it."""
    question = {**BASE, **fields, **({} if "table" in fields else {"namespace": ["db"]})}
    with pytest.raises(BridgeError, match=f"unknown field `{name}`"):
        codec.decode(json.dumps(question))


def test_another_protocol() -> None:
    """A question of another protocol is refused with both numbers, even where it could be read."""
    question = {**BASE, "op": "list_namespaces", "protocol": codec.PROTOCOL + 1}
    with pytest.raises(
        BridgeError, match=rf"speaks protocol {codec.PROTOCOL + 1} and this Parquetry {codec.PROTOCOL}:"
    ):
        codec.decode(json.dumps(question))


BRIDGE = Path(__file__).resolve().parents[3] / "bridge"


def test_both_sides_know_the_same_questions() -> None:
    """Each op that the Scala side sends has a class here, and each class here has an op there."""
    scala = "".join(path.read_text() for path in BRIDGE.rglob("*.scala"))
    for kind in questions.QUESTIONS:
        assert f'"{kind.__struct_config__.tag}"' in scala, kind


def test_every_question_has_an_answer_of_a_type() -> None:
    """The function that answers a question has the type of the answer in its signature.

    The question's docstring names the same type.
    """
    functions = {**planner._ANSWERS, **statements.ANSWERS}
    # writes are answered where Spark is
    assert {*functions, questions.Write, questions.RewriteRows} == set(questions.QUESTIONS)
    for kind, function in functions.items():
        answer = get_type_hints(function)["return"]
        if answer is NoReturn:
            assert (kind.__doc__ or "").startswith("Answer: an error"), kind
        else:
            assert issubclass(answer, answers.Answer), kind
            assert (kind.__doc__ or "").startswith(f"Answer: `{answer.__name__}`"), kind


CASE_CLASSES = {
    answers.Aggregated: "AggregateAnswer",
    answers.Bucketing: "BucketingAnswer",
    answers.Called: "CallAnswer",
    answers.ColumnNumbers: "ColumnAnswer",
    answers.Confirmation: "HeldAnswer",
    answers.Error: "PlannerError",
    answers.FileList: "FilesAnswer",
    answers.LoadedChanges: "LoadedChangesAnswer",
    answers.FileScan: "NativeAnswer",
    answers.Histogram: "HistogramAnswer",
    answers.HeavyValueRows: "HeavyValuesAnswer",
    answers.JoinLines: "JoinLinesAnswer",
    answers.KeyRangeRows: "RowsAnswer",
    answers.LoadedTable: "TableAnswer",
    answers.MaybeAggregated: "MaybeAggregateAnswer",
    answers.MetadataPage: "PageAnswer",
    answers.MetadataTable: "MetadataTableAnswer",
    answers.Metric: "MetricAnswer",
    answers.NameList: "NamesAnswer",
    answers.Parameter: "ParameterAnswer",
    answers.PartitionValueRows: "PartitionValuesAnswer",
    answers.PlannedScan: "ScanAnswer",
    answers.ProcedureSignature: "ProcedureAnswer",
    answers.Properties: "PropertiesAnswer",
    answers.Pushed: "PushedAnswer",
    answers.ReadingOrder: "FileOrder",
    answers.Relation: "RelationAnswer",
    answers.Relations: "RelationsAnswer",
    answers.ReportedBuckets: "BucketsAnswer",
    answers.Rewritten: "RewrittenAnswer",
    answers.RowGroupRanges: "FoundRanges",
    answers.Rows: "RowsAnswer",
    answers.PlannedJoins: "JoinsAnswer",
    answers.ScanEstimate: "EstimateAnswer",
    answers.ScanStatistics: "SizesAnswer",
    answers.Schema: "SchemaAnswer",
    answers.SortOrder: "OrderAnswer",
    answers.StreamPosition: "PositionAnswer",
    answers.TableConstraint: "ConstraintAnswer",
    answers.ValueRows: "ValueRows",
    answers.WriteSummary: "WrittenAnswer",
    BucketPieces: "PiecesAnswer",
    Build: "BuildFacts",
    Candidate: "CandidateFacts",
    Part: "PartFacts",
    PlanNode: "StepFacts",
    PlanTimeValues: "KnownFacts",
    SplitDecision: "SplitAnswer",
    SkewFacts: "SkewFacts",
    SkewSplit: "SkewSplitAnswer",
    Terms: "Terms",
    Usable: "RowGroupPart",
    Verdict: "VerdictAnswer",
    questions.TableRef: "TableRef",
    questions.View: "ViewAnswer",
}
"""Structs that travel between both sides, and the bridge's case classes."""
SENT_BACK = {BucketSizes, questions.PageCursor, questions.ScanCounts}
"""Parts of answers that the bridge sends back as they came."""
PLANNERS_OWN = {Build: {"rows"}}
"""Fields that the planner adds to what the bridge sends."""


def test_both_sides_know_the_same_fields() -> None:
    """A struct and its case class have the same fields, and every struct of an answer has a case class."""
    classes = case_classes()
    for struct, name in CASE_CLASSES.items():
        fields = set(struct.__struct_fields__) - PLANNERS_OWN.get(struct, set())
        assert fields == set(classes[name]), name
    named = {each for each in vars(answers).values() if isinstance(each, type) and is_struct_type(each)}
    assert named - set(CASE_CLASSES) - SENT_BACK == {answers.Answer, answers.Done, Constraint}


def test_answers_have_all_their_fields() -> None:
    """An answer has fields with default values, too: the bridge takes a missing one for an error."""
    for struct in set(CASE_CLASSES) - {Candidate, Build, Part, PlanNode, PlanTimeValues}:
        assert not struct.__struct_config__.omit_defaults, struct


def case_classes() -> dict[str, list[str]]:
    """Return the fields of the protocol's case classes, in Python's spelling, by class."""
    text = "".join(path.read_text() for path in (BRIDGE / "protocol").glob("*.scala"))
    found = re.findall(r"^case class (\w+)\((.*?)\)(?: \{| extends [^\n]*)?$", text, re.MULTILINE | re.DOTALL)
    return {
        name: [re.sub(r"(?=[A-Z])", "_", field).lower() for field in re.findall(r"`?(\w+)`?: ", fields)]
        for name, fields in found
    }
