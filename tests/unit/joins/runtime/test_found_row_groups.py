"""Readers apply some runtime values of a join to row groups, as ranges or as a set."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import pytest

from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.row_group_ranges import ColumnRanges, ranges_for_readers
from parquetry.metastore import ColumnStatistics, FileRecord, Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.storage.model import TableColumn, TableMetadata
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Compare, In, Opaque, Predicate, TupleIn
from parquetry.prune.condition import Condition
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type

INT = parse_type("int")
COLUMNS = (TableColumn("k", "integer"), TableColumn("p", "integer"))


def found(node: Predicate, format: Literal["parquet", "orc"] = "parquet") -> list[ColumnRanges]:
    metadata = TableMetadata(COLUMNS, ("p",), format, "/t")
    return ranges_for_readers(metadata, [Condition.from_filter(Filter(node), "join")])


def test_values_become_ranges() -> None:
    """One for each value while there are few; of many, the widest gaps between them are left out."""
    assert found(In("k", (3, 7, 8), INT)) == [ColumnRanges("k", INT, ((3, 3), (7, 7), (8, 8)))]
    assert found(Compare("=", "k", 5, INT)) == [ColumnRanges("k", INT, ((5, 5),))]
    dense = tuple(base * 1000 + n for base in range(LIMITS.key_ranges) for n in range(9))
    (ranges,) = found(In("k", dense, INT))
    assert ranges.ends == tuple((base * 1000, base * 1000 + 8) for base in range(LIMITS.key_ranges))


def test_values_of_an_expression() -> None:
    """Readers get the values of the column that a set of an expression implies, if they are known."""
    implied = In("k", (3, 7), INT)
    opaque = Opaque("2 * k IN (6, 14)", ("k",), "function on the column", implied)
    assert found(opaque) == [ColumnRanges("k", INT, ((3, 3), (7, 7)))]
    assert found(Opaque("hash(k) IN (6, 14)", ("k",), "function on the column")) == []


def test_sparse_sets_are_looked_up() -> None:
    """Readers of Parquet look up a set that has more values than ranges, but not too many.

    Any set of texts counts as sparse.
    """

    def looked_up(values: tuple[Any, ...], type: str = "int") -> bool:
        (ranges,) = found(In("k", values, parse_type(type)))
        assert ranges.values in ((), values)
        return bool(ranges.values)

    assert not looked_up(tuple(range(0, 1000 * LIMITS.key_ranges, 1000)))
    assert looked_up(tuple(range(0, 1001 * LIMITS.key_ranges, 1000)))
    assert not looked_up(tuple(range(1001)))
    assert not looked_up(tuple(range(0, 1000 * (LIMITS.sparse_numbers - 1), LIMITS.sparse_numbers - 1)))
    assert looked_up(tuple(range(0, 1000 * (LIMITS.looked_up_values + 1), 1000))[: LIMITS.looked_up_values])
    assert not looked_up(tuple(range(0, 1000 * (LIMITS.looked_up_values + 1), 1000)))
    assert looked_up(tuple(f"{n:04}" for n in range(1001)), "string")
    (ranges,) = found(In("k", tuple(range(0, 1001 * LIMITS.key_ranges, 1000)), INT), "orc")
    assert not ranges.values


@pytest.mark.parametrize(
    ("type", "value", "used"),
    [
        ("tinyint", 1, True), ("bigint", 1, True), ("date", 1, True), ("decimal(5,2)", Decimal("1.00"), True),
        ("string", "a", True), ("varchar(3)", "a", True),
        ("char(3)", "a  ", False), ("float", 1.0, False), ("double", 1.0, False), ("boolean", True, False),
        ("timestamp", 1, False), ("timestamp_ntz", 1, False), ("binary", b"a", False),
    ],
)  # fmt: skip
def test_types_that_readers_may_compare(type: str, value: Any, used: bool) -> None:
    """Readers get values of a type only if a row group's statistics compare as SQL does."""
    node = Compare("=", "k", value, parse_type(type))
    assert bool(found(node)) == used


