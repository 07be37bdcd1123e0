"""The selection of partitions and files, and its report."""

import pytest

from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.nodes import And, BooleanConstant, Compare, In, IsNull, Not, Opaque, Or, TupleIn
from parquetry.prune.metadata_aggregates import answer_aggregate
from parquetry.prune.partition_plans import on_partitions, partition_plan
from parquetry.prune.report.scan import IneffectiveCondition
from parquetry.prune.select import exact_conditions, select_files
from parquetry.prune.whole_partitions import whole_partitions
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.planning.filters import make_filter, make_filters
from tests.support.tables.statistics import exact

INT, STRING = parse_type("int"), parse_type("string")
HASHED = Opaque("hash(v) = 3", ("v",), "function on the column")
COLUMNS = (
    TableColumn("v", "integer"),
    TableColumn("s", "string"),
    TableColumn("f", "double"),
    TableColumn("d", "decimal(10,4)"),
    TableColumn("a", {"type": "array", "elementType": "integer", "containsNull": True}),
    TableColumn("c", "char(3)"),
    TableColumn("p", "integer"),
    TableColumn("q", "string"),
)


def compare(name, op, value, kind=INT):
    return Compare(op, name, value, kind)


def make(partition_by=("p", "q"), columns=COLUMNS):
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(columns, partition_by, "parquet", "/lake/db.db/t")
    return metastore.create_table("db", "t", metadata)


def fill(snapshot, partitions):
    transaction = Transaction(snapshot, "append")
    for values, files in partitions.items():
        transaction.append(values, files)
    return commit(transaction)


def file(name, low=None, high=None, nulls=0, rows=10, size=1000, **columns):
    known = {"v": exact(100, nulls, low, high)} if low is not None else {}
    known |= {"s": exact(300, 0), **columns}
    return FileRecord(name, size, rows, 1, known)


@pytest.fixture
def table():
    return fill(
        make(),
        {
            (1, "x"): [file("a", 0, 9), file("b", 10, 19)],
            (1, None): [file("c", 0, 9)],
            (2, "x"): [file("d", 5, 5), FileRecord("bare", 1000)],
            (None, "y"): [file("e", 100, 200)],
        },
    )


def names(selection):
    return [selected.file.path for selected in selection.files]


def step(selection, name):
    found = selection.report.step(name)
    return (found.kept, found.of, found.by, found.not_by)


def test_without_conditions_everything_is_kept(table):
    """Files come by partition in key order, with partition values and absolute paths.

    The selection is certain, so no row needs to be evaluated.
    """
    selection = select_files(table, [])
    assert names(selection) == ["e", "c", "a", "b", "d", "bare"]
    assert [selected.path for selected in selection.files][:3] == [
        "/lake/db.db/t/p=__HIVE_DEFAULT_PARTITION__/q=y/e",
        "/lake/db.db/t/p=1/q=__HIVE_DEFAULT_PARTITION__/c",
        "/lake/db.db/t/p=1/q=x/a",
    ]
    assert [selected.values for selected in selection.files][1:3] == [(1, None), (1, "x")]
    assert step(selection, "partitions") == (4, 4, (), ())
    assert step(selection, "files") == (6, 6, (), ())
    assert step(selection, "bytes") == (6000, 6000, (), ())
    assert (selection.exact, selection.certain, selection.report.table) == ((), True, "db.t")


def test_partition_conditions_select_partitions_and_need_no_evaluation(table):
    """Both conditions are exact and the selection is certain.

    The report has the caller's name of the table.
    """
    selection = select_files(
        table, make_filters([compare("p", "=", 1), compare("q", "=", "x", STRING)]), table="lake.db.t"
    )
    assert names(selection) == ["a", "b"]
    assert (selection.exact, selection.certain) == ((0, 1), True)
    assert step(selection, "partitions") == (1, 4, ("p = 1", "q = 'x'"), ())
    assert step(selection, "files") == (2, 2, (), ())
    assert selection.report.table == "lake.db.t"


