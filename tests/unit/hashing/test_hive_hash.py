"""The hashes of bucket columns agree with Hive's classes for chosen values, and with Hive's own files.

Generated values of every type are compared with the hashes of Hive and Spark in
`tests/spark/bucketing/test_hash_functions.py`.
"""

from __future__ import annotations

import json
import random
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from parquetry.errors import ArrangementError, UnsupportedError, ValueTypeError
from parquetry.hashing.bucket_hash import ROWS_PER_BATCH, bucket_ids, bucket_numbers, hive_hash
from parquetry.hashing.hash_types import HashType, unsettled_reason
from parquetry.layout.bucket_spec import Version
from parquetry.temporal import timestamp_from_text
from parquetry.types import ColumnType, Value, parse_type, type_from_json
from tests.support.hive.values import TYPES, array, for_arrow, mapping, struct_with, values

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS = [
    vector
    for vector in json.loads((FIXTURES / "hive-hash-vectors.json").read_text())["vectors"]
    if not any(kind in type for type in vector["types"] for kind in ("interval", "uniontype"))
    and vector["values"] != ["9999-12-31 23:59:59.999999999"]  # no 64 bits hold it
]
HIVE = FIXTURES / "hive-4.0.1"
TABLES = json.loads((HIVE / "bucketed.json").read_text())["tables"]
BUCKETED = sorted(set(TABLES) - {"src"})
NESTED = {
    "array<int>": array("integer"),
    "array<tinyint>": array("byte"),
    "array<string>": array("string"),
    "struct<a:int,b:string>": struct_with("integer", "string"),
    "map<string,int>": mapping("string", "integer"),
    "map<string,array<int>>": mapping("string", array("integer")),
}


def column(type: str, value: Any) -> pa.Array:
    """Return a vector's value as a column of one row."""
    if type in NESTED:
        return for_arrow(NESTED[type], [[tuple(v) for v in value] if type.startswith("map") else value])
    arrow = HashType.from_column_type(parse_type(type)).arrow
    if value is None:
        return pa.nulls(1, arrow)
    match parse_type(type).name:
        case "float" | "double":
            return pa.array([float(value)], arrow)
        case "decimal":
            return pa.array([Decimal(value)], arrow)
        case "binary":
            return pa.array([bytes.fromhex(value)], arrow)
        case "date":
            return pa.array([date.fromisoformat(value)])
        case "timestamp":  # of nanoseconds, where 64 bits hold them
            second, _, fraction = value.partition(".")
            micros = timestamp_from_text(second, "UTC")
            return pa.array([1000 * micros + int(fraction.ljust(9, "0"))]).view(pa.timestamp("ns", "UTC"))
    return pa.array([value], arrow)


def types_of(vector: dict[str, Any]) -> list[ColumnType]:
    return [type_from_json(NESTED[t]) if t in NESTED else parse_type(t) for t in vector["types"]]


@pytest.mark.parametrize("version", [1, 2])
def test_values_have_the_hashes_and_the_buckets_that_hives_classes_say(version: Version) -> None:
    """A hundred chosen values, for one bucket to seven."""
    wrong = []
    for vector in VECTORS:
        types = types_of(vector)
        columns = [column(t, v) for t, v in zip(vector["types"], vector["values"], strict=True)]
        found = hive_hash(version, columns, types).tolist()
        buckets = [int(bucket_ids(version, n, columns, types)[0]) for n in range(1, 8)]
        if (found, buckets) != ([vector[f"v{version}"]], vector[f"bucket_v{version}"]):
            wrong.append((vector, found, buckets))
    assert wrong == []
    assert len(VECTORS) > 100


def misplaced(name: str) -> tuple[int, int]:
    """Return how many rows of a table of Hive's are in a file of another bucket than ours, and all rows."""
    table = TABLES[name]
    storage = table["metastore"]["table"]["sd"]
    version: Version = 1 if table["metastore"]["table"]["parameters"]["bucketing_version"] == "1" else 2
    declared = {each["name"]: parse_type(each["type"]) for each in storage["cols"]}
    types = [declared[key] for key in storage["bucketCols"]]
    wrong = rows = 0
    for path, _ in table["files"]:
        file = HIVE / "bucketed" / name / path
        read = orc.read_table(file) if "_orc_" in name else parquet.ParquetFile(file).read()
        ids = bucket_ids(version, storage["numBuckets"], [read[key] for key in storage["bucketCols"]], types)
        wrong += int((ids != int(file.name.partition("_")[0])).sum())
        rows += len(ids)
    assert rows == len(table["rows_in_scan_order"])
    return wrong, rows


