"""A runtime filter leaves out only files that hold none of its values, for each type and layout.

Few values and many are tested.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from parquetry.data_files.bounds import column_statistics
from parquetry.hashing.bucket_hash import bucket_numbers, normalise_zero
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.planner.scans.runtime_values import runtime_conditions
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Compare, In, Not, Or, Predicate, columns_of
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.spark_json import filter_from_json
from parquetry.prune.query_cache import PartitionCache
from parquetry.prune.select import select_files
from parquetry.scan import coarse as coarse_module
from parquetry.scan.coarse import coarse
from parquetry.store import MemoryStore
from parquetry.types import ColumnType, Value, order_key, parse_type
from tests.support.effort import examples
from tests.support.spark.packed_values import membership
from tests.support.tables.generated_tables import POOLS

JSON = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
LAYOUTS = ("partitions", "buckets", "files")


def tables(text: str, layout: str, contents: Sequence[Sequence[Value]]) -> TableSnapshot:
    """Return a table with a file for each list of values of column `k`, in a layout by that column."""
    type = parse_type(text)
    spec = BucketSpec(("k",), 4) if layout == "buckets" else None
    metadata = TableMetadata(
        (TableColumn("v", "long"), TableColumn("k", JSON.get(text, text))),
        ("k",) if layout == "partitions" else (),
        "parquet",
        "/t",
        arrangement=ArrangementSpec(buckets=spec),
    )
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for number, values in enumerate(contents):
        file: dict[str, Any] = {}
        if layout == "buckets":
            (file["bucket"],) = bucket_numbers(2, 4, [type], [(normalise_zero(values[0]),)])
        if layout == "files":
            there = [value for value in values if value is not None and value == value]
            nulls = sum(value is None for value in values)
            low, high = (min(there), max(there)) if there else (None, None)  # type: ignore[type-var]
            file["columns"] = {"k": column_statistics(10, nulls, low, high, True, True)}
        partition = (values[0],) if layout == "partitions" else ()
        transaction.append(partition, [FileRecord(f"f{number}", 100, len(values), 1, **file)])
    return commit(transaction)


def kept(table: TableSnapshot, tree: dict[str, Any], recent: PartitionCache | None = None) -> set[str]:
    """Return the files that are left by what was found."""
    conditions = [found.condition for found in runtime_conditions(table, [tree])]
    return {file.file.path for file in select_files(table, conditions, ["k"], recent=recent).files}


def holding(contents: Sequence[Sequence[Value]], wanted: Sequence[Value]) -> set[str]:
    """Return the files with a row that equals one of some values, as SQL has it."""
    keys = {order_key(value) for value in wanted if value is not None}
    return {
        f"f{number}"
        for number, values in enumerate(contents)
        if any(value is not None and order_key(value) in keys for value in values)
    }


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", POOLS)
def test_every_file_with_a_match_is_kept(
    text: str, layout: str, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter of packed values keeps all files with a match, whether it treats them as few or as many.

    Where partitions or buckets have single values, it keeps no others.
    """
    if many:
        monkeypatch.setattr(coarse_module, "MAX_IN_VALUES", 1)
        monkeypatch.setattr(coarse_module, "_RANGES_PER_IN", 2)
    pool, chance = POOLS[text], random.Random(f"{text} {layout}")
    type = parse_type(text)
    for _ in range(examples(12, least=3)):
        contents: list[list[Value]]
        if layout == "files":
            contents = [chance.choices([None, *pool], k=chance.randint(1, 4)) for _ in range(8)]
        else:
            unique = {order_key(value): value for value in pool}
            contents = [[None], *[[value] for value in unique.values()]]
        wanted: list[Value] = chance.sample(pool, chance.randint(1, len(pool)))
        if chance.random() < 0.3:
            wanted.append(None)
        table, tree = tables(text, layout, contents), membership("K", type, wanted)
        recent = PartitionCache()
        for _ in range(2):  # the second time of what the first one found
            found = kept(table, tree, recent)
            exact = holding(contents, wanted)
            assert found >= exact
            if layout == "partitions":
                assert found == exact
            if layout == "buckets":
                ids = {
                    bucket_numbers(2, 4, [type], [(normalise_zero(v),)])[0] for v in wanted if v is not None
                }
                assert {f.file.bucket for f in select_files(table, []).files if f.file.path in found} <= ids


@pytest.mark.parametrize("text", POOLS)
def test_packed_values_are_those_that_were_sent(text: str) -> None:
    """Packed values of every type, with NULL or without, give the same condition as single values."""
    type = parse_type(text)
    for wanted in (POOLS[text], [*POOLS[text], None], POOLS[text][:1]):
        found = filter_from_json(membership("k", type, wanted), {"k": type}).node
        expected = normalise(In("k", tuple(v for v in wanted if v is not None), type, None in wanted))
        assert type_of(found) == type_of(expected)
        assert columns_of(found) == {"k"}
        assert keys(found) == keys(expected)


def type_of(node: Predicate) -> tuple[str, bool]:
    """Return what a condition is, and whether NULL is among its values."""
    return node.__class__.__name__, isinstance(node, In) and node.has_null


def keys(node: Predicate) -> list[Any]:
    """Return the order keys of a condition's values: of 0.0 and -0.0 they are the same."""
    assert isinstance(node, In | Compare)
    return [order_key(value) for value in (node.values if isinstance(node, In) else (node.value,))]


def test_what_cannot_be_read_keeps_everything() -> None:
    """Bytes that are no text, and a type that has no literals, are a condition that is not understood."""
    type = parse_type("string")
    tree = membership("k", type, ["a", "b"])
    table = tables("string", "partitions", [["a"], ["b"], ["c"]])
    for damage in ({"packed": "/////w=="}, {"packed": None}, {"type": "interval"}):
        broken = {**tree, **damage}
        assert str(filter_from_json(broken, {"k": type})) == "k IN (…)"
        assert kept(table, broken) == {"f0", "f1", "f2"}
    assert kept(table, tree) == {"f0", "f1"}


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_ranges_hold_all_values(data: st.DataObject) -> None:
    """The coarser condition is TRUE wherever the condition is, however INs of many values are combined."""
    text = data.draw(st.sampled_from(sorted(POOLS)))
    type, pool = parse_type(text), POOLS[text]
    some = st.lists(st.sampled_from(pool), min_size=2, unique_by=order_key).map(
        lambda values: In("k", tuple(values), type)
    )
    node = data.draw(
        st.recursive(
            some | some.map(Not),
            lambda inner: (
                st.lists(inner, min_size=2, max_size=3)
                .map(tuple)
                .flatmap(lambda children: st.sampled_from((And(children), Or(children))))
            ),
            max_leaves=4,
        )
    )
    given_ = Filter(normalise(node))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coarse_module, "MAX_IN_VALUES", data.draw(st.integers(1, 4)))
        patch.setattr(coarse_module, "_RANGES_PER_IN", data.draw(st.integers(1, 4)))
        found = coarse(given_)
    for value in [None, *pool]:
        if evaluate(given_.node, {"k": value}) is True:
            assert evaluate(found.node, {"k": value}) is True


def test_few_values_stay_as_they_are() -> None:
    """A condition without many values stays the same object, so that it is not planned again."""
    filter = Filter(In("k", (1, 2), ColumnType("int")))
    assert coarse(filter) is filter
