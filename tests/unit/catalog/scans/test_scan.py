"""A `Scan` is a value, and gives the rows of a table to libraries that take Arrow."""

from __future__ import annotations

import datetime as dt
import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import parquetry
from parquetry.catalog import Catalog, Scan
from parquetry.catalog.scans import reading
from parquetry.data_files import TableColumn
from parquetry.errors import ColumnNotFoundError, FilterError, UnsupportedError, VersionNotFoundError
from parquetry.predicate import IsNull, Opaque
from tests.support.readers.opened_files import record_opened_files
from tests.support.readers.written_tables import WrittenTable

COLUMNS = (TableColumn("id", "long"), TableColumn("name", "string"), TableColumn("day", "date"))


def part(first: int, count: int = 10) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table({"id": ids, "name": [None if number % 5 == 0 else f"n{number}" for number in ids]})


@pytest.fixture
def table(tmp_path: Path) -> WrittenTable:
    """Twelve files of ten rows: days 0 and 1, and NULL, with four files each."""
    written = WrittenTable(tmp_path, COLUMNS, ("day",))
    for number, day in enumerate((0, 1, None)):
        written.add((day,), *(part(number * 100 + file * 10) for file in range(4)))
    return written


@pytest.fixture
def lake(table: WrittenTable) -> Iterator[Catalog]:
    with parquetry.open(table.warehouse) as catalog:
        yield catalog


def ids(scan: Scan) -> list[int]:
    return sorted(scan.to_arrow().column("id").to_pylist())


def test_rows_have_the_tables_columns(lake: Catalog) -> None:
    """Partition columns are literals, in their place; the schema has the types of Spark's own Arrow."""
    scan = lake.scan("shop.t", "id = 3")
    assert scan.schema == pa.schema([("id", pa.int64()), ("name", pa.string()), ("day", pa.date32())])
    assert scan.to_arrow().to_pylist() == [{"id": 3, "name": "n3", "day": dt.date(1970, 1, 1)}]
    assert lake.scan("shop.t", columns=["DAY", "id"]).schema.names == ["day", "id"]


def test_conditions_choose_files_and_rows(lake: Catalog) -> None:
    """Partitions and statistics leave out files; the rows that remain are tested, NULL included."""
    scan = lake.scan("shop.t", "day = DATE '1970-01-02' AND id < 115")
    assert (len(scan.files()), ids(scan)) == (2, list(range(100, 115)))
    assert ids(lake.scan("shop.t", "day IS NULL AND name IS NULL")) == [
        200,
        205,
        210,
        215,
        220,
        225,
        230,
        235,
    ]
    assert ids(lake.scan("shop.t", "NOT (id > 1 OR name = 'n1')")) == []
    assert ids(lake.scan("shop.t", IsNull("day"))) == list(range(200, 240))


def test_a_scan_never_changes(lake: Catalog) -> None:
    """`filter`, `select` and `limit` return other scans."""
    scan = lake.scan("shop.t")
    narrowed = scan.filter("id >= 20").filter("id < 25").select("id").limit(3)
    assert (
        scan.select(["name", "ID"]).schema.names == scan.select("name", "id").schema.names == ["name", "id"]
    )
    assert narrowed.schema.names == ["id"]
    assert narrowed.to_arrow().num_rows == 3
    assert scan.to_arrow().num_rows == 120
    assert narrowed.limit(9).count() == 3
    assert repr(narrowed) == "<scan of shop.t version 3: id, where id >= 20 AND id < 25, limit 3>"


def test_versions_and_times(lake: Catalog) -> None:
    """A scan reads the version that it names, by number or by time."""
    assert lake.scan("shop.t", version=1).count() == 40
    assert lake.scan("shop.t", timestamp=dt.datetime.now(dt.UTC)).count() == 120
    with pytest.raises(VersionNotFoundError, match="version 9"):
        lake.scan("shop.t", version=9)
    with pytest.raises(ValueError, match="has no time zone"):
        lake.scan("shop.t", timestamp=dt.datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="'2026-01-01' is a str: give a datetime"):
        lake.scan("shop.t", timestamp="2026-01-01")  # type: ignore[arg-type]


def test_a_limit_reads_few_files(lake: Catalog) -> None:
    """One file has enough rows for a small limit; zero rows need none."""
    assert (len(lake.scan("shop.t", limit=3).files()), lake.scan("shop.t", limit=3).to_arrow().num_rows) == (
        1,
        3,
    )
    assert (lake.scan("shop.t", limit=0).files(), lake.scan("shop.t", limit=0).to_arrow().num_rows) == ([], 0)
    assert lake.scan("shop.t", "name IS NOT NULL", limit=25).to_arrow().num_rows == 25
    with pytest.raises(ValueError, match="Limit -1 is negative"):
        lake.scan("shop.t", limit=-1)


