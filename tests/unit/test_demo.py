"""The demo must see a wrong answer, and a query that reads too much: otherwise it shows nothing."""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import parquetry
from demo import java_warnings, million, readings, run, scenes, tpcds
from demo.advice import draw
from demo.answers import difference
from demo.lake import Lake
from demo.outcome import Limit, Outcome, Scene, Side, excesses
from demo.picture.chart import chart
from demo.picture.narrow import narrow_chart
from demo.picture.page import page
from demo.picture.terminal import show, show_alike
from demo.tables import LAYOUTS, RANGES
from parquetry.prune.report.report import Report
from parquetry.prune.report.scan import ScanReport, Step

DAYS = Limit("store_sales", "partitions", "SELECT 2")
FILES = Limit("store_sales", "files", "SELECT 0")
ALL = (*scenes.QUERIES, scenes.LARGE_FILES, scenes.MILLION, scenes.MERGE, scenes.YESTERDAY, scenes.NO_FILE)
SVG = "{http://www.w3.org/2000/svg}"


def report(partitions: int, files: int) -> Report:
    steps = (
        Step("partitions", partitions, 10, ("day IN (1, 2)",)),
        Step("files", files, partitions),
        Step("bytes", 100 * files, 1000 * partitions, ("paid",)),
    )
    return Report((ScanReport("lake.tpcds.store_sales", steps), ScanReport("lake.tpcds.item", ())))


def outcome(ours: int = 1, beside: int = 4, *faults: str) -> Outcome:
    scene = Scene("<name>", "What <b>is</b> asked?", "Since a < b & c.", "SELECT '<script>'", (DAYS,))
    sides = Side(ours, "file", 10 * ours, 0.1), Side(beside, "file", 3000, 0.25)
    return Outcome(scene, *sides, 1, faults, report(1, 1))


@pytest.mark.parametrize(
    "theirs",
    [
        [(1, "a"), (2, "c")],
        [(1, "a")],
        [(1, "a"), (2, "b"), (2, "b")],
        [(1, "a"), (2, None)],
        [(1, "a"), ("2", "b")],
        [(1, "a"), (2, "b", None)],
    ],
)
def test_an_answer_that_differs_is_seen(theirs: list[tuple[object, ...]]):
    """A value, a row more or less, a NULL, a type, a column more: each is a difference."""
    assert difference([(1, "a"), (2, "b")], theirs) is not None
    assert difference([(2, "b"), (1, "a")], [(1, "a"), (2, "b")]) is None


def test_floating_point_may_differ_by_rounding_only():
    """Sums of doubles depend on their order; a difference in the seventh digit is a wrong answer."""
    assert difference([(float("nan"), 0.1 + 0.2)], [(float("nan"), 0.3)]) is None
    assert difference([(1.000001,)], [(1.0,)]) is not None


def test_a_query_that_reads_too_much_is_seen():
    """More partitions or files than the limit is a fault, and so is a report without the table."""
    assert excesses(report(2, 0), {DAYS: 2, FILES: 0}) == []
    assert excesses(report(3, 1), {DAYS: 2, FILES: 0}) == [
        "store_sales: read 3 partitions where 2 are enough",
        "store_sales: read 1 files where 0 are enough",
    ]
    assert excesses(Report(()), {DAYS: 2}) == ["no scan of store_sales in the report"]


def test_each_scene_is_one_question_with_a_reason_and_a_limit():
    """Each scene has one question, a reason, limits, and a name of its own.

    The tables that it counts have a layout.
    """
    assert len({scene.name for scene in ALL}) == len(ALL) >= 9
    for scene in ALL:
        assert re.fullmatch(r"[A-Z][^.?!]*\?", scene.asks)
        assert scene.why.endswith(".")
        assert scene.tables <= {*LAYOUTS, readings.TABLE}
    assert all(
        scene.limits for scene in (*scenes.QUERIES, scenes.LARGE_FILES, scenes.YESTERDAY, scenes.NO_FILE)
    )


