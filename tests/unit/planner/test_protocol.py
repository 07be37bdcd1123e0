"""Questions of the bridge: read as what they are, or refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parquetry.errors import BridgeError
from parquetry.planner import protocol

BASE = {"protocol": protocol.PROTOCOL, "catalog": "lake", "options": {"warehouse": "/w"}}
TABLE = {"id": "ab", "version": 3, "database": "db", "table": "t"}


def test_a_question() -> None:
    """A question is typed by its `op`; what it leaves out has its default."""
    question = protocol.decode(json.dumps({**BASE, "op": "load_table", "namespace": ["db"], "name": "t"}))
    assert question == protocol.LoadTable(
        protocol=1, catalog="lake", options={"warehouse": "/w"}, namespace=["db"], name="t"
    )
    asked = protocol.decode(
        json.dumps(
            {**BASE, "op": "drop_partitions", "table": TABLE, "partitions": [["1", None]], "purge": True}
        )
    )
    assert isinstance(asked, protocol.DropPartitions)
    assert asked.table == protocol.TableRef("ab", 3, "db", "t")
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
        protocol.decode(json.dumps(question))


def test_another_protocol() -> None:
    """A question of another protocol is refused with both numbers, even where it could be read."""
    question = {**BASE, "op": "list_namespaces", "protocol": protocol.PROTOCOL + 1}
    with pytest.raises(
        BridgeError, match=rf"speaks protocol {protocol.PROTOCOL + 1} and this Parquetry {protocol.PROTOCOL}:"
    ):
        protocol.decode(json.dumps(question))


def test_both_sides_know_the_same_questions() -> None:
    """Each op that the Scala side asks has a class here, and each class here is asked for there."""
    bridge = Path(__file__).resolve().parents[3] / "bridge"
    scala = "".join(path.read_text() for path in bridge.rglob("*.scala"))
    for kind in protocol._CLASSES:
        assert f'"{kind.__struct_config__.tag}"' in scala, kind