def test_data_conditions_select_files_and_are_left_to_spark(table):
    """No condition on a data column is exact.

    A condition that pruned files counts as used, even if it pruned no partition.
    """
    selection = select_files(table, make_filters([compare("v", ">=", 10)]))
    assert names(selection) == ["e", "b", "bare"]
    assert (selection.exact, selection.certain) == ((), False)
    assert step(selection, "partitions") == (
        4,
        4,
        (),
        (IneffectiveCondition("v >= 10", "column v is not a partition column"),),
    )
    assert step(selection, "files") == (3, 6, ("v >= 10",), ())
    assert selection.report.unused() == ()


def test_a_part_that_is_not_understood_is_the_reason_of_the_whole(table):
    """An OR with an opaque branch prunes no file, and the report has the reason."""
    either = Or((compare("f", ">", 1.0, parse_type("double")), HASHED))
    selection = select_files(table, make_filters([either]))
    assert step(selection, "files")[2:] == (
        (),
        (IneffectiveCondition(str(either), "function on the column"),),
    )
    assert selection.exact == ()


def test_an_unpartitioned_table_may_have_no_files():
    """Before the first commit there is no partition, and nothing to select."""
    assert select_files(make(()), make_filters([compare("v", "<", 5)])).files == ()


def test_the_contrary_of_what_is_not_understood_is_not_understood(table):
    """NOT of an opaque condition excludes nothing; beside another by AND, the other one does."""
    upper = Opaque("upper(q) = 'X'", ("q",), "function on the column")
    selection = select_files(table, make_filters([Not(upper), And((Not(upper), compare("p", "=", 1)))]))
    assert step(selection, "partitions")[3] == (
        IneffectiveCondition("NOT (upper(q) = 'X')", "function on the column"),
    )
    assert step(selection, "partitions")[:2] == (2, 4)
    assert (selection.exact, selection.certain) == ((), False)


def test_a_partition_condition_that_holds_everywhere_is_exact_and_served_nothing(table):
    """Spark need not evaluate it, and the report says that every partition may hold a match."""
    selection = select_files(table, make_filters([Or((IsNull("p"), compare("p", ">", -5)))]))
    assert (selection.exact, selection.certain) == ((0,), True)
    (note,) = step(selection, "partitions")[3]
    assert note.reason == "every partition may hold a match"


def test_a_report_that_somebody_looks_at_names_what_left_something_out(table):
    """With `apart`, a condition that every partition satisfies is named as ineffective.

    Without it, the plan names the condition among the causes.
    """
    conditions = make_filters([Not(IsNull("q")), compare("p", ">", -5), compare("p", "=", 1)])
    everywhere = make_filters([Or((IsNull("p"), compare("p", ">", -5))), compare("p", "=", 1)])
    assert step(select_files(table, everywhere), "partitions")[2] == ("p IS NULL OR p > -5", "p = 1")
    kept, of, by, not_by = step(select_files(table, everywhere, apart=True), "partitions")
    assert (kept, of, by) == (2, 4, ("p = 1",))
    assert not_by == (IneffectiveCondition("p IS NULL OR p > -5", "every partition may hold a match"),)
    # each of these excludes a partition by itself, though the last one alone would have been enough
    assert step(select_files(table, conditions, apart=True), "partitions")[2] == (
        "q IS NOT NULL",
        "p > -5",
        "p = 1",
    )


def test_a_condition_over_both_kinds_of_columns_prunes_partitions_and_files(table):
    """Its part about partition columns cuts partitions, the whole with their values cuts files."""
    either = Or(
        (And((compare("p", "=", 1), compare("v", "<", 5))), And((compare("p", "=", 2), compare("v", ">", 5))))
    )
    selection = select_files(table, make_filters([either]))
    assert names(selection) == ["c", "a", "bare"]
    assert step(selection, "partitions")[:3] == (3, 4, (str(either),))
    assert step(selection, "files")[:3] == (3, 5, (str(either),))
    assert selection.exact == ()
    half = Or((compare("p", "=", 1), compare("v", "=", 5)))
    assert names(select_files(table, make_filters([half]))) == ["c", "a", "b", "d", "bare"]