def test_the_page_needs_nothing_beside_itself_and_escapes_all_text():
    """The page is one file without scripts, addresses or other files.

    Questions, SQL and reports are escaped text.
    """
    html = page([outcome(1, 4, "it is <wrong>")], [outcome()], ["5 < 6"], "T & <T>")
    assert not re.search(r"<script|<b>|<name>|<wrong>|<T>|https?:|src=|@import|url\(|<link", html)
    assert html.index("<svg") < html.index("<article")
    assert "1 file · 10 B · 0.1 s" in html
    assert "4 files · 3 kB · 0.2 s" in html
    assert "width:25.0%" in html
    assert "1 answer wrong" in html
    assert "5 &lt; 6" in html
    assert "prefers-color-scheme: dark" in html


def test_the_chart_is_a_file_of_its_own_in_light_and_dark():
    """The chart is XML, with two bars a scene in proportion to their values.

    A small value has a visible bar, and zero has none.
    """
    drawn = ElementTree.fromstring(chart([outcome(1, 4), outcome(1, 10_000), outcome(0, 5)], "A & B"))
    assert "prefers-color-scheme: dark" in str(drawn.findtext(f"{SVG}style"))
    bars = {side: [] for side in ("beside", "ours")}
    for bar in drawn.iter(f"{SVG}rect"):
        if bar.get("height") == "15":
            bars[bar.attrib["class"]].append(float(bar.attrib["width"]))
    whole = bars["beside"][0]
    assert bars["beside"] == [whole] * 3
    assert bars["ours"][0] == whole / 4
    assert 0 < bars["ours"][1] < whole / 100
    assert bars["ours"][2] == 0
    words = [text.text for text in drawn.iter(f"{SVG}text")]
    assert {"A & B", "<name>", "4.0 ×", "10,000 ×", "none"} <= set(words)


def test_a_phone_can_read_the_narrow_chart():
    """Its text has at least three quarters of its size in 360 points, and no line leaves the picture."""
    drawn = ElementTree.fromstring(narrow_chart([outcome(1, 4), outcome(0, 5)], "The title " * 9))
    _, _, width, height = map(float, drawn.attrib["viewBox"].split())
    assert 360 / width > 0.75
    texts = [(float(text.attrib["x"]), float(text.attrib["y"]), text) for text in drawn.iter(f"{SVG}text")]
    assert max(y for _, y, _ in texts) < height
    for x, _, text in texts:
        letters = len(text.text or "") * (10.7 if text.get("class") == "title" else 5.9)
        assert (x + letters if text.get("text-anchor") != "end" else x) <= width
    assert {"<name>", "4.0 ×", "none", "4 files · 3 kB · 0.2 s"} <= {text.text for *_, text in texts}
    bars = [float(bar.attrib["width"]) for bar in drawn.iter(f"{SVG}rect") if bar.get("height") == "9"]
    assert bars[1] == bars[0] / 4
    assert len(bars) == 3


def test_javas_expected_warning_is_left_out(capfd: pytest.CaptureFixture[str]):
    """Other lines on standard error stay, and the process's own standard error is as it was."""
    with java_warnings.without_expected():
        program = "import os; os.write(2, b'WARNING: Using incubator modules: x\\nWARNING: other\\n')"
        subprocess.run([sys.executable, "-c", program], check=True)
    os.write(2, b"own\n")
    deadline = time.monotonic() + 10
    said = ""
    while "other" not in said and time.monotonic() < deadline:
        said += capfd.readouterr().err
    assert sorted(said.split("\n")) == ["", "WARNING: other", "own"]


