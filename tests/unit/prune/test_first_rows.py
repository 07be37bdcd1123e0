"""LIMIT, the first rows in an order, and aggregates: which files stay, and what the report says."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.predicate import MAX_LISTED_CONTAINERS
from parquetry.predicate.nodes import Compare, Opaque, Predicate
from parquetry.prune.condition import Condition
from parquetry.prune.needed_rows import AggregateFunction, FirstRows, Hindrance, SortKey, WholeAggregate
from parquetry.prune.report.report import Report
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.results.file_order import file_order, order_columns
from parquetry.prune.select import Selection, select_for
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.planning.filters import make_filter
from tests.support.tables.statistics import exact

INT = parse_type("int")
COLUMNS = (
    TableColumn("v", "integer"),
    TableColumn("t", "timestamp"),
    TableColumn("f", "double"),
    TableColumn("c", "char(3)"),
    TableColumn("p", "integer"),
)


def make(files: int = 8, rows: int = 10, without: int | None = None, width: int = 10) -> TableSnapshot:
    """Return a table of files by ascending `v`: file n has values from 10 * n to 10 * n + width - 1.

    Args:
        files: how many.
        rows: of each file, as it is recorded.
        without: the number of a file without statistics, or None.
        width: from the first value of a file to the end of its values.
    """
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    table = metastore.create_table("db", "t", TableMetadata(COLUMNS, ("p",), "parquet", "/lake/db.db/t"))
    transaction = Transaction(table, "append")
    for n in range(files):
        low, high = 10 * n, 10 * n + width - 1
        columns = {
            "v": exact(50, 0, low, high),
            "t": exact(50, 0, low * 10**6, high * 10**6),
            "f": exact(50, 0, float(low), float(high)),
            "c": exact(50, 0, f"{n}", f"{n}z"),
        }
        columns = {} if n == without else columns
        transaction.append((0,), [FileRecord(f"{n}", 1000 - n, rows, 1, columns)])
    return commit(transaction)


def select(table: TableSnapshot, *where: Predicate, **needs: Any) -> Selection:
    """Return the selection of a scan that needs some rows."""
    conditions = tuple(Condition.from_filter(make_filter(node)) for node in where)
    scan = PruningRequest(table, conditions, None, frozenset(("p",)), None)
    return select_for(replace(scan, **needs), about=())


def kept(selection: Selection) -> list[str]:
    """Return the names of the selected files."""
    return [file.file.path for file in selection.files]


def texts(selection: Selection) -> tuple[str, ...]:
    """Return the report's part about files, and its lines about conditions that pruned nothing."""
    line, *notes = str(Report((selection.report,))).split("\n")
    return (line.split(" · ")[1], *(note.strip() for note in notes))


V = {"col": ["v"]}


def number(value: int) -> dict[str, Any]:
    """Return the tree of an int literal."""
    return {"lit": str(value), "type": "int"}


def call(function: str, *args: dict[str, Any], kind: str = "int") -> dict[str, Any]:
    """Return the tree of a function, as the bridge sends it."""
    return {"fn": function, "class": function, "type": kind, "args": list(args)}


def above(value: int) -> Compare:
    """Return the condition `v >= value`."""
    return Compare(">=", "v", value, INT)


def test_a_limit_keeps_the_fewest_files_and_then_the_smallest() -> None:
    """The smallest file of enough rows suffices; else the largest, and the smallest that completes them."""
    table = make()
    found = select(table, first=FirstRows(10))
    assert (kept(found), texts(found)) == (["7"], ("files 1 of 8 (enough rows for LIMIT 10)",))
    assert kept(select(table, first=FirstRows(25))) == ["0", "1", "7"]
    found = select(table, above(35), first=FirstRows(10))
    assert (kept(found), texts(found)[0]) == (["7"], "files 1 of 8 (v >= 35, enough rows for LIMIT 10)")
    assert found.bytes == 993


def test_files_that_may_match_are_kept_where_matching_files_have_too_few_rows() -> None:
    """All files that may match stay, with the reason; a LIMIT of all rows has nothing against it."""
    table = make()
    found = select(table, above(55), first=FirstRows(21))
    assert kept(found) == ["5", "6", "7"]
    assert "not by LIMIT 21: the files with only rows that match have 20 rows" in texts(found)
    found = select(table, Compare("=", "v", 33, INT), first=FirstRows(1))
    assert kept(found) == ["3"]
    assert texts(select(table, first=FirstRows(100))) == ("files 8 of 8",)
    unknown = select(table, Opaque("hash(v) = 3", ("v",), "function on the column"), first=FirstRows(1))
    assert "not by LIMIT 1: no file is known to have only rows that match" in texts(unknown)


