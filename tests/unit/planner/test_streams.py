"""Streams that read a table: where they begin, how far batches go, and which files these read.

The tests send the questions of the bridge.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parquetry.layout import REST
from parquetry.metastore import ColumnStatistics, FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from tests.support.spark.asked_lake import BUCKETS, PARTITIONED_BY_P, BridgeLake
from tests.support.stores.rows_examined import rows_examined


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BridgeLake]:
    """A catalog with an empty table `t` of the columns x, y and p, partitioned by p."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = BridgeLake(tmp_path, metastore)
        lake.create(properties={})
        yield lake


class Stream:
    """A stream of the table, as Spark runs one.

    Args:
        lake: the catalog.
        options: of the read.
    """

    def __init__(self, lake: BridgeLake, **options: str) -> None:
        self._lake = lake
        self._options = options
        self._table = lake.ask("load_table", namespace=["default"], name="t")["table"]
        self.at: str | None = None

    def ask(self, op: str, **question: Any) -> Any:
        return self._lake.ask(op, table=self._table, read_options=self._options, **question)

    def begin(self, **question: Any) -> Any:
        """Begin, and return where, or the error."""
        found = self.ask("begin_stream", **question)
        self.at = found.get("position")
        return json.loads(self.at) if self.at else found["message"]

    def next(self, limited: bool = True, until: str | None = None, **asked: Any) -> Any:
        """Return the names of the files of the next batch, None if there is none, or the error."""
        if self.at is None:
            self.begin()
        found = self.ask("advance_stream", start=self.at, limited=limited, until=until)
        if "message" in found:
            return found["message"]
        if found["position"] == self.at:
            return None
        batch = {"start": self.at, "end": found["position"], "columns": ["x", "p"], "predicates": []}
        answer = self.ask("plan_batch", **{**batch, **asked})
        if "message" in answer:
            return answer["message"]
        self.at = found["position"]
        files = answer["files"]
        names = files["names"].split("/") if files["bytes"] else []
        of = np.frombuffer(base64.b64decode(files["partition"]), "<i4").tolist()
        return [f"{answer['partitions'][part][0]}:{name}" for part, name in zip(of, names, strict=True)]

    def all(self, **how: Any) -> list[list[str]]:
        """Return the files of all batches that there are now."""
        found = []
        while (batch := self.next(**how)) is not None:
            assert isinstance(batch, list), batch
            found.append(batch)
        return found


def commit_files(lake: BridgeLake, operation: str = "append", **files: list[str]) -> None:
    """Append files to the partitions p1, p2 and so on; another operation replaces their files."""
    transaction = Transaction(lake.table(), operation)
    for name, names in files.items():
        told = [
            FileRecord(each, 10, 1, columns={"x": ColumnStatistics(1, 0, len(each), len(each))})
            for each in names
        ]
        (transaction.append if operation == "append" else transaction.replace)((int(name[1:]),), told)
    commit(transaction)


def test_the_table_as_it_stands_and_what_comes(lake: BridgeLake) -> None:
    """A stream reads each file once, in the order of partitions, even if others commit between batches."""
    commit_files(lake, p2=["c"], p1=["a", "b"])
    stream = Stream(lake)
    now = lake.table()
    expected = {"table": now.id.hex(), "version": 1, "whole": True, "commit": now.commit.id}
    assert stream.begin() == expected
    assert stream.all() == [["1:a", "1:b", "2:c"]]
    commit_files(lake, p1=["d"])
    commit_files(lake, p3=["e"], p1=["f"])
    assert stream.all() == [["1:d", "1:f", "3:e"]]  # by version, but of the answer partition by partition
    assert stream.all() == []


