"""Files with early days of another calendar are recorded as such, and no others."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import ArrowFooters, IdsInFile, from_bridge

EARLY, LATE = dt.date(1500, 1, 1), dt.date(2024, 1, 1)
TIME = pa.timestamp("us", "UTC")
LEGACY = {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}


@pytest.mark.parametrize(
    ("keys", "type", "values", "expected"),
    [
        (LEGACY, pa.date32(), [EARLY, LATE], True),
        (LEGACY, pa.date32(), [LATE, None], False),
        (LEGACY, pa.date32(), [None], False),
        (LEGACY, pa.date32(), [], False),
        (LEGACY, TIME, [dt.datetime(1899, 12, 31, tzinfo=dt.UTC)], True),
        (LEGACY, TIME, [dt.datetime(1900, 1, 1, tzinfo=dt.UTC)], False),
        (LEGACY, pa.int64(), [-1_000_000], False),
        (LEGACY, pa.list_(pa.date32()), [[LATE]], True),
        (LEGACY, pa.list_(pa.int32()), [[1]], False),
        ({"org.apache.spark.version": "2.4.8"}, pa.date32(), [EARLY], True),
        ({"org.apache.spark.version": "3.0.0"}, pa.date32(), [EARLY], False),
        ({"org.apache.spark.version": "4.3.0", "org.apache.spark.legacyINT96": ""}, pa.date32(), [EARLY], True),
        ({}, pa.date32(), [EARLY], False),
    ],
)  # fmt: skip
def test_parquet(tmp_path: Path, keys: dict[str, str], type: Any, values: list[Any], expected: bool) -> None:
    """The writer's keys say the calendar, and the minimum that no value is early; nested values are not known."""
    schema = pa.schema([("v", type)], metadata=keys)
    pq.write_table(pa.table({"v": pa.array(values, type)}, schema), tmp_path / "f.parquet")
    (record,) = ArrowFooters().data_files("parquet", str(tmp_path), ["f.parquet"])
    assert (record.field_ids == IdsInFile.OLD_CALENDAR) == expected


def test_int96_has_no_minimum(tmp_path: Path) -> None:
    """A file of Spark 2 with INT96 may have early times, whatever they are: such columns have no statistics."""
    table = pa.table({"t": pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("us"))})
    keyed = table.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    pq.write_table(keyed, tmp_path / "f.parquet", use_deprecated_int96_timestamps=True)
    (record,) = ArrowFooters().data_files("parquet", str(tmp_path), ["f.parquet"])
    assert record.field_ids == IdsInFile.OLD_CALENDAR


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"type": "date", "values": 1, "min": "-171000"}, IdsInFile.OLD_CALENDAR),
        ({"type": "date", "values": 1, "min": "19000"}, IdsInFile.ABSENT),
        ({"type": "date", "values": 0}, IdsInFile.ABSENT),
        ({"type": "date"}, IdsInFile.OLD_CALENDAR),
        ({"type": "array<date>"}, IdsInFile.OLD_CALENDAR),
        ({"type": "bigint", "values": 1, "min": "-171000"}, IdsInFile.ABSENT),
    ],
)
def test_orc(column: dict[str, Any], expected: IdsInFile) -> None:
    """ORC counts early days by the Julian calendar in every file."""
    answer = {"path": "f.orc", "bytes": 9, "rows": 1, "stripe_rows": 1, "columns": {"d": column}}
    assert from_bridge(answer).field_ids == expected
