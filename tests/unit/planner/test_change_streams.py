"""Streams of changes, and scans of changes, by the questions of the bridge."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parquetry.metastore import FileRecord, TableVersions, Transaction, commit, open_metastore, rollback
from tests.support.spark.asked_lake import BridgeLake


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BridgeLake]:
    """A catalog with an empty table `t` of the columns x, y and p, partitioned by p."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = BridgeLake(tmp_path, metastore)
        lake.create(properties={})
        yield lake


def change(lake: BridgeLake, operation: str, **partitions: list[str]) -> None:
    """Replace the files of the partitions p1, p2 and so on."""
    transaction = Transaction(lake.table(), operation)
    for name, files in partitions.items():
        transaction.replace((int(name[1:]),), [FileRecord(each, 10, 1) for each in files])
    commit(transaction)


def told(answer: Any) -> list[str]:
    """Return the files of a plan, each with its partition's value, its type of change and its version."""
    if "message" in answer:
        return [answer["message"]]
    files = answer["files"]
    names = files["names"].split("/") if files["bytes"] else []
    of = np.frombuffer(base64.b64decode(files["partition"]), "<i4").tolist()
    values = [answer["partitions"][part] for part in of]
    return [f"{p}:{name} {kind} {version}" for name, (p, kind, version, _) in zip(names, values, strict=True)]


class Stream:
    """A stream of changes, as Spark runs one."""

    def __init__(self, lake: BridgeLake, **options: str) -> None:
        self._lake, self._options = lake, {"readChanges": "true", **options}
        self._table = lake.ask("load_table", namespace=["default"], name="t")["table"]
        self.at = self._ask("begin_stream")["position"]

    def _ask(self, op: str, **question: Any) -> Any:
        return self._lake.ask(op, table=self._table, read_options=self._options, **question)

    def batches(self, limited: bool = True) -> list[tuple[list[str], bool]]:
        """Return the files of all batches, and whether the rows of each batch have to be compared."""
        found = []
        while True:
            end = self._ask("advance_stream", start=self.at, limited=limited, until=None)
            if "message" in end:
                return [*found, ([end["message"]], False)]
            if end["position"] == self.at:
                return found
            answer = self._ask(
                "plan_batch", start=self.at, end=end["position"], columns=["x", "p"], predicates=[]
            )
            self.at = json.loads(json.dumps(end["position"]))
            found.append((told(answer), bool(answer.get("report", {}).get("compared"))))


def test_batches_of_changes(lake: BridgeLake) -> None:
    """A stream begins with inserts. It gives both sides of each later version, but no compaction."""
    change(lake, "append", p1=["a", "b"], p2=["c"])
    stream = Stream(lake)
    assert stream.batches() == [(["1:a insert 1", "1:b insert 1", "2:c insert 1"], False)]
    change(lake, "update", p1=["b", "d"])
    change(lake, "compact", p1=["e"])
    assert stream.batches() == [(["1:a delete 2", "1:d insert 2"], True)]
    change(lake, "overwrite", p3=["f"])
    versions = TableVersions.read(lake.table().store, lake.table().id)
    assert versions is not None
    third = versions.version(3)
    assert third is not None
    rollback(lake.table(), third)
    assert stream.batches() == [(["3:f insert 4", "3:f delete 5"], False)]
    assert stream.batches() == []


def test_limits_do_not_divide_a_version(lake: BridgeLake) -> None:
    """A version beyond the limits is one batch; the version that a stream begins with is divided."""
    change(lake, "append", p1=["a", "b"], p2=["c"])
    stream = Stream(lake, maxFilesPerTrigger="2")
    assert [len(files) for files, _ in stream.batches()] == [2, 1]
    change(lake, "update", p1=["d", "e"], p2=["g"])
    change(lake, "update", p1=["h", "e"])
    change(lake, "update", p1=["h", "i"])
    assert [len(files) for files, _ in stream.batches()] == [6, 2, 2]
    assert [len(files) for files, _ in Stream(lake, startingVersion="2").batches(limited=False)] == [10]


def test_a_key_compares_partitions_with_each_other(lake: BridgeLake) -> None:
    """With a key, removed files of one partition are compared with new files of another."""
    change(lake, "append", p1=["a"])
    stream = Stream(lake, startingVersion="2", keys=" X ")
    transaction = Transaction(lake.table(), "update")
    transaction.drop((1,))
    transaction.append((2,), [FileRecord("b", 10, 1)])
    commit(transaction)
    assert stream.batches() == [(["1:a delete 2", "2:b insert 2"], True)]


def test_a_range_of_versions(lake: BridgeLake) -> None:
    """The files to compare and all others come in two answers; conditions on partitions leave files out."""
    change(lake, "append", p1=["a"], p2=["c"])
    change(lake, "update", p1=["b"])
    change(lake, "update", p1=["d"], p3=["e"])

    def ask(mode: str = "each", **more: Any) -> list[list[str]]:
        found = lake.ask(
            "load_changes",
            namespace=["default"],
            name="t",
            mode=mode,
            start={"version": "2"},
            end={"version": "3"},
        )
        asked = {
            "first": found["first"],
            "mode": mode,
            "by_key": False,
            "columns": ["x", "p"],
            "predicates": [],
            **more,
        }
        table = found["table"]["table"]
        return [
            told(lake.ask("plan_changes", table=table, compared=compared, **asked))
            for compared in (True, False)
        ]

    assert ask() == [
        ["1:a delete 2", "1:b insert 2", "1:b delete 3", "1:d insert 3"],
        ["3:e insert 3"],
    ]
    assert ask(by_key=True)[0][-1] == "3:e insert 3"
    assert ask("net") == [["1:a delete 3", "1:d insert 3"], ["3:e insert 3"]]
    assert [len(files) for files in ask("raw")] == [0, 5]
    of_p3 = {"fn": "=", "args": [{"col": ["p"]}, {"lit": "3", "type": "int"}]}
    assert ask(predicates=[of_p3]) == [[], ["3:e insert 3"]]


def test_ranges_that_are_refused(lake: BridgeLake) -> None:
    """Versions and tags that are not there, and columns that are not there, are errors in words."""
    for start, more, message in (
        ({"version": "x"}, {}, "has no version of tag 'x'"),
        ({"version": "7"}, {}, "has no version 7: the newest is 0"),
        ({"version": "0"}, {"keys": ["none"]}, "none"),
    ):
        answer = lake.ask("load_changes", namespace=["default"], name="t", start=start, **more)
        assert message in answer["message"]
    assert lake.ask("load_changes", namespace=["default"], name="t")["first"] == 0
    both = Stream(lake)._ask("advance_stream", start=None)
    assert "position" in both
    refused = lake.ask(
        "begin_stream",
        table=lake.ask("load_table", namespace=["default"], name="t")["table"],
        read_options={"readChanges": "true", "skipChangeCommits": "true"},
    )
    assert "exclude each other" in refused["message"]
