"""The planner alone gives the recorded answers to questions that Spark once sent."""

from __future__ import annotations

import json
from pathlib import Path

from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import answers, codec, questions
from tests.support.spark.recording import StandInNames, lay_out, recorded


def test_the_planner_answers_as_recorded(tmp_path: Path) -> None:
    """The planner answers every recorded question but writes as recorded, on the same files.

    A write needs rows that only Spark has.
    """
    lay_out(tmp_path)
    names, planner = StandInNames(tmp_path), Planner(NoEngine("UTC"))
    _, told = recorded()
    statement, replayed = "", 0
    for each in told:
        if isinstance(each, str):
            statement = each
            continue
        question, answer = each
        asked = codec.decode(json.dumps(names.with_values(question)))
        if isinstance(asked, questions.Write | questions.RewriteRows):
            continue
        found = json.loads(planner.ask(json.dumps(names.with_values(question))))
        assert names.with_names(found) == answer, (statement, question["op"])
        replayed += 1
    assert replayed > 60


def test_every_kind_of_question_is_recorded() -> None:
    """Each kind of question is recorded, so that each kind is replayed."""
    _, told = recorded()
    kinds = {each[0]["op"] for each in told if not isinstance(each, str)}
    # without a fault of ours, no audit fails; without a history, no query is recorded
    assert kinds | {"count_failed_audit", "record_queries"} == {
        kind.__struct_config__.tag for kind in questions.QUESTIONS
    }
    assert all(each[0]["protocol"] == codec.PROTOCOL for each in told if not isinstance(each, str))


def test_options_and_settings_reach_the_planner() -> None:
    """Questions about a read have its options, and questions of a session have its settings."""
    _, told = recorded()
    asked = [
        codec.decode(json.dumps({**each[0], "table": {**each[0]["table"], "id": ""}}))
        for each in told
        if not isinstance(each, str) and each[0]["op"] in ("push_predicates", "plan_scan", "write")
    ]
    with_options = [each for each in asked if isinstance(each, questions.Reading) and each.read_options]
    assert {type(each) for each in with_options} >= {questions.PushPredicates, questions.PlanScan}
    for each in with_options:
        if "an-option" in each.read_options:
            assert (each.read_options, each.settings) == (
                {"an-option": "x"},
                {"parquetry.compression": "zstd"},
            )
    writes = [each.settings for each in asked if isinstance(each, questions.Write)]
    assert writes == [{"parquetry.compression": "gzip"}, *[{}] * (len(writes) - 1)]
    assert len(writes) > 2
    without = [each for each in asked if isinstance(each, questions.Reading) and not each.read_options]
    assert without
    assert all(each.settings == {} for each in without)


def test_answers_are_those_of_their_types() -> None:
    """Each recorded answer is read by the type that answers its question, and written again as it was."""
    import msgspec

    encode, decode = msgspec.json.encode, msgspec.json.decode
    _, told = recorded()
    for each in told:
        if isinstance(each, str) or "error" in each[1]:
            continue
        kind = next(k for k in questions.QUESTIONS if k.__struct_config__.tag == each[0]["op"])
        type_ = getattr(answers, (kind.__doc__ or "").split("`")[1])
        assert decode(encode(msgspec.convert(each[1]["ok"], type_))) == each[1]["ok"]
