"""Records of the clients of both servers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import parquetry
from parquetry.hive.warehouse import Choices, HiveWarehouse
from parquetry.iceberg import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.metastore import open_metastore
from parquetry.serving import OpenedMetastore
from parquetry.workload import QueryCondition, QueryRecord, ReadCount, TableRead
from tests.support.readers.python_tables import PythonLake

ON = {"pruning-history": "on"}
FILTER = {"type": "eq", "term": "a", "value": 1}


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    """A table with two partitions of one file."""
    os.chmod(tmp_path, 0o755)
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    for number in (1, 2):
        made.write("t", f"p={number}/f.parquet", [{"a": number}])
    return made


def recorded(lake: PythonLake) -> list[QueryRecord]:
    """Return the history of the table."""
    with parquetry.open(lake.folder) as catalog:
        return catalog.queries("t")


def test_plans_of_iceberg(lake: PythonLake) -> None:
    """Each plan is a record, also one whose answer is cached: its condition, columns and files."""
    body = json.dumps({"filter": FILTER, "select": ["a"]}).encode()
    with open_metastore(str(lake.folder)) as metastore:
        catalog = IcebergCatalog(metastore, history=ON)
        for _ in range(2):
            catalog.plan("default", "t", body, Client.JAVA)
        assert catalog._reads._writer is not None
        catalog._reads._writer.flush()
    first, second = recorded(lake)
    assert first.reads == second.reads
    assert (first.door, first.user, first.seconds) == ("iceberg", None, None)
    (read,) = first.reads
    assert read.conditions == (QueryCondition("a = ?", ("a",), has_values=False),)
    assert (read.columns, read.files) == (("a",), ReadCount(1, 2))


def test_calls_of_hive(lake: PythonLake) -> None:
    """Selected partitions are a record when the client has got them; without the setting there is none."""
    with open_metastore(str(lake.folder)) as metastore:
        for history in ({}, {"pruning-history": "values"}):
            warehouse = HiveWarehouse(OpenedMetastore(metastore), Choices(history=history))
            assert len(list(warehouse.records(warehouse.select("default", "t", "p = 2")))) == 1
        assert warehouse._reads._writer is not None
        warehouse._reads._writer.flush()
    (record,) = recorded(lake)
    assert record.door == "hive"
    assert record.reads == (
        TableRead(
            "default.t",
            record.reads[0].version,
            conditions=(QueryCondition("p = 2", ("p",)),),
            partitions=ReadCount(1, 2),
        ),
    )
