"""Expressions meet the table: its columns, its time zone, its name of partitions of NULL."""

from __future__ import annotations

import pytest

from parquetry.hive import PartitionExpression, read_partition_expression
from parquetry.types import ColumnType, parse_type
from tests.support.hive.expressions.recording import column_types, recorded

COLUMNS = column_types()


def sample(text: str, hive: str = "4.0.1", zone: str = "UTC") -> bytes:
    """Return the bytes of a recorded expression."""
    return next(each.data for each in recorded() if (each.text, each.hive, each.zone) == (text, hive, zone))


def read(data: bytes, columns: dict[str, ColumnType], zone: str = "UTC") -> PartitionExpression:
    """Read an expression that is understood."""
    found = read_partition_expression(data, columns, zone)
    assert found is not None
    return found


def test_columns_have_the_table_s_names() -> None:
    """A condition names columns as the table writes them, since Hive's clients write names in lower case."""
    assert str(read(sample("i = 2"), {"I": COLUMNS["i"]}).filter) == "I = 2"


@pytest.mark.parametrize(
    ("type", "reason"), [("bigint", "type int for the client"), (None, "no partition column")]
)
def test_other_columns_are_not_understood(type: str | None, reason: str) -> None:
    """A column that the table lacks, or has with another type, leaves the rest of the condition."""
    columns = {"s": COLUMNS["s"]} | ({"i": parse_type(type)} if type else {})
    found = read(sample("i > 1 and s = 'a'"), columns)
    assert str(found.filter).endswith("AND s = 'a'")
    assert not found.exact
    assert reason in " ".join(found.reasons)


def test_no_part_of_an_or_is_lost() -> None:
    """An OR with a part that is not understood selects all partitions, and is not exact."""
    found = read(sample("i = 1 or upper(s) = 'A'"), COLUMNS)
    assert str(found.filter) == "i = 1 OR OPEqual(Upper(s), 'A')"
    assert not found.exact


def test_timestamps_are_instants_of_a_zone() -> None:
    """A clock without a zone is an instant in the clients' zone, but none near a change of the clock."""
    blob = sample("ts = '2024-01-01 00:00:00'")
    assert str(read(blob, COLUMNS, "Asia/Tokyo").filter) == "ts = TIMESTAMP '2023-12-31 15:00:00 UTC'"
    clock = COLUMNS | {"ts": ColumnType("timestamp_ntz")}
    assert str(read(blob, clock, "Asia/Tokyo").filter) == "ts = TIMESTAMP_NTZ '2024-01-01 00:00:00'"
    # Kiritimati left out the last day of 1994, and Samoa the 30th of December 2011
    changed = read(blob.replace(b"2024-01-01 00:00:0", b"2011-12-31 00:00:0"), COLUMNS, "Pacific/Apia")
    assert not changed.exact
    assert changed.reasons == ("a time whose zone is not known",)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_dates_of_hive_2_are_days(zone: str) -> None:
    """Hive 2 sends a date as its midnight in its own zone; it is the same day in each zone."""
    found = read(sample("d = date '2024-01-01'", "2.3.10", zone), COLUMNS)
    assert str(found.filter) == "d = DATE '2024-01-01'"
    assert found.exact


def test_dates_of_uncertain_zones_are_not_understood() -> None:
    """A midnight that is one day in Auckland and another in Honolulu is not understood."""
    blob = sample("d = date '2024-01-01'", "2.3.10")
    midnight = (1_704_067_200_000).to_bytes(8, "big")
    assert blob.count(midnight) == 1
    found = read(blob.replace(midnight, (1_704_067_200_000 + 39_600_000).to_bytes(8, "big")), COLUMNS)
    assert not found.exact


def test_partitions_of_null_have_the_client_s_name() -> None:
    """A column that equals the name of partitions of NULL, which the client tells, is NULL."""
    blob = sample("s = '__HIVE_DEFAULT_PARTITION__'")
    assert str(read(blob, COLUMNS).filter) == "s IS NULL"
    other = read_partition_expression(blob, COLUMNS, default_partition="none")
    assert other is not None
    assert str(other.filter) == "s = '__HIVE_DEFAULT_PARTITION__'"