def test_tuples_over_both_kinds_of_columns_prune_partitions(table):
    """A row of an IN that no partition agrees with matches no row, and neither does a row with NULL.

    NOT IN keeps all files.
    """
    pairs = TupleIn(("p", "v"), ((1, 15), (7, 5), (None, 150), (2, None)), (INT, INT))
    selection = select_files(table, make_filters([pairs]))
    assert names(selection) == ["b"]
    assert step(selection, "partitions")[:2] == (2, 4)
    assert names(select_files(table, make_filters([Not(pairs)]))) == ["e", "c", "a", "b", "d", "bare"]


def test_contradictions_and_constants_select_nothing(table):
    """FALSE, NULL and an empty IN leave no partition; TRUE leaves all."""
    for conditions in (
        [compare("p", "=", 1), compare("p", "=", 2)],
        [BooleanConstant(False)],
        [BooleanConstant(None)],
        [In("p", (), INT)],
    ):
        selection = select_files(table, make_filters(conditions))
        assert (selection.files, selection.partitions) == ((), ())
        assert step(selection, "partitions")[:2] == (0, 4)
        assert step(selection, "files") == (0, 0, (), ())
    assert len(select_files(table, make_filters([BooleanConstant(True)])).files) == 6


def test_files_with_known_matches_make_the_selection_certain(table):
    """Where the bounds of each file left prove the condition, every row of it matches."""
    selection = select_files(table, make_filters([compare("p", "=", 1), compare("v", ">=", 10)]))
    assert (names(selection), selection.certain, selection.exact) == (["b"], True, (0,))


def test_bytes_are_those_of_the_columns_read(table):
    """The report has the bytes of the columns that are read, in the table's order, without partition columns.

    A file or a column of unknown size counts whole.
    """
    one = [compare("p", "=", 1)]
    assert step(select_files(table, make_filters(one), ["V", "p"]), "bytes")[:3] == (300, 6000, ("v",))
    assert step(select_files(table, make_filters(one), ["p"]), "bytes")[:3] == (0, 6000, ())
    assert step(select_files(table, make_filters(one), ["v", "f", "s"]), "bytes")[:3] == (
        1200,
        6000,
        ("v", "s", "f"),
    )
    everything = [column.name for column in COLUMNS]
    assert step(select_files(table, make_filters(one), everything), "bytes")[:3] == (3000, 6000, ())
    # One file has no statistics: it is counted whole.
    assert step(select_files(table, make_filters([compare("p", "=", 2)]), ["v"]), "bytes")[:3] == (
        1100,
        6000,
        ("v",),
    )
    unknown = fill(make(), {(1, "x"): [file("a", 0, 9, f=exact(None, 0, 1.0, 2.0))]})
    assert step(select_files(unknown, [], ["f"]), "bytes")[:3] == (1000, 1000, ())


def test_a_long_condition_is_clipped_in_the_report(table):
    """The report clips a condition at 300 characters; the last one is an ellipsis."""
    selection = select_files(table, make_filters([In("p", tuple(range(1, 100_000, 2)), INT)]))
    (text,) = step(selection, "partitions")[2]
    assert len(text) == 300
    assert text.startswith("p IN (1, 3, 5")
    assert text.endswith("…")


def test_absolute_files_and_partitions_elsewhere_keep_their_paths():
    """A relative path is below the partition's own place, an absolute one or a URI is taken as it is."""
    snapshot = make()
    transaction = Transaction(snapshot, "append")
    transaction.append(
        (1, "x"), [FileRecord("a", 1), FileRecord("s3://b/f", 1), FileRecord("/o/f", 1)], "/else/where"
    )
    selection = select_files(commit(transaction), [])
    assert [selected.path for selected in selection.files] == ["/else/where/a", "s3://b/f", "/o/f"]