def test_an_order_is_sparks(lake: Catalog, table: WrittenTable) -> None:
    """NULL is first, and last if descending. With a limit, one file is read."""
    newest = lake.scan("shop.t").order_by("ID", descending=True).limit(3)
    assert newest.to_arrow().column("id").to_pylist() == [239, 238, 237]
    assert (len(newest.files()), "3 greatest of id" in newest.explain()) == (1, True)
    least = lake.scan("shop.t", "id >= 33", ["name"]).order_by("id").limit(2).to_arrow()
    assert least.to_pylist() == [{"name": "n33"}, {"name": "n34"}]
    names = lake.scan("shop.t", "id < 8", ["name"]).order_by("name")
    assert names.to_arrow().column("name").to_pylist() == [None, None, "n1", "n2", "n3", "n4", "n6", "n7"]
    down = lake.scan("shop.t", "id < 3", ["name"]).order_by("name", descending=True)
    assert down.to_arrow().column("name").to_pylist() == ["n2", "n1", None]
    assert repr(down).endswith("where id < 3, by name DESC>")
    with pytest.raises(UnsupportedError, match="Tasks have no order"):
        down.tasks()


def test_counts_read_only_files_that_are_not_known(
    lake: Catalog, table: WrittenTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistics count the rows of most files. The others have rows of both kinds, and are read."""
    read = record_opened_files(monkeypatch)
    assert (lake.scan("shop.t").count(), len(read)) == (120, 0)
    assert (lake.scan("shop.t", "id >= 95 AND id < 115").count(), len(read)) == (15, 1)
    assert (lake.scan("shop.t", "name IS NULL").count(), len(read)) == (24, 13)
    table.add((5,), part(900), statistics=False)
    assert (lake.scan("shop.t", "id >= 0").count(), len(read)) == (130, 14)
    assert (lake.scan("shop.t", "id >= 0", limit=7).count(), len(read)) == (7, 14)


def test_arrow_takes_a_scan_as_it_is(lake: Catalog) -> None:
    """PyArrow and pandas read the stream of a scan; pandas has its own options."""
    scan = lake.scan("shop.t", "id < 3")
    assert pa.table(scan).num_rows == 3
    assert scan.to_pandas()["id"].tolist() == [0, 1, 2]
    assert str(scan.to_pandas(types_mapper=pd.ArrowDtype)["id"].dtype) == "int64[pyarrow]"
    assert [batch.num_rows for batch in scan.to_batches()] == [3]


def test_what_nobody_reads_stops(lake: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is left alone has a few batches in memory, and its threads end with it."""
    monkeypatch.setattr(reading, "_LOCAL_READER_THREADS", 2)
    monkeypatch.setattr(reading, "_MAX_SMALL_BYTES", 0)
    stream = lake.scan("shop.t").to_batches()
    assert stream.read_next_batch().num_rows == 10
    del stream
    deadline = time.monotonic() + 10
    while any(thread.name == "parquetry-scan" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_stream_reads_a_few_batches_ahead(lake: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads have two batches waiting and one in hand each, and the consumer has one: seven of 240."""
    produced: list[int] = []

    def many_batches(*_: object, **__: object) -> Iterator[pa.RecordBatch]:
        for number in range(20):
            produced.append(number)
            yield pa.record_batch({"id": [number]})

    monkeypatch.setattr(reading, "_LOCAL_READER_THREADS", 2)
    monkeypatch.setattr(reading, "_MAX_SMALL_BYTES", 0)
    monkeypatch.setattr(reading, "read_file", many_batches)
    stream = lake.scan("shop.t", columns=["id"]).to_batches()
    stream.read_next_batch()
    deadline = time.monotonic() + 10
    while len(produced) < 7 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    assert len(produced) == 7
    assert 1 + sum(batch.num_rows for batch in stream) == 240


def test_errors_name_what_is_wrong(lake: Catalog) -> None:
    """Columns, conditions and expressions that do not fit are named."""
    with pytest.raises(ColumnNotFoundError, match="'nope'"):
        lake.scan("shop.t", columns=["nope"])
    with pytest.raises(FilterError, match="nope"):
        lake.scan("shop.t", "nope = 1")
    with pytest.raises(UnsupportedError, match="id is selected twice"):
        lake.scan("shop.t").select("id", "ID")
    with pytest.raises(TypeError, match="give a list of names"):
        lake.scan("shop.t", columns="id")
    with pytest.raises(UnsupportedError, match=r"The condition f\(id\) cannot be evaluated outside of Spark"):
        lake.scan("shop.t", Opaque("f(id)", ("id",), "function on the column")).to_arrow()


def test_tasks_go_to_other_processes(lake: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task has its plan with it; together the tasks have all rows."""
    monkeypatch.setattr("parquetry.catalog.scans.reading._BYTES_PER_TASK", 4000)
    tasks = [pickle.loads(pickle.dumps(task)) for task in lake.scan("shop.t", "id < 225").tasks()]
    assert len(tasks) > 1
    assert sum(len(task.paths) for task in tasks) == 11
    assert sum(batch.num_rows for task in tasks for batch in task.read()) == 105
    assert len(lake.scan("shop.t", limit=100).tasks()) == 1


def test_plans_are_shown(lake: Catalog) -> None:
    """`explain` is the report of a Spark query, and a notebook draws columns and plan."""
    scan = lake.scan("shop.t", "id < 15")
    assert scan.explain().startswith("shop.t: partitions 3 of 3 · files 2 of 12 (id < 15) · ")
    html = scan._repr_html_()
    assert "scan of shop.t" in html
    assert "int64" in html
    assert "files 2 of 12" in html
