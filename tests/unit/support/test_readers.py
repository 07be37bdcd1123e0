"""The comparison of readers finds what is wrong: other rows, a row too few, and failures without a reason."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import parquetry
from parquetry.errors import UnsupportedError
from parquetry.iceberg import IcebergCatalog
from tests.support.clients.iceberg import served
from tests.support.readers.comparison import Comparison, TableReaders
from tests.support.readers.filters import RowFilter
from tests.support.readers.python_tables import PythonLake
from tests.support.readers.table_readers import READERS, TableSource
from tests.support.readers.values import comparable


def _one_too_few(source: TableSource, _: RowFilter | None) -> pa.Table:
    return source.scan.to_arrow().slice(1)


def _null(source: TableSource, _: RowFilter | None) -> pa.Table:
    table = source.scan.to_arrow()
    return table.set_column(0, "a", pa.nulls(table.num_rows, pa.int64()))


def _failure(_: TableSource, _where: RowFilter | None) -> pa.Table:
    raise ValueError("it broke")


def _refusal(_: TableSource, _where: RowFilter | None) -> pa.Table:
    raise UnsupportedError("It has a reason.")


@pytest.mark.parametrize("rows", [3, 20_001])
def test_other_rows_are_found(tmp_path: Path, rows: int) -> None:
    """Wrong rows and failures are named, refusals are not; of a large table the number of rows counts."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"a": "long"})
    lake.write("t", "a.parquet", [{"a": number} for number in range(rows)])
    readers = {
        "scan arrow": READERS["scan arrow"],
        "few": _one_too_few,
        "null": _null,
        "failure": _failure,
        "refusal": _refusal,
    }
    comparison = Comparison()
    with parquetry.open(lake.folder) as catalog, served(IcebergCatalog(lake.metastore)) as address:
        compared = TableReaders(catalog, address, readers)
        compared.compare(lake.table("t"), pa.table({"a": list(range(rows))}), comparison)
        compared.close()
    wrong = {"default.t few", "default.t failure"} | ({"default.t null"} if rows == 3 else set())
    assert set(comparison.wrong) == wrong
    assert comparison.wrong["default.t failure"] == "ValueError: it broke"
    assert comparison.refused == {"t": {"refusal": "It has a reason."}}
    assert comparison.agreeing["scan arrow"] == 1


def test_values_are_compared_as_they_are() -> None:
    """NULL is not zero, -0.0 is not 0.0, and a map is the same in any order of its pairs."""
    assert comparable([{"a": None}]) != comparable([{"a": 0}])
    assert comparable([{"a": -0.0}]) != comparable([{"a": 0.0}])
    assert comparable([{"m": [("a", 1), ("b", 2)]}]) == comparable([{"m": [("b", 2), ("a", 1)]}])
    assert comparable([{"l": [[1, 2], [3]]}]) != comparable([{"l": [[1, 2], [4]]}])
