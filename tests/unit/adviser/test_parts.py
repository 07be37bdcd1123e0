"""The parts of advice: conditions without values, samples of few files, buckets, joins, statements, notes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquetry
from parquetry.adviser import (
    AdviceRequest,
    Grain,
    HeavyDirectories,
    TableLayout,
    advise_on,
    folder_source,
    queries_from,
)
from parquetry.adviser.cutting import cut_files
from parquetry.adviser.input.bound_queries import bind_questions, columns_asked, reads_of
from parquetry.adviser.input.sampling import draw_sample, plan_sample
from parquetry.adviser.statements import statements
from parquetry.catalog import SampleOptions, advise_on_folder
from parquetry.cli.main import main
from parquetry.errors import UnsupportedError, WarehouseError
from parquetry.metastore import TableColumn, TableMetadata, open_metastore
from parquetry.predicate import Filter, Match, match, parse_filter
from parquetry.workload import QueryCondition, QueryJoin, QueryRecord, TableRead
from tests.support.adviser.truth import Condition, write_layout

ROWS, FILES = 20_000, 20
FILE_BYTES = 10_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of files in the order of `id`, with shuffled keys and a heavy text."""
    path = tmp_path_factory.mktemp("facts") / "facts"
    rng = np.random.default_rng(5)
    rows = pa.table(
        {
            "id": np.arange(ROWS),
            "k": rng.integers(0, 1_000, ROWS),
            "c": np.array(["x", "y", "z"])[rng.choice(3, ROWS, p=[0.7, 0.25, 0.05])],
        }
    )
    path.mkdir()
    for i in range(FILES):
        pq.write_table(rows.slice(i * ROWS // FILES, ROWS // FILES), path / f"{i:03d}.parquet")
    return path


def _filter(text: str, folder: Path) -> Filter:
    source = folder_source(str(folder))
    return parse_filter(text, {name: column.column_type for name, column in source.columns.items()})


@pytest.mark.parametrize(
    ("text", "share", "least", "greatest"),
    [
        ("k = ?", 0.001, 0.0005, 0.002),
        ("c = ?", 0.7, 0.69, 0.71),
        ("id >= ?", 0.2, 0.19, 0.21),
        ("id BETWEEN ? AND ?", 0.1, 0.09, 0.11),
        ("id >= ? AND id < ?", 0.1, 0.09, 0.11),
        ("k IN (?, ?, ?)", 0.003, 0.001, 0.006),
    ],
)
def test_values_are_drawn_by_their_share(
    folder: Path, text: str, share: float, least: float, greatest: float
) -> None:
    """Where values were not kept, values from the sample leave as many rows as the record says."""
    source = folder_source(str(folder))
    name = text.split()[0]
    condition = QueryCondition(text, (name,), has_values=False, share=share)
    reads = [(QueryRecord((read,)), read) for read in [TableRead("facts", conditions=(condition,))]]
    sample = draw_sample(source, plan_sample(source, ["id", "k", "c"], 10_000))
    bound = bind_questions(source, reads, sample, lambda _: None)
    assert bound.drawn == 4
    assert bound.not_understood == {}
    arrays = {each: sample.table[each].combine_chunks() for each in ("id", "k", "c")}
    for question in bound.questions:
        kept = parquetry_rows(question.condition, arrays, sample.count)
        assert least <= kept <= greatest


def parquetry_rows(condition: Filter, arrays: dict[str, pa.Array], count: int) -> float:
    """Return the part of the rows that satisfy a condition."""
    from parquetry.rows import matching_rows

    return float(np.mean(matching_rows(condition.node, arrays, count).to_numpy(zero_copy_only=False)))


def test_rows_of_unread_files_are_moved_into_their_bounds(folder: Path) -> None:
    """A budget for a fifth of the files still gives a sample whose `id`s are spread as in all files."""
    source = folder_source(str(folder))
    budget = int(source.bytes_of(["id", "k"]).sum()) // 5
    plan = plan_sample(source, ["id", "k"], 2_000, budget)
    assert len(plan.files) < FILES // 4
    assert plan.bytes < budget * 1.3
    sample = draw_sample(source, plan)
    ids = np.sort(sample.table["id"].to_numpy())
    expected = (np.arange(len(ids)) + 0.5) * ROWS / len(ids)
    assert np.abs(ids - expected).max() < ROWS / FILES / 2


def test_buckets_and_directories_leave_files_out(folder: Path) -> None:
    """An equality reads one bucket; a heavy value its directory; a light value the rest alone."""
    source = folder_source(str(folder))
    sample = draw_sample(source, plan_sample(source, ["id", "k", "c"]))
    buckets = cut_files(sample, TableLayout(1 << 30, bucket_by=("k",), bucket_count=8), 10.0)
    assert buckets.count == 8
    assert (match(_filter("k = 7", folder), buckets) != Match.CANNOT).sum() == 1
    heavy = HeavyDirectories("c", ("x", "y"), ("'x'", "'y'"))
    cells = cut_files(sample, TableLayout(1 << 30, heavy=heavy), 10.0)
    assert cells.count == 3
    read = {
        text: cells.rows[match(_filter(f"c = '{text}'", folder), cells) != Match.CANNOT].sum()
        for text in "xyz"
    }
    counts = {text: int(np.sum(sample.table["c"].to_numpy(zero_copy_only=False) == text)) for text in "xyz"}
    assert read == counts


def test_keys_of_a_join_choose_files_and_buckets_save_exchanges(folder: Path, tmp_path: Path) -> None:
    """Conditions on a dimension become values of the fact's key; buckets by it save an exchange."""
    dimension = tmp_path / "dim"
    dimension.mkdir()
    keys = np.arange(1_000)
    pq.write_table(
        pa.table({"k": keys, "colour": np.where(keys < 10, "red", "blue")}), dimension / "a.parquet"
    )
    join = QueryJoin("k", "dim", "k")
    record = QueryRecord(
        (
            TableRead("facts", joins=(join,), columns=("id", "k")),
            TableRead("dim", conditions=(QueryCondition("colour = 'red'", ("colour",)),)),
        )
    )
    source = folder_source(str(folder))
    others = {"dim": folder_source(str(dimension))}
    sample = draw_sample(source, plan_sample(source, ["id", "k"]))
    (question,) = bind_questions(source, reads_of([record], ["facts"]), sample, others.get).questions
    assert str(question.condition) == "k IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)"
    advice = advise_on(
        source, AdviceRequest([record], ["facts"])
    )  # a dimension of unknown size is not broadcast
    assert advice.best is not None
    assert advice.shuffles_now == 2
    assert advice.best.shuffles == 1
    assert "CLUSTERED BY (k)" in advice.best.statements[0]
    small = advise_on(source, AdviceRequest([record], ["facts"], others=others.get))
    assert small.shuffles_now == 0
    assert small.best is not None
    assert small.best.bytes < small.bytes_now / 2


def test_statements_of_a_folder_make_a_table(folder: Path) -> None:
    """The statement has each part of the layout, and computes partition columns."""
    source = folder_source(str(folder))
    heavy = HeavyDirectories("c", ("x",), ("'x'",))
    layout = TableLayout(1 << 20, (Grain("id", "range", 500),), heavy, ("k",), 8, ("k",))
    (statement,) = statements(source, layout, "lake", is_resized=True)
    assert statement.splitlines() == [
        "CREATE TABLE lake.default.facts USING parquet",
        "  PARTITIONED BY (id_range)",
        "  CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS",
        "  SKEWED BY (c) ON ('x') STORED AS DIRECTORIES",
        "  TBLPROPERTIES ('sort-by' = 'k', 'target-file-size' = '1024kb', 'list-bucketing-rules' = 'relaxed')",
        f"  AS SELECT *, CAST(floor(id / 500) * 500 AS BIGINT) AS id_range FROM parquet.`{folder}`",
    ]


def test_what_cannot_be_read_is_named_and_counts_as_everything(folder: Path) -> None:
    """A condition outside of the language is in the notes, and its query reads all files."""
    advice = advise_on(
        folder_source(str(folder)),
        AdviceRequest(queries_from(["my_udf(k) = 1", "id < 100"], "facts"), ["facts"]),
    )
    assert "The condition my_udf(k) = 1 counts as reading everything" in "\n".join(advice.notes)
    assert advice.files_now == (FILES + 1) / 2


def test_queries_come_from_a_file_and_advice_is_json(folder: Path, tmp_path: Path) -> None:
    """`parquetry.advise` takes a folder and a file of conditions; the dict is plain."""
    file = tmp_path / "queries.txt"
    file.write_text("-- dashboards\nk = 7;\n\n# others\nk = 9\n")
    advice = parquetry.advise(folder, file)
    assert advice.queries == 2
    assert advice.best is not None
    assert json.loads(json.dumps(advice.to_dict()))["best"]["layout"] == advice.best.layout


def test_queries_come_from_a_file_of_sql(folder: Path, tmp_path: Path) -> None:
    """A file of SQL gives the queries of the folder's table; the error names the tables of others."""
    file = tmp_path / "queries.sql"
    file.write_text(
        "SELECT sum(id) FROM web.facts WHERE k = 7;\nSELECT * FROM other;\nUSE web; SELECT k FROM facts WHERE k = 9"
    )
    advice = parquetry.advise(folder, file)
    assert advice.queries == 2
    assert advice.best is not None
    assert advice.best.spec is not None
    assert advice.best.spec.columns() == {"k"}
    (tmp_path / "days").mkdir()
    pq.write_table(pa.table({"day": [3, 4], "year": [1999, 2000]}), tmp_path / "days" / "0.parquet")
    shutil.copytree(folder, tmp_path / "facts")
    file.write_text("SELECT sum(c) FROM facts, days WHERE k = day AND year = 1999 + 1")
    joined = parquetry.advise(tmp_path / "facts", file)
    assert joined.best is not None
    assert [query.query for query in joined.best.queries] == ["k of days"], (
        "columns of a folder beside it are known"
    )
    assert "k" in joined.best.layout
    file.write_text("SELECT * FROM other")
    with pytest.raises(UnsupportedError, match=r"they read other"):
        parquetry.advise(folder, file)


def test_a_table_of_sparks_own_catalog_has_queries_of_event_logs(folder: Path) -> None:
    """Event logs name its database, and SQL its catalog; a table of that name elsewhere is another."""
    condition = (QueryCondition("k = 7", ("k",)),)
    names = ("web.facts", "spark_catalog.web.facts", "other.facts")
    records = [QueryRecord((TableRead(name, conditions=condition),)) for name in names]
    advice = advise_on_folder(folder, records, SampleOptions(), "spark_catalog.web.facts")
    assert advice.queries == 2
    assert advice.best is not None
    assert advice.best.statements[0].startswith("CREATE TABLE lake.web.facts USING parquet")
    assert advice.best.statements[0].endswith("AS SELECT * FROM spark_catalog.web.facts")


def test_bloom_filters_are_for_values_in_no_order(folder: Path) -> None:
    """Where queries of a text keep the layout, values of `k` in every file are a case for Bloom filters."""
    source = folder_source(str(folder))
    some = queries_from(["id BETWEEN 3000 AND 3100"] * 99 + ["k = 7"], "facts")
    advice = advise_on(source, AdviceRequest(some, ["facts"]))
    assert advice.best is None
    assert any("'bloom-filter-columns' = 'k'" in note for note in advice.notes)


def test_without_queries_or_files_the_error_has_a_remedy(folder: Path, tmp_path: Path) -> None:
    """No query, no file, and directories of several kinds are errors that say what to do."""
    with pytest.raises(UnsupportedError, match="give queries"):
        parquetry.advise(folder, [])
    with pytest.raises(WarehouseError, match="no Parquet file"):
        parquetry.advise(tmp_path, ["k = 1"])
    with pytest.raises(UnsupportedError, match="does not exist"):
        parquetry.advise(folder, tmp_path / "absent.txt")


def test_directories_are_partitions(tmp_path: Path) -> None:
    """Hive's directories are partition columns with types, and NULL is one of the values."""
    for day, value in (("2026-01-01", 1), ("2026-01-02", 2), ("__HIVE_DEFAULT_PARTITION__", 3)):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"v": [value] * 10}), tmp_path / f"day={day}" / "a.parquet")
    source = folder_source(str(tmp_path))
    assert [str(column.column_type) for column in source.partition_by] == ["date"]
    assert [file.values for file in source.files] == [(20454,), (20455,), (None,)]
    assert source.kept(_filter("day = DATE '2026-01-02'", tmp_path)).tolist() == [False, True, False]
    assert columns_asked(
        source, reads_of(queries_from(["day = DATE '2026-01-02' AND v = 1"], "t"), ["t"])
    ) == ["day", "v"]


