"""The planner's answer lists the files of a scan in columns.

One query reads its partitions once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from parquetry.data_files.many_files.file_batch import RecordedFiles
from parquetry.data_files.records import Trust
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    TableColumn,
    TableMetadata,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.planner import Planner
from parquetry.planner.protocol import codec
from parquetry.planner.protocol.answers import FileList
from parquetry.planner.scans.scan_answer import file_list
from parquetry.store.sqlite import SQLiteStore


def read(files: FileList) -> list[tuple[str, int, int, int]]:
    """Return path, partition, bytes and time of each file, as the bridge reads them."""
    names = files.names.split("/") if files.bytes else []
    folder, partition = (np.frombuffer(each, "<i4").tolist() for each in (files.folder, files.partition))
    sizes, modified = (np.frombuffer(each, "<i8").tolist() for each in (files.bytes, files.modified))
    paths = [f"{files.folders[number]}/{name}" for number, name in zip(folder, names, strict=True)]
    return list(zip(paths, partition, sizes, modified, strict=True))


@pytest.mark.parametrize(
    ("paths", "expected", "folders"),
    [
        ([], [], 0),
        (["a"], ["/t/p=0/a"], 1),
        (["a", "b", "a"], ["/t/p=0/a", "/t/p=1/b", "/t/p=0/a"], 2),
        (
            ["a", "/else/where/b", "s3://bucket/c", "deep/er/d", "/e"],
            ["/t/p=0/a", "/else/where/b", "s3://bucket/c", "/t/p=1/deep/er/d", "/e"],
            5,
        ),
        (["a b%20ü", "b"], ["/t/p=0/a b%20ü", "/t/p=1/b"], 2),
    ],
)
def test_paths_are_put_together_again(paths: Sequence[str], expected: list[str], folders: int) -> None:
    """Paths are joined again from folders and names, for files in any location.

    Sizes and times are stored beside them.
    """
    records = [FileRecord(path, 1 << (n + 33), modified=n or None) for n, path in enumerate(paths)]
    parts = np.arange(len(paths)) % 2
    found = file_list(
        RecordedFiles(records), parts, ["/t/p=0/", "/t/p=1"][: max(1, len(set(parts.tolist())))]
    )
    assert [path for path, *_ in read(found)] == expected
    assert [rest for _, *rest in read(found)] == [[n % 2, 1 << (n + 33), n] for n in range(len(paths))]
    if paths:
        assert len(found.folders) == folders


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Ask a planner about a table of ten partitions."""
    metastore = open_metastore(str(tmp_path), create=True)
    metastore.create_database("db")
    metadata = TableMetadata(
        (TableColumn("v", "long"), TableColumn("p", "integer")), ("p",), "orc", f"{tmp_path}/t"
    )
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in range(10):
        transaction.append(
            (p,), [FileRecord("f", 100, 10, 7, {"v": ColumnStatistics(40, 0, p, p, trust=Trust.EXACT)})]
        )
    commit(transaction)
    metastore.close()
    planner = Planner(NoEngine("UTC"))

    def ask(op: str, **question: Any) -> Any:
        head = {"protocol": codec.PROTOCOL, "catalog": "lake", "options": {"warehouse": str(tmp_path)}}
        answer = json.loads(planner.ask(json.dumps({**head, "op": op, **question})))
        return answer["ok"] if "ok" in answer else answer["error"]

    return ask


def _in(*values: int) -> dict[str, Any]:
    literals = [{"lit": str(value), "type": "int"} for value in values]
    return {"fn": "IN", "args": [{"col": ["p"]}, *literals]}


def test_statistics_by_name_are_not_believed_where_columns_are_read_by_position(ask: Any) -> None:
    """Partitions are still chosen by their values; files, aggregates and deletes are not."""
    table = ask("load_table", namespace=["db"], name="t")["table"]
    value = {"fn": "=", "args": [{"col": ["v"]}, {"lit": "3", "type": "bigint"}]}
    part = {"fn": "<", "args": [{"col": ["p"]}, {"lit": "5", "type": "int"}]}
    functions = [{"function": "max", "column": "v"}]

    def files(by_position: bool, *predicates: Any) -> int:
        asked = {"table": table, "predicates": list(predicates), "runtime": [], "columns": ["v", "p"]}
        return len(
            read(msgspec.convert(ask("plan_scan", by_position=by_position, **asked)["files"], FileList))
        )

    assert (files(False, value), files(True, value), files(True, value, part)) == (1, 10, 5)
    for by_position in (False, True):
        about = {"table": table, "by_position": by_position}
        answer = ask("aggregate", **about, predicates=[], functions=functions, group_by=[])
        assert (answer["aggregated"] is None) == by_position
        assert [*ask("can_delete", **about, predicates=[value]).values()] == [not by_position]
        assert [*ask("can_delete", **about, predicates=[part]).values()] == [True]


def test_one_query_reads_its_partitions_once(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An aggregate, the scan, and the scan with a join's values read the partitions once.

    The reports equal the reports of planning at once.
    """
    read_ranges: list[int] = []
    scan_ranges = SQLiteStore.scan_ranges

    def counting(self: SQLiteStore, ranges: Any, **options: Any) -> Any:
        read_ranges.append(len(ranges))
        return scan_ranges(self, ranges, **options)

    monkeypatch.setattr(SQLiteStore, "scan_ranges", counting)
    about = {"table": ask("load_table", namespace=["db"], name="t")["table"], "predicates": [_in(1, 2, 3)]}
    ask("push_predicates", **about)
    functions = [{"function": "count", "column": None}]
    counted = ask("aggregate", **about, functions=functions, group_by=[])
    assert counted["aggregated"]["rows"] == [["30"]]
    assert len(read_ranges) == 1
    whole = ask("plan_scan", **about, runtime=[], columns=["v"])
    assert whole["files"]["names"] == "f/f/f"
    narrowed = ask("plan_scan", **about, runtime=[_in(3, 4)], columns=["v"])
    assert len(read_ranges) == 1
    assert base64.b64decode(narrowed["files"]["bytes"]) == (100).to_bytes(8, "little")
    assert [step["kept"] for step in narrowed["report"]["steps"]] == [1, 1, 100]
    assert narrowed["report"]["steps"][0]["by"] == ["p IN (1, 2, 3)", "p IN (3, 4)"]
    assert narrowed["report"]["steps"][0]["origins"] == ["query", "join"]
