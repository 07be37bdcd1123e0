"""The profile of the planner's answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.planner import tracing
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec
from parquetry.planner.tracing import AnsweredQuestion, Recorder, record_by, record_process, stop_recording

Ask = Callable[..., str]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask a planner a question, and return the text of its answer."""
    planner = Planner(NoEngine("UTC"))
    head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
    return lambda op, **question: planner.ask(json.dumps({**head, "op": op, **question}))


@pytest.fixture
def own_recorders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the recorders of the process."""
    monkeypatch.setattr(tracing, "_recorder", [])
    return


@pytest.mark.usefixtures("own_recorders")
def test_each_question_is_recorded(ask: Ask) -> None:
    """A record has the question's name, table, number, what asked it, and the lengths of both texts."""
    recorder = Recorder()
    record_by(recorder)
    trace = {"number": 7, "path": ["AddRuntimeFilters"]}
    answer = ask("load_relation", namespace=["db"], name="t", trace=trace)
    ask("list_namespaces")
    stop_recording(recorder)
    ask("list_namespaces")
    first, second = recorder.take()
    assert (first.op, first.table, first.number, first.path) == (
        "load_relation",
        "db.t",
        7,
        ["AddRuntimeFilters"],
    )
    assert first.answer_characters == len(answer)
    assert first.question_characters > len(str(trace))
    assert (second.op, second.table, second.number, second.path) == ("list_namespaces", "", 0, [])
    assert first.seconds > 0
    assert first.functions == {}
    assert recorder.take() == []


@pytest.mark.usefixtures("own_recorders")
def test_a_question_that_cannot_be_decoded_is_recorded(ask: Ask) -> None:
    """A question without a known name has an answer, an error, and a record without a name."""
    recorder = Recorder()
    record_by(recorder)
    assert "BRIDGE" in ask("no_such_question")
    assert [(each.op, each.table) for each in recorder.take()] == [("", "")]


@pytest.mark.usefixtures("own_recorders")
def test_functions_are_measured(ask: Ask) -> None:
    """With functions, the record has the planner's functions on the way to each other, and their own time."""
    recorder = Recorder(functions=True)
    record_by(recorder)
    ask("list_namespaces")
    functions = recorder.take()[0].functions
    assert any(path.endswith("codec.decode") for path in functions)
    assert any(re.fullmatch(r"planner\._answer;.*lake\.open.*", path) for path in functions)
    assert all(time >= 0 for time in functions.values())


@pytest.mark.usefixtures("own_recorders")
def test_a_process_writes_its_questions(ask: Ask, tmp_path: Path) -> None:
    """A process adds a line of JSON for each question to the file that PARQUETRY_TRACE names."""
    file = tmp_path / "trace.jsonl"
    assert not record_process({})
    assert tracing.recorder() is None
    assert record_process({"PARQUETRY_TRACE": str(file)})
    assert record_process({"PARQUETRY_TRACE": str(file)})  # again: of a second session
    for _ in range(3):
        ask("list_namespaces")
    records = [msgspec.json.decode(line, type=AnsweredQuestion) for line in file.read_bytes().splitlines()]
    assert [record.op for record in records] == ["list_namespaces"] * 3


def test_a_recorder_keeps_no_more_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forgotten trace does not fill the memory."""
    monkeypatch.setattr(tracing, "MAX_TRACED_QUESTIONS", 2)
    recorder: Any = Recorder()
    for _ in range(3):
        with recorder.measure() as measured:
            pass
        recorder.record(None, measured, 1, 1)
    assert len(recorder.take()) == 2