def test_exactness_is_known_without_reading(table):
    """Whether a condition is exact depends on its columns and its form, not on the files."""
    conditions = [
        compare("p", "=", 1),
        compare("v", "=", 1),
        Opaque("hash(p) = 1", ("p",), "function on the column"),
        Or((compare("p", "=", 1), compare("q", "=", "x", STRING))),
        And((compare("p", "=", 1), HASHED)),
    ]
    assert exact_conditions(table.metadata, make_filters(conditions)) == (0, 3)
    assert select_files(table, make_filters(conditions)).exact == (0, 3)
    assert partition_plan(table, make_filters([HASHED])) is None
    assert partition_plan(make(()), make_filters([compare("v", "=", 1)])) is None


def test_the_part_about_partitions_is_implied_by_the_whole():
    """AND gives up a branch, OR cannot, and what NOT stands before is left alone."""
    names_of = frozenset(("p", "q"))
    p, v, q = compare("p", "=", 1), compare("v", "=", 1), compare("q", "=", "x", STRING)

    def part(node, names=names_of):
        found = on_partitions(make_filter(node), names)
        return None if found is None else found.node

    assert part(And((p, v, q))) == And((p, q))
    assert part(Or((And((p, v)), q))) == Or((p, q))
    assert part(Or((v, q))) is None
    assert part(v) is None
    assert part(Not(And((p, v)))) is None
    tuples = TupleIn(("v", "p", "q"), ((1, 2, "a"), (3, 2, "a"), (4, None, "b")), (INT, INT, STRING))
    assert part(tuples) == TupleIn(("p", "q"), ((2, "a"),), (INT, STRING))
    assert part(tuples, frozenset("p")) == compare("p", "=", 2)
    assert part(tuples, frozenset("z")) is None
    assert part(tuples, frozenset(("p", "q", "v"))) == tuples


def whole(table, *predicates):
    found = whole_partitions(table, make_filters(predicates))
    return found if isinstance(found, str) else [partition.values for partition in found]


def test_whole_partitions_by_their_values(table):
    """A condition on partition columns, or none, takes whole partitions, and may take none."""
    assert whole(table, compare("p", "=", 1)) == [(1, None), (1, "x")]
    assert whole(table) == [(None, "y"), (1, None), (1, "x"), (2, "x")]
    assert whole(table, compare("p", "=", 77)) == []


def test_whole_partitions_by_their_files(table):
    """A data condition does if each file of a partition has all of its rows within it, or none."""
    assert whole(table, compare("p", "=", 1), compare("v", "<", 10), IsNull("q")) == [(1, None)]
    assert whole(table, compare("p", "=", 1), compare("v", ">", 500)) == []
    assert whole(table, compare("p", "=", 1), compare("v", "<", 20)) == [(1, None), (1, "x")]


def test_rows_that_would_have_to_be_looked_at_are_the_reason(table):
    """Instead of partitions comes a sentence with the condition, the partition, and why it is not known."""
    assert whole(table, compare("p", "=", 1), compare("v", "<", 10)) == (
        "'p = 1 AND v < 10' may hold for some rows of p=1/q=x and not for others"
    )
    assert "(hash(v) = 3: function on the column)" in whole(table, HASHED)
    # NULLs fail the condition.
    assert "some rows" in whole(fill(make(), {(1, "x"): [file("a", 0, 9, nulls=1)]}), compare("v", "<", 10))


def test_whole_partitions_and_empty_ones():
    """A partition without rows is selected by its values alone.

    A table without partition columns is one partition.
    """
    table = fill(make(), {(1, "x"): [], (2, "x"): [file("a", 0, 9), FileRecord("none", 10, 0)]})
    assert whole(table, compare("p", "=", 1)) == [(1, "x")]
    assert whole(table, compare("v", "<", 10)) == [(2, "x")]
    unpartitioned = fill(make(()), {(): [file("a", 0, 9)]})
    assert whole(unpartitioned, compare("v", "<", 10)) == [()]
    assert "some rows" in whole(unpartitioned, compare("v", "<", 5))


MANY = [(number, "xyz"[number % 3] if number % 7 else None) for number in range(250)]
"""Values of more partitions than are judged in lists, or in one batch of a DELETE."""


