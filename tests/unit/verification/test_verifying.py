"""`verify` reads all rows, and names each file with a misplaced row, with an example.

It says what it cannot judge.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.cli.main import main
from parquetry.data_files.records import FileRecord, IdsInFile, TableColumn
from parquetry.errors import FilterError
from parquetry.hashing.bucket_hash import bucket_ids, bucket_numbers
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec, Version
from parquetry.layout.part import SortColumn
from parquetry.metastore import TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.types import parse_type, type_from_json


class Written:
    """A table whose files are recorded in buckets, with any rows."""

    def __init__(
        self,
        root: Path,
        type: str = "integer",
        file_format: str = "parquet",
        version: Version = 2,
        **given: Any,
    ) -> None:
        self.root, self.path, self.format = root, root / "t", file_format
        self.spec = BucketSpec(("k",), 4, version, **given)
        columns = (TableColumn("v", "integer"), TableColumn("k", type), TableColumn("p", "integer"))
        with open_metastore(str(root), create=True) as metastore:
            metadata = TableMetadata(
                columns, ("p",), file_format, str(self.path), arrangement=ArrangementSpec(buckets=self.spec)
            )
            metastore.create_table("default", "t", metadata)

    def put(
        self,
        name: str,
        keys: Sequence[Any],
        bucket: int | None,
        *,
        p: int = 1,
        in_order: bool = False,
        type: pa.DataType | None = None,
        spec: BucketSpec | None = None,
        field_ids: int | None = None,
    ) -> None:
        path = self.path / f"p={p}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        values = pa.array(range(len(keys)), pa.int32())
        table = pa.table({"v": values, "k": pa.array(keys, type or pa.int32())})
        if self.format == "orc":
            orc.write_table(table, path)
        else:
            pq.write_table(table, path, row_group_size=3)
        with open_metastore(str(self.root)) as metastore:
            snapshot = metastore.table("default", "t")
            transaction = Transaction(snapshot, "write")
            size = path.stat().st_size
            file = FileRecord(name, size, len(keys), bucket=bucket, sorted=in_order, field_ids=field_ids)
            known = snapshot.partition((p,))
            if known is None:
                transaction.add((p,), None, [file], ArrangementSpec(buckets=spec or self.spec))
            else:
                transaction.append((p,), [file])
            commit(transaction)

    def found(self, where: str | None = None) -> list[tuple[Any, ...]]:
        with parquetry.open(self.root) as catalog:
            return [
                (each.problem, each.partition, each.path, each.bucket, each.rows, each.detail)
                for each in catalog.verify("t", where)
            ]


def keys_of(bucket: int, count: int = 4) -> list[int]:
    every = list(range(200))
    found = bucket_numbers(2, count, [parse_type("int")], [(key,) for key in every])
    return [key for key, place in zip(every, found, strict=True) if place == bucket]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_every_row_that_lies_wrong_is_counted(tmp_path: Path, file_format: str) -> None:
    """Misplaced rows are counted anywhere in a file; files with right buckets and order are not reported."""
    table = Written(tmp_path, file_format=file_format, sort=(SortColumn("k"),))
    one, two = keys_of(1), keys_of(2)
    table.put("right", [None, *keys_of(0)], 0, in_order=True)
    table.put("wrong", [*one[:4], two[5], *one[4:], two[6]], 1)
    table.put("all-wrong", two, 1)
    table.put("empty", [], 3, in_order=True)
    table.put("unsorted", [two[0], two[2], two[1]], 2, in_order=True)
    table.put("other", one, 1, p=2)
    assert table.found() == [
        ("wrong bucket", "p=1", "wrong", 1, 2, f"k = {two[5]} belongs in bucket 2, of {len(one) + 2} rows."),
        ("wrong bucket", "p=1", "all-wrong", 1, len(two), f"k = {two[0]} belongs in bucket 2, of {len(two)} rows."),
        ("out of order", "p=1", "unsorted", 2, None, f"k = {two[1]} stands below k = {two[2]}."),
    ]  # fmt: skip
    assert table.found("p = 2") == []
    assert len(table.found("p < 2")) == 3
    with pytest.raises(FilterError):
        table.found("k = 5")


def test_an_order_across_the_batches_of_a_file(tmp_path: Path) -> None:
    """The last row of a part is compared with the first of the next one; downwards, NULL is last."""
    table = Written(tmp_path, sort=(SortColumn("k", True),))
    zero = sorted(keys_of(0), reverse=True)[:6]
    table.put("right", [*zero, None], 0, in_order=True)
    table.put("wrong", [*zero[3:], *zero[:3]], 0, in_order=True)
    (told,) = table.found()
    assert told[:3] == ("out of order", "p=1", "wrong")
    assert told[-1] == f"k = {zero[0]} stands below k = {zero[5]}."


def test_both_at_once(tmp_path: Path) -> None:
    """A file may hold rows of other buckets and be out of order."""
    table = Written(tmp_path, sort=(SortColumn("k"),))
    table.put("f", [keys_of(1)[3], keys_of(2)[0]], 1, in_order=True)
    assert [each[0] for each in table.found()] == ["wrong bucket", "out of order"]


def test_what_our_writer_settles_lies_right(tmp_path: Path) -> None:
    """-0.0 belongs with 0.0, and all NaN belong together, also within structs."""
    for at, (type, arrow) in enumerate({"double": pa.float64(), "float": pa.float32()}.items()):
        kind = parse_type(type)
        table = Written(tmp_path / str(at), type)
        (zero, nan) = bucket_numbers(2, 4, [kind], [(0.0,), (float("nan"),)])
        table.put("zero", [0.0, -0.0, None][: 3 if zero == 0 else 2], zero, type=arrow)
        table.put("nan", [float("nan"), -float("nan")], nan, type=arrow)
        assert table.found() == []
    field = {"name": "d", "type": "double", "nullable": True, "metadata": {}}
    nested: list[tuple[Any, pa.DataType, list[Any]]] = [
        (
            {"type": "struct", "fields": [field]},
            pa.struct([("d", pa.float64())]),
            [{"d": 0.0}, {"d": -0.0}, None],
        ),
        (
            {"type": "array", "elementType": "double", "containsNull": True},
            pa.list_(pa.float64()),
            [[0.0, 1.0], [-0.0, 1.0]],
        ),
    ]
    for type, arrow, values in nested:
        kind = type_from_json(type)
        (bucket,) = bucket_ids(2, 4, [pa.array(values[:1], arrow)], [kind])
        (apart,) = bucket_ids(2, 4, [pa.array(values[1:2], arrow)], [kind])
        assert bucket != apart
        table = Written(tmp_path / kind.name[9:14], type)
        table.put("zeros", values[:2], int(bucket), type=arrow)
        assert table.found() == []


@pytest.mark.parametrize("nested", [False, True])
def test_days_of_long_ago_in_orc(tmp_path: Path, nested: bool) -> None:
    """Days of before 1582 in ORC are not judged, also within structs.

    Spark writes them by the Julian calendar, and PyArrow reads other days.
    """
    kind = pa.struct([("d", pa.date32())]) if nested else pa.date32()
    days: list[Any] = [-171_000, 0]
    field = {"name": "d", "type": "date", "nullable": True, "metadata": {}}
    type: Any = {"type": "struct", "fields": [field]} if nested else "date"
    tree = Written(tmp_path, type, "orc")
    tree.put("a", [{"d": day} for day in days] if nested else days, 3, type=kind)
    tree.put("b", [{"d": day} for day in days[1:]] if nested else days[1:], 3, p=2, type=kind)
    found = list(parquetry.open(tmp_path).verify("t"))
    assert [each.problem for each in found] == ["not judged", "wrong bucket"]
    assert "k has values from before 1582" in str(found[0].detail)


def test_days_of_long_ago_in_the_old_calendar(tmp_path: Path) -> None:
    """Days of before 1582 are judged in Parquet, unless the file has them in the calendar of that time."""
    days: list[Any] = [-171_000, -171_000]
    (bucket,) = bucket_numbers(2, 4, [parse_type("date")], [(-171_000,)])
    table = Written(tmp_path, "date")
    table.put("new", days, bucket, type=pa.date32())
    table.put("old", days, (bucket + 1) % 4, type=pa.date32(), field_ids=int(IdsInFile.OLD_CALENDAR))
    assert [each[:3] for each in table.found()] == [("not judged", "p=1", "old")]


def test_what_is_not_known(tmp_path: Path) -> None:
    """A file without a bucket, of a type that others hash in another way, or damaged, is reported as such."""
    table = Written(tmp_path)
    table.put("stray-1", [1, 2], None)
    table.put("stray-2", [1, 2], None)
    table.put("wide", [1], 0, type=pa.int64(), p=2)
    table.put("narrow", [1], 0, type=pa.int16(), p=2)
    table.put("gone", [1], 0, p=3)
    table.put("bad", [1], 0, p=3)
    theirs = BucketSpec(("k",), 4, 2, unsettled=True)
    table.put("theirs", [1], 0, p=4, spec=theirs)
    (tmp_path / "t" / "p=3" / "gone").unlink()
    (tmp_path / "t" / "p=3" / "bad").write_bytes(b"PAR1 and nothing else")
    found = table.found()
    assert [each[:5] for each in found] == [
        ("no bucket", "p=1", None, None, 4),
        ("wrong bucket", "p=2", "wide", 0, 1),
        ("not judged", "p=2", "narrow", 0, 1),
        ("unreadable", "p=3", "gone", 0, 1),
        ("unreadable", "p=3", "bad", 0, 1),
        ("not judged", "p=4", None, None, 1),
    ]
    details = [each[-1] for each in found]
    assert details[0] == "stray-1 and 1 more. CALL system.compact puts their rows into buckets."
    assert details[2] == "the file has k as int16, and the table as int."
    assert "is not there" in details[3]
    assert "cannot be read" in details[4]
    assert details[5] == "others wrote the files."


def test_tables_without_buckets(tmp_path: Path) -> None:
    """Files of a table without buckets are not read."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        table = metastore.create_table(
            "default", "t", TableMetadata((TableColumn("k", "integer"),), (), "parquet", str(tmp_path / "t"))
        )
        transaction = Transaction(table, "write")
        transaction.replace((), [FileRecord("not-there", 1, 1)])
        commit(transaction)
    with parquetry.open(tmp_path) as catalog:
        assert catalog.verify("t") == []