def test_buckets_of_the_values_of_a_condition(tmp_path: Path) -> None:
    """A batch reads the buckets of the listed values, of its first version and of later ones."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = BridgeLake(tmp_path, metastore)
        lake.create(by=[*PARTITIONED_BY_P, BUCKETS], properties={})

        def append(*names: str) -> None:
            transaction = Transaction(lake.table(), "append")
            transaction.append(
                (1,), [FileRecord(f"{name}{i}", 10, 1, bucket=i) for name in names for i in range(4)]
            )
            commit(transaction)

        def condition(column: str, *values: int) -> dict[str, Any]:
            literals = [{"lit": str(value), "type": "int"} for value in values]
            return {"fn": "IN", "args": [{"col": [column]}, *literals]}

        append("a")
        stream = Stream(lake)
        whole = stream.next(predicates=[condition("x", 5)])
        assert len(whole) == 1
        append("b", "c")
        (bucket,) = {name[-1] for name in whole}
        assert stream.next(predicates=[condition("x", 5)]) == [f"1:b{bucket}", f"1:c{bucket}"]
        append("d")
        assert stream.next(predicates=[condition("y", 5)]) == ["1:d0", "1:d1", "1:d2", "1:d3"]


def test_directories_of_heavy_values(tmp_path: Path) -> None:
    """A batch reads the directory of a heavy value, and the rest for any other value."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = BridgeLake(tmp_path, metastore)
        lake.create(properties={"skewed-by": "(x) ON (10, 20) STORED AS DIRECTORIES"})
        transaction = Transaction(lake.table(), "append")
        named = {"ten": 0, "twenty": 1, "rest": REST, "unknown": None}
        transaction.append((1,), [FileRecord(name, 10, 1, cell=cell) for name, cell in named.items()])
        commit(transaction)

        def files(value: int) -> list[str]:
            literals = [{"col": ["x"]}, {"lit": str(value), "type": "int"}]
            found = Stream(lake).next(predicates=[{"fn": "=", "args": literals}])
            return [name.removeprefix("1:") for name in found]

        assert files(10) == ["ten", "unknown"]
        assert files(30) == ["rest", "unknown"]


def test_an_empty_table_has_nothing_to_begin_with(lake: BridgeLake) -> None:
    """No batch is made of no files."""
    stream = Stream(lake)
    now = lake.table()
    expected = {"table": now.id.hex(), "version": 1, "commit": now.commit.id}
    assert (stream.begin(), stream.all()) == (expected, [])
    commit_files(lake, p1=["a"])
    assert stream.all() == [["1:a"]]


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ({"maxFilesPerTrigger": "2"}, [["1:a", "1:b"], ["2:c", "1:d"], ["1:e"]]),
        ({"MAXFILESPERTRIGGER": "9"}, [["1:a", "1:b", "2:c", "1:d", "1:e"]]),
        ({"maxBytesPerTrigger": "1"}, [["1:a"], ["1:b"], ["2:c"], ["1:d"], ["1:e"]]),
        ({"maxBytesPerTrigger": "29b"}, [["1:a", "1:b"], ["2:c", "1:d"], ["1:e"]]),
        ({"maxBytesPerTrigger": "30b", "maxFilesPerTrigger": "2"}, [["1:a", "1:b"], ["2:c", "1:d"], ["1:e"]]),
    ],
)
def test_limits(lake: BridgeLake, options: dict[str, str], batches: list[list[str]]) -> None:
    """Limits of files and of bytes cut batches, also across versions; without limits all is one batch.

    The stream reads its first version whole.
    """
    commit_files(lake, p2=["c"], p1=["a", "b"])
    stream = Stream(lake, **options)
    stream.begin()
    commit_files(lake, p1=["d", "e"])
    begun = stream.at
    assert sorted(map(sorted, stream.all())) == sorted(map(sorted, batches))
    stream.at = begun
    assert sorted(stream.next(limited=False)) == ["1:a", "1:b", "1:d", "1:e", "2:c"]


