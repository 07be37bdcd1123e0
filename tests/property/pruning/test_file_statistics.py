"""Pruning by real files' statistics loses no row, and what the metastore answers is what the rows say."""

import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from hypothesis import HealthCheck, event, given, settings, strategies as st

from parquetry.data_files.footers.parquet_statistics import read_parquet_footer
from parquetry.metastore import Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.like import starts_with
from parquetry.predicate.nodes import (
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    TupleIn,
    opaque_parts,
    truth_of,
)
from parquetry.prune.metadata_aggregates import answer_aggregate
from parquetry.prune.select import select_files
from parquetry.prune.whole_partitions import whole_partitions
from parquetry.store.memory import MemoryStore
from parquetry.types import order_key
from tests.support.effort import examples
from tests.support.planning.filters import make_filter

LOCAL = pafs.LocalFileSystem()

TEXT = st.one_of(
    st.text("ab\x01~é\U0001f600\uffff", max_size=4),
    st.sampled_from(["", "a", "a" * 64, "a" * 64 + "b", "a" * 70, "\U0010ffff" * 65, "é" * 64 + "z"]),
)
SMALL = st.integers(-3, 3)
DATES = st.sampled_from([-800_000, -25_568, -25_567, -1, 0, 1, 19_782, 4_000_000])
TIMES = st.sampled_from([-(10**16), -2_208_988_800_000_001, -1, 0, 999, 1000, 10**15, 3 * 10**17])

# name: the column's JSON type, the type written, values, and the text an Arrow array is cast from.
SCHEMA = {
    "i": ("long", pa.int64(), st.one_of(SMALL, st.sampled_from([-(2**63), 2**63 - 1]))),
    "f": (
        "double",
        pa.float64(),
        st.sampled_from([0.0, -0.0, float("nan"), 1.5, -1.5, float("inf"), -float("inf"), 5e-324]),
    ),
    "s": ("string", pa.string(), TEXT),
    "x": ("binary", pa.binary(), TEXT.map(str.encode) | st.binary(max_size=3)),
    "d": ("date", pa.date32(), DATES),
    "t": ("timestamp", pa.timestamp("us", "UTC"), TIMES),
    "z": ("timestamp_ntz", pa.timestamp("us"), TIMES),
    "m": ("decimal(10,2)", pa.decimal128(10, 2), SMALL.map(lambda n: Decimal(n).scaleb(-2))),
    "b": ("boolean", pa.bool_(), st.booleans()),
    # Written before these columns were widened.
    "wide": ("decimal(12,2)", pa.int32(), SMALL.map(lambda n: Decimal(n).quantize(Decimal("0.01")))),
    "day": ("timestamp_ntz", pa.date32(), DATES.map(lambda n: n * 86_400_000_000)),
    "real": ("double", pa.float32(), st.sampled_from([0.5, -0.0, 1.0, float("nan"), 0.10000000149011612])),
}
COLUMNS = (
    *(TableColumn(name, kind) for name, (kind, _, _) in SCHEMA.items()),
    TableColumn("later", "integer"),
    TableColumn("p", "integer"),
)
TYPES = {column.name: column.column_type for column in COLUMNS}
VALUES = {name: values for name, (_, _, values) in SCHEMA.items()} | {"later": SMALL, "p": SMALL}
ROW = st.fixed_dictionaries({name: st.none() | values for name, (_, _, values) in SCHEMA.items()})


def array(name, values):
    kind = SCHEMA[name][1]
    if name == "day":
        values = [None if value is None else value // 86_400_000_000 for value in values]
    if name == "wide":
        values = [None if value is None else int(value) for value in values]
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)


FILES = st.lists(
    st.tuples(st.none() | st.integers(0, 1), st.lists(ROW, max_size=5), st.integers(1, 5)),
    min_size=1,
    max_size=3,
)


@st.composite
def leaves(draw):
    name = draw(st.sampled_from(sorted(VALUES)))
    kind, values = TYPES[name], VALUES[name]
    shape = draw(
        st.sampled_from(["compare", "compare", "compare", "in", "null", "like", "tuple", "truth", "opaque"])
    )
    if shape == "compare":
        return Compare(
            draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"])), name, draw(values), kind
        )
    if shape == "in":
        return In(name, tuple(draw(st.lists(values, max_size=3))), kind, draw(st.booleans()))
    if shape == "like":
        return draw(
            st.one_of(
                TEXT.map(lambda text: starts_with("s", text)),
                st.text("ab%_", max_size=3).map(lambda pattern: Like("s", pattern)),
            )
        )
    if shape == "tuple":
        rows = st.lists(st.tuples(st.none() | VALUES["p"], st.none() | values), min_size=1, max_size=3)
        return TupleIn(("p", name), tuple(draw(rows)), (TYPES["p"], kind)) if name != "p" else IsNull("p")
    if shape == "truth":
        return truth_of("b")
    if shape == "opaque":
        return Opaque(f"f({name})", (name,), "function on the column")
    return IsNull(name)


CONDITIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda nodes: And(tuple(nodes))),
        st.lists(inner, min_size=1, max_size=3).map(lambda nodes: Or(tuple(nodes))),
        inner.map(Not),
    ),
    max_leaves=4,
).map(make_filter)


