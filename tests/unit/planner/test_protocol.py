"""Questions of the bridge: read as what they are, or refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn, get_type_hints

import msgspec
import pytest

from parquetry.errors import BridgeError
from parquetry.planner import planner, statements
from parquetry.planner.protocol import answers, codec, questions

BASE = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": "/w"}}
TABLE = {"id": "ab", "version": 3, "database": "db", "table": "t"}


def test_a_question() -> None:
    """A question is typed by its `op`; what it leaves out has its default."""
    question = codec.decode(json.dumps({**BASE, "op": "load_table", "namespace": ["db"], "name": "t"}))
    assert question == questions.LoadTable(
        protocol=2, catalog="lake", options={"warehouse": "/w"}, namespace=["db"], name="t"
    )
    asked = codec.decode(
        json.dumps(
            {**BASE, "op": "drop_partitions", "table": TABLE, "partitions": [["1", None]], "purge": True}
        )
    )
    assert isinstance(asked, questions.DropPartitions)
    assert asked.table == questions.TableRef("ab", 3, "db", "t")
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


def test_both_sides_know_the_same_fields_of_answers() -> None:
    """Each named field of an answer is read in `Answers.scala`."""
    scala = (BRIDGE / "protocol" / "Answers.scala").read_text()
    structs = [
        each for each in vars(answers).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)
    ]
    named = [
        each
        for each in structs
        if not each.__struct_config__.array_like
        and each not in (answers.WriteSummary, questions.PageCursor)  # the latter is sent back as it came
    ]
    assert len(named) > 15
    for struct in named:
        for field in struct.__struct_fields__:
            if struct is not questions.TableRef or field in (
                "id",
                "version",
            ):  # the rest is sent back as it came
                assert f'"{field}"' in scala, (struct, field)
