"""Manifests are made for engines that plan by themselves, and kept until their partitions change."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from pyiceberg.avro.file import AvroFile
from pyiceberg.io.pyarrow import PyArrowFileIO

from parquetry.data_files import EXISTS_DEFAULT, TableColumn
from parquetry.errors import UnsupportedError
from parquetry.iceberg import IcebergCatalog, manifests
from parquetry.iceberg.clients import Client
from parquetry.metastore import open_metastore
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


def test_a_definition_that_changes_is_checked_again(lake: PythonLake) -> None:
    """A column with DEFAULT is refused, though the manifests of the same files were made before it."""
    catalog = IcebergCatalog(lake.metastore)
    catalog.load_table("default", "t", Client.OTHER)
    columns = lake.table("t").metadata.columns
    added = TableColumn("c", "integer", True, {EXISTS_DEFAULT: "5"})
    lake.alter("t", columns=(*columns, added))
    for client in (Client.OTHER, Client.JAVA):
        with pytest.raises(UnsupportedError, match="lacks column c, whose default value"):
            IcebergCatalog(lake.metastore, "client").load_table("default", "t", client)
    lake.alter("t", columns=(*columns, TableColumn("d", "integer")))
    catalog.load_table("default", "t", Client.OTHER)


def test_an_engine_reads_earlier_versions(lake: PythonLake) -> None:
    """DuckDB reads each version: the first load of a table lists the earlier ones, too."""
    lake.write("t", "p=17/g.parquet", [{"a": 1}, {"a": 2}])
    newest = lake.table("t").version
    with served(IcebergCatalog(lake.metastore)) as address, duckdb_of(address) as connection:
        counts = [
            connection.sql(f"SELECT count(*) FROM lake.default.t AT (VERSION => {version})").fetchall()[0][0]
            for version in range(1, newest + 1)
        ]
    assert counts == [1, PARTITIONS, PARTITIONS + 2]


def test_versions_without_a_list_are_left_out(lake: PythonLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that plans by itself gets no snapshots that would take too long to list."""
    monkeypatch.setattr(manifests, "_MAX_PARTITIONS_OF_EARLIER_VERSIONS", -1)
    loaded = {
        client: msgspec.json.decode(IcebergCatalog(lake.metastore).load_table("default", "t", client))
        for client in (Client.OTHER, Client.JAVA)
    }
    numbers = [[each["snapshot-id"] for each in loaded[c]["metadata"]["snapshots"]] for c in loaded]
    assert numbers == [[2], [1, 2]]


def test_servers_that_write_the_same_manifests_at_once(lake: PythonLake) -> None:
    """Every client reads whole files: none is written in place, and none is left half written."""
    catalogs = [IcebergCatalog(open_metastore(str(lake.folder))) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        loads = [pool.submit(each.load_table, "default", "t", Client.OTHER) for each in catalogs]
        seen: set[int] = set()
        while not all(load.done() for load in loads):
            for path in (lake.folder / "default.db" / "t").glob("_iceberg/*.avro"):
                seen.update({entries_in(path)})
        assert len({load.result() for load in loads}) == 1
    assert -1 not in seen
    names = {path.suffix for path in (lake.folder / "default.db" / "t" / "_iceberg").iterdir()}
    assert names == {".avro"}


def entries_in(path: Path) -> int:
    """Return the number of entries in a file, or -1 if it is not whole."""
    try:
        with AvroFile[object](PyArrowFileIO().new_input(str(path))) as entries:
            return len(list(entries))
    except Exception:  # noqa: BLE001 - whatever a torn file leads to
        return -1


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
    assert len(written(lake, "snap")) == lake.table("t").version