def write(folder, files):
    """Write the files, and return the table and the rows of each file."""
    metastore = Metastore(MemoryStore(), folder)
    metastore.create_database("db")
    snapshot = metastore.create_table("db", "t", TableMetadata(COLUMNS, ("p",), "parquet", folder))
    transaction = Transaction(snapshot, "append")
    rows_of = {}
    for number, (partition, rows, group) in enumerate(files):
        name = f"{number}.parquet"
        table = pa.table({column: array(column, [row[column] for row in rows]) for column in SCHEMA})
        pq.write_table(table, f"{folder}/{name}", row_group_size=group)
        transaction.append((partition,), [read_parquet_footer(LOCAL, f"{folder}/{name}", name=name)])
        rows_of[name] = [{**row, "later": None, "p": partition} for row in rows]
    return commit(transaction), rows_of


def understood(condition):
    """Say whether a row can be tested by brute force."""
    return not opaque_parts(condition.node)


def holds(condition, row):
    return evaluate(condition.node, row) is True


FAST = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@FAST
@given(FILES, st.lists(CONDITIONS, max_size=3))
def test_no_row_is_lost_and_no_claim_is_wrong(files, conditions):
    """A file left out holds no matching row.

    A condition that the selection calls exact or certain holds for each row of the files kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        table, rows_of = write(folder, files)
    selection = select_files(table, conditions)
    kept = {selected.file.path for selected in selection.files}
    testable = [node for node in conditions if understood(node)]
    for name, rows in rows_of.items():
        if name not in kept and len(testable) == len(conditions):
            assert not any(all(holds(node, row) for node in conditions) for row in rows)
    for name in kept:
        for row in rows_of[name]:
            exact = [conditions[position] for position in selection.exact]
            assert all(holds(node, row) for node in exact if understood(node))
            assert not selection.certain or all(holds(node, row) for node in testable)
    for step in selection.report.steps:
        assert 0 <= step.kept <= step.of
    event(f"kept {len(kept)} of {len(rows_of)}")


@FAST
@given(FILES, st.lists(CONDITIONS.filter(understood), max_size=2))
def test_whole_partitions_hold_the_wanted_rows_and_no_others(files, conditions):
    """Where a DELETE may drop whole partitions, a row matches if, and only if, its partition is dropped."""
    with tempfile.TemporaryDirectory() as folder:
        table, rows_of = write(folder, files)
    found = whole_partitions(table, conditions)
    event("a reason" if isinstance(found, str) else f"{len(found)} partitions")
    if not isinstance(found, str):
        dropped = {partition.values for partition in found}
        for row in (row for rows in rows_of.values() for row in rows):
            assert all(holds(node, row) for node in conditions) == ((row["p"],) in dropped)


AGGREGATES = st.lists(
    st.tuples(st.sampled_from(["count", "min", "max"]), st.sampled_from(sorted(VALUES)))
    | st.just(("count", None)),
    min_size=1,
    max_size=3,
)


def brute_force(aggregates, rows):
    answers = []
    for function, name in aggregates:
        values = rows if name is None else [row[name] for row in rows if row[name] is not None]
        if function == "count":
            answers.append(len(values))
        elif values:
            answers.append((min if function == "min" else max)(values, key=order_key))
        else:
            answers.append(None)
    return tuple(answers)


@FAST
@given(FILES, AGGREGATES, st.booleans(), st.lists(CONDITIONS.filter(understood), max_size=1))
def test_aggregates_are_those_of_the_rows(files, aggregates, grouped, conditions):
    """Counts, minima and maxima that statistics answer, in groups or not, agree with the written rows."""
    with tempfile.TemporaryDirectory() as folder:
        table, rows_of = write(folder, files)
    selection = select_files(table, conditions)
    found = answer_aggregate(table.metadata, selection, aggregates, ["p"] if grouped else [])
    event("not answered" if found is None else "answered")
    if found is None:
        return
    rows = [row for rows in rows_of.values() for row in rows if all(holds(node, row) for node in conditions)]
    if grouped:
        groups = sorted({row["p"] for row in rows}, key=order_key)
        expected = [
            (key, *brute_force(aggregates, [row for row in rows if row["p"] == key])) for key in groups
        ]
    else:
        expected = [brute_force(aggregates, rows)]
    assert found == expected


def test_exact_numbers_are_answered(tmp_path: Path):
    """The property above would hold of a metastore that never answers."""
    row = dict.fromkeys(SCHEMA)
    rows = [row | {"i": value, "s": text, "t": value} for value, text in ((3, "b"), (-1, "a"), (2, None))]
    table, _ = write(str(tmp_path), [(1, rows, 2), (None, [row], 1)])
    asked = [
        ("count", None),
        ("count", "s"),
        ("min", "i"),
        ("max", "i"),
        ("max", "s"),
        ("min", "t"),
        ("max", "p"),
    ]
    answer = answer_aggregate(table.metadata, select_files(table, []), asked)
    assert answer == [(4, 2, -1, 3, "b", -1, 1)]