def test_plain_spark_has_no_bar_where_it_did_not_run():
    """The number of the table stands alone, with the reason, in the chart, on the page and in the
    terminal.
    """
    absent = replace(
        outcome(), ours=Side(1, "key examined"), beside=Side(4, "partition"), beside_name="the table"
    )
    drawn = ElementTree.fromstring(chart([absent], "T"))
    bars = [
        (bar.attrib["class"], float(bar.attrib["width"]))
        for bar in drawn.iter(f"{SVG}rect")
        if bar.get("height") == "15"
    ]
    assert [(side, width > 0) for side, width in bars] == [("beside", False), ("ours", True)]
    words = [text.text for text in drawn.iter(f"{SVG}text")]
    assert not any(word and word.endswith("×") for word in words)
    assert "4 partitions in the table; plain Spark did not run" in words
    assert any(word and word.endswith("Without a grey bar, plain Spark did not run.") for word in words)
    article = page([absent], [], [], "T").partition("<article>")[2]
    assert '<i class="beside" style="width:0.0%">' in article
    assert '<i class="ours" style="width:25.0%">' in article
    console = Console(width=100, record=True, file=io.StringIO())
    show(console, absent)
    (line,) = (line for line in console.export_text().splitlines() if line.strip().startswith("the table"))
    assert "█" not in line


def test_a_scene_shows_its_report_as_it_reads_after_the_run():
    """The scene of run-time values prints the report with them; the others leave it to the page."""
    assert [scene.name for scene in ALL if scene.reports] == [scenes.OTHER_DATE.name]
    console = Console(width=100, record=True, file=io.StringIO())
    show(console, outcome())
    assert "the report says" not in console.export_text()
    shown = replace(outcome(), scene=replace(outcome().scene, reports=True))
    show(console, shown)
    text = console.export_text()
    assert "What the report says after the run:" in text
    assert "lake.tpcds.store_sales: partitions 1 of 10" in text


def test_large_files_are_made_once_and_are_large(tmp_path: Path):
    """A file has 128 MB and the readings of 250 sensors; leftovers of an interrupted run are made again."""
    folder = tmp_path / "readings"
    unfinished = tmp_path / "readings.unfinished"
    unfinished.mkdir()
    (unfinished / "half.parquet").write_bytes(b"half")
    readings.make(folder, files=1)
    (file,) = folder.iterdir()
    made = file.stat()
    assert 127_000_000 < made.st_size < 130_000_000
    metadata = pq.ParquetFile(file).metadata
    assert metadata.num_rows == readings.rows(1)
    sensors = [metadata.row_group(number).column(0).statistics for number in range(metadata.num_row_groups)]
    assert (min(each.min for each in sensors), max(each.max for each in sensors)) == (0, 249)
    readings.make(folder, files=1)
    assert file.stat().st_mtime_ns == made.st_mtime_ns
    assert not unfinished.exists()


def test_the_terminal_shows_both_sides_and_what_is_wrong():
    """A scene shows its question, both numbers and the reason.

    A query that Spark prunes as well has one line.
    """
    console = Console(width=100, record=True, file=io.StringIO())
    show(console, outcome(1, 4, "it is wrong"))
    text = console.export_text()
    for shown in (
        "✗ <name>",
        "is</b> asked?",
        "4 files · 3 kB",
        "1 file · 10 B",
        "Since a < b",
        "it is wrong",
    ):
        assert shown in text
    show_alike(console, outcome())
    assert console.export_text().count("\n") == 1