def test_no_batch_goes_beyond_what_was_there(lake: BridgeLake) -> None:
    """With `until`, files that come later wait for the next run."""
    until = Stream(lake).ask("advance_stream", start=None)["position"]
    commit_files(lake, p1=["a"])
    stream = Stream(lake)
    stream.begin()
    assert stream.next(until=until) == ["1:a"]
    until = stream.ask("advance_stream", start=None)["position"]
    commit_files(lake, p1=["b"])
    assert stream.next(until=until) is None
    assert stream.next() == ["1:b"]


def test_versions_that_take_rows_away(lake: BridgeLake) -> None:
    """Files from before an overwrite are a batch.

    The overwriting version is then an error, or is skipped whole.
    """
    stream, other = Stream(lake), Stream(lake, skipChangeCommits="true")
    for each in (stream, other):
        each.begin()
    commit_files(lake, p1=["a"])
    commit_files(lake, "overwrite", p1=["b"], p2=["c"])
    commit_files(lake, p1=["d"])
    assert stream.next() == ["1:a"]
    assert "Version 2 of table lake.default.t (overwrite) took rows away" in stream.next()
    assert other.all() == [["1:a", "1:d"]]
    commit_files(lake, "compact", p1=["e"])
    commit_files(lake, p1=["f"])
    assert other.all() == [["1:f"]]


def test_files_are_left_out_by_conditions(lake: BridgeLake) -> None:
    """By partitions and statistics; how far the stream is does not hang on them."""
    commit_files(lake, p2=["c", "cc"], p1=["a", "bbb"])

    def compare(column: str, value: int) -> dict[str, Any]:
        return {"fn": "=", "args": [{"col": [column]}, {"lit": str(value), "type": "int"}]}

    wanted = {"p": ["1:a", "1:bbb"], "x": ["1:a", "2:c"]}
    for column, files in wanted.items():
        stream = Stream(lake, maxFilesPerTrigger="1")
        stream.begin()
        found = stream.all(predicates=[compare(column, 1)])
        assert [file for batch in found for file in batch] == files
        assert len(found) == 4
        whole = Stream(lake)
        whole.begin()
        assert whole.all(predicates=[compare(column, 1)]) == [files]
    commit_files(lake, p1=["d", "dd"], p2=["e"])
    assert whole.all(predicates=[compare("x", 2)]) == [["1:dd"]]


def test_where_a_stream_begins(lake: BridgeLake) -> None:
    """A stream begins at a version or at a time.

    A beginning that is missing, vacuumed or in the future is an error that names what exists.
    """
    for name in "abc":
        commit_files(lake, p1=[name])

    def begun(starting_at: int | None = None, **options: str) -> Any:
        stream = Stream(lake, **options)
        first = stream.begin(starting_at=starting_at)
        return first if isinstance(first, str) else stream.all()

    assert begun(startingVersion="2") == [["1:b", "1:c"]]
    assert begun(startingversion="0") == begun(startingVersion=" earliest ") == [["1:a", "1:b", "1:c"]]
    assert begun(startingVersion="latest") == begun(startingVersion="4") == []
    assert "Version 5, with which the stream of table lake.default.t is to start" in begun(
        startingVersion="5"
    )
    assert "startingVersion of the streaming read is '-1': not a version" in begun(startingVersion="-1")
    at = lake.table().committed_at
    assert begun(at * 1000 + 1) == []
    assert begun(0) == [["1:a", "1:b", "1:c"]]
    assert "Both startingVersion and startingTimestamp" in begun(0, startingVersion="1")
    assert "is to come" in begun((at + 10**9) * 1000)
    recent = {"table": "default.t", "older_than": str((at + 10**5) * 1000), "allow_recent": "true"}
    lake.ask("call", name="vacuum", arguments=recent)
    assert (
        "from before the time that startingTimestamp names have been vacuumed away; the oldest is 3"
        in begun(0)
    )
    assert "Start with 4 or later" in begun(startingVersion="2")
    assert begun(startingVersion="earliest") == [["1:a", "1:b", "1:c"]]


