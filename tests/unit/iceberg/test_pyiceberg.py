"""Faults of PyIceberg never cost a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import RESTError

from parquetry.data_files import IdsInFile
from parquetry.iceberg import IcebergCatalog
from parquetry.metastore import Transaction, commit, set_tag
from tests.support.clients.iceberg import served
from tests.support.readers.python_tables import PythonLake


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    made.write("t", "p=1/f.parquet", [{"a": 1}, {"a": 2}])
    made.write("t", "p=2/f.parquet", [{"a": 3}])
    return made


@pytest.fixture
def catalog(lake: PythonLake) -> Iterator[RestCatalog]:
    with served(IcebergCatalog(lake.metastore)) as address:
        yield RestCatalog("lake", uri=address)


def test_a_condition_on_a_partition_column_that_is_not_selected(catalog: RestCatalog) -> None:
    """PyIceberg would find no row by it, so the plan is refused; with the column it finds them."""
    table = catalog.load_table("default.t")
    with pytest.raises(RESTError, match="add p to selected_fields"):
        table.scan(row_filter="a > 0 and not p = 2", selected_fields=("a",)).to_arrow()
    assert table.scan(row_filter="p = 1", selected_fields=("a", "p")).to_arrow()["a"].to_pylist() == [1, 2]
    assert table.scan(row_filter="a > 1", selected_fields=("a",)).to_arrow()["a"].to_pylist() == [2, 3]


def test_counts_and_versions(catalog: RestCatalog, lake: PythonLake) -> None:
    """It counts the rows of a filter, reads every version by its number, and knows the tags."""
    table = catalog.load_table("default.t")
    assert [table.scan(row_filter=where).count() for where in ("p = 1", "a > 1", "p = 1 and a > 1")] == [
        2,
        2,
        1,
    ]
    lake.write("t", "p=3/f.parquet", [{"a": 4}])
    counts = [catalog.load_table("default.t").scan(snapshot_id=version).count() for version in (1, 2, 3)]
    assert counts == [2, 3, 4]
    set_tag(lake.table("t"), "first", 1)
    refs = catalog.load_table("default.t").refs()
    assert {name: (ref.snapshot_ref_type.value, ref.snapshot_id) for name, ref in refs.items()} == {
        "main": ("branch", 3),
        "first": ("tag", 1),
    }


def test_planning_by_itself_needs_partition_columns_in_files(lake: PythonLake) -> None:
    """Without them the table is refused when PyIceberg loads it."""
    with served(IcebergCatalog(lake.metastore, "client")) as address:
        catalog = RestCatalog("lake", uri=address)
        with pytest.raises(RESTError, match="partition-columns-in-files"):
            catalog.load_table("default.t")
        table = lake.table("t")
        transaction = Transaction(table, "append")
        for partition in table.partitions():
            files = [
                msgspec.structs.replace(f, field_ids=IdsInFile.WITH_PARTITION_COLUMNS)
                for f in partition.files
            ]
            transaction.replace(partition.values, files)
        commit(transaction)
        assert catalog.load_table("default.t").scan().to_arrow().num_rows == 3
