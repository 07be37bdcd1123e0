"""Every reader without Spark has the rows of our scan, also under filters, or refuses with a reason."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import parquetry
from parquetry.data_files import EXISTS_DEFAULT, TableColumn
from parquetry.iceberg import IcebergCatalog
from tests.support.readers.cases import CASES
from tests.support.readers.comparison import Comparison, table_readers
from tests.support.readers.python_tables import PythonLake, arrow_schema

READ = {name: case for name, case in CASES.items() if case.refusal is None and case.rows}
TEXTS = [b"a", b"\xff\xfe", b"\xc3\xa9"]


@pytest.mark.parametrize("name", READ)
def test_each_case(tmp_path: Path, name: str) -> None:
    """A few filters of each table choose the same rows for all readers."""
    lake = PythonLake(tmp_path)
    READ[name].make(lake)
    comparison = compare(lake)
    assert comparison.wrong == {}
    assert comparison.agreeing["scan arrow"] == 1
    is_nested = all(isinstance(column.type, dict) for column in lake.table("t").metadata.columns)
    assert (sum(comparison.agreeing_filters.values()) > 0) != is_nested


def test_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    """Readers have Spark's bytes, also in structs, or refuse them. Polars would end the process."""
    lake = PythonLake(tmp_path)
    kind = {"type": "struct", "fields": [{"name": "x", "type": "string", "nullable": True, "metadata": {}}]}
    lake.create("t", {"id": "long", "s": "string", "n": kind})
    schema = arrow_schema(lake.table("t").metadata)
    for number, texts in enumerate((TEXTS[::2], TEXTS)):
        values = pa.array(texts, pa.binary()).view(pa.string())
        nested = pa.StructArray.from_arrays([values], fields=list(schema.field("n").type))
        ids = pa.array(range(number * 10, number * 10 + len(texts)))
        lake.put("t", f"{number}.parquet", pa.Table.from_arrays([ids, values, nested], schema=schema))
    lake.sync("t")
    comparison = compare(lake)
    assert comparison.wrong == {}
    refused = comparison.refused["t"]
    assert "Column s has a text that is not UTF-8, which Polars cannot have" in refused["scan polars"]
    assert comparison.agreeing["scan arrow"] == comparison.agreeing["scan duckdb"] == 1
    assert not {"scan arrow", "scan pandas", "scan duckdb", "iceberg pyiceberg"} & set(refused)
    with parquetry.open(lake.folder) as catalog:
        scan = catalog.scan("default.t")
        with pytest.raises(pa.ArrowInvalid, match="Column n has a text that is not UTF-8"):
            pa.table(scan.select("n"))
        assert scan.filter("id < 10").to_polars().collect().height == 2
        assert pa.table(scan.select("id")).num_rows == 5
        with pytest.raises(pl.exceptions.ComputeError, match="Column s has a text that is not UTF-8"):
            pl.DataFrame(catalog.changes("default.t", 1).select("s"))


def test_numbers_of_many_digits(tmp_path: Path) -> None:
    """Filters find floats whose shortest text is another double, and decimals of 38 digits, also defaults."""
    lake = PythonLake(tmp_path)
    long = Decimal("-123456789012345678901234567890.12")
    lake.create("t", {"id": "long", "f": "float", "d": "decimal(38,2)"})
    rows = [(0.1, long), (3.4028234663852886e38, -long), (None, None)]
    lake.write("t", "a.parquet", [{"id": n, "f": f, "d": d} for n, (f, d) in enumerate(rows)])
    added = TableColumn("e", "decimal(38,2)", True, {EXISTS_DEFAULT: str(long)})
    lake.alter("t", columns=(*lake.table("t").metadata.columns, added))
    with parquetry.open(lake.folder) as catalog:
        scan = catalog.scan("default.t")
        assert scan.to_arrow()["e"].to_pylist() == [long] * 3
        counts = [scan.filter(f"{name} = {long}").count() for name in ("d", "e")]
        assert counts == [1, 3]
        for number, (real, decimal) in enumerate(rows[:2]):
            assert scan.to_polars().filter(pl.col("f") == real).collect()["id"].to_list() == [number]
            assert scan.to_duckdb().filter(f"d = {decimal}").project("id").fetchall() == [(number,)]


def compare(lake: PythonLake) -> Comparison:
    """Return how all readers read the table `t`."""
    comparison = Comparison()
    with (
        parquetry.open(lake.folder) as catalog,
        table_readers(catalog, IcebergCatalog(lake.metastore)) as readers,
    ):
        rows = catalog.scan("default.t", time_zone="UTC").to_arrow()
        readers.compare(lake.table("t"), rows, comparison)
    return comparison