def test_a_table_of_a_warehouse_is_advised_by_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a table of ours, files come from the metastore, and the statements change it in place."""
    path = tmp_path / "lake"
    monkeypatch.setenv("PARQUETRY_WAREHOUSE", str(path))
    columns = (TableColumn("id", "long"), TableColumn("k", "long"), TableColumn("p", "long"))
    with open_metastore(str(path), create=True) as metastore:
        metadata = TableMetadata(columns, ("p",), "parquet", f"{path}/t")
        metastore.create_table("default", "t", metadata)
    rng = np.random.default_rng(3)
    for p in range(2):
        (path / "t" / f"p={p}").mkdir(parents=True)
        for i in range(20):
            rows = {"id": np.arange(i * 1_000, i * 1_000 + 1_000), "k": rng.integers(0, 10_000, 1_000)}
            pq.write_table(pa.table(rows), path / "t" / f"p={p}" / f"{i}.parquet")
    with parquetry.open(path) as catalog:
        catalog.sync("t")
        advice = catalog.advise("t", ["k = 5000 AND p = 1", "k BETWEEN 5080 AND 5120 AND p = 0"])
    assert advice.files_now == 20
    assert advice.best is not None
    assert advice.best.is_change
    assert advice.best.statements[0].startswith(
        "ALTER TABLE lake.default.t SET TBLPROPERTIES ('sort-by' = 'k'"
    )
    assert advice.best.statements[1] == "CALL lake.system.compact('default.t', rewrite_all => true)"
    with pytest.raises(SystemExit):
        main(["advise", "t", "--where", "id = 5 AND p = 0", "--json"])
    assert json.loads(capsys.readouterr().out)["best"] is None  # it is in the order of `id` already


def test_a_curve_serves_conditions_on_either_column(tmp_path: Path) -> None:
    """A curve is advised where queries compare either of two columns, and its forecast comes true."""
    rng = np.random.default_rng(8)
    rows = pa.table(
        {"a": rng.permutation(40_000), "b": rng.integers(0, 10**12, 40_000), "v": rng.random(40_000)}
    )
    queries = [Condition("a", first, first + 400) for first in range(0, 40_000, 4_000)]
    queries += [Condition("b", first, first + 10**10) for first in range(0, 10**12, 10**11)]
    now = TableLayout(12_000)
    write_layout(rows, now, tmp_path / "now")
    source = folder_source(str(tmp_path / "now"))
    records = queries_from([each.text for each in queries], source.name)
    advice = advise_on(source, AdviceRequest(records, [], sample_rows=10_000, order_only=True))
    curve = advice.best
    assert curve is not None
    assert curve.spec is not None
    assert curve.spec.is_curve, str(advice)
    assert "'sort-by' = 'zorder(a, b)'" in curve.statements[0]
    written = write_layout(rows, curve.spec, tmp_path / "then")
    truth = sum(written.read([each], ("a", "b", "v"))[0] for each in queries) / len(queries)
    assert 0.8 < curve.bytes / truth < 1.25
