"""Random tables: every reader without Spark has the rows of our scan, also under filters."""

from __future__ import annotations

import random
from pathlib import Path

import parquetry
from parquetry.iceberg import IcebergCatalog
from tests.support.effort import examples
from tests.support.readers.comparison import FILTERED_READERS, Comparison, table_readers
from tests.support.readers.python_tables import PythonLake
from tests.support.readers.random_tables import make_table

TABLES = 60


def test_every_reader(tmp_path: Path) -> None:
    """No reader has another row, or fails without a reason."""
    lake, choice, comparison = PythonLake(tmp_path), random.Random(20_261_128), Comparison()
    with (
        parquetry.open(lake.folder) as catalog,
        table_readers(catalog, IcebergCatalog(lake.metastore)) as readers,
    ):
        for number in range(examples(TABLES, 4)):
            table = make_table(lake, f"t{number}", choice)
            rows = catalog.scan(f"default.{table.name}", time_zone="UTC").to_arrow()
            readers.compare(table, rows, comparison)
    assert comparison.wrong == {}
    assert set(comparison.agreeing_filters) == FILTERED_READERS