@pytest.mark.parametrize(
    ("hindrance", "reason"),
    [
        (Hindrance(unknown=["rand() < 0.5"]), "a row may fail rand() < 0.5, which statistics do not decide"),
        (Hindrance(skipping="ignoreMissingFiles"), "ignoreMissingFiles lets readers skip files"),
    ],
)
def test_what_the_planner_cannot_know_keeps_all_files(hindrance: Hindrance, reason: str) -> None:
    """Conditions that the scan lacks, and readers that skip files, are the first reason against it."""
    table = make()
    for first in (FirstRows(3, hindrance=hindrance), FirstRows(3, SortKey("v", "v"), hindrance=hindrance)):
        found = select(table, above(35), first=first)
        assert len(kept(found)) == 5
        assert f"not by {first.text}: {reason}" in texts(found)
    wanted = WholeAggregate([AggregateFunction("count", None)], hindrance)
    found = select(table, above(35), aggregate=wanted)
    assert (found.answer, len(kept(found))) == (None, 5)


@pytest.mark.parametrize("files", [8, MAX_LISTED_CONTAINERS + 8])
def test_files_after_the_first_rows_of_an_order_are_left_out(files: int) -> None:
    """The bound is the value that enough rows are certain to reach, for few files and for many."""
    table = make(files)
    last = files - 1
    found = select(table, first=FirstRows(15, SortKey("v", "v", descending=True)))
    assert kept(found) == [f"{last - 1}", f"{last}"]
    assert texts(found) == (f"files 2 of {files} (15 greatest of v, from {10 * last - 10})",)
    found = select(table, above(35), first=FirstRows(5, SortKey("v", "v")))
    assert kept(found) == ["3", "4"]
    assert texts(found)[0] == f"files 2 of {files} (v >= 35, 5 least of v, up to 49)"
    found = select(table, first=FirstRows(1, SortKey("t", "t")))
    assert texts(found)[0] == f"files 1 of {files} (1 least of t, up to TIMESTAMP '1970-01-01 00:00:09 UTC')"


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (SortKey("f", "f"), "f may be NaN, which statistics leave out"),
        (SortKey(None, "hash(v)"), "statistics say nothing of the order of hash(v)"),
        (SortKey(None, "array(v)", tree=call("ARRAY", V)), "statistics say nothing of the order of array(v)"),
        (SortKey("c", "c"), "column c is sorted without its blanks"),
    ],
)
def test_orders_that_bounds_do_not_know_keep_all_files(key: SortKey, reason: str) -> None:
    """A float may be NaN, unknown functions have no bounds, and bounds of chars are of padded texts."""
    found = select(make(), first=FirstRows(3, key))
    assert kept(found) == list("01234567")
    assert texts(found) == ("files 8 of 8", f"not by ORDER BY {key.text} LIMIT 3: {reason}")
    if key.column == "c":
        assert kept(select(make(), first=FirstRows(3, SortKey("c", "c", padded=True)))) == ["0"]


def test_ties_are_kept_if_another_key_decides_among_them() -> None:
    """All files share the value of `p`: one suffices for it alone, all are needed if another key follows."""
    table = make()
    key = SortKey("p", "p")
    assert len(kept(select(table, first=FirstRows(3, key)))) == 1
    found = select(table, first=FirstRows(3, key, ties=True))
    assert texts(found) == (
        "files 8 of 8",
        "not by ORDER BY p LIMIT 3: every file may have one of these rows",
    )


def test_an_aggregate_leaves_out_the_files_whose_part_is_known() -> None:
    """The part of files whose rows all match is known; a file with no better value is not read either."""
    table = make()
    count = AggregateFunction("count", None)
    both = WholeAggregate([count, AggregateFunction("max", "v")])
    found = select(table, above(35), aggregate=both)
    assert (found.answer, kept(found)) == ((40, 79), ["3"])
    assert texts(found)[0] == "files 1 of 8 (v >= 35, count(*), max(v) in 4 from the metastore)"
    found = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("max", "v")]))
    assert (found.answer, kept(found)) == ((79,), [])
    found = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("min", "v")]))
    assert (found.answer, kept(found)) == ((40,), ["3"])
    found = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("max", "f")]))
    assert (found.answer, len(kept(found))) == (None, 5)


