"""The pruning of directories in list-bucketed partitions, and its step in the report."""

import msgspec
import numpy as np
import pytest

from parquetry.layout.cells import REST
from parquetry.metastore import (
    ArrangementSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    SkewMap,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.planner.predicates import conditions
from parquetry.predicate.pruning.knowledge import Bounds
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune import steps
from parquetry.prune.condition import Condition
from parquetry.prune.metadata_aggregates import answer_aggregate
from parquetry.prune.report.report import Report
from parquetry.prune.rules import directory_knowledge as values_of_directories
from parquetry.prune.rules.directory_knowledge import ColumnValues, directory_values
from parquetry.prune.select import Selection, select_files
from parquetry.store.memory import MemoryStore

XY = SkewMap(("x", "y"), ((10, "a"), (20, None), (10, "b")), directories=True)
X = SkewMap(("x",), ((10,), (20,)), directories=True)
COLUMNS = (
    TableColumn("x", "integer"),
    TableColumn("y", "string"),
    TableColumn("v", "integer"),
    TableColumn("p", "integer"),
)


def made(
    maps: dict[int, SkewMap | None], columns: tuple[TableColumn, ...] = COLUMNS, own: SkewMap | None = None
) -> TableSnapshot:
    """Make a table with a file in each directory of each partition, and one file without a known cell.

    The files' names have the partition and the cell.
    """
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(columns, ("p",), "parquet", "/lake/db.db/t", arrangement=ArrangementSpec(own))
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p, skew in maps.items():
        cells = [] if skew is None else [REST, *range(len(skew.cells))]
        files = [FileRecord(f"{p}/{cell}", 100, 5, cell=cell) for cell in cells]
        files.append(FileRecord(f"{p}/unknown", 100, 5))
        transaction.replace((p,), files, arrangement=ArrangementSpec(skew))
    return commit(transaction)


def selected(snapshot: TableSnapshot, *texts: str, **options: list[str]) -> Selection:
    types = {column.name: column.column_type for column in snapshot.metadata.columns}
    return select_files(snapshot, [parse_filter(text, types) for text in texts], **options)


def kept(snapshot: TableSnapshot, *texts: str) -> set[str]:
    """Return the directories that are kept besides the one that always is."""
    return {file.file.path for file in selected(snapshot, *texts).files if "unknown" not in file.file.path}


def test_a_cell_is_kept_for_its_values_and_the_rest_for_all_others() -> None:
    """Conditions on any of the skewed columns prune directories.

    The rest is pruned if only skewed tuples can match.
    """
    table = made({1: XY})
    everything = {"1/-1", "1/0", "1/1", "1/2"}
    for texts, expected in {
        ("x = 10 AND y = 'a'",): {"1/0"},
        ("x = 10", "y = 'a'"): {"1/0"},
        ("x = 10",): {"1/-1", "1/0", "1/2"},
        ("y = 'a'",): {"1/-1", "1/0"},
        ("y IS NULL",): {"1/-1", "1/1"},
        ("x <=> 20 AND y IS NULL",): {"1/1"},
        ("(x, y) IN ((10, 'a'), (10, 'b'))",): {"1/0", "1/2"},
        ("(x, y) IN ((10, 'a'), (10, 'c'))",): {"1/-1", "1/0"},
        ("x = 10 AND y IN ('a', 'b') OR x = 20 AND y IS NULL",): {"1/0", "1/1", "1/2"},
        ("x != 10",): {"1/-1", "1/1"},
        ("NOT (x = 10 AND y = 'a')",): {"1/-1", "1/1", "1/2"},
        ("x NOT IN (10)", "v = 3"): {"1/-1", "1/1"},
        ("x BETWEEN 11 AND 30",): {"1/-1", "1/1"},
        ("y LIKE 'a%'",): {"1/-1", "1/0"},
        ("x = 7",): {"1/-1"},
        ("x = 10 AND y = 'a' OR v = 3",): everything,
        ("v = 3",): everything,
        ("x = 10 AND y = 'a' AND v = 3",): {"1/0"},
        ("x = 10", "x = 20"): set(),
        ("x = 10", "x = 7"): set(),
    }.items():
        assert kept(table, *texts) == expected, texts


def test_each_partition_goes_by_its_own_map() -> None:
    """Conditions may mix columns of all kinds; a partition without a map is one directory, and read."""
    table = made({1: X, 2: SkewMap(("y",), (("a",),), directories=True), 3: None, 4: XY}, own=X)
    selection = selected(table, "x = 10")
    assert str(Report((selection.report,))).split("\n")[0] == (
        "db.t: partitions 4 of 4 · directories 10 of 13 (x = 10) · files 10 of 10 · 1 kB of 1.3 kB"
    )
    assert kept(table, "x = 10 AND p = 1 OR y = 'a' AND p = 2 OR x = 20 AND y IS NULL AND p = 4") == {
        "1/0",
        "2/0",
        "4/1",
    }


def test_the_step_says_why_and_is_counted_like_the_others() -> None:
    """The step has a reason for each condition that prunes no directory.

    A scan of partitions without directories says so, too.
    """
    table = made({1: X, 2: None}, own=X)
    report = selected(table, "x > 0", "v = 3", "x IN (10)").report
    step = report.step("directories")
    assert step is not None
    assert step.to_dict() == {
        "name": "directories",
        "kept": 3,
        "of": 5,
        "by": ["x = 10"],
        "not_by": [{"condition": "x > 0", "reason": "every directory may hold a match"}],
    }
    assert steps.unread(report).step("directories") == step
    assert [
        (each.kept, each.of)
        for p in (2, 3)
        if (each := selected(table, f"p = {p}").report.step("directories"))
    ] == [(1, 1), (0, 0)]
    joined = select_files(
        table, [Condition.from_filter(parse_filter("x = 20", {"x": COLUMNS[0].column_type}), "join")]
    )
    found = joined.report.step("directories")
    assert found is not None
    assert (found.kept, found.of, found.origins) == (3, 5, ("join",))


def test_conditions_that_cells_decide_are_not_asked_of_statistics() -> None:
    """A count needs no statistics of a column if the cells decide the condition.

    The cells do not decide it for the rest.
    """
    table = made({1: X, 2: X})
    transaction = Transaction(table, "replace")
    for p in (1, 2):
        part = table.partition((p,))
        assert part is not None
        transaction.replace(
            (p,), [file for file in part.files if file.cell is not None], arrangement=ArrangementSpec(X)
        )
    table = commit(transaction)

    def count(*texts: str) -> list[tuple[object, ...]] | None:
        selection = selected(table, *texts)
        return answer_aggregate(table.metadata, selection, [("count", None)])

    assert count("x = 10") == [(10,)]
    assert count("x IN (10, 20)", "p = 2") == [(10,)]
    assert count("x = 10", "x > 5") == [(10,)]
    assert count("x = 10", "x IS NULL") == [(0,)]
    assert count("x = 10 AND p = 1 OR x = 20 AND p = 2") == [(10,)]
    assert count("x > 5") is None
    assert count("x = 10", "v = 3") is None
    assert count("x = 7") is None


def test_files_of_a_directory_are_pruned_by_their_statistics() -> None:
    """The step of the files counts only the files of the kept directories."""
    table = made({1: X})
    files = [
        FileRecord(f"{cell}/{low}", 100, 5, columns={"v": ColumnStatistics(10, 0, low, low + 9)}, cell=cell)
        for cell in (REST, 0, 1)
        for low in (0, 10)
    ]
    transaction = Transaction(table, "replace")
    transaction.replace((1,), files, arrangement=ArrangementSpec(X))
    selection = selected(commit(transaction), "x = 20", "v < 5", read=["v"])
    assert [file.file.path for file in selection.files] == ["1/0"]
    assert str(Report((selection.report,))) == (
        "db.t: partitions 1 of 1 · directories 1 of 3 (x = 20) · files 1 of 2 (v < 5) · 10 B of 600 B (column v; these files have 100 B)"
    )


def test_cells_are_of_the_columns_types_by_now_and_go_by_their_names_in_files() -> None:
    """Cells of an int column are compared as bigint, double or decimal after the column's type changed.

    A cell without a meaning in the new type prunes nothing.
    """
    for type_, condition in (
        ("long", "big = 10"),
        ("double", "big = 10.0"),
        ("decimal(12,2)", "big = 10.00"),
    ):
        table = made({1: X, 2: X}, columns=(*COLUMNS[1:], TableColumn("x", "integer")))
        named = tuple(
            msgspec.structs.replace(column, name="big", type=type_, metadata={"parquetry.physical": "x"})
            if column.name == "x"
            else column
            for column in table.metadata.columns
        )
        transaction = Transaction(table, "alter")
        transaction.set_metadata(msgspec.structs.replace(table.metadata, columns=named))
        table = commit(transaction)
        assert kept(table, condition) == {"1/0", "2/0"}
        assert kept(table, condition, "big != 10") == set()
        assert kept(table, condition.replace("=", ">")) == {"1/1", "1/-1", "2/1", "2/-1"}
    days = SkewMap(("t",), ((19_000,), (19_001,)), directories=True)
    table = made({1: days}, columns=(TableColumn("t", "timestamp_ntz"), *COLUMNS[1:]))
    assert kept(table, "t = TIMESTAMP_NTZ '2022-01-08 00:00:00'") == {"1/-1", "1/0", "1/1"}
    chars = SkewMap(("c",), (("a",), ("b  ",)), directories=True)
    table = made({1: chars}, columns=(TableColumn("c", "char(3)"), *COLUMNS[1:]))
    assert kept(table, "c = 'a'") == {"1/0"}


def test_values_that_spark_evaluates_conditions_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tuple of values comes once, even if several partitions have it.

    It has the skewed columns that the condition is about.
    """
    table = made({**dict.fromkeys(range(1, 5), XY), 5: X, 6: None})
    partitions = list(table.partitions())
    conditions = [{"y"}, {"x", "v"}, {"v", "p"}, {"p", "x"}]
    found = directory_values(table, partitions, conditions)
    assert found[:3] == [
        [ColumnValues(("y",), [("a",), (None,), ("b",)])],
        [ColumnValues(("x",), [(10,), (20,)]), ColumnValues(("x",), [(10,), (20,)])],
        [],
    ]
    assert [(each.columns, sorted(each.rows)) for each in found[3]] == [
        (("p", "x"), [(p, x) for p in range(1, 5) for x in (10, 20)]),
        (("p", "x"), [(5, 10), (5, 20)]),
    ]
    monkeypatch.setattr(values_of_directories, "MAX_EVALUATED_ROWS", 5)
    few = directory_values(table, partitions, conditions)
    assert (few[:3], [each.rows for each in few[3]]) == (found[:3], [[(5, 10), (5, 20)]])
    assert directory_values(made({1: None}), partitions, [{"x"}]) == [[]]
    zeros = SkewMap(("f",), ((-0.0,), (1.5,), (float("nan"),)), directories=True)
    floats = made({1: zeros}, columns=(TableColumn("f", "double"), *COLUMNS[1:]))
    ((found_floats,),) = directory_values(floats, list(floats.partitions()), [{"f"}])
    assert repr(found_floats.rows) == "[(1.5,), (nan,)]"


def test_values_for_which_a_condition_fails() -> None:
    """Values that fail a condition prune their directories, and files with no other values.

    NULL in any column is a value of its own.
    """
    table = made({1: XY, 2: X, 3: None})

    def condition(*fails: tuple[list[str], list[list[str | None]]], tree: object = None) -> Condition:
        told = [{"columns": columns, "rows": rows} for columns, rows in fails]
        names = sorted({name for columns, _ in fails for name in columns})
        asked = {"fn": "DIRECTORY_PREDICATE", "sql": "f(x)", "columns": names, "tree": tree, "fails": told}
        return conditions(table, [asked])[0]

    def left(*asked: Condition) -> set[str]:
        files = select_files(table, asked).files
        return {file.file.path for file in files if "unknown" not in file.file.path}

    everything = {"1/-1", "1/0", "1/1", "1/2", "2/-1", "2/0", "2/1"}
    assert left(condition((["x", "y"], [["10", "a"], ["20", None]]))) == everything - {"1/0", "1/1"}
    assert left(condition((["x"], [["10"]]))) == everything - {"1/0", "1/2", "2/0"}
    assert left(condition((["y"], [[None]]))) == everything - {"1/1"}
    assert left(condition((["x", "p"], [["20", "1"]]))) == everything - {"1/1"}
    assert left(condition((["x", "y"], [["10", "b"]]), (["x"], [["20"]]))) == everything - {
        "1/1",
        "1/2",
        "2/1",
    }
    tree = {"fn": "=", "args": [{"fn": "F", "args": [{"col": ["x"]}]}, {"lit": "1", "type": "int"}]}
    found = condition((["x"], [["10"]]), tree=tree)
    assert (left(found), found.text) == (everything - {"1/0", "1/2", "2/0"}, "F(x) = 1")
    step = select_files(table, [found]).report.step("directories")
    assert step is not None
    assert (step.kept, step.of, step.by) == (5 + 2, 8 + 2, ("F(x) = 1",))
    transaction = Transaction(table, "append")
    rest = {
        "nulls": {"x": ColumnStatistics(10, 5), "y": ColumnStatistics(10, 0, "a", "a")},
        "tens": {"x": ColumnStatistics(10, 0, 10, 10), "y": ColumnStatistics(10, 5)},
        "both": {"x": ColumnStatistics(10, 0, 10, 10), "y": ColumnStatistics(10, 0, "a", "a")},
    }
    files = [FileRecord(name, 100, 5, columns=columns) for name, columns in rest.items()]
    transaction.replace((1,), files, arrangement=ArrangementSpec(XY))
    table = commit(transaction)
    fails = condition((["x", "y"], [["10", "a"], ["10", "b"], [None, "b"], ["20", None]]))
    assert left(fails) & set(rest) <= {"nulls", "tens", "both"}
    assert {"nulls", "tens"} <= left(fails)


@pytest.mark.parametrize(
    "values", [[3, None, 5], [0.5, None, float("nan")], ["a", None], [None, None], [True, False]]
)
@pytest.mark.parametrize("count", [5, 40])
def test_bounds_are_taken(values: list[object], count: int) -> None:
    """Whether few or many are taken of few or many, each is as it was."""
    places = np.arange(count) % len(values)
    repeated = [values[place] for place in places.tolist()]
    for given in (values, values * 20):
        found, expected = Bounds.from_values(given).take(places), Bounds.from_values(repeated)
        for one, other in (
            (found.least, expected.least),
            (found.greatest, expected.greatest),
            (found.nulls, expected.nulls),
        ):
            assert type(one) is type(other)
            assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
            assert list(map(repr, one)) == list(map(repr, other))
        assert found.least is found.greatest
        assert found.shared
