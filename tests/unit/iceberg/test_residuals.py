"""The filter that goes with each file is true of the same rows as the whole one, and short."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.expressions import And, In, NotIn

from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn, Trust
from parquetry.iceberg import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.iceberg.planning import plan
from parquetry.iceberg.planning.expressions import FilterColumns, Residuals, filter_from_iceberg
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.predicate.evaluate import evaluate
from parquetry.prune import SelectedFile
from parquetry.types import parse_type
from tests.support.clients.iceberg import served
from tests.support.readers.python_tables import PythonLake

FILES = 40
DAYS = ("2026-11-01", "2026-11-02", None)


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    """A table of some files, whose numbers and texts overlap and have NULLs."""
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"d": "date", "a": "long", "s": "string"}, ["d"])
    for number, day in enumerate(DAYS):
        for part in range(2):
            first = 100 * number + 50 * part
            rows = [{"a": n, "s": f"s{n:04}"} for n in range(first, first + 60, 7)]
            folder = f"d={day or '__HIVE_DEFAULT_PARTITION__'}"
            made.write("t", f"{folder}/{part}.parquet", [*rows, {"a": None, "s": None}])
    made.write("t", "d=2026-11-01/none.parquet", [{"a": None, "s": None}])
    return made


def tasks_of(lake: PythonLake, expression: Any) -> list[dict[str, Any]]:
    body = json.dumps({"filter": expression}).encode()
    answer: dict[str, Any] = json.loads(
        IcebergCatalog(lake.metastore).plan("default", "t", body, Client.JAVA)
    )
    assert "plan-tasks" not in answer
    return list(answer["file-scan-tasks"])


def rows_in(table: TableSnapshot, path: str) -> list[dict[str, Any]]:
    """Return the rows of a file, with the internal value of the partition."""
    path = path.removeprefix("file:").removeprefix("//")
    (values,) = [
        partition.values
        for partition in table.partitions()
        for file in partition.files
        if f"{partition.location}/{file.path}".removeprefix("file:").endswith(path)
    ]
    rows: list[dict[str, Any]] = pq.ParquetFile(path).read(["a", "s"]).to_pylist()
    return [{**row, "d": values[0]} for row in rows]


def random_filter(chance: random.Random, depth: int = 0) -> Any:
    if depth < 3 and chance.random() < 0.4:
        kind = chance.choice(["and", "or", "not"])
        if kind == "not":
            return {"type": "not", "child": random_filter(chance, depth + 1)}
        return {
            "type": kind,
            "left": random_filter(chance, depth + 1),
            "right": random_filter(chance, depth + 1),
        }
    kind, column = chance.choice(["in", "not-in", "IN"]), chance.choice("das")
    numbers = [chance.randrange(-50, 400) for _ in range(chance.randrange(1, 150))]
    texts = {
        "a": numbers,
        "s": [f"s{n:04}" for n in numbers],
        "d": [f"2026-11-{n % 28 + 1:02}" for n in numbers],
    }
    return {"type": kind, "term": column, "values": texts[column]}


@pytest.mark.parametrize("seed", range(6))
def test_a_residual_is_true_of_the_same_rows(lake: PythonLake, seed: int) -> None:
    """Residuals and filters agree about each row: negated, NULL, in partition columns, beyond all bounds."""
    chance, table = random.Random(seed), lake.table("t")
    types = {column.name: column.column_type for column in table.metadata.columns}
    columns = FilterColumns(types, {})
    shorter = 0
    for _ in range(30):
        expression = random_filter(chance)
        whole = filter_from_iceberg(expression, columns).node
        for task in tasks_of(lake, expression):
            residual = task["residual-filter"]
            shorter += len(json.dumps(residual)) < len(json.dumps(expression))
            short = filter_from_iceberg(residual, columns).node
            for row in rows_in(table, task["data-file"]["file-path"]):
                are_true = evaluate(whole, row) is True, evaluate(short, row) is True
                assert are_true[0] is are_true[1], (expression, residual, row)
    assert shorter > 30


def test_a_long_filter_comes_back_in_parts(lake: PythonLake) -> None:
    """Each file gets the values within its bounds; a filter with few values stays as it is."""
    values = list(range(1000))
    expression = {"type": "in", "term": "a", "values": values}
    tasks = tasks_of(lake, expression)
    assert len(tasks) == 2 * len(DAYS)
    assert max(len(task["residual-filter"]["values"]) for task in tasks) == 57
    short = {"type": "in", "term": "a", "values": values[:9]}
    assert [task["residual-filter"] for task in tasks_of(lake, short)] == [short]


@pytest.mark.parametrize(("type", "values"), [("timestamp", 1), ("timestamp_ntz", 5)])
def test_a_file_with_days_keeps_all_local_times(type: str, values: int) -> None:
    """Bounds may be days, from before a DATE was widened to TIMESTAMP_NTZ. Days leave out no microseconds."""
    metadata = TableMetadata((TableColumn("t", type),), (), "parquet", "file:/t")
    days = ColumnStatistics(None, 0, 20_000, 20_001, True, True, Trust.EXACT)
    selected = SelectedFile((), FileRecord("a", 1, 2, columns={"t": days}), "/t/a")
    micros = [(20_000 + day) * 86_400_000_000 for day in range(5)]
    expression = {"type": "in", "term": "t", "values": micros, "padding": " " * 600}
    residuals = Residuals(expression, FilterColumns({"t": parse_type(type)}, {}), metadata)
    assert len(json.loads(bytes(residuals.encode(selected) or b""))["values"]) == values


def test_pages_have_a_bounded_length(lake: PythonLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that stays long makes pages of fewer files, and all pages together have each file once."""
    monkeypatch.setattr(plan, "_BYTES_PER_PAGE", 20_000)
    expression: Any = {"type": "eq", "term": "s", "value": "x" * 4000}
    expression = {"type": "not", "child": expression}
    catalog, paths, lengths = IcebergCatalog(lake.metastore), [], []
    answer = catalog.plan("default", "t", json.dumps({"filter": expression}).encode(), Client.JAVA)
    while True:
        lengths.append(len(answer))
        page = json.loads(answer)
        paths += [task["data-file"]["file-path"] for task in page["file-scan-tasks"]]
        if "plan-tasks" not in page:
            break
        body = json.dumps({"plan-task": page["plan-tasks"][0]}).encode()
        answer = catalog.tasks("default", "t", body, Client.JAVA)
    assert (len(paths), len(set(paths))) == (2 * len(DAYS) + 1, 2 * len(DAYS) + 1)
    assert len(lengths) > 1
    assert max(lengths) < 30_000


def test_pyiceberg_counts_and_reads_by_residuals(lake: PythonLake) -> None:
    """PyIceberg finds the rows of a long list, and counts them."""
    with served(IcebergCatalog(lake.metastore)) as address:
        table = RestCatalog("lake", uri=address).load_table("default.t")
        wanted = set(range(0, 400, 2))
        condition = And(In("a", wanted), In("d", set(filter(None, DAYS))))
        other = And(NotIn("a", wanted), In("d", set(filter(None, DAYS))))
        fields = ("d", "a")
        for where in (condition, other):
            scan = table.scan(row_filter=where, selected_fields=fields)
            rows = scan.to_arrow()["a"].to_pylist()
            assert scan.count() == len(rows)
            expected = [
                row["a"]
                for partition in lake.table("t").partitions()
                if partition.values[0] is not None
                for file in partition.files
                for row in rows_in(lake.table("t"), f"{partition.location}/{file.path}")
                if (row["a"] in wanted) == (where is condition)
            ]
            assert sorted(map(str, rows)) == sorted(map(str, expected))