def numbered(number):
    """Return three files of a partition: one from its number on, one of NULLs, one without statistics."""
    text = {"s": exact(9, 1, f"a{number:03}", f"a{number + 5:03}")}
    floats = {"f": exact(9, 0, float(number), float(number + 1))}
    return [
        file("a", number, number + 9, **text, **floats),
        FileRecord("null", 9, 5, 1, {"v": exact(9, 5), "s": exact(9, 0, "b", None)}),
        FileRecord("unknown", 9, None),
    ]


@pytest.mark.parametrize(
    "condition",
    [
        compare("v", ">", 100),
        And((compare("p", ">", 7), In("v", tuple(range(0, 300, 11)), INT))),
        Or((compare("q", "=", "x", STRING), compare("v", "<", 50))),
        Or((IsNull("q"), IsNull("v"))),
        And((Not(IsNull("v")), compare("s", ">=", "a100", STRING))),
        Or((compare("p", "=", 3), compare("f", "<=", 17.0, parse_type("double")))),
        TupleIn(("q", "v"), (("x", 30), ("y", 61), (None, 5)), (STRING, INT)),
        And((HASHED, Or((compare("v", "<", 50), compare("p", "=", 9))))),
    ],
    ids=str,
)
def test_many_files_are_judged_as_each_is_alone(condition):
    """250 partitions of three files beside 250 tables of one: the same files, and the same certainty."""
    together = select_files(fill(make(), {row: numbered(row[0]) for row in MANY}), make_filters([condition]))
    alone = [select_files(fill(make(), {row: numbered(row[0])}), make_filters([condition])) for row in MANY]
    assert [(each.values, each.file) for each in together.files] == [
        (each.values, each.file) for selection in alone for each in selection.files
    ]
    assert 0 < len(together.files) < 750
    assert together.certain == all(selection.certain for selection in alone)


def test_whole_partitions_among_many():
    """Values decide some, files decide others; the first that neither decides is the reason."""
    table = fill(make(), {row: [file("a", row[0], row[0])] for row in MANY})
    either = Or((compare("p", "<", 5), compare("v", ">=", 240)))
    assert [number for number, _ in whole(table, either)] == [*range(5), *range(240, 250)]
    mixed = fill(make(), {row: [file("a", row[0], row[0] + 1)] for row in MANY})
    reason = whole(mixed, Or((compare("p", "<", 5), compare("v", "<", 202))))
    assert reason == "'(p < 5 OR v < 202)' may hold for some rows of p=201/q=x and not for others"


def answer(table, aggregates, group_by=(), predicates=()):
    return answer_aggregate(
        table.metadata, select_files(table, make_filters(predicates)), aggregates, group_by
    )


@pytest.fixture
def counted():
    text = {"s": exact(9, 1, "a", "c")}
    return fill(
        make(),
        {
            (1, "x"): [file("a", 0, 9, **text), file("b", 10, 19, nulls=3, **text)],
            (1, None): [file("c", -5, 3, **text), file("none", rows=0)],
            (2, "x"): [],
            (3, "z"): [file("none", rows=0)],
            (None, "y"): [FileRecord("old", 9, 7, 1, {"s": exact(9, 7)})],
        },
    )


def test_counts_and_extremes_come_from_the_metastore(counted):
    """Statistics answer about data columns, and keys about partition columns.

    The counts of columns leave NULL out.
    """
    asked = [("count", None), ("count", "v"), ("min", "v"), ("max", "V"), ("min", "s"), ("count", "s")]
    assert answer(counted, asked) == [(37, 27, -5, 19, "a", 27)]
    assert answer(counted, asked[:4], predicates=[IsNull("p")]) == [(7, 0, None, None)]
    assert answer(counted, [("max", "p"), ("min", "p"), ("count", "p"), ("min", "q")]) == [(1, 1, 30, "x")]
    assert answer(counted, [("count_distinct", "p"), ("count_distinct", "q")]) == [(1, 2)]
    assert answer(counted, [("count_distinct", "v")]) is None


