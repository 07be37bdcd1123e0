"""The pruning of buckets, and its step in the report."""

from __future__ import annotations

import math

import msgspec
import pytest

from parquetry.hashing.bucket_hash import bucket_numbers
from parquetry.metastore import (
    ArrangementSpec,
    BucketSpec,
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
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Opaque
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune import steps
from parquetry.prune.condition import BucketMembership, Condition
from parquetry.prune.report.report import Report
from parquetry.prune.rule import PruningRequest
from parquetry.prune.select import Selection, select_files, select_for
from parquetry.store.memory import MemoryStore
from parquetry.types import Value, parse_type

COLUMNS = (
    TableColumn("id", "integer"),
    TableColumn("s", "string"),
    TableColumn("f", "double"),
    TableColumn("v", "integer"),
    TableColumn("p", "integer"),
)
TYPES = {column.physical: column.column_type for column in COLUMNS}
ID = BucketSpec(("id",), 8)
BOTH = BucketSpec(("id", "s"), 8)


def made(specs: dict[int, BucketSpec | None], own: BucketSpec | None = None) -> TableSnapshot:
    """Make a table with a file in each bucket of each partition, and one file without a known bucket.

    The files' names have the partition and the bucket.
    """
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(
        COLUMNS, ("p",), "parquet", "/lake/db.db/t", arrangement=ArrangementSpec(buckets=own)
    )
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p, spec in specs.items():
        buckets = [] if spec is None else range(spec.count)
        files = [FileRecord(f"{p}/{bucket}", 100, 5, bucket=bucket) for bucket in buckets]
        files.append(FileRecord(f"{p}/unknown", 100, 5))
        transaction.replace((p,), files, arrangement=ArrangementSpec(buckets=spec))
    return commit(transaction)


def selected(snapshot: TableSnapshot, *texts: str) -> Selection:
    types = {column.name: column.column_type for column in snapshot.metadata.columns}
    return select_files(snapshot, [parse_filter(text, types) for text in texts])


def kept(snapshot: TableSnapshot, *texts: str) -> set[str]:
    """Return the buckets that are kept besides the files that always are."""
    return {file.file.path for file in selected(snapshot, *texts).files if "unknown" not in file.file.path}


def placed(p: int, spec: BucketSpec, *rows: tuple[Value, ...]) -> set[str]:
    """Return the buckets in a partition that rows belong in."""
    types = [TYPES[name] for name in spec.columns]
    return {f"{p}/{bucket}" for bucket in bucket_numbers(spec.version, spec.count, types, rows)}


def reasons(selection: Selection) -> dict[str, str]:
    step = selection.report.step("buckets")
    assert step is not None
    return {note.condition: note.reason for note in step.not_by}


@pytest.mark.parametrize("version", [1, 2, "spark"])
def test_buckets_are_kept_for_the_values_that_are_listed(version: int) -> None:
    """By equality, IN, `<=>`, IS NULL, their AND and OR, on all bucket columns; anything else keeps all."""
    spec = BucketSpec(("id",), 8, version)  # type: ignore[arg-type]
    table = made({1: spec})
    for texts, rows in {
        ("id = 5",): [(5,)],
        ("id <=> 5", "v = 3"): [(5,)],
        ("id IN (5, 6, -7)",): [(5,), (6,), (-7,)],
        ("id IS NULL",): [(None,)],
        ("id <=> NULL OR id = 5",): [(None,), (5,)],
        ("id = 5 AND v = 1 OR id = 6",): [(5,), (6,)],
        ("id IN (5, 6)", "id IN (6, 7)"): [(6,)],
        ("id = 5", "id = 6"): [],
        ("(id, v) IN ((5, 1), (6, 2))",): [(5,), (6,)],
    }.items():
        assert kept(table, *texts) == placed(1, spec, *rows), texts
    for text in ("id > 5", "id != 5", "id = 5 OR v = 1", "id IS NOT NULL", "v = 1", "NOT (id = 5 AND v = 1)"):
        assert len(kept(table, text)) == 8, text


def test_of_several_bucket_columns_values_of_all_must_be_listed() -> None:
    """Pruning by several bucket columns needs listed values of all of them, in one condition or several.

    Otherwise the report names the missing columns.
    """
    table = made({1: BOTH})
    assert kept(table, "id = 5", "s = 'a'") == placed(1, BOTH, (5, "a"))
    assert kept(table, "s IN ('a', 'b') AND id IS NULL") == placed(1, BOTH, (None, "a"), (None, "b"))
    assert kept(table, "(s, id) IN (('a', 1), ('b', 2))") == placed(1, BOTH, (1, "a"), (2, "b"))
    assert len(kept(table, "id = 5")) == 8
    assert reasons(selected(table, "id = 5", "s > 'a'")) == {
        "id = 5": "buckets are by id, s together, and no condition lists values of s",
        "s > 'a'": "it does not list the values of s, by whose hash rows are in buckets",
    }


def test_of_conditions_on_buckets_those_are_named_that_left_some_out() -> None:
    """Values of all buckets leave out none; of two columns the values leave out some together."""
    types = {column.name: column.column_type for column in made({}).metadata.columns}

    def named(spec: BucketSpec, *texts: str) -> tuple[str, ...]:
        conditions = [parse_filter(text, types) for text in texts]
        step = select_files(made({1: spec}), conditions, apart=True).report.step("buckets")
        assert step is not None
        return step.by

    every = f"id IN ({', '.join(map(str, range(100)))})"
    assert named(ID, every, "id = 5") == ("id = 5",)
    assert named(BOTH, "id = 5", "s = 'a'") == ("id = 5", "s = 'a'")


def test_each_partition_goes_by_its_own_record() -> None:
    """Each partition is pruned by its own count, columns and version.

    A partition without buckets is read, and counts as no bucket.
    """
    four = BucketSpec(("id",), 4, 1)
    table = made({1: ID, 2: four, 3: None, 4: BOTH}, own=ID)
    selection = selected(table, "id = 5")
    assert kept(table, "id = 5") == placed(1, ID, (5,)) | placed(2, four, (5,)) | {f"4/{n}" for n in range(8)}
    assert str(Report((selection.report,))).split("\n")[0] == (
        "db.t: partitions 4 of 4 · buckets 10 of 20 (id = 5) · files 14 of 14 · 1.4 kB of 2.4 kB"
    )


def test_values_may_depend_on_the_partition() -> None:
    """A condition may list values of bucket and partition columns together.

    Each partition is then pruned by its own values.
    """
    table = made({1: ID, 2: ID, 3: ID})
    text = "id = 5 AND p = 1 OR id IN (6, 7) AND p = 2 OR p = 3 AND id IS NULL"
    assert kept(table, text) == placed(1, ID, (5,)) | placed(2, ID, (6,), (7,)) | placed(3, ID, (None,))
    assert kept(table, "id = 5 AND p > 1 OR id = 6") == {
        place for p in (1, 2, 3) for place in placed(p, ID, (5,), (6,))
    }


def test_equal_values_are_looked_for_in_one_bucket() -> None:
    """0.0 finds -0.0, and NaN any NaN, for our writer puts them together."""
    for version in (1, 2, "spark"):
        spec = BucketSpec(("f",), 100, version)  # type: ignore[arg-type]
        table = made({1: spec})
        assert kept(table, "f = -0.0") == kept(table, "f = 0.0") == placed(1, spec, (0.0,))
        assert kept(table, "f IN ('NaN')") == placed(1, spec, (math.nan,))


def test_buckets_of_which_equal_values_may_lie_elsewhere_prune_nothing() -> None:
    """And the report says why; they are not counted."""
    foreign = BucketSpec(("f",), 8, 2, unsettled=True)
    selection = selected(made({1: foreign}), "f = 1.5")
    step = selection.report.step("buckets")
    assert step is not None
    assert (step.kept, step.of, len(selection.files)) == (0, 0, 9)
    assert reasons(selection) == {
        "f = 1.5": (
            "equal values may lie in different buckets: -0.0 equals 0.0, and Hive's version 2 hashes it to another bucket"
        )
    }


def test_the_report_says_why_a_condition_kept_no_bucket_from_being_read() -> None:
    """The report has a reason for each condition that prunes no bucket.

    Examples are too many values or combinations, no buckets, and values in every bucket.
    """
    table = made({1: BOTH, 2: None}, own=BOTH)
    many = ", ".join(map(str, range(10_001)))
    some = ", ".join(map(str, range(200)))
    names = ", ".join(f"'{n}'" for n in range(200))
    assert set(reasons(selected(table, f"id IN ({many})", "s = 'a'")).values()) == {
        "it allows for more than 10,000 values of id",
        "the conditions allow for more than 10,000 combinations of id, s",
    }
    assert set(reasons(selected(table, f"id IN ({some})", f"s IN ({names})")).values()) == {
        "the conditions allow for more than 10,000 combinations of id, s"
    }
    assert set(reasons(selected(table, f"id IN ({some})", "s = 'a'")).values()) == {
        "every bucket may hold a match"
    }
    assert reasons(selected(table, "id = 5", "p = 2")) == {
        "id = 5": "the partitions are not in buckets by its columns"
    }
    transaction = Transaction(table, "replace")
    transaction.replace((1,), [FileRecord("a", 1, 1)], arrangement=ArrangementSpec(buckets=ID))
    assert reasons(selected(commit(transaction), "id = 5", "p = 1")) == {
        "id = 5": "no file is of a known bucket"
    }


def test_only_queries_with_conditions_on_bucket_columns_have_the_step() -> None:
    """The report has the step only if a condition is about a bucket column.

    The step stays in the report of a scan that the metastore answers alone.
    """
    assert selected(made({1: None}), "id = 5").report.step("buckets") is None
    table = made({1: ID})
    assert selected(table, "v = 5").report.step("buckets") is None
    assert selected(table).report.step("buckets") is None
    joined = select_files(
        table, [Condition.from_filter(parse_filter("id = 5", {"id": parse_type("int")}), "join")]
    )
    step = joined.report.step("buckets")
    assert step is not None
    assert (step.kept, step.of, step.origins) == (1, 8, ("join",))
    assert steps.unread(joined.report).step("buckets") == step


def test_long_lists_of_files_are_read_for_buckets_only_where_some_can_be_left_out() -> None:
    """The step of buckets appears only if a condition prunes buckets.

    Otherwise the step of the files skips manifest chunks, and only its numbers are reported.
    """
    table = made({1: ID})
    ids = ColumnStatistics(10, 0, 0, 99)
    files = [
        FileRecord(f"f{n}", 100, 5, columns={"id": ids, "v": ColumnStatistics(10, 0, n, n)}, bucket=n % 8)
        for n in range(3_000)
    ]
    transaction = Transaction(table, "replace")
    transaction.replace((1,), files, arrangement=ArrangementSpec(buckets=ID))
    table = commit(transaction)
    selection = selected(table, "id > 5", "v = 7")
    assert selection.report.step("buckets") is None
    assert [file.file.path for file in selection.files] == ["f7"]
    step = selected(table, "id = 5").report.step("buckets")
    assert step is not None
    assert (step.kept, step.of) == (1, 8)


def test_directories_buckets_and_files_narrow_one_another() -> None:
    """Buckets are counted in the kept directories, and statistics prune the files of the kept buckets."""
    table = made({1: ID})
    skew = SkewMap(("v",), ((1,),), directories=True)
    files = [
        FileRecord(
            f"{cell}/{bucket}/{low}",
            100,
            5,
            columns={"id": ColumnStatistics(10, 0, 0, 99), "s": ColumnStatistics(10, 0, low, low)},
            cell=cell,
            bucket=bucket,
        )
        for cell in (-1, 0)
        for bucket in range(cell + 3)
        for low in ("a", "b")
    ]
    transaction = Transaction(table, "replace")
    transaction.replace((1,), files, arrangement=ArrangementSpec(skew, ID))
    value = next(n for n in range(100) if placed(1, ID, (n,)) == {"1/1"})
    selection = selected(commit(transaction), "v = 1", f"id = {value}", "s = 'b'")
    assert [file.file.path for file in selection.files] == ["0/1/b"]
    assert str(Report((selection.report,))) == (
        f"db.t: partitions 1 of 1 · directories 1 of 2 (v = 1) · buckets 1 of 3 (id = {value}) · files 1 of 2 (s = 'b')"
        " · 100 B of 1 kB"
    )


def test_buckets_go_by_the_columns_names_in_files() -> None:
    """A bucket column that was renamed is the same, and a new one of its old name is another."""
    table = made({1: ID})
    renamed = [
        msgspec.structs.replace(column, name="big", metadata={"parquetry.physical": "id"})
        if column.name == "id"
        else msgspec.structs.replace(column, name="id", metadata={"parquetry.physical": "v"})
        if column.name == "v"
        else column
        for column in COLUMNS
    ]
    transaction = Transaction(table, "alter")
    transaction.set_metadata(msgspec.structs.replace(table.metadata, columns=tuple(renamed)))
    table = commit(transaction)
    assert kept(table, "big = 5") == placed(1, ID, (5,))
    assert len(kept(table, "id = 5")) == 8


@pytest.mark.parametrize("version", [1, 2, "spark"])
@pytest.mark.parametrize(("count", "bucket"), [(8, 3), (4, 1), (16, 11), (12, 5), (5, 2), (1, 0)])
def test_conditions_on_the_hash_choose_buckets(version: int, count: int, bucket: int) -> None:
    """Every value whose hash is in the condition's bucket is in a bucket that is kept, and no bucket is kept
    without such a value.
    """
    spec = BucketSpec(("id",), 8, version)  # type: ignore[arg-type]
    table = made({1: spec})
    asked = BucketMembership(("id",), version, count, (bucket,))
    condition = Condition(Filter(Opaque("h", ("id",), "function")), frozenset(("id",)), "h", membership=asked)
    selection = select_for(PruningRequest(table, (condition,), None, frozenset(("p",)), None), about=())
    kept = {file.file.path for file in selection.files if "unknown" not in file.file.path}
    integer = parse_type("int")
    matching = [
        value
        for value in range(1000)
        if bucket_numbers(spec.version, count, [integer], [(value,)]) == [bucket]
    ]
    assert kept == placed(1, spec, *((value,) for value in matching))


def test_conditions_on_another_hash_choose_nothing() -> None:
    """Another version, other columns or another order of them leave all buckets; the step says why."""
    table = made({1: BOTH})
    for columns, version in ((("id", "s"), 1), (("s", "id"), 2), (("id",), 2)):
        asked = BucketMembership(columns, version, 8, (0,))
        condition = Condition(
            Filter(Opaque("h", ("id",), "function")), frozenset(("id",)), "h", membership=asked
        )
        selection = select_for(PruningRequest(table, (condition,), None, frozenset(("p",)), None), about=())
        assert len(list(selection.files)) == 9
        assert reasons(selection) == {"h": "it is about a hash of another version, or of other columns"}
