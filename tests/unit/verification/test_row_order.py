"""Whether rows are in order, as Hive and Spark put them: compared with Python's sorting by the same rules."""

from __future__ import annotations

import math
import random
from datetime import date
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import pyarrow as pa
import pytest

from parquetry.types import order_key, parse_type
from parquetry.verification.bucket_check import first_out_of_order, sortable

VALUES: dict[str, list[Any]] = {
    "int": [None, -3, 0, 7],
    "tinyint": [None, -3, 0, 7],
    "boolean": [None, False, True],
    "double": [None, -math.inf, -0.0, 0.0, 1.5, math.inf, math.nan],
    "float": [None, -1.0, 0.0, -0.0, math.nan],
    "string": [None, "", "a", "ab", "é", "😀", "\uffff"],
    "varchar(5)": [None, "Z", "a"],
    "binary": [None, b"", b"\x00", b"\x7f", b"\xff"],
    "decimal(5,2)": [None, Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")],
    "date": [None, date(1500, 1, 1), date(1970, 1, 1), date(2024, 2, 29)],
}


def compared(one: Any, other: Any) -> int:
    """Compare two values as SQL does: NULL first, text by its bytes, NaN above all numbers."""
    left, right = (order_key(value.encode() if isinstance(value, str) else value) for value in (one, other))
    return (left > right) - (left < right)


@pytest.mark.parametrize("type", VALUES)
def test_every_pair_of_values(type: str) -> None:
    """One below the other, upwards and downwards, of all types."""
    kind = parse_type(type)
    for above in VALUES[type]:
        for below in VALUES[type]:
            array = sortable(pa.array([above, below], pa.array(VALUES[type]).type), kind)
            expected = compared(above, below)
            assert (first_out_of_order([array], [False]) is None) is (expected <= 0), (above, below)
            assert (first_out_of_order([array], [True]) is None) is (expected >= 0), (above, below)


def test_several_columns() -> None:
    """Rows that Python has sorted are in order.

    After two rows are swapped, the first wrong row is found.
    """
    random_ = random.Random(5)
    for _ in range(200):
        down = [random_.random() < 0.5 for _ in range(3)]
        rows = [
            (random_.choice([None, 1, 2]), random_.choice(["a", None, "b"]), random_.random() // 0.3)
            for _ in range(random_.randint(0, 12))
        ]

        def order(one: tuple[Any, ...], other: tuple[Any, ...], down: list[bool] = down) -> int:
            signs = (compared(a, b) * (-1 if d else 1) for a, b, d in zip(one, other, down, strict=True))
            return next((sign for sign in signs if sign), 0)

        rows.sort(key=cmp_to_key(order))
        if len(rows) > 2 and random_.random() < 0.7:
            at = random_.randrange(len(rows) - 1)
            rows[at], rows[at + 1] = rows[at + 1], rows[at]
        columns = [
            pa.array([row[at] for row in rows], type)
            for at, type in enumerate((pa.int32(), pa.string(), pa.float64()))
        ]
        expected = next((n for n in range(1, len(rows)) if order(rows[n - 1], rows[n]) > 0), None)
        assert first_out_of_order(columns, down) == expected


def test_what_has_no_order_that_is_known() -> None:
    """A char is padded on reading, and Spark has no order of maps."""
    known = {
        type: parse_type(type).facts.stored_order for type in ("char(3)", "varchar(3)", "timestamp", "bigint")
    }
    assert known == {"char(3)": False, "varchar(3)": True, "timestamp": True, "bigint": True}