def test_groups_are_partitions_with_rows(counted):
    """Groups come in the order of their values, with columns as requested; empty partitions make no group."""
    assert answer(counted, [("count", None), ("max", "v")], ["p"]) == [(None, 7, None), (1, 30, 19)]
    assert answer(counted, [("count", None)], ["q", "p"]) == [("y", None, 7), (None, 1, 10), ("x", 1, 20)]
    assert answer(counted, [], ["p"]) == [(None,), (1,)]


def test_nothing_selected_is_one_row_or_no_group(counted):
    """As in SQL, a count without rows is 0, and GROUP BY without rows gives no group."""
    nothing = [compare("p", "=", 99)]
    assert answer(counted, [("count", None), ("max", "v"), ("count", "v")], (), nothing) == [(0, None, 0)]
    assert answer(counted, [("count", None)], ["p"], nothing) == []


def test_conditions_must_be_decided(counted):
    """Where some row of a file might fail the condition there is no answer, and Spark reads the file."""
    count = [("count", None)]
    assert answer(counted, count, (), [compare("p", "=", 1)]) == [(30,)]
    assert answer(counted, count, (), [compare("v", "<", 5)]) is None
    assert answer(counted, count, (), [compare("v", ">", 100)]) == [(0,)]
    assert answer(counted, count, (), [HASHED]) is None
    assert answer(counted, count, (), [Opaque("hash(p) = 1", ("p",), "function")]) is None
    # Every file has all of its rows below, or none.
    assert answer(counted, count, (), [compare("p", "=", 1), compare("v", "<", 10)]) == [(20,)]


@pytest.mark.parametrize(
    ("statistics", "aggregate"),
    [
        ({}, ("min", "a")),
        ({}, ("count", "a")),
        ({"f": exact(9, 0, 1.0, 2.0)}, ("max", "f")),
        ({"c": exact(9, 0, "a", "b")}, ("max", "c")),
        ({"s": exact(9, 0, "a", "b", True, False)}, ("max", "s")),
        ({"s": exact(9, 0, "a", "b", False, True)}, ("min", "s")),
        ({"s": exact(9, 0)}, ("min", "s")),
        ({"s": exact(9, None, "a", "b")}, ("count", "s")),
        ({}, ("sum", "v")),
        ({}, ("min", None)),
    ],
)
def test_what_is_not_exact_is_not_answered(statistics, aggregate):
    """Inexact statistics give no answer, and neither do unsupported functions.

    Inexact are clipped bounds, bounds that are not values, and unknown counts of NULL.
    """
    table = fill(make(), {(1, "x"): [file("a", 0, 9, **statistics)]})
    assert answer(table, [("count", None)]) == [(10,)]
    assert answer(table, [("count", None), aggregate]) is None


def test_the_other_bound_may_be_exact():
    """A maximum that was cut does not hinder the minimum."""
    table = fill(make(), {(1, "x"): [file("a", 0, 9, s=exact(9, 0, "a", "b", True, False))]})
    assert answer(table, [("min", "s")]) == [("a",)]


def test_files_of_unknown_rows_are_not_answered():
    """One such file among those selected is enough; a condition that leaves it out helps."""
    table = fill(make(), {(1, "x"): [FileRecord("a", 9)], (2, "x"): [file("a", 0, 9)]})
    assert answer(table, [("count", None)]) is None
    assert answer(table, [("count", None)], (), [compare("p", "=", 2)]) == [(10,)]


def test_groups_by_data_columns_or_floating_point_are_not_answered():
    """A data column has no groups in the metastore, and keys know one zero and one NaN only."""
    table = fill(make(("f",)), {(1.0,): [file("a", 0, 9)]})
    assert answer(table, [("count", None)], ["v"]) is None
    assert answer(table, [("count", None)], ["f"]) is None
    assert answer(table, [("max", "f")]) is None
    assert answer(table, [("count", "f")]) == [(10,)]


def test_decimals_take_the_scale_the_column_has_today():
    """`1.5` in statistics written before the column was widened is `1.5000`."""
    table = fill(make(), {(1, "x"): [file("a", 0, 9, d=exact(9, 0, "1.5", "2"))]})
    assert [str(value) for value in answer(table, [("min", "d"), ("max", "d")])[0]] == ["1.5000", "2.0000"]