@pytest.mark.parametrize(
    ("text", "tree", "descending", "where", "names", "step"),
    [
        ("v + 1", call("+", V, number(1)), True, [], ["7"], "3 greatest of v + 1, from 71"),
        ("- v", call("UNARYMINUS", V), False, [], ["7"], "3 least of - v, up to -70"),
        ("5 - v", call("-", number(5), V), True, [], ["0"], "3 greatest of 5 - v, from -4"),
        ("abs(v)", call("ABS", V), False, [], ["0"], "3 least of abs(v), up to 9"),
        ("coalesce(v, 100)", call("COALESCE", V, number(100)), True, [], ["7"], "from 70"),
        ("v * 2", call("*", V, number(2)), False, [above(35)], ["3", "4"], "3 least of v * 2, up to 98"),
        ("v + f", call("+", V, {"col": ["f"]}, kind="double"), False, [], list("01234567"), None),
    ],
)
def test_an_expression_has_the_bounds_that_follow_from_its_columns(
    text: str,
    tree: dict[str, Any],
    descending: bool,
    where: list[Predicate],
    names: list[str],
    step: str | None,
) -> None:
    """A key that is a function of columns prunes, too; a float may be NaN wherever one of its columns may."""
    found = select(make(), *where, first=FirstRows(3, SortKey(None, text, descending, tree=tree)))
    assert kept(found) == names
    assert step is None or texts(found)[0].endswith(f"{step})")
    assert found.threshold is None


def test_an_expression_that_may_fail_keeps_its_file() -> None:
    """A file with a number that cannot be added is always read, and the others prune each other."""
    tree = call("+", V, number(2**31 - 1 - 72))
    found = select(make(), first=FirstRows(3, SortKey(None, "v + 2147483575", tree=tree)))
    assert kept(found) == ["0", "7"]


def test_floats_prune_where_no_row_can_be_nan() -> None:
    """NaN is the greatest: bounds order files where conditions exclude it, or from the least value on."""
    table, double = make(), parse_type("double")
    greatest, least = SortKey("f", "f", descending=True), SortKey("f", "f")
    without_nan = Compare("<", "f", 1000.0, double)
    assert order_of(table, greatest, without_nan) == {f"{n}": 7 - n for n in range(8)}
    assert order_of(table, greatest, Compare(">", "f", -5.0, double)) is None
    assert order_of(table, least) == {f"{n}": n for n in range(8)}
    number = SortKey(None, "double(v)", descending=True, tree=call("CAST", V, kind="double"))
    assert kept(select(table, first=FirstRows(3, number))) == ["7"]


@pytest.mark.parametrize(
    ("key", "count", "names", "reason"),
    [
        (SortKey("v", "v"), 2, ["0"], None),
        (SortKey("v", "v"), 3, ["0", "1"], None),
        (SortKey("v", "v", descending=True), 5, ["5", "6", "7"], None),
        (
            SortKey("v", "v"),
            17,
            list("01234567"),
            "only 16 distinct values are known to match and to have bounds",
        ),
        (SortKey("c", "c", padded=True), 2, ["0", "1"], None),
        (SortKey("p", "p"), 1, list("01234567"), "every file may have one of these rows"),
    ],
)
def test_distinct_values_are_counted_by_bounds(
    key: SortKey, count: int, names: list[str], reason: str | None
) -> None:
    """A file promises the values of its exact bounds, or one value; all rows with these values are kept."""
    found = select(make(), first=FirstRows(count, key, ties=True, distinct=True))
    assert kept(found) == names
    assert reason is None or f"not by {key_text(key, count)}: {reason}" in texts(found)


def key_text(key: SortKey, count: int) -> str:
    """Return the text of a LIMIT."""
    return FirstRows(count, key).text


def test_readers_get_the_threshold_where_it_holds_for_all_wanted_rows() -> None:
    """The last wanted row's bound is a condition on a column, unless NULL may be among the first rows."""
    table = make()
    found = select(table, first=FirstRows(15, SortKey("v", "v", descending=True)))
    assert str(found.threshold) == "v >= 60"
    assert str(select(table, first=FirstRows(3, SortKey("v", "v"))).threshold) == "v <= 9"
    assert select(table, first=FirstRows(81, SortKey("v", "v"))).threshold is None
    assert select(table, first=FirstRows(3)).threshold is None


@pytest.mark.parametrize(
    ("call", "where", "reason"),
    [
        (("max", "f"), above(35), "statistics for type double are not exact"),
        (("count", None), Compare("=", "v", 33, INT), "no file is known to have only rows that match"),
        (("min", "c"), above(35), "statistics for type char(3) are not exact"),
    ],
)
def test_an_aggregate_says_why_the_metastore_has_no_part_of_it(
    call: tuple[Any, str | None], where: Predicate, reason: str
) -> None:
    """Where all files are read, the report gives the first reason, and no file is left out."""
    wanted = WholeAggregate([AggregateFunction(*call)], explained=True)
    found = select(make(), where, aggregate=wanted)
    assert found.answer is None
    assert f"not by {wanted.text}: {reason}" in texts(found)