def test_partitions_without_buckets(tmp_path: Path) -> None:
    """Partitions without buckets are reported if the table has buckets, and none of their files is read.

    Partitions from before `bucket-begin-partition` are not reported.
    """
    table = Written(tmp_path)
    with open_metastore(str(tmp_path)) as metastore:
        for p in (1, 2):
            transaction = Transaction(metastore.table("default", "t"), "write")
            transaction.add((p,), None, [FileRecord("not-there", 1, 5)], ArrangementSpec())
            commit(transaction)
    assert [each[:5] for each in table.found()] == [("no bucket", f"p={p}", None, None, 5) for p in (1, 2)]
    with open_metastore(str(tmp_path)) as metastore:
        snapshot = metastore.table("default", "t")
        transaction = Transaction(snapshot, "alter")
        properties = {"bucket-begin-partition": "2"}
        transaction.set_metadata(msgspec.structs.replace(snapshot.metadata, properties=properties))
        commit(transaction)
    assert [each[1] for each in table.found()] == ["p=2"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`verify` prints a table for people and JSON for scripts.

    The exit code is 1 if a row is misplaced, and 0 if none is known to be.
    """
    table = Written(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["verify", "t", "-w", str(tmp_path), *arguments])
        return int(ended.value.code or 0), capsys.readouterr().out

    assert run() == (0, "All rows are where they should be.\n")
    with open_metastore(str(tmp_path)) as metastore:
        columns = (TableColumn("id", "long"),)
        metastore.create_table("default", "plain", TableMetadata(columns, (), "parquet", f"{tmp_path}/plain"))
    with pytest.raises(SystemExit):
        main(["verify", "plain", "-w", str(tmp_path)])
    assert capsys.readouterr().out == "default.plain has no buckets, so there is nothing to verify.\n"
    table.put("stray", [1], None, p=1)
    assert run()[0] == 0
    table.put("wrong", keys_of(2), 1, p=2)
    code, printed = run("--where", "p = 2")
    assert code == 1
    assert "wrong bucket" in printed
    assert "belongs in bucket 2" in printed
    code, printed = run("--json")
    assert code == 1
    assert [each["problem"] for each in json.loads(printed)] == ["no bucket", "wrong bucket"]
