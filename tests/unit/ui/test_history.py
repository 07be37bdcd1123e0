"""The page shows the queries that a warehouse has recorded, and advice that rests on them."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

import parquetry
from parquetry.data_files import TableColumn
from parquetry.metastore import open_metastore
from parquetry.serving import OpenedMetastore
from parquetry.ui.answers import Answers
from parquetry.ui.history import OF_WAREHOUSE
from tests.support.readers.written_tables import WrittenTable

COLUMNS = (TableColumn("id", "long"), TableColumn("name", "string"), TableColumn("day", "date"))


def test_queries_and_advice_of_a_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans are in the answer with all fields; the adviser names layouts, the present one among them."""
    chance = random.Random(1)
    ids = chance.sample(range(40_000), 40_000)
    table = WrittenTable(tmp_path, COLUMNS, ("day",))
    for day in (0, 1):
        some = ids[day * 20_000 : (day + 1) * 20_000]
        table.add(
            (day,), *(pa.table({"id": part, "name": [f"n{id}" for id in part]}) for part in _parts(some))
        )
    with open_metastore(str(table.warehouse)) as metastore:
        answers = Answers(OpenedMetastore(metastore), OF_WAREHOUSE)
        for path in ("queries", "advice"):
            assert answers.answer(path, {"table": "shop.t", "now": "1"})["kept"] is False
        monkeypatch.setenv("PARQUETRY_PRUNING_HISTORY", "values")
        with parquetry.open(str(table.warehouse)) as lake:
            for first in range(0, 40_000, 4_000):
                lake.scan("shop.t", f"id BETWEEN {first} AND {first + 40}").count()
        answers = Answers(OpenedMetastore(metastore), OF_WAREHOUSE)
        rows = answers.answer("queries", {"table": "shop.t"})["rows"]
        assert len(rows) == 10
        (read,) = rows[0]["reads"]
        assert read["table"] == "shop.t"
        assert read["joins"] == []
        assert read["files"] == {"read": 8, "of": 8}
        assert answers.answer("advice", {"table": "shop.t"})["made"] is False
        layouts = answers.answer("advice", {"table": "shop.t", "now": "1"})["rows"]
        assert {"advised", "as it is"} & {each["verdict"] for each in layouts}
        assert all(each["layout"] for each in layouts)


def _parts(ids: list[int]) -> list[list[int]]:
    return [ids[start : start + 5_000] for start in range(0, len(ids), 5_000)]