def test_a_question_for_the_reason_leaves_no_file_out() -> None:
    """The bridge counts on all files if an earlier question had no answer."""
    wanted = WholeAggregate([AggregateFunction("count", None)], explained=True)
    assert len(kept(select(make(), above(35), aggregate=wanted))) == 5


def test_a_limit_reads_files_first_that_have_most_rows_that_match() -> None:
    """Files that match fully come first, and then the files with most matching rows by their bounds."""
    order = order_of(make(), None, above(35), count=1000)
    assert order == {"3": 1, "4": 0, "5": 0, "6": 0, "7": 0}
    order = order_of(make(), None, Compare("<", "v", 12, INT), Compare("!=", "v", 5, INT), count=1000)
    assert order == {"0": 1, "1": 0}


def order_of(
    table: TableSnapshot, key: SortKey | None, *where: Predicate, count: int = 10
) -> dict[str, int] | None:
    """Return the rank of each file, or None if there is no order."""
    conditions = tuple(Condition.from_filter(make_filter(node)) for node in where)
    first = FirstRows(count, key)
    scan = PruningRequest(table, conditions, None, frozenset(("p",)), None, first=first)
    selection = select_for(scan, about=order_columns(scan))
    order = file_order(scan, Remaining(selection.partitions, certain=selection.certain), selection.block)
    return None if order is None else dict(zip(kept(selection), order.ranks.tolist(), strict=True))


@pytest.mark.parametrize(
    "key", [SortKey(name, name, descending) for name in "vtf" for descending in (False, True)]
)
def test_files_are_read_in_an_order_only_where_a_third_is_expected_to_suffice(key: SortKey) -> None:
    """Each file has ten rows. In wide files they may be anywhere, so that all files are needed."""
    without_nan = Compare("<", "f", 1e9, parse_type("double"))
    wanted = {10: True, 40: True, 41: False}
    assert {
        count: order_of(make(12), key, without_nan, count=count) is not None for count in wanted
    } == wanted
    wanted = {5: True, 6: False}
    assert {
        count: order_of(make(12, width=200), key, without_nan, count=count) is not None for count in wanted
    } == wanted
    undecided = Opaque("hash(v) = 3", ("v",), "function on the column")
    assert order_of(make(12), key, without_nan, undecided, count=4) is not None
    assert order_of(make(12), key, without_nan, undecided, count=5) is None


@pytest.mark.parametrize("descending", [False, True])
def test_rows_that_a_filter_may_drop_do_not_count_for_an_order(descending: bool) -> None:
    """Beside a filter that statistics do not decide, no file's rows are certain, so no file is left out."""
    table, key = make(), SortKey("v", "v", descending)
    undecided = Opaque("hash(v) = 3", ("v",), "function on the column")
    found = select(table, undecided, first=FirstRows(3, key))
    assert kept(found) == list("01234567")
    reason = "only 0 rows are known to match and to have bounds"
    assert f"not by {FirstRows(3, key).text}: {reason}" in texts(found)
    # the nearest file may have no row that matches, so the next one counts
    near = Compare("!=", "v", 75 if descending else 5, INT)
    names = ["6", "7"] if descending else ["0", "1"]
    assert kept(select(table, near, first=FirstRows(3, key))) == names


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("distinct", [False, True])
def test_a_file_without_statistics_may_have_any_first_row(descending: bool, distinct: bool) -> None:
    """Such a file is always read, proves nothing, and is read first where files are read in order."""
    table, key = make(without=4), SortKey("v", "v", descending)
    nearest = "7" if descending else "0"
    found = select(table, first=FirstRows(2, key, ties=distinct, distinct=distinct))
    assert kept(found) == sorted(["4", nearest])
    order = order_of(table, key, Opaque("hash(v) = 3", ("v",), "function on the column"), count=1)
    assert order is not None
    assert (order["4"], order[nearest]) == (0, 1)
    assert kept(select(table, above(35), first=FirstRows(30))) == ["5", "6", "7"]
    assert kept(select(table, above(45), first=FirstRows(31))) == ["4", "5", "6", "7"]
    tree = call("+", V, number(1))
    assert "4" in kept(select(table, first=FirstRows(2, SortKey(None, "v + 1", descending, tree=tree))))
    counted = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("count", None)]))
    assert (counted.answer, kept(counted)) == ((30,), ["3", "4"])
