"""Rows are sorted in Spark's order, with few of them in memory if few are wanted."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from parquetry.catalog.scans import planning
from parquetry.catalog.scans.planning import RowOrder, sort_rows

NAN = float("nan")


def batches_of(*parts: list[object], type: pa.DataType | None = None) -> list[pa.RecordBatch]:
    return [pa.record_batch({"v": pa.array(part, type), "at": list(range(len(part)))}) for part in parts]


@pytest.mark.parametrize("descending", [False, True])
def test_floats_have_sparks_order(descending: bool) -> None:
    """NULL, the numbers with equal zeros, NaN; and the reverse."""
    parts = batches_of([NAN, 0.0, None], [-0.0, -math.inf, 1.5], [math.inf, None], type=pa.float64())
    rows = pa.Table.from_batches(sort_rows(parts, RowOrder("v", descending), None, ("v",)))
    expected = ["None", "None", "-inf", "0.0", "-0.0", "1.5", "inf", "nan"]
    values = [repr(value) for value in rows.column("v").to_pylist()]
    zeros = [value for value in values if value in ("0.0", "-0.0")]
    assert zeros == ["0.0", "-0.0"]
    plain = [value.replace("-0.0", "0.0") for value in values]
    wanted = [value.replace("-0.0", "0.0") for value in expected]
    assert plain == (wanted[::-1] if descending else wanted)


@pytest.mark.parametrize(
    "values", [[True, None, False], ["b", None, "a", "é"], [b"\\xff", None, b""]], ids=str
)
def test_types_have_their_order(values: list[object]) -> None:
    """Booleans, texts and bytes are sorted, NULL first."""
    rows = pa.Table.from_batches(sort_rows(batches_of(values), RowOrder("v", False), None, ("v", "at")))
    known = sorted(value for value in values if value is not None)  # type: ignore[type-var]
    assert rows.column("v").to_pylist() == [None, *known]


def test_a_limit_keeps_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows beyond the limit are dropped while batches come. The result is the same as of a whole sort."""
    monkeypatch.setattr(planning, "_ROWS_PER_SORT", 10)
    parts = batches_of(*[[(number * 37 + part * 11) % 101 for number in range(7)] for part in range(20)])
    every = sorted(value for part in parts for value in part.column("v").to_pylist())
    rows = pa.Table.from_batches(sort_rows(parts, RowOrder("v", False), 5, ("v",)))
    assert rows.column("v").to_pylist() == every[:5]
    assert list(sort_rows([], RowOrder("v", False), 5, ("v",))) == []