def test_a_checkpoint_of_something_else(lake: BridgeLake) -> None:
    """A position that no stream of the table wrote is an error, and so is a missing version."""
    stream = Stream(lake)
    stream.at = '{"offset": 7}'
    assert "no position in a table of Parquetry" in stream.next()
    stream.at = json.dumps({"table": lake.table().id.hex(), "version": 9})
    assert (
        "Version 8 of table lake.default.t, which the stream is to go on from, is not there: the newest is 0"
        in stream.next()
    )
    commit_files(lake, p1=["a"])
    for lost in ({"version": 2}, {"version": 1, "files": 1}, {"version": 1, "whole": True}):
        stream.at = json.dumps({"table": lake.table().id.hex(), **lost, "commit": "ab"})
        assert "Version 1 of table lake.default.t is another one" in stream.next()
    stream.at = json.dumps({"table": lake.table().id.hex(), "version": 1})  # of an older library
    assert stream.next() == ["1:a"]
    stream.at = json.dumps({"table": "00" * 8, "version": 1})
    assert "is another one than the stream has read so far" in stream.next()


@pytest.mark.parametrize("seed", range(8))
def test_each_file_is_read_once(lake: BridgeLake, seed: int) -> None:
    """However batches are cut, stopped and begun again, among commits of others."""
    rng = random.Random(seed)
    number, found = 0, []
    stream = Stream(lake, maxFilesPerTrigger="2")
    for _ in range(15):
        names: dict[str, list[str]] = {}
        for part in rng.sample(range(4), rng.randint(1, 3)):
            names[f"p{part}"] = [f"f{number + n}" for n in range(rng.randint(1, 3))]
            number += len(names[f"p{part}"])
        commit_files(lake, **names)
        if rng.random() < 0.3:
            at, stream = stream.at, Stream(lake, maxFilesPerTrigger=str(rng.randint(1, 4)))
            stream.at = at
        for _ in range(rng.randint(0, 3)):
            found += stream.next() or []
    found += [file for batch in stream.all() for file in batch]
    there = [f"{part.values[0]}:{file.path}" for part in lake.table().partitions() for file in part.files]
    assert sorted(found) == sorted(there)


def test_columns_that_a_stream_can_go_on_with(lake: BridgeLake) -> None:
    """A stream continues after columns or fields were added, renamed or commented.

    It fails after a column was dropped or has another type.
    """
    struct = {"type": "struct", "fields": [field("a", "integer")]}
    lake.alter(add("s", {"type": "array", "elementType": struct, "containsNull": True}))
    stream = Stream(lake)
    stream.begin()
    lake.alter(add("z", "integer"), {"change": "rename_column", "column": ["y"], "to": "why"})
    lake.alter(
        add("b", "integer", "s", "element"), {"change": "update_comment", "column": ["x"], "comment": "c"}
    )
    commit_files(lake, p1=["a"])
    assert stream.next() == ["1:a"]
    other = Stream(lake)
    other.begin()
    lake.alter({"change": "update_type", "column": ["x"], "type": "long", "metadata": {}})
    commit_files(lake, p1=["b"])
    for each in (stream, other):
        assert (
            "Column x of table lake.default.t, which the stream reads, has another type as of version 6"
            in each.next()
        )
    again = Stream(lake)  # as a query that is started again from the same checkpoint
    again.at = stream.at
    assert again.next() == ["1:b"]
    lake.alter({"change": "drop_column", "column": ["s", "element", "a"], "if_exists": False})
    assert "Column s of table lake.default.t, which the stream reads, has another type" in again.next()
    again = Stream(lake)
    again.at = stream.at
    lake.alter({"change": "drop_column", "column": ["why"], "if_exists": False})
    assert (
        "Column why of table lake.default.t, which the stream reads, was dropped as of version 8"
        in again.next()
    )


def field(name: str, type: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "nullable": True, "metadata": {}}


