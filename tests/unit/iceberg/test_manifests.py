"""Manifests are made for engines that plan by themselves, and kept until their partitions change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parquetry.iceberg import IcebergCatalog
from parquetry.iceberg.clients import Client
from tests.support.clients.iceberg import ask, duckdb_of, served
from tests.support.readers.python_tables import PythonLake

PARTITIONS = 300
TABLE = "namespaces/default/tables/t"


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    """A lake whose table has 300 partitions."""
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    made.write("t", "p=0/f.parquet", [{"a": 0}])
    folder = made.folder / "default.db" / "t"
    content = (folder / "p=0" / "f.parquet").read_bytes()
    for number in range(1, PARTITIONS):
        (folder / f"p={number}").mkdir()
        (folder / f"p={number}" / "f.parquet").write_bytes(content)
    made.sync("t")
    return made


def written(lake: PythonLake, kind: str) -> set[str]:
    """Return the names of manifests, or of lists."""
    return {path.name for path in (lake.folder / "default.db" / "t" / "_iceberg").glob(f"{kind}-*.avro")}


def test_one_changed_partition_makes_one_manifest_anew(lake: PythonLake) -> None:
    """All others are used again; manifests that somebody deleted are made again."""
    catalog = IcebergCatalog(lake.metastore)
    catalog.load_table("default", "t", Client.OTHER)
    before = written(lake, "manifest")
    assert len(before) > 2
    lake.write("t", "p=17/g.parquet", [{"a": 1}])
    catalog.load_table("default", "t", Client.OTHER)
    assert len(written(lake, "manifest") - before) == 1
    IcebergCatalog(lake.metastore).load_table("default", "t", Client.OTHER)
    shutil.rmtree(lake.folder / "default.db" / "t" / "_iceberg")
    catalog.load_table("default", "t", Client.OTHER)
    assert len(written(lake, "manifest")) == len(before) + 1


def test_lists_of_versions_share_manifests(lake: PythonLake) -> None:
    """A later version has a list of its own, and one manifest more."""
    IcebergCatalog(lake.metastore).load_table("default", "t", Client.OTHER)
    before = written(lake, "manifest"), written(lake, "snap")
    lake.write("t", "p=17/g.parquet", [{"a": 1}])
    IcebergCatalog(lake.metastore).load_table("default", "t", Client.OTHER)
    after = written(lake, "manifest"), written(lake, "snap")
    assert [len(new - old) for old, new in zip(before, after, strict=True)] == [1, 1]


def test_an_engine_reads_by_manifests(lake: PythonLake) -> None:
    """DuckDB counts all rows, before a change and after it."""
    with served(IcebergCatalog(lake.metastore)) as address:
        for rows in (PARTITIONS, PARTITIONS + 2):
            with duckdb_of(address) as connection:
                counted = "SELECT count(*), count(DISTINCT p), sum(p) FROM lake.default.t"
                assert connection.sql(counted).fetchall() == [
                    (rows, PARTITIONS, sum(range(PARTITIONS)) + 17 * (rows - PARTITIONS))
                ]
            lake.write("t", "p=17/g.parquet", [{"a": 1}, {"a": 2}])


def test_clients_that_ask_for_plans_get_no_manifests(lake: PythonLake) -> None:
    """The list is named, and is not there."""
    with served(IcebergCatalog(lake.metastore)) as address:
        for version in ("Apache Iceberg 1.12.0", "PyIceberg 0.12.0"):
            status, _ = ask(address, TABLE, headers={"X-Client-Version": version})
            assert status == 200
    assert written(lake, "snap") == set()


def test_a_server_that_plans_nothing_makes_manifests_for_all(lake: PythonLake) -> None:
    """Its configuration says that clients plan by themselves."""
    with served(IcebergCatalog(lake.metastore, "client")) as address:
        assert ask(address, "config")[1]["overrides"] == {"scan-planning-mode": "client"}
        assert ask(address, TABLE, headers={"X-Client-Version": "Apache Iceberg 1.12.0"})[0] == 200
    assert len(written(lake, "snap")) == 1