def test_the_raw_tables_are_made_once_and_whole(tmp_path: Path):
    """Leftovers of an interrupted run are made again, and complete tables are kept.

    Limits are counted from the rows.
    """
    unfinished = tmp_path / "raw.unfinished"
    unfinished.mkdir()
    (unfinished / "half.parquet").write_bytes(b"half")
    raw = tpcds.make(tmp_path / "raw", 0.01)
    assert set(tpcds.DERIVED) | {"catalog_sales", "date_dim"} <= set(raw.rows)
    assert not unfinished.exists()
    made = raw.file("catalog_sales").stat().st_mtime_ns
    assert tpcds.make(tmp_path / "raw", 0.01) == raw
    assert raw.file("catalog_sales").stat().st_mtime_ns == made
    assert raw.count("SELECT count(*) FROM catalog_sales") == raw.rows["catalog_sales"]
    assert set(LAYOUTS) | set(RANGES) <= set(raw.rows)
    assert raw.count("SELECT count(DISTINCT customer) FROM corrections") == 2
    assert raw.count("SELECT count(*) FROM sensors WHERE id >= 0") == readings.SENSORS
    asked = scenes.alike(tpcds.query_texts())
    assert [query.name for query in asked[:2]] == ["TPC-DS 15", "TPC-DS 20"]
    for query in (*ALL, *asked):
        assert all(raw.count(limit.count) >= 0 for limit in query.limits)


def test_one_partition_is_found_by_one_key(tmp_path: Path):
    """Filling goes on where it was interrupted; a table without the partition is a fault."""
    lake = Lake(tmp_path)
    million.fill(lake.million, 1_000)
    assert million.find(lake).faults == ("0 partitions were found instead of 1",)
    million.fill(lake.million, 6_000)
    found = million.find(lake)
    assert (found.ours.counted, found.beside.counted, found.rows, found.faults) == (1, 6_000, 1, ())


@pytest.mark.parametrize("text", ["", "ten", "0", "-1", "nan", "1e9"])
def test_a_scale_that_makes_no_sense_is_refused(text: str):
    """The message says what would do."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"give a number from 0\.01 to 1000"):
        run._scale(text)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path):
    """A file in place of the folder, or data of another scale, is refused, and the message has the remedy."""
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SystemExit, match="cannot be used"):
        run._prepare(Lake(file), 0.1)
    run._prepare(Lake(tmp_path), 0.1)
    run._prepare(Lake(tmp_path), 0.1)
    with pytest.raises(SystemExit, match=r"of scale 0\.1, not 1: remove the folder"):
        run._prepare(Lake(tmp_path), 1)


def test_a_picture_has_a_place(tmp_path: Path):
    """It is an SVG file in a folder that exists."""
    assert run._picture(str(tmp_path / "a.svg")) == tmp_path / "a.svg"
    for wrong in (tmp_path / "a.png", tmp_path / "no" / "a.svg"):
        with pytest.raises(argparse.ArgumentTypeError, match="SVG file"):
            run._picture(str(wrong))


@pytest.mark.parametrize(
    ("ours", "beside", "factor"),
    [(1, 4, "4.0 ×"), (120, 1835, "15 ×"), (0, 2, "none"), (3, 3, ""), (4, 3, "")],
)
def test_a_factor_is_shown_where_something_is_gained(ours: int, beside: int, factor: str):
    """The factor is empty if the scene gains none."""
    assert (
        replace(outcome(), ours=Side(ours, "file"), beside=Side(beside, "file", None, 1.0)).factor == factor
    )
    assert replace(outcome(), ours=Side(ours, "file"), beside=Side(beside, "file")).factor == ""


def test_the_picture_of_advice(tmp_path: Path) -> None:
    """A bar is what a query reads, now and under each layout; the advised one stands out."""
    rows = pa.table({"id": list(range(20_000)), "k": [id * 7919 % 20_000 for id in range(20_000)]})
    for first in range(0, 20_000, 1_000):
        pq.write_table(rows.slice(first, 1_000), tmp_path / f"{first}.parquet")
    advice = parquetry.advise(
        tmp_path, [f"k BETWEEN {low} AND {low + 50}" for low in range(0, 20_000, 4_000)]
    )
    assert advice.best is not None
    drawn = ElementTree.fromstring(draw(advice, 1))
    texts = ["".join(each.itertext()) for each in drawn.iter(f"{SVG}text")]
    assert f"advised: {advice.best.layout}" in texts
    assert any(text.endswith("20.0 files") for text in texts)
    assert "queries" in texts[-1] or "query" in texts[-1]