def test_old_dates_in_orc() -> None:
    """Readers of ORC lose rows of before 1582, so no range begins there.

    Readers of Parquet keep these rows.
    """
    date = parse_type("date")
    for value, used in ((-141_426, True), (-141_427, False)):
        for node in (In("k", (value, 5), date), Compare("=", "k", value, date)):
            assert bool(found(node, "orc")) == used
            assert found(node)


def test_texts_in_orc() -> None:
    """Ranges that end in a text which ORC's reader sorts differently are not given to it."""
    text = parse_type("string")
    for values, used in (("a", "é"), True), (("a", "😀"), False), (("\ue000", "\ue001"), False):
        assert bool(found(In("k", values, text), "orc")) == used
        assert found(In("k", values, text))


def test_tuples_count_column_by_column() -> None:
    """The readers compare one column at a time; partition columns are none of theirs."""
    rows = ((7, 1, 5), (3, 1, 6), (7, 2, 5))
    assert found(TupleIn(("k", "p", "k2"), rows, (INT, INT, INT))) == [
        ColumnRanges("k", INT, ((3, 3), (7, 7))),
        ColumnRanges("k2", INT, ((5, 5), (6, 6))),
    ]


def test_what_is_left_alone() -> None:
    """Partition columns, other comparisons, and sets without a value."""
    assert found(In("p", (1, 2), INT)) == []
    assert found(Compare(">", "k", 1, INT)) == []
    assert found(In("k", (), INT)) == []


@pytest.mark.parametrize(
    ("values", "given", "told"),
    [
        # of 100,000 numbers every hundredth is in each file of ten thousand rows, as good as certainly
        (range(0, 100_000, 100), {}, False),
        (range(0, 100_000, 250), {}, True),  # sparse: the rows of a file may have one value many times
        (range(0, 100_000, 4000), {}, True),
        (range(0, 100_000, 250), {"rows": 20_000}, False),  # ten times each, if it has
        (range(0, 2_000, 100), {}, True),  # in a file of ten thousand rows some two have one of these
        (range(0, 50_000, 5_000), {"rows": 600_000}, False),  # few, and each is in six rows
        # so few rows are read in the time that a condition of twenty values takes
        (range(0, 2_000, 100), {"rows": LIMITS.condition_rows + 20 * LIMITS.value_rows - 1}, False),
        (range(0, 2_000, 100), {"rows": LIMITS.condition_rows + 20 * LIMITS.value_rows}, True),
        (range(0, 100_000, 100), {"size": (LIMITS.row_group_bytes + 1)}, True),
        (range(0, 100_000, 100), {"properties": {"sort-by": "k"}}, True),
        (range(0, 100_000, 100), {"rows": None}, True),
        (range(0, 100_000, 100), {"statistics": False}, True),
    ],
)
def test_values_that_every_file_has_are_not_looked_for(
    values: range, given: dict[str, Any], told: bool
) -> None:
    """Readers get no set if every file is likely to have many of its values.

    That is estimated only for small files with unsorted rows.
    """
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", "/lake/t", properties=given.get("properties", {}))
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    known = {"k": ColumnStatistics(10, 0, 0, 99_999)} if given.get("statistics", True) else {}
    size, rows = given.get("size", 50_000), given.get("rows", 10_000)
    transaction.append((1,), [FileRecord(f"{n}.parquet", size, rows, 1, known) for n in range(3)])
    selection = select_files(commit(transaction), [], (), about={"k"})
    condition = Condition.from_filter(Filter(In("k", tuple(values), INT)), "join")
    found = ranges_for_readers(metadata, [condition], selection)
    assert bool(found) == told
    if found and values.step == 250:
        assert found == [ColumnRanges("k", INT, ((0, 99_750),), tuple(values))]