def add(name: str, type: Any, *within: str) -> dict[str, Any]:
    """Return the change that adds a column, or a field."""
    return {
        "change": "add_column", "column": [*within, name], "type": type, "nullable": True, "comment": None, "position": None,
        "metadata": {},
    }  # fmt: skip


def test_of_long_lists(lake: BridgeLake) -> None:
    """Files of manifest chunks and files of records make one batch, and limits cut through both."""
    commit_files(lake, p1=[f"{n:04d}" for n in range(3000)], p2=["x"])
    stream = Stream(lake, maxFilesPerTrigger="1700")
    stream.begin()
    commit_files(lake, p1=["a", "b"])
    begun = stream.at
    batches = stream.all()
    assert [len(batch) for batch in batches] == [1700, 1303]
    assert sorted(batches[0] + batches[1]) == sorted(
        [f"1:{n:04d}" for n in range(3000)] + ["2:x", "1:a", "1:b"]
    )
    stream.at = begun
    assert sorted(stream.next(limited=False)) == sorted(batches[0] + batches[1])


def test_a_batch_looks_at_all_keys_once(lake: BridgeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding a batch's end and reading it are two questions.

    The second reads only the rows that were written since the batch's start.
    """
    commit_files(lake, **{f"p{n}": [f"{n}"] for n in range(40)})
    stream = Stream(lake, startingVersion="latest")
    stream.begin()
    commit_files(lake, p1=["a"])
    commit_files(lake, p2=["b"])
    with rows_examined(monkeypatch, lake.table().id) as examined:
        assert stream.next() == ["1:a", "2:b"]
    # two partitions have two rows; both questions read the older row and the newer row of each
    assert len(examined) == 42 + 2 * (2 + 2)
    commit_files(lake, p1=["c", "d", "e"])
    commit_files(lake, p3=["f"])
    other = Stream(lake, maxFilesPerTrigger="2")
    other.at = stream.at
    with rows_examined(monkeypatch, lake.table().id) as examined:
        assert other.all() == [["1:c", "1:d"], ["1:e", "3:f"]]
    # the first question's result serves the second batch, too; of 44 rows both read only 4
    assert sum(examined.keys.count(key) == 1 for key in set(examined.keys)) == 40


@pytest.mark.parametrize("limits", [{}, {"maxFilesPerTrigger": "25"}])
def test_a_version_read_whole_is_read_once(
    lake: BridgeLake, limits: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All batches of the version that a stream begins with share the partitions that the first one read."""
    commit_files(lake, **{f"p{n}": [f"{n}"] for n in range(40)})
    stream = Stream(lake, **limits)
    stream.begin()
    with rows_examined(monkeypatch, lake.table().id) as examined:
        assert sum(map(len, stream.all())) == 40
    assert len(examined) == 40


def test_streams_that_read_by_turns(lake: BridgeLake) -> None:
    """Streams share what they know of the partitions of some versions, and each reads all files."""
    rng = random.Random(3)
    commit_files(lake, **{f"p{n}": [f"{n}"] for n in range(6)})
    begun = Stream(lake, startingVersion="latest")
    begun.begin()
    written: list[str] = []
    streams = [Stream(lake, maxFilesPerTrigger=str(n)) for n in (1, 2, 5)] + [begun]
    read: list[list[str]] = [[] for _ in streams]
    for each in streams:
        each.at = begun.at
    for number in range(60):
        parts = rng.sample(range(9), rng.randint(1, 3))
        commit_files(lake, **{f"p{part}": [f"{number}-{part}"] for part in parts})
        written += [f"{part}:{number}-{part}" for part in parts]
        for place in rng.sample(range(len(streams)), rng.randint(0, 3)):
            read[place] += streams[place].next() or []
    for place, each in enumerate(streams):
        read[place] += [name for batch in each.all() for name in batch]
        assert sorted(read[place]) == sorted(written)