@pytest.mark.parametrize("name", BUCKETED)
def test_rows_lie_in_the_buckets_where_a_real_hive_put_them(name: str) -> None:
    """Each row is in the file of our bucket: both versions, ORC and Parquet, all types of keys but one.

    Binary keys in version 2 differ, which is why queries do not rely on buckets by them.
    """
    wrong, rows = misplaced(name)
    assert wrong > rows / 2 if name == "b2_orc_bin" else wrong == 0
    assert rows >= 3


VERSIONS: tuple[Version, ...] = (1, 2, "spark")


def hashed(version: Version, type: Any, column: pa.Array | pa.ChunkedArray) -> list[int]:
    found: list[int] = hive_hash(version, [column], [type_from_json(type)]).tolist()
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TYPES)
def test_how_an_array_lies_in_memory_changes_nothing(name: str, version: Version) -> None:
    """Slices, chunks, dictionaries and wide offsets hash as the same values by themselves."""
    type = TYPES[name]
    found = values(type, 60, random.Random(7))
    whole = for_arrow(type, found)
    if version == "spark" and "map" in json.dumps(type):
        with pytest.raises(UnsupportedError, match="by a map"):
            hashed(version, type, whole)
        return
    wanted = hashed(version, type, whole)
    assert [hashed(version, type, for_arrow(type, [each]))[0] for each in found] == wanted
    assert hashed(version, type, whole.slice(7, 31)) == wanted[7:38]
    assert hashed(version, type, pa.chunked_array([whole[:1], whole[1:1], whole[1:40], whole[40:]])) == wanted
    assert hashed(version, type, whole[:0]) == hashed(version, type, pa.chunked_array([], whole.type)) == []
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(whole.type)
    if pa.types.is_list(whole.type):
        wide = pa.large_list(whole.type.value_type)
    if wide is not None:
        assert hashed(version, type, whole.cast(wide)[3:]) == wanted[3:]
    if not pa.types.is_nested(whole.type):
        assert hashed(version, type, whole.dictionary_encode()) == wanted


@pytest.mark.parametrize("version", VERSIONS)
def test_more_rows_than_are_hashed_at_once(version: Version) -> None:
    """Where one part ends and the next begins, no row is lost, and NULL is where it was."""
    found = [None if i % 1000 == 3 else i - ROWS_PER_BATCH for i in range(2 * ROWS_PER_BATCH + 5)]
    texts = [None if i % 700 == 5 else "é" * (i % 11) for i in range(len(found))]
    columns = [pa.array(found, pa.int64()), pa.array(texts)]
    together = hive_hash(version, columns)
    for at in (0, 3, 5, ROWS_PER_BATCH - 1, ROWS_PER_BATCH, ROWS_PER_BATCH + 1, 2 * ROWS_PER_BATCH + 4):
        assert together[at] == hive_hash(version, [each.slice(at, 1) for each in columns])[0]
    assert len(together) == len(found)
    for count in (1, 3, 8):
        ids = bucket_ids(version, count, columns)
        assert set(ids.tolist()) == set(range(count))


@pytest.mark.parametrize("version", VERSIONS)
def test_long_texts_are_hashed_in_smaller_parts(version: Version) -> None:
    """A row of 3 MB among short ones changes nothing of theirs, nor they of it."""
    texts = pa.array(["é" * 1_500_000 if i == 40 else "xyz" * (i % 50) for i in range(300)])
    whole = hive_hash(version, [texts]).tolist()
    assert whole == [int(hive_hash(version, [texts.slice(i, 1)])[0]) for i in range(300)]


def test_the_type_of_the_table_counts_and_not_that_of_the_file() -> None:
    """Parquet holds a tinyint in 32 bits; a varchar is text there."""
    numbers = pa.array([5, -5, None], pa.int32())
    assert hashed(2, "byte", numbers) == [5, -5, 0]
    assert (
        hashed(2, "long", numbers)
        == hashed(2, "long", numbers.cast(pa.int64()))
        != hashed(2, "integer", numbers)
    )
    text = pa.array(["abc"])
    assert (
        hashed(1, "string", text)
        != hashed(1, "varchar(9)", text)
        == hashed(1, "char(9)", pa.array(["abc  "]))
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_tuple_of_values_is_in_the_bucket_of_its_rows(version: Version) -> None:
    """For every primitive type: pruning looks where the hash of arrays has put the rows."""
    chance = random.Random(3)
    columns: dict[str, list[Value]] = {
        name: values(type, 40, chance) for name, type in TYPES.items() if isinstance(type, str)
    }
    types = [type_from_json(TYPES[name]) for name in columns]
    arrays = [for_arrow(TYPES[name], found) for name, found in columns.items()]
    tuples = list(zip(*columns.values(), strict=True))
    assert bucket_numbers(version, 13, types, tuples) == bucket_ids(version, 13, arrays, types).tolist()
    for type, found, held in zip(types, columns.values(), arrays, strict=True):
        assert (
            bucket_numbers(version, 7, [type], [(each,) for each in found])
            == bucket_ids(version, 7, [held], [type]).tolist()
        )
    assert bucket_numbers(version, 7, types, []) == []
    far = [(1 << 63) - 1, -(1 << 63)]
    assert all(
        0 <= bucket < 5
        for bucket in bucket_numbers(version, 5, [parse_type("timestamp")], [(v,) for v in far])
    )


def test_what_has_no_hash_is_refused_by_name() -> None:
    """The message has the type or the value."""
    with pytest.raises(UnsupportedError, match="interval day"):
        bucket_numbers(2, 4, [parse_type("interval day to second")], [(1,)])
    with pytest.raises(UnsupportedError, match="duration"):
        hive_hash(2, [pa.array([1], pa.duration("s"))])
    with pytest.raises(ValueTypeError, match="type tinyint"):
        bucket_numbers(2, 4, [parse_type("tinyint")], [(1000,)])
    with pytest.raises(ArrangementError, match="no column"):
        hive_hash(2, [])
    with pytest.raises(ArrangementError, match="differ in length"):
        hive_hash(2, [pa.array([1]), pa.array([1, 2])])


CLAIMED = {
    "bigint": (True, True, True),
    "string": (True, True, True),
    "char(3)": (False, True, True),
    "varchar(3)": (False, True, True),
    "decimal(38,18)": (True, True, True),
    "date": (True, True, True),
    "binary": (False, False, True),
    "float": (True, False, True),
    "double": (True, False, True),
    "timestamp": (False, False, True),
    "timestamp_ntz": (False, True, True),
    "interval day": (False, False, False),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_what_the_hash_does_not_settle_is_not_claimed(name: str) -> None:
    """By type and version; a nested type claims what all its parts claim."""
    reasons = [unsettled_reason(version, [parse_type("int"), parse_type(name)]) for version in VERSIONS]
    assert tuple(reason is None for reason in reasons) == CLAIMED[name]
    deep = type_from_json(struct_with("integer", array(name)))
    assert [unsettled_reason(version, [deep]) for version in VERSIONS] == reasons
    assert unsettled_reason("spark", [type_from_json(mapping("string", "integer"))]) is not None


@pytest.mark.parametrize("type", ["float", "double"])
def test_where_both_zeros_and_all_nans_lie(type: str) -> None:
    """They are equal in SQL: the claims follow from where they are hashed to."""
    signed = parse_type(type)
    dtype = {"float": np.uint32, "double": np.uint64}[type]
    for version in VERSIONS:
        places = {tuple(bucket_numbers(version, n, [signed], [(0.0,), (-0.0,)])) for n in range(1, 50)}
        assert all(a == b for a, b in places) == (unsettled_reason(version, [signed]) is None)
        patterns = {
            "float": [0x7FC00000, 0xFFC00001, 0x7F800001],
            "double": [0x7FF8 << 48, (0xFFF8 << 48) + 9],
        }
        nans = pa.array(np.array(patterns[type], dtype).view(dtype.__name__.replace("uint", "float")))
        assert len(set(hashed(version, type, nans))) == 1
